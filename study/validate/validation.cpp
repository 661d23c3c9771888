// Sorting, interpolating and comparing; the predictions themselves are the rows' own.
#include "study/validate/validation.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <map>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

// The value below which `part` of the sorted values lie, between two neighbours if need be.
double quantile(const std::vector<double>& sorted, double part) {
  assert(!sorted.empty());
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 == sorted.size()) return sorted.back();
  return sorted[below] + (sorted[below + 1] - sorted[below]) * (at - static_cast<double>(below));
}

std::vector<RowResult> predict_all(const CaseFile& file, const Watch& watch) {
  std::vector<RowResult> results;
  for (const CaseRow& row : file.rows) {
    watch();
    const Prediction predicted = row.predict();
    const double error_percent = 100 * (predicted.time / row.measured - 1);
    results.push_back({&file, &row, predicted.time, error_percent, predicted.wrong});
    if (predicted.one_worker)
      results.back().scaled_percent = 100 * (*predicted.one_worker / row.measured - 1);
  }
  return results;
}

ErrorSummary summed_up(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::vector<double> absolute;
  for (const double error : errors) absolute.push_back(std::abs(error));
  std::sort(errors.begin(), errors.end());
  std::sort(absolute.begin(), absolute.end());
  return {.rows = errors.size(),
          .median = quantile(absolute, 0.5),
          .p90 = quantile(absolute, 0.9),
          .max = absolute.back(),
          .signed_median = quantile(errors, 0.5)};
}

Judged judge(std::vector<RowResult> rows) {
  std::map<std::pair<RowUse, std::string>, std::vector<RowResult>> groups;
  std::vector<RowResult> held;
  for (const RowResult& result : rows) {
    groups[{result.row->use, result.row->label}].push_back(result);
    if (result.row->use == RowUse::held) held.push_back(result);
  }
  Judged judged;
  for (const auto& [key, group] : groups)
    judged.labels.push_back({key.second, key.first, summary_of(group)});
  judged.held = summary_of(held);
  judged.perfect_scaling = perfect_scaling_of(held);
  judged.rows = std::move(rows);
  return judged;
}

void compare(double percent, double tolerated, const std::string& what,
             std::vector<std::string>& breaches) {
  if (percent > tolerated)
    breaches.push_back(what + " is " + percent_text(percent) + " %, above the tolerance of " +
                       percent_text(tolerated) + " %");
}

void finish(SuiteResult& suite) {
  std::vector<RowResult> rows;
  for (const CaseResult& one : suite.cases)
    rows.insert(rows.end(), one.judged.rows.begin(), one.judged.rows.end());
  suite.judged = judge(std::move(rows));
  const Tolerance& tolerance = suite.tolerance;
  compare(suite.judged.held.median, tolerance.median_percent, "the median error", suite.breaches);
  compare(suite.judged.held.p90, tolerance.p90_percent, "the 90th percentile", suite.breaches);
  for (const LabelResult& label : suite.judged.labels)
    if (label.use == RowUse::held)
      compare(label.errors.median, tolerance.per_label_median_percent,
              "the median error of " + label.label, suite.breaches);
  if (tolerance.max_percent)
    compare(suite.judged.held.max, *tolerance.max_percent, "the largest error", suite.breaches);
  for (const RowResult& result : suite.judged.rows)
    if (result.row->use == RowUse::held && !result.wrong.empty())
      suite.breaches.push_back(result.file->name + ", " + result.row->label + ", " +
                               result.row->point + ": " + result.wrong);
  const CaseFile& first = *suite.cases.front().file;
  if (!suite.breaches.empty() && suite.cases.size() == 1 && first.name != suite.name)
    suite.breaches.push_back("the tolerance is that of all cases of the suite \"" + suite.name +
                             "\" together, and only " + first.name +
                             " is here; give the files of all of them");
}

SuiteResult& suite_for(const CaseFile& file, std::vector<SuiteResult>& suites) {
  const auto found = std::find_if(suites.begin(), suites.end(),
                                  [&](const auto& suite) { return suite.name == file.suite; });
  if (found == suites.end()) {
    SuiteResult& suite = suites.emplace_back();
    suite.name = file.suite;
    suite.tolerance = file.tolerance;
    return suite;
  }
  for (const CaseResult& other : found->cases)
    if (other.file->name == file.name)
      throw InputError(file.file,
                       "the case \"" + file.name + "\" was already read from " + other.file->file);
  if (file.tolerance != found->tolerance)
    throw InputError(file.file + ": /tolerance",
                     "differs from that of " + found->cases.front().file->file +
                         ", but cases of one suite are judged together");
  return *found;
}

}  // namespace

ErrorSummary summary_of(const std::vector<RowResult>& rows) {
  std::vector<double> errors;
  for (const RowResult& result : rows) errors.push_back(result.error_percent);
  return summed_up(std::move(errors));
}

ErrorSummary perfect_scaling_of(const std::vector<RowResult>& rows) {
  std::vector<double> errors;
  for (const RowResult& result : rows)
    if (result.scaled_percent) errors.push_back(*result.scaled_percent);
  return summed_up(std::move(errors));
}

std::vector<SuiteResult> validate(std::span<const CaseFile> files, const Watch& watch) {
  std::vector<SuiteResult> suites;
  for (const CaseFile& file : files)
    suite_for(file, suites).cases.push_back({&file, judge(predict_all(file, watch))});
  for (SuiteResult& suite : suites) finish(suite);
  return suites;
}

bool within_tolerance(const std::vector<SuiteResult>& suites) {
  return std::all_of(suites.begin(), suites.end(),
                     [](const SuiteResult& suite) { return suite.breaches.empty(); });
}

std::string percent_text(double percent) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.2f", percent);
  return buffer.data();
}

}  // namespace sgdsim
