// Pairs of measured rows, and the errors of their ratios.
#include "study/advise/measured_errors.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {
namespace {

// The suites that have such pairs.
bool has_pairs(const CaseFile& file, ChangeKind kind) {
  switch (kind) {
    case ChangeKind::strategy:
      return file.suite == "ddl_benchmarks_resnet50" || file.suite == "mgwfbp_k80_10gbe";
    case ChangeKind::buckets:
      return file.suite == "ddp_gloo_curve" || file.suite == "ddp_gloo_two_threads";
    case ChangeKind::algorithm:
      return file.suite == "tcp_star";
    case ChangeKind::bandwidth:
      return file.suite == "ddp_gloo_line";
    case ChangeKind::nodes:
      return file.suite == "pytorch_ddp_dgx1";
    default:
      return false;
  }
}

// What two rows of a pair have in common.
std::string common_of(const CaseFile& file, const CaseRow& row, ChangeKind kind) {
  std::string common = kind == ChangeKind::bandwidth ? file.suite : file.file;
  const RowInputs& inputs = row.inputs;
  if (kind == ChangeKind::algorithm)
    return common + '\n' + inputs.operation + '\n' + std::to_string(inputs.ranks.value_or(0)) +
           '\n' + std::to_string(inputs.size_B.value_or(0));
  if (!inputs.set) return common;
  for (const std::string& text : *inputs.set) {
    const bool is_strategy = kind == ChangeKind::strategy || kind == ChangeKind::buckets;
    const bool differs = is_strategy ? text.starts_with("strategy") || text.starts_with("workers")
                                     : kind == ChangeKind::nodes && text.starts_with("cluster.");
    if (!differs) common += '\n' + text;
  }
  return common;
}

bool counts(const CaseRow& row, ChangeKind kind) {
  if (row.use != RowUse::held) return false;
  return kind != ChangeKind::algorithm || row.inputs.operation == "allreduce";
}

}  // namespace

MeasuredErrors errors_of_ratios(std::span<const CaseFile> cases, ChangeKind kind) {
  struct Row {
    std::string common;
    double error = 0;  // logarithm of predicted / measured
  };
  std::vector<Row> rows;
  for (const CaseFile& file : cases) {
    if (!has_pairs(file, kind)) continue;
    for (const CaseRow& row : file.rows)
      if (counts(row, kind))
        rows.push_back(
            {common_of(file, row, kind), std::log(row.predict().time.us() / row.measured.us())});
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (rows[i].common == rows[j].common)
        errors.push_back(std::exp(std::abs(rows[i].error - rows[j].error)) - 1);
  MeasuredErrors answer{kind, static_cast<int>(errors.size()), 0, ""};
  if (errors.empty()) return answer;
  std::sort(errors.begin(), errors.end());
  answer.p90 = errors[std::min(errors.size() - 1, errors.size() * 9 / 10)];
  return answer;
}

}  // namespace sgdsim
