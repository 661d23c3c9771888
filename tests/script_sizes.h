// What a flag of a script is: rows of scripts, and of what "--size" is there.
#pragma once

#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

#include "study/layout/flat_settings.h"

namespace sgdsim {

using ReadScripts = std::vector<std::pair<std::string, std::string>>;

inline std::string flag_in(const std::string& script, const std::string& flag) {
  return FlatSettings::read("#!/bin/bash\n" + script, "f").find(flag).value_or("nothing");
}
inline void check_sizes_of(const ReadScripts& rows) {
  for (const auto& row : rows) {
    INFO(row.first);
    CHECK(flag_in(row.first, "size") == row.second);
  }
}

}  // namespace sgdsim
