// One schedule for each iteration.
#include "models/training/step_on_wires.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

#include "models/collective/network_defaults.h"
#include "models/training/gpu_stand_ins.h"
#include "models/training/stage_costs.h"
#include "models/training/step_apart.h"
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

  const std::vector<double>& fixed() const { return fixed_; }
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
  parts.offload = times.offload;
  parts.host = times.host;
  parts.communication = std::max(0.0, all_s - parts.all());
  return parts;
}

std::vector<GpuSlice> slices_of(const GpuSchedule& gpus, const Replayed& replayed) {
  std::vector<GpuSlice> slices;
  for (std::size_t gpu = 0; gpu < gpus.parts.size(); ++gpu)
    for (const GpuPart& part : gpus.parts[gpu]) {
      GpuSlice slice{static_cast<int64_t>(gpu), part, Time::last(), Time()};
      for (uint32_t one = part.first; one < part.end; ++one) {
        slice.start = std::min(slice.start, replayed.began[one]);
        slice.end = std::max(slice.end, replayed.ended[one]);
      }
      if (slice.end > slice.start) slices.push_back(slice);
    }
  return slices;
}

[[noreturn]] void refuse_messages() {
  throw InputError("layout", too_many_messages("GPUs or micro-batches, or fidelity message,"));
}

// Operations, messages or packets, in parts of as many as are simulated. `rings`: null: none is
// quiet.
double effort_of(const RankSchedule& schedule, const QuietRings* rings, const Payload& payload) {
  const auto most_operations = static_cast<double>(most_gpu_operations);
  const double operations = static_cast<double>(schedule.operations().size()) / most_operations;
  const double messages = rings != nullptr ? rings->least_messages() : messages_of(schedule);
  const double packets = packets_of(schedule, payload);
  if (messages > most_step_messages) refuse_messages();
  if (packets > most_step_messages)
    throw InputError("layout",
                     "its messages are more than 100 million packets, the most that are "
                     "simulated; " +
                         fewer_packets("GPUs, micro-batches or tokens"));
  return std::max(operations, std::max(messages, packets) / most_step_messages);
}

// Rings go at once as long as they have their wires to themselves, if that is asked for.
Replayed play_with_rings(Replay replay, bool has_rings, const Payload& payload, double& effort) {
  std::optional<QuietRings> rings;
  if (has_rings)
    rings.emplace(*replay.schedule, *replay.network, *replay.resources, replay.alpha,
                  replay.stopper);
  replay.rings = rings && rings->are_any() ? &*rings : nullptr;
  if (replay.rings != nullptr) replay.most_messages = most_step_messages;
  const double its = effort_of(*replay.schedule, replay.rings, payload);
  try {
    Replayed replayed = play(replay);
    effort += its;
    return replayed;
  } catch (const TooManyMessages&) {
    refuse_messages();
  }
}

// Messages that never arrive, of sends and of collectives.
std::vector<Stranded> lost_in(const RankSchedule& schedule, const Replayed& replayed) {
  std::vector<Stranded> lost = replayed.stranded_in_calls;
  for (const auto& [send, why] : replayed.stranded) {
    const RankOperation& one = schedule.operations()[send];
    lost.push_back({0,
                    {.from = static_cast<int>(schedule.rank_of(send)),
                     .to = static_cast<int>(one.peer),
                     .size_B = static_cast<double>(one.amount)},
                    why});
  }
  std::stable_sort(lost.begin(), lost.end(), [](const Stranded& a, const Stranded& b) {
    return std::pair(a.what.from, a.what.to) < std::pair(b.what.from, b.what.to);
  });
  return lost;
}

void check_arrived(const RankSchedule& schedule, const Replayed& replayed) {
  const std::vector<Stranded> lost = lost_in(schedule, replayed);
  if (lost.empty()) return;
  constexpr std::size_t most_shown = 10;
  std::vector<Stranding> reasons;
  std::string names;
  for (const Stranded& one : lost) {
    reasons.push_back(one.why);
    if (reasons.size() > most_shown) continue;
    names += (names.empty() ? " " : ", ") +
             std::to_string(static_cast<int64_t>(std::ceil(one.what.size_B))) + " B from GPU " +
             std::to_string(one.what.from) + " to GPU " + std::to_string(one.what.to);
  }
  std::string text =
      "the step is stuck: " + (replayed.circle.empty() ? "" : replayed.circle + "; ") +
      summary_of(reasons, "message") + ":" + names;
  if (reasons.size() > most_shown)
    text += ", and " + std::to_string(reasons.size() - most_shown) + " more";
  throw StuckStep("layout", text);
}

// Not where others take part, or chance, or every GPU is shown.
bool may_stand_in(const StepWires& how, const LayoutPlay& options) {
  return how.reduction != Reduction::never && !how.carrier && !how.meanwhile.any() &&
         !how.wants_slices && !options.workers.is_random();
}

// All GPUs have what those have that stand for them.
void spread(const StandIns& stand_ins, GpuSchedule& gpus, Replayed& replayed) {
  for (std::size_t gpu = 0; gpu < replayed.ends.size(); ++gpu) {
    const auto played = static_cast<std::size_t>(stand_ins.workers[stand_ins.number_of[gpu]]);
    replayed.ends[gpu] = replayed.ends[played];
    gpus.computed[gpu] = gpus.computed[played];
  }
  replayed.carried_B = stand_ins.spread_carried(replayed.carried_B);
}

// What is played in one step, and what has come of it.
struct Play {
  const TrainingStep& step;
  const Cluster& cluster;
  GroupTimes& groups;
  const StepWires& how;
  const LayoutPlay& options;
  StepOnWires& played;

  Replay replay(const GpuSchedule& gpus, Resources& wires) const {
    return {.schedule = &gpus.schedule,
            .costs = {},
            .network = &cluster.network,
            .alpha = usual_alpha(cluster.kind),
            .resources = &wires,
            .carrier = how.carrier,
            .meanwhile = how.meanwhile,
            .stopper = options.stopper};
  }
  // GPUs that stand for all.
  void play(GpuStandIns stand_ins, const GpuSlowness& slowness, bool records, Resources& wires,
            AlikeStep& alike) const {
    alike.equal_chunks = stand_ins.equal_chunks;
    alike.gpus = gpu_schedule(
        step, cluster, groups,
        {slowness, false, options.stopper, stand_ins.all.workers, stand_ins.equal_chunks});
    alike.ranks = alike_ranks(std::move(stand_ins.all), alike.gpus);
    AlikeResources alike_wires(wires, alike.ranks->stand_ins);
    Replay its = replay(alike.gpus, alike_wires);
    its.records = records;
    its.alike = alike.ranks.get();
    alike.replayed = play_with_rings(its, false, how.payload, played.effort);
  }
  // Nothing where some of what is played apart would meet.
  std::optional<Replayed> play_apart(const GpuFactors& factors, const GpuSlowness& slowness,
                                     Resources& wires, GpuSchedule& rest) const {
    std::optional<std::vector<bool>> slow = slow_replicas(step, factors.fixed());
    if (!slow) return std::nullopt;
    std::optional<GpuStandIns> stand_ins =
        gpu_stand_ins(step, cluster, groups, {}, wires, how.reduction);
    if (!stand_ins) return std::nullopt;
    AlikeStep alike;
    play(std::move(*stand_ins), {}, true, wires, alike);
    if (!alike.replayed.stopped_by.empty()) return std::move(alike.replayed);
    begin_with(alike, std::move(*slow));
    rest = gpu_schedule(step, cluster, groups,
                        {slowness, false, options.stopper, {}, alike.equal_chunks, &alike.begun});
    Replay its = replay(rest, wires);
    its.records = true;
    Replayed replayed = play_with_rings(its, true, how.payload, played.effort);
    if (replayed.stopped_by.empty()) {
      if (!are_apart(alike, step, cluster, groups, wires, rest, replayed)) return std::nullopt;
      complete(alike, step, rest, replayed);
      played.equal_chunks = alike.equal_chunks;
      played.followers = followers(alike, step);
      played.followed = alike.ranks->stand_ins.workers.size();
    }
    return replayed;
  }
  // As few GPUs as may stand for all, or all of them.
  Replayed replayed(const GpuFactors& factors, const GpuSlowness& slowness, bool wants_slices,
                    Resources& wires, GpuSchedule& gpus) const {
    if (may_stand_in(how, options)) {
      if (std::optional<GpuStandIns> stand_ins =
              gpu_stand_ins(step, cluster, groups, factors.fixed(), wires, how.reduction)) {
        AlikeStep alike;
        play(std::move(*stand_ins), slowness, false, wires, alike);
        played.equal_chunks = alike.equal_chunks;
        played.classes = alike.ranks->stand_ins.workers.size();
        gpus = std::move(alike.gpus);
        spread(alike.ranks->stand_ins, gpus, alike.replayed);
        return std::move(alike.replayed);
      }
      if (std::optional<Replayed> apart = play_apart(factors, slowness, wires, gpus))
        return std::move(*apart);
    }
    const bool has_rings =
        how.reduction != Reduction::never && !how.carrier && !how.meanwhile.any();
    gpus = gpu_schedule(step, cluster, groups, {slowness, wants_slices, options.stopper});
    Replay its = replay(gpus, wires);
    its.records = wants_slices;
    return play_with_rings(its, has_rings, how.payload, played.effort);
  }
};

}  // namespace

StepOnWires play_on_wires(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                          const StepWires& how, const LayoutPlay& options) {
  const Layout& layout = step.layout;
  restart(options.stopper);
  StageCosts costs(step, groups);
  GpuFactors factors(options, layout.gpus());
  StepOnWires played;
  played.fastest = Duration::longest();
  const Play once{step, cluster, groups, how, options, played};
  double sum_s = 0;
  for (int i = 0; i < options.iterations; ++i) {
    const bool wants_slices = how.wants_slices && i + 1 == options.iterations;
    // None is closed yet.
    const std::unique_ptr<Resources> wires = shared_at(how.fidelity, cluster, how.routes);
    const GpuSlowness slowness = factors.start(i);
    GpuSchedule gpus;
    Replayed replayed = once.replayed(factors, slowness, wants_slices, *wires, gpus);
    played.least_delivered = std::min(played.least_delivered, replayed.least_delivered);
    if (!replayed.stopped_by.empty())
      throw LimitReached(replayed.stopped_by + ", in step " + std::to_string(i + 1) + " of " +
                         std::to_string(options.iterations));
    check_arrived(gpus.schedule, replayed);
    assert(replayed.operations == gpus.schedule.operations().size());
    const auto last = std::max_element(replayed.ends.begin(), replayed.ends.end());
    const Duration time = last->since_start();
    sum_s += time.s();
    played.fastest = std::min(played.fastest, time);
    played.slowest = std::max(played.slowest, time);
    played.last_gpu = last - replayed.ends.begin();
    played.messages = replayed.messages;
    played.in_rings = replayed.in_rings;
    played.wire_B = replayed.wire_B;
    if (wants_slices) played.slices = slices_of(gpus, replayed);
    if (wires->are_routes())
      played.wires = use_of(*wires, replayed.carried_B, replayed.until - Time(), shown_links,
                            changed_by(how.meanwhile.changes, replayed.until));
    const auto stage_of = [&](int64_t gpu) { return gpu / (layout.gpus() / layout.pipeline); };
    const auto add_parts = [&](int64_t gpu, StepParts& all) {
      const int64_t stage = stage_of(gpu);
      const StepParts parts =
          parts_of(costs.times_of_rank(stage), gpus.computed[static_cast<std::size_t>(gpu)].s(),
                   costs.optimizer_s(rank_parameters(step.model, layout, stage), stage), time.s());
      for (const NamedPart& part : step_parts())
        all.*part.member += parts.*part.member / options.iterations;
    };
    add_parts(played.last_gpu, played.step.parts);
    add_parts(0, played.first_parts);
    played.step.slowest_stage = stage_of(played.last_gpu);
  }
  const double mean_s = sum_s / options.iterations;
  played.step.time = options.iterations == 1 ? played.fastest : Duration::nearest_ps(mean_s * 1e12);
  set_quality(step, mean_s, played.step);
  return played;
}

}  // namespace sgdsim
