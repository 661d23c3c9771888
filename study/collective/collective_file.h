// Questions about collectives as a file: what `sgdsim collective --sweep` asks in words.
#pragma once

#include <set>
#include <string>

#include "study/collective/collective_options.h"

namespace sgdsim {

Json schema_of_collective_questions();
// `given`: fields that were said beside it, which win over the file's.
void read_collective_file(const std::string& file, const std::set<std::string>& given,
                          CollectiveArguments& arguments);

}  // namespace sgdsim
