// Numbers beyond 64 bits are nothing here, not something near.
#include "traces/json_members.h"

#include <cmath>

namespace sgdsim {

std::optional<int64_t> whole_field(const Json& json, int64_t least, int64_t most) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return std::nullopt;
  const auto number = json.get<int64_t>();
  return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> whole_member(const Json& json, const std::string& name, int64_t least,
                                    int64_t most) {
  const auto found = json.find(name);
  return found == json.end() ? std::nullopt : whole_field(*found, least, most);
}

std::optional<double> number_member(const Json& json, const std::string& name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const auto number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace sgdsim
