// Pairs of measured rows, and the errors of their ratios.
#include "app/advise/measured_errors.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sgdsim {
namespace {

constexpr std::array<MeasuredErrors, 5> known{{
    {ChangeKind::strategy, 18, 0.162558, "steps of ResNet-50 on 16 GPUs under four schedules"},
    {ChangeKind::buckets, 135, 0.0326173,
     "steps with DDP's buckets of several sizes on 2 to 8 hosts"},
    {ChangeKind::algorithm, 972, 0.0415401,
     "single all-reduces on 2 to 8 hosts, not of whole steps"},
    {ChangeKind::bandwidth, 18, 0.0139941, "steps with DDP over 100 and 200 Mbit/s"},
    {ChangeKind::nodes, 24, 0.025605, "steps with DDP on 2 to 16 GPUs"},
}};

// The suites that have such pairs.
bool has_pairs(const CaseFile& file, ChangeKind kind) {
  switch (kind) {
    case ChangeKind::strategy:
      return file.suite == "ddl_benchmarks_resnet50";
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
  if (kind == ChangeKind::algorithm) {
    for (const char* field : {"operation", "ranks", "size_B"})
      common += '\n' + row.inputs.value(field, Json()).dump();
    return common;
  }
  const Json settings = row.inputs.value("set", Json::array());
  for (const Json& setting : settings) {
    const std::string text = setting.get<std::string>();
    const bool is_strategy = kind == ChangeKind::strategy || kind == ChangeKind::buckets;
    const bool differs = is_strategy ? text.starts_with("strategy") || text.starts_with("workers")
                                     : kind == ChangeKind::nodes && text.starts_with("cluster.");
    if (!differs) common += '\n' + text;
  }
  return common;
}

bool counts(const CaseRow& row, ChangeKind kind) {
  if (row.use != RowUse::held) return false;
  return kind != ChangeKind::algorithm || row.inputs.value("operation", "") == "allreduce";
}

}  // namespace

const MeasuredErrors* measured_errors(ChangeKind kind) {
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const MeasuredErrors& one) { return one.kind == kind; });
  return found == known.end() ? nullptr : &*found;
}

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
