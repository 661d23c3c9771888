// What the signature asks the program itself: commands whose numbers are hashed. They go in by the
// command line, so that a change of the code behind it needs no change here.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

// A group of commands makes one line of the signature.
struct SignatureGroup {
  std::string name;
  std::vector<std::vector<std::string>> commands;
};

std::vector<SignatureGroup> signature_groups();

}  // namespace sgdsim
