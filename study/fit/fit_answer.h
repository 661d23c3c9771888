// A whole fit: inside nodes first where that is asked, then across them, and the file that it
// makes.
#pragma once

#include <optional>

#include "study/answer.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

struct WholeFit {
  FitArguments arguments;  // as they were completed
  std::optional<FitAnswer> inside;
  FitAnswer answer;
};
WholeFit answer_whole_fit(FitArguments arguments);
// What --out holds: a cluster file, or the cost of a collective.
Json file_of(WholeFit& fit);
// sgdsim/fit/1.
Json to_json(const WholeFit& fit);
std::vector<std::string> warnings_of(const WholeFit& fit);

// With the file in the field `file`.
Answer answer_fit(const Value& question, const Watch& watch);

}  // namespace sgdsim
