// What ends a program early: its exit codes, and what a user reads about an exception that no
// reader of input throws.
#pragma once

#include <exception>
#include <string>

namespace sgdsim {

class NetworkStuck;

inline constexpr int exit_failure = 1;
inline constexpr int exit_bad_input = 2;

// Ours say what failed. Those of libraries are a refusal of the system, or a mistake of this
// program: their own words name nothing that a user knows.
std::string failure_text(const std::exception& error);

// Line by line, who waits.
std::string stuck_text(const NetworkStuck& stuck);

}  // namespace sgdsim
