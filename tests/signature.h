// The signature: a hash of the times of everything that ships, so that a change which moves a
// result cannot go unnoticed.
//
// One line per experiment, sweep, case, group of collectives and group of commands: what it is, how
// many answers it has, and a hash over all of them in whole picoseconds and bytes, or over the
// numbers that a command answers. A refusal counts as an answer, its sentence does not.
// `./run signature` prints the lines; `./run signature --accept` stores them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sgdsim {

// Each gives a line.
std::vector<std::function<std::string()>> signature_questions();

// Commands whose numbers are hashed, signature_commands.cpp: they go in by the command line, so
// that a change of the code behind it needs no change here. A group makes one line.
struct SignatureGroup {
  std::string name;
  std::vector<std::vector<std::string>> commands;
};
std::vector<SignatureGroup> signature_groups();

}  // namespace sgdsim
