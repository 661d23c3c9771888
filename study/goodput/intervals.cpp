// The exact formula's best interval, and steps of a factor around it.
#include "study/goodput/intervals.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "study/goodput/plan_formulas.h"
#include "study/goodput/saves.h"
#include "study/goodput/spans.h"

namespace sgdsim {
namespace {

constexpr double flat_factor = 1.01;
constexpr int intervals_on_each_side = 8;  // of the best one, a factor of 1.41 apart

}  // namespace

namespace {

// The shortest interval at which work that is lost with all saves costs no more than is flat.
double least_reaching_s(const goodput::Plan& plan, const IntervalAdvice& advice) {
  const auto repeats = [&](int64_t interval) {
    goodput::Plan with = plan;
    with.interval = interval;
    return repeats_for_lost_saves(with);
  };
  const double most = flat_factor * repeats(advice.best_steps);
  int64_t too_short = 0;
  int64_t enough = advice.best_steps;
  while (enough - too_short > 1) {
    const int64_t middle = too_short + (enough - too_short) / 2;
    (repeats(middle) <= most ? enough : too_short) = middle;
  }
  return static_cast<double>(enough) * plan.step_s;
}

}  // namespace

std::optional<IntervalAdvice> advise_interval(const goodput::Plan& plan) {
  const double mean = mean_between_stops_s(plan);
  if (mean >= goodput::never_s || plan.shrink) return std::nullopt;
  IntervalAdvice advice;
  advice.best_steps = best_interval_steps(plan);
  advice.best_s = static_cast<double>(advice.best_steps) * plan.step_s;
  const auto [from, to] = goodput::flat_region(
      advice.best_s, flat_factor, {mean_stall_s(plan), plan.durable_s}, downtimes_of(plan), mean);
  // Of whole steps, and not before the last save is durable.
  const double least =
      std::max({plan.step_s, least_interval_s(plan), least_reaching_s(plan, advice)});
  const double most = plan.work_s();
  advice.flat_from_s = std::clamp(from, std::min(least, advice.best_s), advice.best_s);
  advice.flat_to_s = std::clamp(to, advice.best_s, std::max(most, advice.best_s));
  return advice;
}

std::vector<goodput::Plan> plans_with_intervals(const goodput::Plan& plan) {
  std::set<int64_t> tried = {plan.interval};
  const auto best = static_cast<double>(best_interval_steps(plan));
  for (int i = -intervals_on_each_side; i <= intervals_on_each_side; ++i)
    tried.insert(static_cast<int64_t>(
        std::clamp(std::round(best * std::pow(2, i / 2.)), 1., static_cast<double>(plan.steps))));
  std::vector<goodput::Plan> plans;
  for (const int64_t steps : tried) {
    goodput::Plan with = plan;
    with.interval = steps;
    if (can_save_and_end(with)) plans.push_back(std::move(with));
  }
  return plans;
}

Fields fields_of(const IntervalAdvice& o) {
  return {{"best_steps", o.best_steps, "in whole steps"},
          {"best_s", o.best_s, "in seconds"},
          {"flat_from_s", o.flat_from_s, "from here the time is within 1 % of the best"},
          {"flat_to_s", o.flat_to_s, "to here"}};
}

Fields fields_of(const IntervalEnd& o) {
  return {Field("steps", o.steps, "between saves").at_least(1),
          Field("interval_s", o.interval_s, "the same as work").at_least(0),
          Field("days", o.wall_s / seconds_of_day,
                "until it ends, by formula where one holds, else by some of the runs")
              .at_least(0)};
}

}  // namespace sgdsim
