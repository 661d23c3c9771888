// The command line of sgdsim-calibrate.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace sgdsim::calibrate {

// Exit codes: 0 ok, 1 a result was wrong, the device failed, or the file could not be written, 2
// bad usage or no such device, 3 not everything was verified in time, 130 interrupted; in all but 2
// what was measured has been written.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& log);

}  // namespace sgdsim::calibrate
