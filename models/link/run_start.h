// The start of a run: what every collective costs once, apart from its messages.
//
// For given pieces the cost is convex in the start, because what is left is least squares under
// bounds; so the start is where the cost's slope passes zero, found by halving.
#pragma once

#include <optional>
#include <vector>

#include "models/link/fit.h"
#include "models/link/least_squares.h"

namespace sgdsim {

// Takes the runs without a message out of the rows.
Sums take_empty_runs(std::vector<FitRow>& rows);

// The cost of all parts together, each with its own constants.
double cost_at_start(const std::vector<Sums>& parts, double start_ps);

// One over the start's variance per unit of error variance, about this start.
double start_information(const std::vector<Sums>& parts, double start_ps);

// The start of least cost. Nothing where it is 0, or where the parts do not tell it from their
// other constants.
std::optional<double> best_start_ps(const std::vector<Sums>& parts);

}  // namespace sgdsim
