// Connection matrices of htsim: who sends how much to whom, and when.
//
//   Nodes 8
//   Connections 2
//   0->1 id 1 start 0 size 1000000
//   1->2 id 2 start 5000000 size 1000000
//
// Starts are in picoseconds, sizes in bytes. Connections that wait for a trigger are refused: when
// they start is not in the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/work/plain_flow.h"

namespace sgdsim {

bool is_htsim_matrix(std::string_view text);
// In the order of their starts. The nodes of the file must fit among the workers.
std::vector<PlainFlow> parse_htsim_matrix(const std::string& text, const std::string& file,
                                          int workers);
std::string to_htsim_matrix(const std::vector<PlainFlow>& flows, int nodes);

}  // namespace sgdsim
