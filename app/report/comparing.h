// What a page needs to say who wins, as the commands do: which results no measurement could tell
// apart, and what is a bound and wins nothing.
#pragma once

#include "app/report/columns.h"

namespace sgdsim {

// {"errors": {axis: {kind of change: error}}, "step_times": [column], "bounds": [strategy],
// "choose_strategy": [axis], "gains": [column of which more is better]}. An axis that changes
// something of which no error is known has none.
Json comparing(const ReportColumns& columns);

}  // namespace sgdsim
