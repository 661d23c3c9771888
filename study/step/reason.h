// Why a step takes as long as it does, for people and for programs.
#pragma once

#include <string>

#include "sim/core/fields.h"
#include "sim/play/result.h"
#include "sim/work/trace.h"

namespace sgdsim {

// {"iterations": 1, "length_us": 12.5, "parts": [{"what": "backward", "layers": [3, 9], ...}]}
Fields fields_of(const CriticalPart& part);
struct Reason {
  int iterations = 0;
  std::vector<CriticalPart> parts = {};
};
Fields fields_of(const Reason& reason);
std::optional<Reason> reason_of(const StepResult& result);  // nothing: nobody asked
Field critical_field(const StepResult* result);             // null: there is none
// "the step is as long as forward (1.2 ms), backward of fc8 to conv5 (0.8 ms) and ...".
std::string reason_text(const StepResult& result, const Trace& trace);

}  // namespace sgdsim
