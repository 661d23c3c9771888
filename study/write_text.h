// Where a command's `--out` goes.
#pragma once

#include <ostream>
#include <string>

#include "sim/core/output.h"

namespace sgdsim {

// To a file, or to `out` for "-".
void write_text(const std::string& text, const std::string& file, std::ostream& out);

// How pictures and pages of pictures begin: a comment, by which they are known as ours.
inline constexpr char picture_beginning[] = "<!-- made by sgdsim -->\n";

}  // namespace sgdsim
