// Lists and ranges on the command line: "2,4,8", "2..64" (doubling), "4 KiB..64 MiB", "2..10:2".
#pragma once

#include <string>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

std::vector<int64_t> parse_counts(const std::string& text, const std::string& where);
std::vector<Bytes> parse_sizes(const std::string& text, const std::string& where);
std::vector<std::string> split_list(const std::string& text);

}  // namespace sgdsim
