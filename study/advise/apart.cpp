// Errors by kind of change, and the fields that make a change of that kind.
#include "study/advise/apart.h"

#include <algorithm>
#include <array>
#include <optional>

#include "study/table.h"
#include "study/tie.h"

namespace sgdsim {
namespace {

constexpr std::array<MeasuredErrors, 5> known_errors{{
    {ChangeKind::strategy, 36, 0.12061,
     "steps of two networks on 2 to 16 GPUs under three or four schedules"},
    {ChangeKind::buckets, 135, 0.0326173,
     "steps with DDP's buckets of several sizes on 2 to 8 hosts"},
    {ChangeKind::algorithm, 972, 0.039456,
     "single all-reduces on 2 to 8 hosts, not of whole steps"},
    {ChangeKind::bandwidth, 18, 0.0139941, "steps with DDP over 100 and 200 Mbit/s"},
    {ChangeKind::nodes, 24, 0.025605, "steps with DDP on 2 to 16 GPUs"},
}};

std::optional<ChangeKind> kind_of(const std::string& field) {
  if (is_strategy_field(field)) return ChangeKind::strategy;
  if (field.starts_with("strategy.")) return ChangeKind::buckets;
  if (field == "collective" || field == "collective.algorithm") return ChangeKind::algorithm;
  if (field == "cluster.nodes") return ChangeKind::nodes;
  const bool is_link = field.starts_with("cluster.");
  if (is_link && (field.ends_with(".bandwidth") || field.ends_with(".per_byte")))
    return ChangeKind::bandwidth;
  return std::nullopt;
}

}  // namespace

const MeasuredErrors* measured_errors(ChangeKind kind) {
  const auto found = std::find_if(known_errors.begin(), known_errors.end(),
                                  [&](const MeasuredErrors& one) { return one.kind == kind; });
  return found == known_errors.end() ? nullptr : &*found;
}

bool is_strategy_field(const std::string& field) {
  return field == "strategy" || field == "strategy.name";
}

const MeasuredErrors* errors_of_field(const std::string& field) {
  const auto kind = kind_of(field);
  return kind ? measured_errors(*kind) : nullptr;
}

bool is_step_time(const std::string& column) {
  return column.starts_with("metrics.iteration_us") || column == "iteration_ps" ||
         column == "total_ps";
}

bool Apart::is_as_good(double value, double best) const {
  return is_tie(value, best) || (error > 0 && value <= best * (1 + error));
}

Apart apart_by(const std::vector<std::string>& fields, const std::string& objective) {
  Apart apart;
  if (!is_step_time(objective)) return {0, "only errors of iteration times were measured"};
  std::vector<const MeasuredErrors*> seen;
  double error = 1;
  for (const std::string& field : fields) {
    const MeasuredErrors* errors = errors_of_field(field);
    if (errors == nullptr) return {0, "no measured steps differ in " + field};
    if (std::find(seen.begin(), seen.end(), errors) != seen.end()) continue;
    seen.push_back(errors);
    error *= 1 + errors->p90;
    apart.of += (apart.of.empty() ? "" : "; ") + std::to_string(errors->pairs) + " pairs of " +
                std::string(errors->of);
  }
  apart.error = error - 1;
  return apart;
}

std::string as_good_within(double error) {
  if (error <= 0) return "";
  return " (within " + rounded(100 * error, 3) + " %, the error of such predictions)";
}

std::string error_text(const Apart& apart) {
  return rounded(100 * apart.error, 3) + " % (" + apart.of + ")";
}

}  // namespace sgdsim
