// `sgdsim import kineto FILE...`: a trace, and a case that replays the recorded step.
#pragma once

#include <string>
#include <vector>

#include "app/commands.h"
#include "sim/work/trace.h"

namespace sgdsim {

void add_kineto_import(CLI::App& import, Streams streams);
// Without any other option.
void import_profiles(const std::vector<std::string>& files, const std::string& out,
                     const std::string& name, bool force, Streams streams);
// Whether a file is such a profile, by its beginning: it may be large, and compressed.
bool is_profile(const std::string& file);
// The trace of one rank's profile; the bytes of a bucket are divided among its gradients.
Trace trace_of_profile(const std::string& file);

}  // namespace sgdsim
