// What tables and JSON of layouts have in common.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "study/layout/layout_output.h"
#include "study/layout/step_residuals.h"

namespace sgdsim {

// By how much published steps of such models were off.
inline const StepResiduals& residuals_of(const LayoutQuestion& question) {
  return step_residuals(question.plays(), class_of(parameters_of(question.model).total,
                                                   question.model.experts.has_value()));
}

inline std::vector<std::string> beyond(const LayoutQuestion& question, const LayoutLine& line) {
  return beyond_published(question.model, line.found.layout, question.space.sequence);
}

// What lies under something else, by the part of the step that it would lengthen.
struct HiddenPart {
  const char* key;
  double HiddenParts::*hidden;
  double StepParts::*part;
  bool is_rare = false;  // told only where there is some
};
inline constexpr std::array<HiddenPart, 5> hidden_parts{
    {{"context_us", &HiddenParts::context, &StepParts::context},
     {"expert_us", &HiddenParts::expert, &StepParts::expert},
     {"sends_us", &HiddenParts::sends, &StepParts::sends},
     {"data_us", &HiddenParts::data, &StepParts::data},
     {"offload_us", &HiddenParts::offload, &StepParts::offload, true}}};

}  // namespace sgdsim
