// A stretch of iterations of one kind is simulated once, in its steady state.
#include "study/learn/lesson_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "models/step/asynchronous_workers.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/learn/absent_workers.h"
#include "study/learn/lost_packets.h"
#include "study/step/simulated.h"

namespace sgdsim {
namespace {

// What iteration t takes, by t modulo their number.
using Pace = std::vector<double>;

// With averages now and then those after which there is one take longer; else all alike.
Pace pace_of(const StepResult& result, int64_t warm_up, int64_t period) {
  if (std::size(result.iterations) < static_cast<std::size_t>(period)) period = 1;
  Pace sums(static_cast<std::size_t>(period));
  std::vector<int> counts(sums.size());
  for (std::size_t i = 0; i < result.iterations.size(); ++i) {
    const std::size_t place = (static_cast<std::size_t>(warm_up) + i) % sums.size();
    sums[place] += result.iterations[i].us();
    ++counts[place];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
  return sums;
}

struct Timed {
  StepResult result;
  Pace pace;
};

Timed timed(const ResolvedExperiment& resolved, int64_t period, Stopper* stopper) {
  const Experiment experiment = read_experiment(resolved);
  restart(stopper);
  Timed all{simulated(experiment, nullptr, stopper), {}};
  all.pace = pace_of(all.result, experiment.warm_up, period);
  return all;
}

// What follows a worker's own change of a part is one visit with it.
void add_visit(learning::UpdateLog& log, int worker, int part, ServerVisit visit) {
  log.parts = std::max(log.parts, part + 1);
  if (visit == ServerVisit::push)
    log.visits.push_back({worker, part, true, false});
  else if (log.visits.back().worker == worker && log.visits.back().part == part)
    log.visits.back().reads = true;
  else
    log.visits.push_back({worker, part, false, true});
}

// So many more iterations, each of which takes what was simulated with as many workers as are
// there. `with_all`: with all.
class TimesOfThose {
 public:
  explicit TimesOfThose(Stopper* stopper) : stopper_(stopper) {}

  void add(const ResolvedExperiment& resolved, LearnMethod& method, const Pace& with_all,
           int64_t count) {
    std::map<int, Pace> paces{{method.log.workers, with_all}};
    for (int64_t i = 0; i < count; ++i) {
      const auto iteration = method.ends_us.size() - 1;
      const int there = method.log.there(static_cast<int64_t>(iteration));
      auto known = paces.find(there);
      if (known == paces.end())
        known = paces.emplace(there, with_some(resolved, method, there, with_all)).first;
      const Pace& pace = known->second;
      method.ends_us.push_back(method.ends_us.back() + pace[iteration % pace.size()]);
    }
  }
  // Numbers of workers that the cluster cannot have, or cannot exchange among.
  const std::set<int>& unknown() const { return unknown_; }

 private:
  Pace with_some(const ResolvedExperiment& resolved, const LearnMethod& method, int there,
                 const Pace& with_all) {
    const auto fewer = with_fewer_workers(resolved, method.log.workers, there);
    try {
      if (fewer) return timed(*fewer, static_cast<int64_t>(with_all.size()), stopper_).pace;
    } catch (const InputError&) {  // such as an algorithm for powers of two
    }
    unknown_.insert(there);
    return with_all;
  }

  Stopper* stopper_;
  std::set<int> unknown_;
};

void note_absences(const TimesOfThose& times, LearnMethod& method) {
  if (method.log.absences.empty()) return;
  std::string note =
      "absent workers: sums are of those that are there, and iterations take the time of as many "
      "workers, as if the ring were formed anew; what restarting takes is not in it";
  if (!times.unknown().empty()) {
    std::string counts;
    for (const int count : times.unknown())
      counts += (counts.empty() ? "" : ", ") + std::to_string(count);
    note += ". The experiment cannot be played with " + counts +
            " workers: those iterations take the time of all";
  }
  method.notes.push_back(std::move(note));
}

// Iterations of one kind, and what makes them so.
struct Stretch {
  int64_t count = 0;
  std::vector<std::string> settings;
};

std::vector<Stretch> stretches_of(const LearnMethod& method, int64_t iterations) {
  const std::vector<learning::DensityPhase>& densities = method.compressing.densities;
  const bool has_pipeline = method.log.width > 1;
  std::set<int64_t> ends = {iterations};
  int64_t end = 0;
  for (std::size_t i = 0; i + 1 < densities.size(); ++i)
    ends.insert(end += std::min(iterations, densities[i].iterations));
  if (has_pipeline) ends.insert(method.log.synchronous);
  std::vector<Stretch> stretches;
  int64_t from = 0;
  for (const int64_t until : ends) {
    if (until <= from || until > iterations) continue;
    Stretch one{until - from, {}};
    if (densities.size() > 1)
      one.settings.push_back("compression.density=" +
                             Json(method.compressing.density_at(from)).dump());
    if (has_pipeline && from < method.log.synchronous)
      one.settings.insert(one.settings.end(), {"synchronization.width=1"});
    stretches.push_back(std::move(one));
    from = until;
  }
  return stretches;
}

}  // namespace

void play_in_order(const Experiment& experiment, LearnMethod& method, int64_t iterations,
                   Stopper* stopper) {
  StepQuestion question = experiment.question();
  if (experiment.fidelity == Fidelity::closed_form)
    throw no_formula(experiment.file, "the order of pushes");
  // Two more, because the parts of the last updates come one after the other.
  question.warm_up = 0;
  question.iterations = static_cast<int>(iterations) + 2;
  question.stopper = stopper;
  question.visited = [&method](int worker, int part, ServerVisit visit) {
    add_visit(method.log, worker, part, visit);
  };
  restart(stopper);
  const StepResult result = simulate_step(question);
  method.quality = result.quality;
  take_losses(result, false, method);
  for (int64_t t = 0; t < iterations; ++t)
    method.ends_us.push_back(method.ends_us.back() +
                             result.iterations[static_cast<std::size_t>(t)].us());
}

void play_in_common(const ResolvedExperiment& resolved, LearnMethod& method, int64_t iterations,
                    Stopper* stopper) {
  TimesOfThose times(stopper);
  const std::vector<Stretch> stretches = stretches_of(method, iterations);
  for (const Stretch& stretch : stretches) {
    const ResolvedExperiment own = with_settings(resolved, stretch.settings);
    const Timed one = timed(own, method.log.every, stopper);
    if (&stretch == &stretches.back()) {
      method.quality = one.result.quality;
      take_losses(one.result, sums_can_lose(method), method);
    }
    times.add(own, method, one.pace, stretch.count);
  }
  note_absences(times, method);
}

}  // namespace sgdsim
