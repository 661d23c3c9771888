// A fit as JSON (sgdsim/fit/1), as a table, and as the files that simulations read.
#pragma once

#include <ostream>
#include <string>

#include "app/fit/fit_question.h"
#include "sim/core/json.h"

namespace sgdsim {

Json to_json(const FitAnswer& answer);
void print_fits(std::ostream& out, const FitAnswer& answer);

// The cluster whose links cost what was fitted: every two ranks have a link of their own.
Json link_cluster(const FitAnswer& answer, const Fit& fit);
// The "collective" of an experiment: the fitted curve, at so many sizes that what lies between is
// right to a tenth of a percent.
Json curve_samples(const FitAnswer& answer);
// A case for sgdsim validate; InputError if nothing was held out.
Json held_out_case(const FitAnswer& answer);

// "allreduce ring, 8 ranks".
std::string label_of(const FitInput& input);

// An HTML page: time against size with the pieces, and the relative errors below.
std::string picture_of(const FitAnswer& answer);

}  // namespace sgdsim
