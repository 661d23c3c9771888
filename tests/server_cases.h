// Parameter servers as tests write them down.
#pragma once

#include <string>

#include "models/server/parameter_server.h"

namespace sgdsim {

inline ParameterServers read_servers(const std::string& json, const Network& network) {
  const Json parsed = Json::parse(json);
  return read_parameter_servers(Value(parsed, "test", ""), network);
}

inline std::string servers(int count, const std::string& more = "") {
  return R"({"servers":)" + std::to_string(count) + more + "}";
}
inline const std::string co_located = R"(,"placement":"co_located")";
inline const std::string byteps = R"(,"sharding":"byteps")";

}  // namespace sgdsim
