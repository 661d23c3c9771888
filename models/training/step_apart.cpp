// Wires have times until which, and from when on, they are used.
#include "models/training/step_apart.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/cast.h"
#include "sim/play/quiet.h"

namespace sgdsim {
namespace {

int64_t of_replica(const Layout& layout) { return layout.tensor * layout.context; }
int64_t of_stage(const Layout& layout) { return layout.gpus() / layout.pipeline; }
std::size_t replica_of(const Layout& layout, int64_t gpu) {
  return at(gpu % of_stage(layout) / of_replica(layout));
}

// Of what GPUs of a stage send to others, when it begins first and ends last, in one of two parts:
// what comes before the first pass, and passes until the first exchange.
struct Used {
  Time first = Time::last();
  Time last;
  void add(Time begins, Time ends) {
    first = std::min(first, begins);
    last = std::max(last, ends);
  }
};
struct StageTimes {
  using Parts = std::array<Used, 2>;
  std::map<uint64_t, Parts> calls;                           // by label of the group
  std::map<std::tuple<GroupKind, int64_t>, Parts> messages;  // to a stage
};

// When wires are used, in both parts and in what is left.
class WireTimes {
 public:
  explicit WireTimes(Resources& wires)
      : wires_(wires), used_(3, std::vector<Used>(wires.capacities().size())) {}

  void add(std::size_t part, int64_t from, int64_t to, const Used& talk) {
    if (talk.first == Time::last()) return;
    uses_.clear();
    wires_.find({.from = static_cast<int>(from), .to = static_cast<int>(to), .size_B = 1},
                Resources::Part::whole, uses_);
    for (const ResourceUse& use : uses_) used_[part][use.resource].add(talk.first, talk.last);
  }
  // One part after the other.
  bool are_apart() const {
    for (std::size_t wire = 0; wire < used_[0].size(); ++wire) {
      Time last;
      for (const std::vector<Used>& part : used_) {
        if (part[wire].first < last) return false;
        last = std::max(last, part[wire].last);
      }
    }
    return true;
  }

 private:
  Resources& wires_;
  std::vector<std::vector<Used>> used_;  // by part, of each wire
  std::vector<ResourceUse> uses_;
};

// What those say that stand for the GPUs of each stage.
std::vector<StageTimes> times_of_stages(const AlikeStep& alike, const TrainingStep& step,
                                        const std::vector<GpuCuts>& cuts) {
  const int64_t gpus = of_stage(step.layout);
  std::vector<StageTimes> all(at(step.layout.pipeline));
  const RankSchedule& schedule = alike.gpus.schedule;
  const std::vector<int>& workers = alike.ranks->stand_ins.workers;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const int64_t stage = workers[i] / gpus;
    StageTimes& talk = all[at(stage)];
    const uint32_t first = alike.gpus.first[i];
    for (uint32_t n = 0; n < cuts[at(stage)].exchange; ++n) {
      const uint32_t place = first + n;
      const RankOperation& one = schedule.operations()[place];
      const std::size_t part = n < cuts[at(stage)].passes ? 0 : 1;
      const Time begins = alike.replayed.began[place];
      const Time ends = alike.replayed.ended[place];
      if (one.verb == RankVerb::call)
        talk.calls[alike.gpus.group_labels[one.call().group]][part].add(begins, ends);
      else if (one.verb == RankVerb::send)
        talk.messages[{static_cast<GroupKind>(one.tag % group_kinds), one.peer / gpus}][part].add(
            begins, ends);
    }
  }
  return all;
}

// Of all GPUs that follow it, what they send in both parts.
void add_alike(const AlikeStep& alike, const TrainingStep& step, const Cluster& cluster,
               const std::vector<GpuCuts>& cuts, WireTimes& times) {
  const Layout& layout = step.layout;
  const int64_t gpus = of_stage(layout);
  const std::vector<StageTimes> stages = times_of_stages(alike, step, cuts);
  RankSchedule schedule(static_cast<uint32_t>(layout.gpus()));
  GpuGroups groups(layout, cluster.workers_per_node, schedule);
  for (int64_t gpu = 0; gpu < layout.gpus(); ++gpu) {
    const StageTimes& talk = stages[at(gpu / gpus)];
    const std::size_t parts = alike.begun.only_gathers[replica_of(layout, gpu)] ? 1 : 2;
    const GpuGroups::OfGpu places = groups.of(gpu);
    for (std::size_t part = 0; part < parts; ++part) {
      for (const auto& [label, its] : talk.calls) {
        const GpuGroups::Place& place = places[GpuGroups::kind_of(label)];
        const std::size_t ring = label / group_kinds;
        const std::vector<int>& members = schedule.group(place.group->rings[ring]);
        const std::size_t next = place.group->number_in(ring, place.member) + 1;
        times.add(part, gpu, members[next == members.size() ? 0 : next], its[part]);
      }
      for (const auto& [what, its] : talk.messages) {
        const auto [kind, stage] = what;
        const int64_t to = kind == GroupKind::context ? places[GroupKind::context].neighbour(1)
                                                      : stage * gpus + gpu % gpus;
        times.add(part, gpu, to, its[part]);
      }
    }
  }
}

// All that is left.
void add_rest(const GpuSchedule& rest, const Replayed& replayed, WireTimes& times) {
  const RankSchedule& schedule = rest.schedule;
  std::map<std::pair<uint32_t, uint32_t>, Used> pairs;  // of one rank
  uint32_t rank = 0;
  const auto tell = [&] {
    for (const auto& [pair, talk] : pairs) times.add(2, pair.first, pair.second, talk);
    pairs.clear();
  };
  for (uint32_t place = 0; place < schedule.operations().size(); ++place) {
    const RankOperation& one = schedule.operations()[place];
    uint32_t to = 0;
    if (one.verb == RankVerb::send) {
      to = one.peer;
    } else if (one.verb == RankVerb::call) {
      const RankCall call = one.call();
      const std::vector<int>& members = schedule.group(call.group);
      to = static_cast<uint32_t>(members[(call.member + 1) % members.size()]);
    } else {
      continue;
    }
    if (const uint32_t now = schedule.rank_of(place); now != rank) {
      tell();
      rank = now;
    }
    pairs[{rank, to}].add(replayed.began[place], replayed.ended[place]);
  }
  tell();
}

bool are_rings(const RankSchedule& schedule) {
  for (const RankOperation& one : schedule.operations()) {
    if (one.verb != RankVerb::call) continue;
    const RankCall call = one.call();
    const Phase* first = ring_of(schedule.program(call.program),
                                 static_cast<int>(schedule.group(call.group).size()));
    if (first == nullptr || first->distance != 1) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<bool>> slow_replicas(const TrainingStep& step,
                                               const std::vector<double>& factors) {
  const Layout& layout = step.layout;
  const auto replicas = at(of_stage(layout) / of_replica(layout));
  if (factors.empty() || replicas < 2 || layout.zero > 1 || step.model.experts ||
      chunks_of_rank(layout) > 1 || ways_of(layout) > 1)
    return std::nullopt;
  std::vector<bool> slow(replicas);
  for (int64_t gpu = 0; gpu < layout.gpus(); ++gpu)
    if (factors[at(gpu)] != 1) slow[replica_of(layout, gpu)] = true;
  const auto count = std::count(slow.begin(), slow.end(), true);
  if (2 * static_cast<std::size_t>(count) > replicas) return std::nullopt;
  return slow;
}

void begin_with(AlikeStep& alike, std::vector<bool> slow) {
  alike.begun.only_gathers = std::move(slow);
  alike.begun.ended = [&alike](int64_t gpu, uint32_t operation) {
    const uint32_t first = alike.gpus.first[alike.ranks->stand_ins.number_of[at(gpu)]];
    return alike.replayed.ended[first + operation];
  };
}

bool are_apart(const AlikeStep& alike, const TrainingStep& step, const Cluster& cluster,
               GroupTimes& groups, Resources& wires, const GpuSchedule& rest,
               const Replayed& replayed) {
  if (!are_rings(alike.gpus.schedule)) return false;
  WireTimes times(wires);
  add_alike(alike, step, cluster, gpu_cuts(step, cluster, groups), times);
  add_rest(rest, replayed, times);
  return times.are_apart();
}

std::size_t followers(const AlikeStep& alike, const TrainingStep& step) {
  const std::vector<bool>& slow = alike.begun.only_gathers;
  const auto replicas = std::count(slow.begin(), slow.end(), false);
  return at(replicas * of_replica(step.layout) * step.layout.pipeline);
}

void complete(const AlikeStep& alike, const TrainingStep& step, GpuSchedule& rest,
              Replayed& replayed) {
  const StandIns& stand_ins = alike.ranks->stand_ins;
  replayed.messages = alike.replayed.messages;
  replayed.wire_B = alike.replayed.wire_B;
  replayed.carried_B = stand_ins.spread_carried(alike.replayed.carried_B);
  for (int64_t gpu = 0; gpu < step.layout.gpus(); ++gpu)
    if (!alike.begun.only_gathers[replica_of(step.layout, gpu)])
      rest.computed[at(gpu)] =
          alike.gpus.computed[at(stand_ins.workers[stand_ins.number_of[at(gpu)]])];
}

}  // namespace sgdsim
