// Profiles of PyTorch where a trace is expected.
#pragma once

#include <string>

#include "sim/work/trace.h"

namespace sgdsim {

// Whether a file is such a profile, by its beginning: it may be large, and compressed.
bool is_profile(const std::string& file);
// The trace of one rank's profile; the bytes of a bucket are divided among its gradients.
Trace trace_of_profile(const std::string& file);
// "nccl_data" of "a/nccl_data.json.gz".
std::string name_of_profile(const std::string& file);

}  // namespace sgdsim
