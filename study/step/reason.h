// Why a step takes as long as it does, for people and for programs.
#pragma once

#include <string>

#include "sim/core/json.h"
#include "sim/play/result.h"
#include "sim/work/trace.h"

namespace sgdsim {

// {"iterations": 1, "length_us": 12.5, "parts": [{"what": "backward", "layers": [3, 9], ...}]}
Json reason_json(const StepResult& result);
// "the step is as long as forward (1.2 ms), backward of fc8 to conv5 (0.8 ms) and ...".
std::string reason_text(const StepResult& result, const Trace& trace);

}  // namespace sgdsim
