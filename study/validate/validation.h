// Predicted against measured: errors of rows, of labels, of suites, and whether they are tolerable.
//
// The error of a row is predicted / measured - 1, in percent; medians and percentiles are of its
// absolute value, with linear interpolation between the two nearest rows. A suite is within its
// tolerance if the median and the 90th percentile over all its held rows are, and the median of
// each label, if the largest error is where the tolerance names one, and if every held row has the
// messages that were measured. Rows that are not held are shown and decide nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/validate/case_file.h"
#include "study/watch.h"

namespace sgdsim {

struct RowResult {
  const CaseFile* file = nullptr;
  const CaseRow* row = nullptr;
  Duration predicted;
  double error_percent = 0;
  std::string wrong;                          // as in the prediction
  std::optional<double> scaled_percent = {};  // the error of perfect scaling
};

// In percent. All but `signed_median` are of absolute errors.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double p90 = 0;
  double max = 0;
  double signed_median = 0;  // above 0: predicted too long
};
ErrorSummary summary_of(const std::vector<RowResult>& rows);
// Of the rows that are whole steps, as if each took what one worker takes: what a prediction has to
// beat.
ErrorSummary perfect_scaling_of(const std::vector<RowResult>& rows);

struct LabelResult {
  std::string label;
  RowUse use = RowUse::held;
  ErrorSummary errors;
};

// A case, or all cases of a suite.
struct Judged {
  std::vector<RowResult> rows;      // in the order of the files
  std::vector<LabelResult> labels;  // by use, then alphabetical
  ErrorSummary held;
  ErrorSummary perfect_scaling;  // of the held rows
};

struct CaseResult {
  const CaseFile* file = nullptr;
  Judged judged;
};

struct SuiteResult {
  std::string name;
  Tolerance tolerance;
  std::vector<CaseResult> cases;
  Judged judged;
  std::vector<std::string> breaches;  // sentences; empty: within tolerance
};

// In the order in which suites occur. InputError if a row cannot be predicted, a case is given
// twice, or cases of one suite disagree about the tolerance. The result points into `files`.
std::vector<SuiteResult> validate(std::span<const CaseFile> files, const Watch& watch = {});

bool within_tolerance(const std::vector<SuiteResult>& suites);

// "1.50": a percentage as tables show it.
std::string percent_text(double percent);

}  // namespace sgdsim
