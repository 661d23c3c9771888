// Where a command's `--out` goes.
#pragma once

#include <ostream>
#include <string>

namespace sgdsim {

// To a file, or to `out` for "-".
void write_text(const std::string& text, const std::string& file, std::ostream& out);

}  // namespace sgdsim
