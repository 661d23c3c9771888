// "Which layout is the fastest that fits?" and "what does this one cost?": from words to answers.
#pragma once

#include "study/answer.h"
#include "study/layout/layout_output.h"
#include "study/layout/layout_words.h"

namespace sgdsim {

struct AnsweredLayouts {
  LayoutQuestion question;
  LayoutAnswer answer;
};

// `wants_slices`: when every GPU of the one layout did what. Throws StuckStep.
AnsweredLayouts answer_layouts(const LayoutWords& asked, bool wants_slices, Stopper& stopper);

// sgdsim/layout-result/1, or with `axis` a list of sgdsim/layout-point/1.
Answer answer_layout(const Value& question, const Watch& watch);

}  // namespace sgdsim
