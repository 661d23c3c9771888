// Lists and ranges on the command line: "2,4,8", "2..64" (doubling), "4 KiB..64 MiB", "2..10:2".
#pragma once

#include <string>
#include <vector>

#include "sim/core/number_list.h"
#include "sim/core/units.h"

namespace sgdsim {

std::vector<int64_t> parse_counts(const std::string& text, const std::string& where);
std::vector<Bytes> parse_sizes(const std::string& text, const std::string& where);
// One whole number, or one number, in a range; NaN is in none.
int64_t parse_whole(const std::string& text, int64_t least, int64_t most, const std::string& where);
double parse_number(const std::string& text, double least, double most, const std::string& where);

}  // namespace sgdsim
