// One schedule for each iteration.
#include "models/training/step_on_wires.h"

#include <algorithm>
#include <cassert>

#include "models/training/gpu_schedule.h"
#include "models/training/stage_costs.h"
#include "sim/play/replay.h"

namespace sgdsim {
namespace {

constexpr std::size_t shown_links = 10;

// Every GPU by itself; those that exchange wait for each other.
class GpuFactors {
 public:
  GpuFactors(const LayoutPlay& options, int64_t gpus) : options_(options) {
    if (!options.workers.all_alike())
      fixed_ = fixed_factors(options.workers, static_cast<int>(gpus));
  }

  GpuSlowness start(int iteration) {
    if (fixed_.empty()) return {};
    factors_.clear();
    for (std::size_t gpu = 0; gpu < fixed_.size(); ++gpu)
      factors_.emplace_back(options_.workers, fixed_[gpu], options_.seed, static_cast<int>(gpu),
                            iteration);
    return [this](int64_t gpu) { return factors_[static_cast<std::size_t>(gpu)].next_layer(); };
  }

 private:
  const LayoutPlay& options_;
  std::vector<double> fixed_;
  std::vector<WorkerFactors> factors_;
};

// They add up to the step.
StepParts parts_of(const PassTimes& times, double computed_s, double optimizer_s, double all_s) {
  StepParts parts;
  const double slower =
      times.compute() > 0 ? std::max(0.0, computed_s - optimizer_s) / times.compute() : 1;
  parts.products = slower * times.products;
  parts.attention = slower * times.attention;
  parts.element_wise = slower * times.element_wise;
  parts.optimizer = optimizer_s;
  parts.communication = std::max(0.0, all_s - parts.all());
  return parts;
}

}  // namespace

StepOnWires play_on_wires(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                          const RouteChoice& routes, const LayoutPlay& options) {
  const Layout& layout = step.layout;
  const std::unique_ptr<Resources> wires = cluster.wires(routes);
  StageCosts costs(step, groups);
  GpuFactors factors(options, layout.gpus());
  StepOnWires played;
  played.fastest = Duration::longest();
  double sum_s = 0;
  for (int i = 0; i < options.iterations; ++i) {
    const GpuSchedule gpus = gpu_schedule(step, cluster, groups, factors.start(i), options.pause);
    const Replayed replayed = play(Replay{.schedule = &gpus.schedule,
                                          .costs = {},
                                          .network = &cluster.network,
                                          .resources = wires.get(),
                                          .pause = options.pause});
    assert(replayed.operations == gpus.schedule.operations().size());
    const auto last = std::max_element(replayed.ends.begin(), replayed.ends.end());
    const Duration time = last->since_start();
    sum_s += time.s();
    played.fastest = std::min(played.fastest, time);
    played.slowest = std::max(played.slowest, time);
    played.last_gpu = last - replayed.ends.begin();
    played.messages = replayed.messages;
    played.wire_B = replayed.wire_B;
    played.wires = use_of(*wires, replayed.carried_B, time, shown_links);
    const int64_t stage = played.last_gpu / (layout.gpus() / layout.pipeline);
    const StepParts parts = parts_of(
        costs.times_of_rank(stage), gpus.computed[static_cast<std::size_t>(played.last_gpu)].s(),
        costs.optimizer_s(rank_parameters(step.model, layout, stage)), time.s());
    for (const NamedPart& part : step_parts())
      played.step.parts.*part.member += parts.*part.member / options.iterations;
    played.step.slowest_stage = stage;
  }
  const double mean_s = sum_s / options.iterations;
  played.step.time = options.iterations == 1 ? played.fastest : Duration::nearest_ps(mean_s * 1e12);
  set_quality(step, mean_s, played.step);
  return played;
}

}  // namespace sgdsim
