// Plain flows as a table: start_us, from, to and size_B, in any order of columns.
//
// The first line names the columns. Starts may also be in ns, ms or s (start_ns, ...), and sizes
// must be whole. Semicolons or tabs may part the cells, and numbers then have decimal commas. Lines
// that are empty or begin with # are passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/work/plain_flow.h"

namespace sgdsim {

// By its first line.
bool is_flows_csv(std::string_view text);
// In the order of their starts; flows that start together keep the order of the file.
std::vector<PlainFlow> parse_flows_csv(const std::string& text, const std::string& file,
                                       int workers);

}  // namespace sgdsim
