// How a training saves its state: how long that stops it, and when the save is safe.
#pragma once

#include "study/goodput/goodput_question.h"

namespace sgdsim {

// The field `save` of a question, whose step and number of steps are known.
void read_save(Object& fields, GoodputQuestion& question);

}  // namespace sgdsim
