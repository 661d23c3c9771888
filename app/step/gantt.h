// A timeline as text: lanes of computation and communication, a column per stretch of time.
#pragma once

#include <string>

#include "app/terminal.h"
#include "sim/play/timeline.h"

namespace sgdsim {

// A column shows what fills most of it: F forward, B backward, U update, a message by the last
// digit of its number, P a broadcast of parameters, - waiting for others; as a small letter, or ~
// for messages, where that is less than half of the column or several messages share it.
std::string gantt_text(const Timeline& timeline, const Terminal& terminal);

}  // namespace sgdsim
