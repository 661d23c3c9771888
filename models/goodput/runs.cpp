// Runs in batches on threads; strata of runs for what hardly ever happens.
#include "models/goodput/runs.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cmath>

#include "models/goodput/draws.h"
#include "sim/core/parallel.h"

namespace sgdsim::goodput {
namespace {

constexpr int64_t most_of_batch = 64;
constexpr int64_t least_batches = 32;  // so that few long runs are on many threads

// Sets it where a scope is left by what is thrown, so that other threads end soon.
class OverIfThrown {
 public:
  explicit OverIfThrown(std::atomic<bool>& is_over) : is_over_(is_over) {}
  ~OverIfThrown() {
    if (!is_left_) is_over_ = true;
  }
  OverIfThrown(const OverIfThrown&) = delete;
  OverIfThrown& operator=(const OverIfThrown&) = delete;
  void leave() { is_left_ = true; }

 private:
  std::atomic<bool>& is_over_;
  bool is_left_ = false;
};

struct Batch {
  std::vector<LongPs> walls;
  Account sums{};
  int64_t failures = 0;
  int64_t events = 0;
};

Batch play_batch(const Plan& plan, uint64_t seed, int64_t first, int64_t end,
                 const std::atomic<bool>& is_over) {
  Batch batch;
  for (int64_t run = first; run < end && !is_over; ++run) {
    const PlayedRun played = play(plan, seed, static_cast<uint64_t>(run), never_s, {}, &is_over);
    batch.walls.push_back(played.wall);
    for (std::size_t i = 0; i < part_count; ++i) batch.sums[i] += played.account[i];
    batch.failures += played.failures;
    batch.events += played.events;
  }
  return batch;
}

// What `work` makes of 0, 1, ... in order. What anybody throws ends the others within a moment.
template <class Result, class Work>
std::vector<Result> in_order(int64_t count, const RunsAsked& asked, const Work& work) {
  std::vector<Result> results;
  int64_t next = 0;
  std::atomic<bool> is_over = false;
  OrderedWork<int64_t, Result> pool({[&]() -> std::optional<int64_t> {
                                       if (next == count) return std::nullopt;
                                       return next++;
                                     },
                                     [&](int, const int64_t& item) {
                                       OverIfThrown over(is_over);
                                       Result result = work(item, is_over);
                                       over.leave();
                                       return result;
                                     },
                                     [&](std::vector<Result>&& ready) {
                                       OverIfThrown over(is_over);
                                       if (asked.look) asked.look();
                                       over.leave();
                                       for (Result& one : ready) results.push_back(std::move(one));
                                       return true;
                                     }},
                                    asked.threads, std::chrono::milliseconds(20));
  pool.run();
  return results;
}

double log_poisson(double mean, int64_t count) {
  const auto k = static_cast<double>(count);
  return k * std::log(mean) - mean - std::lgamma(k + 1);
}

double rate_of_stops(const Plan& plan) {
  double rate = 0;
  for (const Cause& cause : plan.causes)
    if (cause.effect == Effect::stop) rate += cause.rate();
  return rate;
}

// Failures within this time of being exposed to them decide whether a deadline is met.
double deciding_time(const Plan& plan, double deadline_s) {
  if (plan.can_fail) return deadline_s;
  const double intervals =
      std::ceil(static_cast<double>(plan.steps) / static_cast<double>(plan.interval));
  return std::min(deadline_s, plan.work_s() + intervals * plan.stall_s + plan.durable_s);
}

struct Strata {
  const Plan& plan;
  double deadline_s;
  double horizon_s;
  RunsAsked asked;

  double part_late(int64_t failures, int64_t runs) const {
    constexpr int64_t chunk = 50;
    const auto late = in_order<int64_t>(
        (runs + chunk - 1) / chunk, asked, [&](int64_t i, const std::atomic<bool>& is_over) {
          int64_t count = 0;
          const int64_t end = std::min(runs, (i + 1) * chunk);
          for (int64_t run = i * chunk; run < end && !is_over; ++run) {
            const uint64_t number =
                mixed(static_cast<uint64_t>(failures)) + static_cast<uint64_t>(run);
            const GivenFailures given{failures, horizon_s};
            if (!play(plan, asked.seed, number, deadline_s, given, &is_over).is_done) ++count;
          }
          return count;
        });
    int64_t sum = 0;
    for (const int64_t count : late) sum += count;
    return static_cast<double>(sum) / static_cast<double>(runs);
  }
};

}  // namespace

double Runs::standard_error_s() const {
  return deviation_s / std::sqrt(static_cast<double>(walls.size()));
}

// By order statistics: how many of the sample lie below the true quantile is binomial.
Quantile Runs::quantile(double part) const {
  const auto n = static_cast<double>(walls.size());
  const auto at = [&](double rank) {
    return to_s(walls[static_cast<std::size_t>(std::clamp(rank, 1., n)) - 1]);
  };
  const double around = 1.96 * std::sqrt(n * part * (1 - part));
  return {at(std::ceil(part * n)), at(std::floor(part * n - around)),
          at(std::ceil(part * n + around) + 1)};
}

double Runs::part_later_than(double deadline_s) const {
  const auto in_time = std::upper_bound(walls.begin(), walls.end(), to_ps(deadline_s));
  return static_cast<double>(walls.end() - in_time) / static_cast<double>(walls.size());
}

// The mean of each part is rounded down to a picosecond, and the mean time is their sum.
Runs play_runs(const Plan& plan, const RunsAsked& asked) {
  assert(asked.count > 0);
  Runs runs;
  int64_t failures = 0;
  int64_t events = 0;
  const int64_t size = std::clamp<int64_t>(asked.count / least_batches, 1, most_of_batch);
  const int64_t batches = (asked.count + size - 1) / size;
  for (const Batch& batch :
       in_order<Batch>(batches, asked, [&](int64_t i, const std::atomic<bool>&is_over) {
         return play_batch(plan, asked.seed, i * size, std::min(asked.count, (i + 1) * size),
                           is_over);
       })) {
    runs.walls.insert(runs.walls.end(), batch.walls.begin(), batch.walls.end());
    for (std::size_t i = 0; i < part_count; ++i) runs.account[i] += batch.sums[i];
    failures += batch.failures;
    events += batch.events;
  }
  for (LongPs& part : runs.account) {
    part /= asked.count;
    runs.wall += part;
  }
  const auto n = static_cast<double>(asked.count);
  double squares = 0;
  for (const LongPs wall : runs.walls) squares += std::pow(to_s(wall - runs.wall), 2);
  runs.deviation_s = asked.count > 1 ? std::sqrt(squares / (n - 1)) : 0;
  runs.failures = static_cast<double>(failures) / n;
  runs.events = static_cast<double>(events) / n;
  std::sort(runs.walls.begin(), runs.walls.end());
  return runs;
}

// Each run is played once, past all moments.
std::vector<Progress> progress_at(const Plan& plan, const std::vector<double>& moments_s,
                                  const RunsAsked& asked) {
  assert(asked.count > 0);
  const auto productive = in_order<std::vector<LongPs>>(
      asked.count, asked, [&](int64_t run, const std::atomic<bool>& is_over) {
        return productive_at(plan, asked.seed, static_cast<uint64_t>(run), moments_s, &is_over);
      });
  const double work_s = plan.work_s();
  std::vector<Progress> progress;
  for (std::size_t moment = 0; moment < moments_s.size(); ++moment) {
    std::vector<double> parts;
    // Clocks count whole picoseconds, which may add up to more than the work by a rounding.
    for (const std::vector<LongPs>& of_run : productive)
      parts.push_back(std::min(1., to_s(of_run[moment]) / work_s));
    std::sort(parts.begin(), parts.end());
    const auto at = [&](double part) {
      const double rank = std::ceil(part * static_cast<double>(parts.size()));
      return parts[static_cast<std::size_t>(std::max(1., rank)) - 1];
    };
    progress.push_back({moments_s[moment], at(0.05), at(0.5), at(0.95)});
  }
  return progress;
}

bool can_stratify(const Plan& plan) {
  return rate_of_stops(plan) > 0 && !plan.shrink &&
         std::all_of(plan.causes.begin(), plan.causes.end(), [](const Cause& cause) {
           return cause.effect != Effect::stop || (cause.shape == 1 && cause.at_s.empty());
         });
}

namespace {

// For how long one of these keeps the job from its work, or may do so.
double cost_of(const Plan& plan, const Cause& cause) {
  constexpr double times_the_mean = 10;
  if (cause.effect == Effect::slow)
    return cause.lasts_s * (cause.lasts_varies ? times_the_mean : 1) *
           (1 - 1 / std::max(1., cause.factor));
  const bool waits = plan.spares && cause.needs_node;
  return cause.detect_s + (cause.needs_node ? plan.node_restart_s : plan.restart_s) +
         plan.store_restart_s + (waits ? cause.repair_s : 0);
}

}  // namespace

bool is_decided_by_number(const Plan& plan, double slack_s) {
  constexpr double little = 0.1;
  constexpr double as_long = 2;  // times the mean
  double most = 0;
  double sum = 0;
  double rates = 0;
  bool is_one_kind = true;
  for (const Cause& cause : plan.causes) {
    if (cause.mean_s >= never_s) continue;  // it never strikes
    const double cost = cost_of(plan, cause);
    most = std::max(most, cost);
    sum += cause.rate() * cost;
    rates += cause.rate();
    is_one_kind = is_one_kind && cause.effect == Effect::stop && !plan.spares;
  }
  return most <= little * slack_s || (is_one_kind && most * rates <= as_long * sum);
}

// From the number at which about half of the runs are late, upwards until what is left weighs
// nothing, and downwards until no run is late any more.
Chance chance_later_than(const Plan& plan, double deadline_s, const RunsAsked& asked) {
  assert(can_stratify(plan));
  const Strata strata{plan, deadline_s, deciding_time(plan, deadline_s), asked};
  const double mean = rate_of_stops(plan) * strata.horizon_s;
  int64_t few = -1;
  auto many = static_cast<int64_t>(mean) + 1;
  while (strata.part_late(many, 50) < 0.5) {
    if (log_poisson(mean, many) < -700) return {};  // the least that a double can say
    many *= 2;
  }
  while (many - few > 1) {
    const int64_t middle = few + (many - few) / 2;
    (strata.part_late(middle, 50) < 0.5 ? few : many) = middle;
  }
  Chance chance;
  double variance = 0;
  const auto add = [&](int64_t failures) {
    const double weight = std::exp(log_poisson(mean, failures));
    const double part = strata.part_late(failures, asked.count);
    chance.probability += weight * part;
    variance += weight * weight * part * (1 - part) / static_cast<double>(asked.count);
    return part;
  };
  for (int64_t failures = many;; ++failures) {
    if (add(failures) == 1) {  // and so are all runs with more
      double term = std::exp(log_poisson(mean, failures));
      for (int64_t more = failures + 1; term > 0; ++more) {
        term = std::exp(log_poisson(mean, more));
        chance.probability += term;
        if (static_cast<double>(more) > mean && term < 1e-6 * chance.probability) break;
      }
      break;
    }
    if (static_cast<double>(failures) > mean &&
        std::exp(log_poisson(mean, failures)) < 1e-6 * chance.probability)
      break;
  }
  int without = 0;
  for (int64_t failures = many - 1; failures >= 0 && without < 4; --failures)
    without = add(failures) > 0 ? 0 : without + 1;
  chance.standard_error = std::sqrt(variance);
  return chance;
}

}  // namespace sgdsim::goodput
