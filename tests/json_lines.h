// What a sweep prints, a JSON object per line, as values.
#pragma once

#include <string>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

inline std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

}  // namespace sgdsim
