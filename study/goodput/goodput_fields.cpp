// Hours and days for people; the account also to the picosecond, which 64 bits do not hold.
#include "study/goodput/goodput_fields.h"

#include <algorithm>
#include <cmath>

#include "study/goodput/plan_formulas.h"
#include "study/goodput/spans.h"

namespace sgdsim {
namespace {

using goodput::LongPs;

double days_of(double seconds) { return seconds / seconds_of_day; }

std::string digits_of(LongPs value) {
  std::string text;
  for (; value > 0 || text.empty(); value /= 10)
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  return text;
}

// ---- what was asked

struct ToldFactor {
  std::string cause = {};
  double factor = 1;
};
Fields fields_of(const ToldFactor& o) {
  return {{"cause", o.cause, "its name"}, {"factor", o.factor, "of the step's time"}};
}

std::vector<ToldFactor> simulated_factors(const FailureSource& source) {
  std::vector<ToldFactor> told;
  for (const FailureCause& cause : source.causes)
    if (cause.is_simulated) told.push_back({cause.name, cause.factor});
  return told;
}

// ---- how long it takes

struct ToldQuantile {
  goodput::Quantile quantile = {};
};
Fields fields_of(const ToldQuantile& o) {
  return {{"days", days_of(o.quantile.value_s), "the value"},
          {"from_days", days_of(o.quantile.from_s), "with 95 %, it is above this"},
          {"to_days", days_of(o.quantile.to_s), "with 95 %, it is below this"}};
}

struct ToldWall {
  double mean_days = 0;
  double standard_error_days = 0;
  double deviation_days = 0;
  ToldQuantile p5 = {};
  ToldQuantile p50 = {};
  ToldQuantile p95 = {};
  LongPs mean = 0;
  std::optional<double> closed_form_days = {};
};
Fields fields_of(const ToldWall& o) {
  return {{"mean_days", o.mean_days, "over the runs; the sum of the account"},
          {"standard_error_days", o.standard_error_days, "of that mean"},
          {"deviation_days", o.deviation_days, "of a run"},
          {"p5", o.p5, "5 % of the runs end before it"},
          {"p50", o.p50, "half of the runs end before it"},
          {"p95", o.p95, "95 % of the runs end before it"},
          {"ps", digits_of(o.mean), "the mean in picoseconds, which do not fit into 64 bits"},
          {"closed_form_days", o.closed_form_days, "the exact mean, where a formula holds"}};
}

// Nothing of no runs, as for a schema.
ToldWall wall_of(const GoodputAnswer& answer) {
  const goodput::Runs& runs = answer.runs;
  ToldWall wall;
  if (runs.walls.empty()) return wall;
  wall = {days_of(goodput::to_s(runs.wall)),
          days_of(runs.standard_error_s()),
          days_of(runs.deviation_s),
          {runs.quantile(0.05)},
          {runs.quantile(0.5)},
          {runs.quantile(0.95)},
          runs.wall,
          {}};
  if (answer.closed_form_s) wall.closed_form_days = days_of(*answer.closed_form_s);
  return wall;
}

struct ToldPart {
  std::string part = {};
  LongPs time = 0;
  double of_wall = 0;
};
Fields fields_of(const ToldPart& o) {
  return {{"part", o.part, "its name"},
          {"h", goodput::to_s(o.time) / seconds_of_hour, "hours, on average"},
          {"of_wall", o.of_wall, "its part of all"},
          {"ps", digits_of(o.time), "the same in picoseconds"}};
}

std::vector<ToldPart> account_of(const goodput::Runs& runs) {
  std::vector<ToldPart> told;
  for (std::size_t i = 0; i < goodput::part_count; ++i)
    told.push_back({std::string(goodput::part_names[i]), runs.account[i],
                    goodput::to_s(runs.account[i]) / goodput::to_s(runs.wall)});
  return told;
}

// ---- advice

// ---- curves

struct ToldProgress {
  goodput::Progress of = {};
};
Fields fields_of(const ToldProgress& o) {
  return {Field("days", days_of(o.of.at_s), "since the start").at_least(0),
          Field("p5", o.of.low, "5 % of the runs are not as far").from(0, 1),
          Field("p50", o.of.middle, "half of them are not as far").from(0, 1),
          Field("p95", o.of.high, "95 % of them are not as far").from(0, 1)};
}

std::vector<ToldProgress> told_progress(const std::vector<goodput::Progress>& progress) {
  std::vector<ToldProgress> told;
  for (const goodput::Progress& one : progress) told.push_back({one});
  return told;
}

std::optional<double> mean_to_failure_h(const GoodputAnswer& answer) {
  if (answer.mean_to_stop_s >= goodput::never_s) return {};
  return answer.mean_to_stop_s / seconds_of_hour;
}

}  // namespace

Fields fields_of(const GoodputQuestion& o) {
  const goodput::Plan& plan = o.plan;
  return {
      {"steps", plan.steps, "how many"},
      {"step_s", plan.step_s, "the time of one"},
      {"work_days", days_of(o.work_s()), "all of them, without failures and saves"},
      {"nodes", o.machine.nodes, "how many"},
      {"gpus", o.gpus(), "how many"},
      {"failures", o.source.name, "their source"},
      {"policy", plan.shrink ? FailurePolicy::shrink : FailurePolicy::restart, "restart or shrink"},
      {"interval_steps", plan.interval, "between saves"},
      {"interval_s", o.interval_s(), "between saves"},
      {"stall_s", plan.stall_s, "of a save"},
      {"durable_s", plan.durable_s, "until it is safe"},
      {"restart_s", plan.restart_s, "in place"},
      {"node_restart_s", plan.node_restart_s, "on a new node"},
      {"detect_s", o.defaults.detect_s, "unless a cause says more"},
      {"repair_s", o.defaults.repair_s, "unless a cause says more"},
      {"runs", o.runs, "that were asked for"},
      {"seed", o.seed, "of what is drawn"},
      {"spares", plan.spares, "nodes"},
      Field("step_from", o.step_from, "where the time of a step comes from").if_any(),
      {"degraded", simulated_factors(o.source), "what slow causes make of a step"}};
}

Fields fields_of(const SparesAnswer& o) {
  return {{"nodes", o.spares, "how many, for the risk"},
          {"risk", o.risk, "that more are down"},
          {"mean_down_nodes", o.mean_down, "on average"}};
}

Fields fields_of(const FormulaAnswer& o) {
  return {{"name", o.name, "whose"},
          {"interval_s", o.interval_s, "the interval that it finds best"},
          {"productive", o.productive, "what it says of productive time; RSC's only"}};
}

Fields fields_of(const Lever& o) {
  return {{"field", o.field, "of the question"},
          {"elasticity", o.elasticity, "by how many % 1 % more of it makes the time longer"},
          {"standard_error", o.error, "of that; 0 where a formula says it"}};
}

Fields fields_of(const SourceAnswer& o) {
  const bool ends = std::isfinite(o.wall_s);
  std::optional<double> days;
  std::optional<double> productive;
  if (ends) {
    days = days_of(o.wall_s);
    productive = o.productive;
  }
  return {{"name", o.name, "the source"},
          {"failures_per_node_day", o.per_node_day, "its rate, of nodes as large as these"},
          {"ends", bool(ends), "whether the training ends"},
          {"mean_days", std::move(days), "when it does"},
          {"productive", std::move(productive), "part of the time"}};
}

Fields fields_of(const GoodputQuestion& question, const GoodputAnswer& answer) {
  const goodput::Runs& runs = answer.runs;
  return {
      answer_kind("sgdsim/goodput/1"),
      {"name", question.name, "of the question"},
      {"question", question, "what was asked, resolved"},
      {"wall", wall_of(answer), "from start to end"},
      {"productive", runs.productive(), "work over wall time: ETTR of a job that has its nodes"},
      {"failures", runs.failures, "that stop the job, on average"},
      {"failures_per_node_day", answer.per_node_day, "that stop the job"},
      {"mean_to_failure_h", mean_to_failure_h(answer), "of the whole job"},
      {"account", account_of(runs), "what every hour was; it adds up to the picosecond"},
      {"interval", answer.interval, "the best interval"},
      {"until", answer.deadline, "the date that was asked about"},
      {"spares", answer.spares, "spare nodes"},
      {"formula", answer.formula, "the approximation that was asked for"},
      {"gpu_hours", answer.cost.gpu_hours, "all GPUs from start to end, those of spares with them"},
      {"cost", answer.cost.money, "in the unit of the prices"},
      {"energy_kWh", answer.cost.kWh, "of the machine and its building"},
      {"carbon_kg", answer.cost.kg, "for that energy"},
      {"levers", answer.levers, "what matters, the strongest first"},
      {"sources", answer.sources,
       "the same training with the failures of other machines, the most reliable first"},
      {"intervals", answer.intervals,
       "when it ends in the mean with other intervals between saves: around the best one, and the "
       "one that was asked"},
      {"progress", told_progress(answer.progress),
       "how far the runs are over time: of all work, what is kept; from the start to the end of "
       "the longest run"},
      {"assumed", question.assumed, "what the question did not say"},
      {"warnings", answer.warnings, "what else must be known"}};
}

Json schema_of_goodputs() { return record_schema(fields_of(GoodputQuestion{}, GoodputAnswer{})); }

}  // namespace sgdsim
