// Causes that strike at random, and what they do in the long run.
#include "study/goodput/plan_formulas.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "study/goodput/saves.h"

namespace sgdsim {
namespace {

using goodput::Effect;

bool strikes_at_random(const goodput::Cause& cause, Effect effect) {
  return cause.effect == effect && is_at_random(cause);
}

// Saves between a corruption and its detection: a whole number, or one more where it begins late in
// an interval.
double saves_until_detected(const goodput::Plan& plan, const goodput::Cause& cause) {
  return cause.detect_s / between_saves_s(plan);
}

// How likely all saves that are kept are later than such a corruption.
double part_beyond_saves(const goodput::Plan& plan, const goodput::Cause& cause) {
  const double saves = saves_until_detected(plan, cause);
  const auto kept = static_cast<double>(plan.keep);
  return plan.keep == 0 ? 0. : std::clamp(saves - (kept - 1), 0., 1.);
}

}  // namespace

// A rate of 0 is one that never strikes, of however many units.
bool is_at_random(const goodput::Cause& cause) {
  return cause.at_s.empty() && cause.mean_s < goodput::never_s;
}

double mean_to_stop_s(const goodput::Plan& plan) {
  double rate = 0;
  for (const goodput::Cause& cause : plan.causes)
    if (cause.effect != Effect::slow && is_at_random(cause)) rate += cause.rate();
  return rate > 0 ? std::min(1 / rate, goodput::never_s) : goodput::never_s;
}

double mean_between_stops_s(const goodput::Plan& plan) {
  double recorded = 0;  // rate
  for (const goodput::Cause& cause : plan.causes) {
    if (cause.effect == Effect::slow || cause.at_s.empty()) continue;
    const double last = *std::max_element(cause.at_s.begin(), cause.at_s.end());
    if (last > 0) recorded += static_cast<double>(cause.at_s.size()) / last;
  }
  const double by_law = mean_to_stop_s(plan);
  return recorded > 0 ? 1 / (1 / by_law + recorded) : by_law;
}

// Causes that take as many nodes along are one, with the mean of their repairs.
NodesDown nodes_down_of(const goodput::Plan& plan) {
  struct Sum {
    double rate = 0;
    double down = 0;  // at a time, were they not as many as there are
  };
  std::map<int64_t, Sum, std::greater<>> by_nodes;
  Sum all;  // nodes
  for (const goodput::Cause& cause : plan.causes) {
    if (!strikes_at_random(cause, Effect::stop) || !cause.needs_node) continue;
    const auto nodes = static_cast<double>(cause.nodes);
    Sum& sum = by_nodes[cause.nodes];
    sum.rate += cause.rate();
    sum.down += cause.rate() * cause.repair_s;
    all.rate += cause.rate() * nodes;
    all.down += cause.rate() * nodes * cause.repair_s;
  }
  NodesDown down;
  for (const auto& [nodes, sum] : by_nodes) {
    if (sum.down <= 0) continue;
    const int64_t units = std::max<int64_t>(1, (plan.nodes + nodes - 1) / nodes);
    const double repair_s = sum.down / sum.rate;
    const double part = goodput::part_down(sum.rate / static_cast<double>(units), repair_s);
    down.outages.push_back({nodes, units, part});
    down.mean += part * static_cast<double>(units * nodes);
  }
  if (all.rate > 0) down.repair_s = all.down / all.rate;
  return down;
}

// What is so in the long run holds for work of several repairs.
bool waits_for_ever(const goodput::Plan& plan) {
  constexpr double repairs_of_long_work = 3;
  if (!plan.spares || plan.shrink) return false;
  const NodesDown down = nodes_down_of(plan);
  if (plan.work_s() < repairs_of_long_work * down.repair_s) return false;
  const double runs = 1 - goodput::nodes_down_above(down.outages, *plan.spares);
  return runs < 1 / most_wall_per_work;
}

goodput::Downtimes downtimes_of(const goodput::Plan& plan) {
  goodput::Downtimes down;
  down.can_fail = plan.can_fail;
  const double mean = mean_to_stop_s(plan);
  for (const goodput::Cause& cause : plan.causes) {
    if (strikes_at_random(cause, Effect::stop))
      down.parts_and_times.emplace_back(
          cause.rate() * mean,
          cause.detect_s + (cause.needs_node ? plan.node_restart_s : plan.restart_s));
    if (!strikes_at_random(cause, Effect::corrupt)) continue;
    down.safe_time += cause.rate() * mean * (cause.detect_s + plan.restart_s);
  }
  return down;
}

int64_t saves_to_keep(const goodput::Plan& plan) {
  double most = 0;
  for (const goodput::Cause& cause : plan.causes)
    if (cause.effect == Effect::corrupt)
      most = std::max(most, std::ceil(saves_until_detected(plan, cause)));
  return static_cast<int64_t>(std::min(most, static_cast<double>(plan.steps))) + 1;
}

// What is older than all saves throws all work away, so that the whole of it must go well at once.
double lost_works(const goodput::Plan& plan) {
  double rate = 0;
  for (const goodput::Cause& cause : plan.causes)
    if (strikes_at_random(cause, Effect::corrupt))
      rate += cause.rate() * part_beyond_saves(plan, cause);
  return rate * plan.work_s() * (1 + plan.stall_s / plan.interval_s());
}

bool loses_all_too_often(const goodput::Plan& plan) {
  const double lost = lost_works(plan);
  return lost > 0 && !(std::expm1(lost) / lost <= most_wall_per_work);
}

bool has_closed_form(const goodput::Plan& plan) {
  return !plan.shrink && !plan.spares && plan.store_every == 0 && plan.planned_every_s == 0 &&
         std::all_of(plan.causes.begin(), plan.causes.end(), [](const goodput::Cause& cause) {
           return cause.effect == Effect::stop && cause.shape == 1 && cause.at_s.empty();
         });
}

double closed_form_s(const goodput::Plan& plan) {
  return goodput::expected_wall(plan.work_s(), plan.interval_s(), {plan.stall_s, plan.durable_s},
                                downtimes_of(plan), mean_to_stop_s(plan));
}

double mean_stall_s(const goodput::Plan& plan) {
  if (plan.store_every == 0) return plan.stall_s;
  return plan.stall_s + plan.store_stall_s / static_cast<double>(plan.store_every);
}

double repeats_for_lost_saves(const goodput::Plan& plan) {
  const double lost = lost_works(plan);
  return lost > 0 ? std::expm1(lost) / lost : 1;
}

namespace {

// Intervals from one on that reach back further with as many saves: even steps of a factor, and
// those from which on a kind of corruption is never older than all that are kept.
std::vector<double> longer_intervals(const goodput::Plan& plan, double from) {
  constexpr int tried = 64;
  const auto steps = static_cast<double>(plan.steps);
  std::vector<double> longer;
  for (int i = 1; i <= tried; ++i)
    longer.push_back(std::ceil(from * std::pow(steps / from, static_cast<double>(i) / tried)));
  if (plan.keep > 1)
    for (const goodput::Cause& cause : plan.causes)
      if (cause.effect == Effect::corrupt)
        longer.push_back(std::ceil(
            (cause.detect_s / static_cast<double>(plan.keep - 1) - plan.stall_s) / plan.step_s));
  std::erase_if(longer, [&](double one) { return one <= from || one > steps; });
  return longer;
}

}  // namespace

int64_t best_interval_steps(const goodput::Plan& plan) {
  const double mean = mean_between_stops_s(plan);
  const auto steps = static_cast<double>(plan.steps);
  const double best = goodput::best_interval(mean_stall_s(plan), mean) / plan.step_s;
  const goodput::Downtimes down = downtimes_of(plan);
  const auto wall = [&](double interval) {
    return goodput::wall_per_work(interval * plan.step_s, {mean_stall_s(plan), plan.durable_s},
                                  down, mean);
  };
  const double least = std::ceil(least_interval_s(plan) / plan.step_s);
  const double below =
      std::clamp(std::floor(best), std::max(1., least), std::max(1., std::max(least, steps)));
  const double chosen = wall(below) <= wall(below + 1) ? below : below + 1;
  const auto with = [&](double interval) {
    goodput::Plan other = plan;
    other.interval = static_cast<int64_t>(interval);
    return wall(interval) * repeats_for_lost_saves(other);
  };
  double best_of_all = std::min(chosen, steps);
  goodput::Plan usual = plan;
  usual.interval = static_cast<int64_t>(best_of_all);
  if (lost_works(usual) > 0) {
    double least_wall = with(best_of_all);
    for (const double interval : longer_intervals(plan, best_of_all))
      if (const double its = with(interval); its < least_wall) {
        least_wall = its;
        best_of_all = interval;
      }
  }
  return static_cast<int64_t>(best_of_all);
}

// What must go well in one piece, and how often something fails meanwhile.
double wall_per_work_of(const goodput::Plan& plan) {
  const double mean = mean_to_stop_s(plan);
  if (plan.shrink)  // only the stall of all must end
    return mean > 0 ? std::exp(plan.shrink->stall_s / mean) : most_wall_per_work * 2;
  return goodput::wall_per_work(plan.interval_s(), {plan.stall_s, plan.durable_s},
                                downtimes_of(plan), mean);
}

bool fails_too_often(const goodput::Plan& plan) {
  const double without_failures = plan.shrink ? 1 : 1 + plan.stall_s / plan.interval_s();
  return !(wall_per_work_of(plan) <= most_wall_per_work * without_failures);
}

bool can_save_and_end(const goodput::Plan& plan) {
  return are_safe_in_time(plan) && !waits_for_ever(plan) && !fails_too_often(plan) &&
         !loses_all_too_often(plan);
}

}  // namespace sgdsim
