// The answer of `sgdsim diagnose` for people.
#pragma once

#include <iosfwd>

#include "app/diagnose/heat_map.h"
#include "app/terminal.h"
#include "study/diagnose/diagnose_answer.h"

namespace sgdsim {

HeatMap heat_map_of(const DiagnoseAnswer& answer);
void print(std::ostream& out, const DiagnoseAnswer& answer, const Terminal& terminal);

}  // namespace sgdsim
