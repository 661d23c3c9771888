// How well the cluster file that a fit becomes predicts the times that were fitted.
//
// A fit knows one link. The file may hold more: cards that several ranks share, other links on the
// way of a message, a box in which most messages stay. So the measured collectives are played on
// the file as `sgdsim collective` would play them.
#pragma once

#include "sim/core/json.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

// The errors of all rows whose ranks the cluster has; what cannot be played, and a cluster that is
// far worse than the fit, become notes of the answer.
PredictionError played_on(const Json& cluster, const FitArguments& arguments, FitAnswer& answer);

}  // namespace sgdsim
