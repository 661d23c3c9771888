// The answer of `sgdsim goodput`, for people and for programs.
#pragma once

#include <iosfwd>

#include "study/goodput/goodput_answer.h"

namespace sgdsim {

Json to_json(const GoodputQuestion& question, const GoodputAnswer& answer);
void print(std::ostream& out, const GoodputQuestion& question, const GoodputAnswer& answer);

}  // namespace sgdsim
