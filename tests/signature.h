// The signature: a hash of the times of everything that ships, so that a change which moves a
// result cannot go unnoticed.
//
// One line per experiment, sweep, case, group of collectives and group of commands: what it is, how
// many answers it has, and a hash over all of them in whole picoseconds and bytes, or over the
// numbers that a command answers. A refusal counts as an answer, its sentence does not.
// `./run signature` prints the lines; `./run signature --accept` stores them.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

std::vector<std::string> signature_lines();

}  // namespace sgdsim
