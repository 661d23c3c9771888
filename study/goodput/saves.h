// How a training saves its state: how long that stops it, when a save is safe, and whether that is
// before the next one.
#pragma once

#include "study/goodput/goodput_question.h"

namespace sgdsim {

// The field `save` of a question, whose step and number of steps are known.
void read_save(Object& fields, GoodputQuestion& question);
// InputError where a save is not safe before the next one.
void check_saves(const Value& question, const goodput::Plan& plan);
bool are_safe_in_time(const goodput::Plan& plan);
// From the end of one save to that of the next.
double between_saves_s(const goodput::Plan& plan);

}  // namespace sgdsim
