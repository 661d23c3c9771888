// Work of passes from layers; classes of replicas; parts of the step of the rank that ends last.
#include "models/training/played_step.h"

#include <algorithm>
#include <map>

#include "models/training/stage_costs.h"
#include "sim/core/cast.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr double ps_of_s = 1e12;
Duration of_seconds(double seconds) { return Duration::nearest_ps(seconds * ps_of_s); }

PassWork work_of(const PassTimes& times) {
  return {of_seconds(times.compute()),
          of_seconds(times.tensor) + of_seconds(times.context) + of_seconds(times.expert) +
              of_seconds(times.waits()),
          of_seconds(times.expert)};
}

// `slowness`: of what is computed.
ChunkWork work_of(const LayerTimes& times, double slowness) {
  ChunkWork work;
  work.forward = work_of(times.forward);
  work.inputs = work_of(times.backward);
  work.weights.compute = of_seconds(slowness * times.backward.weight_products);
  for (PassWork* pass : {&work.forward, &work.inputs})
    if (slowness > 1) pass->compute = of_seconds(slowness * pass->compute.s());
  work.inputs.compute -= std::min(work.weights.compute, work.inputs.compute);
  return work;
}

// The GPUs that exchange inside of layers with those of a rank of the pipeline.
struct InStep {
  int64_t first = 0;
  int64_t count = 0;
};
InStep in_step(const Layout& layout, int64_t rank, int64_t replica) {
  const int64_t own = layout.tensor * layout.context;
  const int64_t of_rank = own * layout.replicas;
  const int64_t group = layout.expert_ranks();
  const int64_t begin = replica * own / group * group;
  const int64_t end = ((replica + 1) * own + group - 1) / group * group;
  return {rank * of_rank + begin, end - begin};
}

// How slow the GPUs of the replicas that are played are, pass by pass.
class SlowGpus {
 public:
  SlowGpus(const Layout& layout, const LayoutPlay& options) : layout_(layout), options_(options) {
    const WorkerModel& model = options.workers;
    if (model.all_alike()) {
      replicas_ = {0};
      return;
    }
    fixed_ = fixed_factors(model, static_cast<int>(layout.gpus()));
    std::map<std::vector<double>, int64_t> classes;  // replicas whose ranks are as slow
    for (int64_t d = 0; d < layout.replicas; ++d) {
      std::vector<double> factors;
      for (int64_t r = 0; r < layout.pipeline; ++r) factors.push_back(fixed_factor(r, d));
      if (model.is_random() || classes.emplace(factors, d).second) replicas_.push_back(d);
    }
  }
  int64_t replicas() const { return static_cast<int64_t>(replicas_.size()); }

  void start(int iteration) {
    if (!options_.workers.is_random()) return;
    factors_.clear();
    factors_.reserve(fixed_.size());
    for (std::size_t gpu = 0; gpu < fixed_.size(); ++gpu)
      factors_.emplace_back(options_.workers, fixed_[gpu], options_.seed, static_cast<int>(gpu),
                            iteration);
  }
  double next(int64_t rank, int64_t number) {
    const int64_t replica = replicas_[at(number)];
    if (!options_.workers.is_random()) return fixed_factor(rank, replica);
    const InStep gpus = in_step(layout_, rank, replica);
    double slowest = 0;
    for (int64_t gpu = gpus.first; gpu < gpus.first + gpus.count; ++gpu)
      slowest = std::max(slowest, factors_[at(gpu)].next_layer());
    return slowest;
  }

 private:
  double fixed_factor(int64_t rank, int64_t replica) const {
    const InStep gpus = in_step(layout_, rank, replica);
    return *std::max_element(fixed_.begin() + gpus.first, fixed_.begin() + gpus.first + gpus.count);
  }

  const Layout& layout_;
  const LayoutPlay& options_;
  std::vector<int64_t> replicas_;
  std::vector<double> fixed_;
  std::vector<WorkerFactors> factors_;
};

// They add up to the step. What two overlapping passes hide is between experts; what slow GPUs add,
// fast ones save and whole picoseconds leave out is computing.
StepParts parts_of(const Layout& layout, const PassTimes& times, const RankPlayed& rank) {
  StepParts parts;
  const double busy = rank.busy.s();
  const bool hides = layout.schedule == PipelineSchedule::dualpipe || layout.pairs_passes();
  const double hidden = hides ? std::max(0.0, times.all() - busy) : 0;
  parts.expert = std::max(0.0, times.expert - hidden);
  parts.offload = times.offload;
  parts.host = times.host;
  const double exchanged = times.tensor + times.context + parts.expert + times.waits();
  const double computed = std::max(0.0, busy - exchanged);
  const double slower = times.compute() > 0 ? computed / times.compute() : 1;
  parts.products = slower * times.products;
  parts.attention = slower * times.attention;
  parts.element_wise = slower * times.element_wise;
  parts.tensor = times.tensor;
  parts.context = times.context;
  parts.bubble = rank.waiting.s();
  parts.data = rank.exchange.s();
  parts.optimizer = rank.optimizer.s();
  return parts;
}

void add(StepParts& sum, const StepParts& parts, double weight) {
  for (const NamedPart& part : step_parts()) sum.*part.member += weight * parts.*part.member;
}

}  // namespace

void check_workers(const WorkerModel& workers, const Layout& layout, const std::string& where) {
  for (const Slowness& one : workers.slowness)
    if (one.worker >= layout.gpus())
      throw InputError(where, "worker " + std::to_string(one.worker) + " is none of the " +
                                  std::to_string(layout.gpus()) + " GPUs, which count from 0");
}

PipelineWork pipeline_work(const TrainingStep& step, GroupTimes& groups) {
  const Layout& layout = step.layout;
  StageCosts costs(step, groups);
  PipelineWork work;
  work.layout = layout;
  work.tied = of_seconds(costs.tied_s());
  for (const double send_s : costs.sends().seconds) work.sends.push_back(of_seconds(send_s));
  work.sends_keep_rank = sends_keep_rank(layout);
  const double slowness = slowness_of_passes(step, groups);
  for (int64_t rank = 0; rank < layout.pipeline; ++rank) {
    for (int64_t chunk = 0; chunk < chunks_of_rank(layout); ++chunk) {
      const WayPosition where = position_of(layout, {rank, chunk});
      work.chunks.push_back(
          work_of(costs.times_of(layers_of_chunk(step.model, layout, where.position)), slowness));
    }
    const RankParameters parameters = rank_parameters(step.model, layout, rank);
    const int64_t layers =
        exchanged_layers(step.model, layout, rank, layers_of_stage(step.model, layout, rank));
    const StageExchange exchange = costs.exchange_of(parameters, layers, rank);
    const double chunks = real(chunks_of_rank(layout));
    const int64_t pieces = pieces_of_chunk(layout, exchange);
    work.exchanges.push_back({pieces, of_seconds(exchange.reduce_s / (chunks * real(pieces))),
                              of_seconds(exchange.gather_s / (chunks * real(pieces)))});
    work.optimizer.push_back(of_seconds(costs.optimizer_s(parameters, rank)));
    work.copies.push_back(of_seconds(costs.copies_s(parameters, rank)));
  }
  return work;
}

PlayedStep play_step(const TrainingStep& step, GroupTimes& groups, const LayoutPlay& options,
                     bool wants_slices) {
  const Layout& layout = step.layout;
  PipelineWork work = pipeline_work(step, groups);
  SlowGpus slow(layout, options);
  work.replicas = slow.replicas();
  if (!options.workers.all_alike())
    work.slowness = [&](int64_t rank, int64_t replica) { return slow.next(rank, replica); };
  const StageCosts costs(step, groups);
  PlayedStep played;
  played.replicas = work.replicas;
  played.fastest = Duration::longest();
  double sum_s = 0;
  for (int i = 0; i < options.iterations; ++i) {
    slow.start(i);
    const bool is_last = i + 1 == options.iterations;
    played.pipeline =
        play(work, wants_slices && is_last ? &played.slices : nullptr, options.stopper);
    const Duration time = played.pipeline.time;
    sum_s += time.s();
    played.fastest = std::min(played.fastest, time);
    played.slowest = std::max(played.slowest, time);
    const auto& ranks = played.pipeline.ranks;
    const auto last =
        std::max_element(ranks.begin(), ranks.end(),
                         [](const RankPlayed& a, const RankPlayed& b) { return a.end < b.end; }) -
        ranks.begin();
    played.step.slowest_stage = last;
    add(played.step.parts,
        parts_of(layout, costs.times_of_rank(last), ranks[static_cast<std::size_t>(last)]),
        1.0 / options.iterations);
  }
  const double mean_s = sum_s / options.iterations;
  played.step.time = options.iterations == 1 ? played.pipeline.time : of_seconds(mean_s);
  set_quality(step, mean_s, played.step);
  return played;
}

}  // namespace sgdsim
