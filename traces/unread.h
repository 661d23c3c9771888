// Files that people have and that hold neither a trace nor measured times.
#pragma once

#include <string>
#include <string_view>

namespace sgdsim {

// What such a file is, and which command reads it or what to record in its place. Empty: it is
// none of these.
std::string why_unread(std::string_view text, const std::string& file);

}  // namespace sgdsim
