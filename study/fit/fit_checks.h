// What in a fit a reader should doubt: rows far from all others, constants at their bounds, ranks
// that were placed unlike others.
#pragma once

#include <string>
#include <vector>

#include "study/fit/fit_question.h"

namespace sgdsim {

// Of "4 virtual ranks on one GPU" what other numbers of ranks share: "virtual ranks on one GPU".
std::string placement_kind(const Series& series);
// How many ranks, and where: "4 ranks", "4 virtual ranks on one GPU".
std::string ranks_text(const Series& series);

// Rows whose time is unlike what the others say, found by fitting without them, until they stay the
// same. They stay in the fit: only whoever measured knows whether they are wrong.
std::vector<FarRow> far_rows_of(const Fitted& one, int pieces);

// Warnings about a fit.
std::vector<std::string> doubts_about(const Fitted& one);

}  // namespace sgdsim
