// Questions about collectives, complete, and their answers.
#pragma once

#include <set>

#include "study/collective/collective_point.h"

namespace sgdsim {

// Reads the files that the words name. `given`: the fields that were said. InputError if the
// question is not complete. `wants_messages`: to show them.
void complete(CollectiveArguments& words, const std::set<std::string>& given,
              bool wants_messages = false);

// sgdsim/collective/1, or sgdsim/collective-sweep/1.
Answer answer_collective(const Value& question, const Watch& watch);

}  // namespace sgdsim
