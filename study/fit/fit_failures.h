// `sgdsim fit` of a log of failures: rates of causes with intervals, the shape of their law, units
// that fail too often, and a file of failures for `sgdsim goodput`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "models/goodput/failure_statistics.h"
#include "sim/core/json.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

struct CauseFit {
  std::string name;
  int64_t failures = 0;
  double per_day = 0;  // of one unit
  goodput::Interval per_day_interval;
  std::optional<goodput::WeibullFit> law;
  std::optional<double> down_mean_s;
  std::optional<double> down_median_s;
};

struct FailureFit {
  FailureRecord record;
  std::vector<CauseFit> causes;  // the most frequent first
  CauseFit all;                  // any of them
  goodput::Lemons lemons;
  goodput::Bursts bursts;
  std::string name;
};

// Whether the files are a log of failures rather than measurements. Standard input and pipes are
// none.
bool is_of_failures(const FitArguments& arguments);
FailureFit fit_failures(const FitArguments& arguments);
// sgdsim/failure-fit/1.
Json to_json(const FailureFit& fit);
Json schema_of_failure_fits();
// sgdsim/failures/1.
Json file_of(const FailureFit& fit);
void print(std::ostream& out, const FailureFit& fit);

}  // namespace sgdsim
