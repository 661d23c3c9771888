// The files that a fit becomes.
#pragma once

#include "sim/core/json.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

// The cluster whose links cost what was fitted: every two ranks have a link of their own.
Json link_cluster(const FitAnswer& answer, const Fit& fit);
// A cluster file of which one link costs what was fitted. A message that crosses this link several
// times pays an equal part of the start-up at each crossing, and its bytes once.
Json cluster_with_link(const FitArguments& arguments, const FitAnswer& answer);
// The "collective" of an experiment: the fitted curve, at so many sizes that what lies between is
// right to a tenth of a percent.
Json curve_samples(const FitAnswer& answer);
// A case for sgdsim validate; InputError if nothing was held out.
Json held_out_case(const FitAnswer& answer);

}  // namespace sgdsim
