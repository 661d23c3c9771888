// The formulas. expm1 and log1p keep what a difference of nearly equal numbers would lose.
#include "models/goodput/closed_forms.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace sgdsim::goodput {
namespace {

// The chance of exactly `count`.
double poisson_chance(double mean, int64_t count) {
  if (mean <= 0) return count == 0 ? 1 : 0;
  const auto k = static_cast<double>(count);
  return std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
}

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

double binomial_chance(int64_t trials, double probability, int64_t count) {
  const auto n = static_cast<double>(trials);
  const auto k = static_cast<double>(count);
  return std::exp(log_choose(n, k) + k * std::log(probability) +
                  (n - k) * std::log1p(-probability));
}

// The sum of chance(k) for k > count, or one less that of the others, whichever is the smaller
// tail: terms that fall to nothing end it.
template <class Chance>
double sum_above(int64_t count, int64_t last, double mean, const Chance& chance) {
  if (count >= last) return 0;
  if (count < 0) return 1;
  double sum = 0;
  if (static_cast<double>(count) + 1 >= mean) {
    for (int64_t k = count + 1; k <= last; ++k) {
      const double term = chance(k);
      sum += term;
      if (term <= sum * 1e-18) break;
    }
    return std::min(sum, 1.);
  }
  for (int64_t k = count; k >= 0; --k) {
    const double term = chance(k);
    sum += term;
    if (term <= sum * 1e-18) break;
  }
  return std::max(0., 1 - sum);
}

// The end of the interval that `is_flat` holds in, between one where it does and one where it does
// not.
template <class Holds>
double edge(double inside, double outside, const Holds& is_flat) {
  for (int i = 0; i < 200 && inside != outside; ++i) {
    const double middle = inside + (outside - inside) / 2;
    (is_flat(middle) ? inside : outside) = middle;
  }
  return inside;
}

}  // namespace

double young_interval(double save, double mean_to_failure) {
  return std::sqrt(2 * save * mean_to_failure);
}

double daly_interval(double save, double mean_to_failure) {
  const double part = save / (2 * mean_to_failure);
  if (part >= 1) return mean_to_failure;
  return young_interval(save, mean_to_failure) * (1 + std::sqrt(part) / 3 + part / 9) - save;
}

// With y = tau/M and x = save/M the derivative is zero where y + exp(-(y + x)) = 1, which is
// Lambert's equation for y - 1. Newton's method on it converges from above, and keeps the small
// y that 1 + W0 would lose to rounding.
double best_interval(double save, double mean_to_failure) {
  const double x = save / mean_to_failure;
  if (!(x > 0)) return 0;
  double y = std::min(1., std::sqrt(2 * x));
  for (int i = 0; i < 100; ++i) {
    const double slope = -std::expm1(-(y + x));
    const double next = y - (y - slope) / slope;
    if (!(std::abs(next - y) > 1e-16 * y)) break;
    y = next;
  }
  return y * mean_to_failure;
}

// A failure while it is down makes it wait for its own restart, too: it is up again when none is
// under way any more, which is the busy period of M/G/infinity. With p_k and R_k the parts and
// times, M + mean = M exp(sum(p_k R_k) / M).
double Downtimes::mean(double mean_to_failure) const {
  double sum = 0;
  for (const auto& [part, time] : parts_and_times) sum += part * time;
  if (!can_fail) return sum + safe_time;
  return mean_to_failure * std::expm1(sum / mean_to_failure) + safe_time;
}

double wall_per_work(double interval, const SaveTimes& save, const Downtimes& down,
                     double mean_to_failure) {
  const double M = mean_to_failure;
  return (M + down.mean(M)) * std::exp(save.durable / M) * std::expm1((interval + save.stall) / M) /
         interval;
}

// A save is durable `durable` after its stall, and so is the end. From one durable save to the
// next a run that fails starts again from the former: e^{durable/M} (M + R)(e^{length/M} - 1) by
// the memory that an exponential law has not. Only the first has no save in flight before it.
double expected_wall(double work, double interval, const SaveTimes& save, const Downtimes& down,
                     double mean_to_failure) {
  assert(work > 0 && interval > 0);
  const double M = mean_to_failure;
  const double count = std::max(1., std::ceil(work / interval - 1e-9));
  const double last = work - (count - 1) * interval + save.stall;
  const double first = count > 1 ? interval + save.stall : last;
  const double up = M + down.mean(M);
  double wall = up * std::expm1((first + save.durable) / M);
  if (count < 2) return wall;
  const double waits = std::exp(save.durable / M);
  wall += (count - 2) * up * waits * std::expm1(first / M);
  return wall + up * waits * std::expm1(last / M);
}

std::pair<double, double> flat_region(double best, double factor, const SaveTimes& save,
                                      const Downtimes& down, double mean_to_failure) {
  const double least = wall_per_work(best, save, down, mean_to_failure);
  const auto is_flat = [&](double interval) {
    return wall_per_work(interval, save, down, mean_to_failure) <= factor * least;
  };
  double above = best;
  while (is_flat(above *= 2) && above < 1e6 * best) {
  }
  return {edge(best, 0, is_flat), edge(best, above, is_flat)};
}

double mean_lost(double attempt, double mean_to_failure) {
  return mean_to_failure - attempt / std::expm1(attempt / mean_to_failure);
}

MeanDeviation interval_time(double attempt, double restart, double mean_to_failure) {
  const double failures = std::expm1(attempt / mean_to_failure);
  const double q = failures + 1;
  const double lost = mean_lost(attempt, mean_to_failure);
  const double spread =
      mean_to_failure * mean_to_failure - attempt * attempt * q / (failures * failures);
  const double each = lost + restart;
  return {attempt + failures * each, std::sqrt(failures * spread + q * failures * each * each)};
}

MeanDeviation intervals_time(double count, double attempt, double restart, double mean_to_failure) {
  const MeanDeviation one = interval_time(attempt, restart, mean_to_failure);
  return {count * one.mean, std::sqrt(count) * one.deviation};
}

double normal_quantile(const MeanDeviation& of, double probability) {
  double below = -40;
  double above = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (below + above) / 2;
    (std::erfc(-middle / std::sqrt(2.)) / 2 < probability ? below : above) = middle;
  }
  return of.mean + of.deviation * below;
}

double rsc_productive(double interval, double save, double restart, double mean_to_failure) {
  return (1 - (restart + interval / 2) / mean_to_failure) / (1 + save / interval);
}

double rsc_interval(double save, double mean_to_failure) {
  return std::sqrt(2 * save * mean_to_failure);
}

double poisson_above(double mean, int64_t count) {
  return sum_above(count, std::numeric_limits<int64_t>::max(), mean,
                   [&](int64_t k) { return poisson_chance(mean, k); });
}

double binomial_above(int64_t trials, double probability, int64_t count) {
  if (probability <= 0) return count < 0 ? 1 : 0;
  if (probability >= 1) return count < trials ? 1 : 0;
  return sum_above(count, trials, static_cast<double>(trials) * probability,
                   [&](int64_t k) { return binomial_chance(trials, probability, k); });
}

double late(double work, double per_failure, double mean_to_failure, double deadline) {
  if (deadline < work) return 1;
  if (per_failure <= 0) return 0;
  return poisson_above(work / mean_to_failure,
                       static_cast<int64_t>(std::floor((deadline - work) / per_failure + 1e-9)));
}

double kept_at_fixed_gaps(double step, double gap) { return std::max(0., 1 - step / gap); }

double kept_at_uniform_gaps(double step, double longest) {
  const double beyond = std::max(0., longest - step);
  return beyond * beyond / (longest * longest);
}

double kept_at_random(double step, double mean_to_failure) {
  return std::exp(-step / mean_to_failure);
}

// ---- nodes and copies

double mean_to_failure(int64_t nodes, double failures_per_node_and_time) {
  return 1 / (static_cast<double>(nodes) * failures_per_node_and_time);
}

double part_down(double failures_per_time, double repair) {
  const double load = failures_per_time * repair;
  return load / (1 + load);
}

namespace {

// Of exactly so many units.
double chance_down(const Outages& outages, int64_t count) {
  if (outages.part_down <= 0) return count == 0 ? 1 : 0;
  if (outages.part_down >= 1) return count == outages.units ? 1 : 0;
  return binomial_chance(outages.units, outages.part_down, count);
}

}  // namespace

// Of the first ones so many are down, and of the rest more than what is left then.
double nodes_down_above(std::span<const Outages> outages, int64_t count) {
  if (count < 0) return 1;
  if (outages.empty()) return 0;
  const Outages& first = outages.front();
  const auto rest = outages.subspan(1);
  const int64_t most = std::min(first.units, count / first.nodes);
  double sum = binomial_above(first.units, first.part_down, most);
  if (rest.empty()) return sum;
  constexpr double negligible = 1e-18;
  for (int64_t k = 0; k <= most; ++k) {
    const double chance = chance_down(first, k);
    if (chance > negligible) sum += chance * nodes_down_above(rest, count - k * first.nodes);
  }
  return std::min(sum, 1.);
}

int64_t spares_for(int64_t nodes, std::span<const Outages> outages, double risk) {
  int64_t few = -1;  // too few
  int64_t enough = nodes;
  while (enough - few > 1) {
    const int64_t middle = few + (enough - few) / 2;
    (nodes_down_above(outages, middle) <= risk ? enough : few) = middle;
  }
  return enough;
}

int64_t spares_for(int64_t nodes, double part_down, double risk) {
  const Outages single{1, nodes, part_down};
  return spares_for(nodes, std::span(&single, 1), risk);
}

// The ways to choose `dead` of all and no whole group are the coefficient of x^dead in
// ((1 + x)^group - x^group)^groups. Its terms are positive, unlike those of inclusion and
// exclusion; x is scaled by dead/nodes, so that they neither vanish nor overflow.
double copies_survive(int64_t nodes, int64_t group, int64_t dead) {
  assert(dead <= most_dead_together && dead <= nodes);
  if (dead == 0) return 1;
  if (group <= 1) return 0;
  const double scale = static_cast<double>(dead) / static_cast<double>(nodes);
  const auto size = static_cast<std::size_t>(dead) + 1;
  const auto times = [&](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> product(size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; i + j < size; ++j) product[i + j] += a[i] * b[j];
    return product;
  };
  std::vector<double> factor(size);
  for (std::size_t i = 0; i < size && static_cast<int64_t>(i) < group; ++i)
    factor[i] = std::exp(log_choose(static_cast<double>(group), static_cast<double>(i)) +
                         static_cast<double>(i) * std::log(scale));
  std::vector<double> ways(size);
  ways[0] = 1;
  for (int64_t groups = nodes / group; groups > 0; groups /= 2) {
    if (groups % 2 == 1) ways = times(ways, factor);
    factor = times(factor, factor);
  }
  // Nodes beyond the last whole group have their copies in no group, and may die.
  std::vector<double> others(size);
  for (std::size_t i = 0; i < size && static_cast<int64_t>(i) <= nodes % group; ++i)
    others[i] = std::exp(log_choose(static_cast<double>(nodes % group), static_cast<double>(i)) +
                         static_cast<double>(i) * std::log(scale));
  ways = times(ways, others);
  const double all = log_choose(static_cast<double>(nodes), static_cast<double>(dead)) +
                     static_cast<double>(dead) * std::log(scale);
  return std::clamp(std::exp(std::log(ways[size - 1]) - all), 0., 1.);
}

TwoLevels two_levels(double near_save, double far_save, double near_restart, double far_restart,
                     double far_part, double mean_to_failure) {
  const double near_rate = (1 - far_part) / mean_to_failure;
  const double far_rate = far_part / mean_to_failure;
  TwoLevels plan;
  plan.near_interval = std::sqrt(2 * near_save / near_rate);
  plan.far_interval = std::sqrt(2 * far_save / far_rate);
  plan.waste = near_save / plan.near_interval + far_save / plan.far_interval +
               near_rate * (plan.near_interval / 2 + near_restart) +
               far_rate * (plan.far_interval / 2 + far_restart);
  return plan;
}

double shrunk_throughput(double stall, double repair, int64_t replicas, double mean_to_failure) {
  return 1 - (stall + repair / static_cast<double>(replicas)) / mean_to_failure;
}

SlowPart slow_part(int64_t nodes, double rate, double mean_length, double factor) {
  const double any = -std::expm1(-static_cast<double>(nodes) * rate * mean_length);
  return {any, 1 + (factor - 1) * any};
}

double rate_without_lemons(double part_of_nodes, double part_of_failures) {
  return (1 - part_of_failures) / (1 - part_of_nodes);
}

double lemon_factor(double part_of_nodes, double part_of_failures) {
  return part_of_failures / part_of_nodes / rate_without_lemons(part_of_nodes, part_of_failures);
}

}  // namespace sgdsim::goodput
