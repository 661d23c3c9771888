// `sgdsim import kineto FILE...`: a trace, and a case that replays the recorded step.
#pragma once

#include <string>
#include <vector>

#include "app/commands.h"

namespace sgdsim {

void add_kineto_import(CLI::App& import, Streams streams);
// Without any other option.
void import_profiles(const std::vector<std::string>& files, const std::string& out,
                     const std::string& name, bool force, Streams streams);

}  // namespace sgdsim
