// Exhaustive and coordinate search.
#include "study/sweep/tune.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

#include "models/strategy/strategy.h"
#include "sim/core/stopper.h"
#include "study/sweep/best.h"
#include "study/sweep/columns.h"
#include "study/sweep/gains.h"
#include "study/sweep/sweep_point.h"
#include "study/sweep/sweep_run.h"
#include "study/watch.h"

namespace sgdsim {
namespace {

bool chooses_strategy(const Sweep& sweep) {
  return std::any_of(sweep.axes.begin(), sweep.axes.end(), [&](const Axis& axis) {
    return sgdsim::chooses_strategy(sweep, axis.field());
  });
}

Tuned try_all(const Sweep& sweep, const Objective& objective, int threads,
              const std::function<bool()>& is_interrupted) {
  Tuned tuned;
  tuned.value = no_value;
  SweepOptions options;
  options.out.clear();
  options.threads = threads;
  options.objective = objective;
  std::ostream nowhere(nullptr);
  std::atomic<bool> has_one = false;  // without a point there would be no answer
  const auto take = [&](DonePoint&& point) {
    has_one = true;
    if (std::isnan(point.objective)) {
      ++tuned.failed;
      return;
    }
    const double cost = as_cost(objective.column, point.objective);
    if (point.is_bound && chooses_strategy(sweep)) {
      tuned.bound = std::min(tuned.bound.value_or(no_value), cost);
      return;
    }
    if (cost >= tuned.value) return;
    tuned.value = cost;
    tuned.best = std::move(point.axes);
    tuned.warnings = std::move(point.warnings);
  };
  std::atomic<bool> ended = false;
  const SweepOutcome outcome = run_sweep(sweep, options, nowhere, take,
                                         {.is_interrupted =
                                              [&] {
                                                ended = is_interrupted && is_interrupted();
                                                return ended.load();
                                              },
                                          .amid =
                                              [&] {
                                                if (ended && has_one) throw Interrupted();
                                              }});
  tuned.evaluated = outcome.done;
  tuned.interrupted = outcome.interrupted;
  tuned.exhaustive = true;
  return tuned;
}

class Search {
 public:
  Search(const Sweep& sweep, const std::string& objective, int64_t most,
         const std::function<bool()>& is_interrupted)
      : is_interrupted_(is_interrupted),
        sweep_(sweep),
        objective_(objective),
        most_(most),
        reader_(sweep),
        stopper_([this] {
          if (this->is_interrupted()) throw Interrupted();
        }) {}

  Tuned run() {
    start();
    bool better = value_ < no_value;
    while (better) {
      const double before = value_;
      for (std::size_t group = 0; group < sweep_.groups.size(); ++group) along(group);
      better = value_ < before;
    }
    Tuned tuned;
    tuned.value = value_;
    tuned.evaluated = static_cast<int64_t>(known_.size());
    tuned.failed = failed_;
    tuned.interrupted = is_interrupted();
    if (value_ < no_value) tuned.best = axes_json(sweep_, best_);
    tuned.warnings = warnings_;
    tuned.bound = bound_;
    return tuned;
  }

 private:
  // From the best of a few points all over the space; the first that works if there are many that
  // do not.
  void start() {
    constexpr int64_t few = 16;
    for (const Point& point : spread_points(sweep_, std::min(most_, few))) try_at(point.choice);
    if (value_ < no_value) return;
    for (const Point& point : spread_points(sweep_, most_)) {
      try_at(point.choice);
      if (value_ < no_value) return;
    }
  }

  bool is_interrupted() const { return is_interrupted_ && is_interrupted_(); }

  double try_at(const Choice& choice) {
    if (!sweep_.keeps(choice)) return no_value;
    if (const auto there = known_.find(choice); there != known_.end()) return there->second;
    if (static_cast<int64_t>(known_.size()) >= most_) return no_value;
    if (!known_.empty() && is_interrupted()) return no_value;
    Json line;
    try {
      line = line_of(sweep_, play_point(sweep_, {0, choice}, reader_, false,
                                        known_.empty() ? nullptr : &stopper_));
    } catch (const Interrupted&) {
      return no_value;
    }
    double value = as_cost(objective_, number_in(line, objective_));
    if (std::isnan(value)) {
      value = no_value;
      ++failed_;
    } else if (is_bound(line.value("strategy", "")) && chooses_strategy(sweep_)) {
      bound_ = std::min(bound_.value_or(no_value), value);
      value = no_value;
    }
    known_[choice] = value;
    if (value < value_) {
      value_ = value;
      best_ = choice;
      warnings_ = warnings_in(line);
    }
    return value;
  }

  double try_index(std::size_t group, int64_t index) {
    Choice choice = line_;
    for (const std::size_t axis : sweep_.groups[group]) choice[axis] = index;
    return try_at(choice);
  }

  void along(std::size_t group) {
    constexpr int64_t spread = 16;
    line_ = best_;
    const int64_t size = sweep_.size_of(group);
    if (size <= spread || !sweep_.axes[sweep_.groups[group].front()].is_ordered()) {
      for (int64_t i = 0; i < size; ++i) try_index(group, i);
      return;
    }
    // Evenly spread values; then between the neighbours of the best of them.
    int64_t best = 0;
    double least = no_value;
    auto at = [&](int64_t i) {
      return std::llround(static_cast<double>(size - 1) * static_cast<double>(i) / (spread - 1));
    };
    for (int64_t i = 0; i < spread; ++i) {
      const double value = try_index(group, at(i));
      if (!(value < least)) continue;
      least = value;
      best = i;
    }
    golden_section(group, at(std::max<int64_t>(0, best - 1)), at(std::min(spread - 1, best + 1)));
  }

  // The least of low .. high, if there is one valley.
  void golden_section(std::size_t group, int64_t low, int64_t high) {
    const double golden = (std::sqrt(5.) - 1) / 2;
    while (high - low > 3) {
      const auto part = static_cast<int64_t>(golden * static_cast<double>(high - low));
      const int64_t left = high - part;
      const int64_t right = std::max(low + part, left + 1);
      if (try_index(group, left) <= try_index(group, right))
        high = right;
      else
        low = left;
    }
    for (int64_t i = low; i <= high; ++i) try_index(group, i);
  }

  const std::function<bool()>& is_interrupted_;
  const Sweep& sweep_;
  const std::string& objective_;
  int64_t most_;
  PointReader reader_;
  Stopper stopper_;
  std::map<Choice, double> known_;
  Choice best_;
  std::vector<std::string> warnings_;  // of the best
  Choice line_;                        // the point through which the search goes along an axis
  double value_ = no_value;
  std::optional<double> bound_;
  int64_t failed_ = 0;
};

}  // namespace

Tuned tune(const Sweep& sweep, const Objective& objective, int64_t most, int threads,
           const std::function<bool()>& is_interrupted) {
  const bool tries_all = sweep.points <= most;
  if (!tries_all) check_objective(sweep, objective);
  Tuned tuned = tries_all ? try_all(sweep, objective, threads, is_interrupted)
                          : Search(sweep, objective.column, most, is_interrupted).run();
  tuned.value = as_cost(objective.column, tuned.value);
  if (tuned.bound) tuned.bound = as_cost(objective.column, *tuned.bound);
  return tuned;
}

}  // namespace sgdsim
