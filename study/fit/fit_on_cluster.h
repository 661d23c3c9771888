// A measured collective as a row of the fit of one link of a cluster, whose other links are known.
//
// Collectives inside and across nodes use several links, each in its own way: cards that ranks
// share, two crossings of the link of the GPU, a message that is the slower of two. So the
// collective is played on the cluster itself, with the link at some constants and a
// little beside them; the slopes are the row. Where they depend on the constants, the fit repeats
// them about its own result (fit_question.cpp).
#pragma once

#include "models/link/from_collective.h"
#include "sim/core/json.h"
#include "sim/net/cluster.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

// Whether rows are read off the cluster: hierarchical collectives, and both fits of --inside.
bool is_fitted_on_cluster(const FitArguments& arguments, const std::string& algorithm);

// Row i of the input, about these constants of the link.
FitRow row_on_cluster(const FitArguments& arguments, const FitInput& input, std::size_t i,
                      const LinkGuess& about);

// The cluster file of --into, with these fields in place of those of the link.
Json with_link(const FitArguments& arguments, const Json& fields);

// The first ranks of a cluster.
Cluster first_ranks(const Cluster& all, int ranks);

}  // namespace sgdsim
