// Questions about collectives as a file: what `sgdsim collective --sweep` asks in words.
#pragma once

#include <set>
#include <string>

#include "app/collective/collective_options.h"

namespace sgdsim {

// `given`: options of the command line, which win over the file's fields.
void read_collective_file(const std::string& file, const std::set<std::string>& given,
                          CollectiveArguments& arguments);

}  // namespace sgdsim
