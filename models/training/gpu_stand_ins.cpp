// One GPU of each stage tells what all of the stage do; groups tell with whom.
#include "models/training/gpu_stand_ins.h"

#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/training/gpu_groups.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

// With more, routes of all of them take longer than they save.
constexpr int64_t most_routed_gpus = 2048;

// What GPUs of a stage send, as its first one does.
struct StageTalk {
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> programs;  // by label of group and structure
  std::set<std::tuple<GroupKind, int64_t, int64_t>> messages;  // to a stage, bytes
};

// Who is in a group with whom.
class AllGroups {
 public:
  AllGroups(const Layout& layout, int workers_per_node)
      : schedule_(static_cast<uint32_t>(layout.gpus())) {
    GpuGroups groups(layout, workers_per_node, schedule_);
    for (int64_t gpu = 0; gpu < layout.gpus(); ++gpu) {
      const GpuGroups::OfGpu places = groups.of(gpu);
      if (layout.context > 1) context_next_.push_back(places[GroupKind::context].neighbour(1));
    }
    labels_ = groups.labels();
    has_uneven_rings_ = groups.has_uneven_rings();
  }
  uint32_t count() const { return static_cast<uint32_t>(schedule_.groups()); }
  const std::vector<int>& members(uint32_t group) const { return schedule_.group(group); }
  uint64_t label(uint32_t group) const { return labels_[group]; }
  int64_t context_next(int64_t gpu) const { return context_next_[at(gpu)]; }
  bool has_uneven_rings() const { return has_uneven_rings_; }

 private:
  RankSchedule schedule_;  // its groups
  std::vector<uint64_t> labels_;
  std::vector<int64_t> context_next_;
  bool has_uneven_rings_ = false;
};

class GpuTalk {
 public:
  GpuTalk(const TrainingStep& step, const Cluster& cluster, GroupTimes& times,
          const AllGroups& groups, bool equal_chunks)
      : layout_(step.layout),
        network_(cluster.network),
        of_stage_(layout_.gpus() / layout_.pipeline),
        groups_(groups) {
    GpuScheduleOptions options;
    options.equal_chunks = equal_chunks;
    for (int64_t stage = 0; stage < layout_.pipeline; ++stage)
      options.only.push_back(static_cast<int>(stage * of_stage_));
    first_.emplace(gpu_schedule(step, cluster, times, options));
    stages_.resize(at(layout_.pipeline));
    const RankSchedule& schedule = first_->schedule;
    for (uint32_t i = 0; i < schedule.operations().size(); ++i)
      note(schedule.operations()[i],
           stages_[schedule.rank_of(i) / static_cast<uint32_t>(of_stage_)]);
  }

  // Of all GPUs.
  double messages() const { return messages_ * real(of_stage_); }

  // False if nobody can stand for others.
  bool add_to(Alikeness& alikeness) const {
    const std::vector<GroupCall> calls = group_calls();
    if (!alikeness.expect(messages_in(calls))) return false;
    for (const GroupCall& one : calls)
      if (!alikeness.add(one.label, first_->schedule.program(one.program), network_,
                         &groups_.members(one.group), first_->schedule.folds(one.program)))
        return false;
    for (int64_t gpu = 0; gpu < layout_.gpus(); ++gpu)
      for (const auto& [kind, to_stage, bytes] : stages_[at(gpu / of_stage_)].messages) {
        const int64_t to = kind == GroupKind::context ? groups_.context_next(gpu)
                                                      : to_stage * of_stage_ + gpu % of_stage_;
        const uint64_t label =
            mixed(mixed(static_cast<uint64_t>(kind), static_cast<uint64_t>(gpu / of_stage_)),
                  static_cast<uint64_t>(to_stage));
        alikeness.add(mixed(label, 1), network_, static_cast<int>(gpu), static_cast<int>(to),
                      static_cast<double>(bytes));
      }
    return true;
  }

  // GPUs of each stage take each other's places: replicas, context-parallel ranks, tensor-parallel
  // ones; the nearest first.
  std::vector<std::vector<Alikeness::Places>> moves() const {
    std::vector<std::vector<Alikeness::Places>> all;
    const int64_t of_replica = layout_.tensor * layout_.context;
    all.push_back(rotations(of_replica, of_stage_));
    all.push_back(rotations(layout_.tensor, of_replica));
    all.push_back(rotations(1, layout_.tensor));
    return all;
  }

 private:
  struct GroupCall {
    uint32_t group = 0;
    uint32_t program = 0;
    uint64_t label = 0;
  };
  // Of all groups, one of each structure.
  std::vector<GroupCall> group_calls() const {
    std::vector<GroupCall> calls;
    for (uint32_t group = 0; group < groups_.count(); ++group) {
      std::set<uint64_t> structures;
      int64_t last = -1;
      for (const int member : groups_.members(group)) {
        const int64_t stage = member / of_stage_;
        if (stage == last) continue;  // they do the same
        last = stage;
        for (const auto& [key, program] : stages_[at(stage)].programs)
          if (key.first == groups_.label(group) && structures.insert(key.second).second)
            calls.push_back({group, program, mixed(key.first, key.second)});
      }
    }
    return calls;
  }
  std::size_t messages_in(const std::vector<GroupCall>& calls) const {
    std::size_t sum = 0;
    for (const StageTalk& stage : stages_) sum += stage.messages.size() * at(of_stage_);
    std::map<uint32_t, std::size_t> of_programs;
    for (const GroupCall& one : calls) {
      const auto [known, is_new] = of_programs.try_emplace(one.program);
      if (is_new)
        known->second = Alikeness::messages_of(first_->schedule.program(one.program),
                                               static_cast<int>(groups_.members(one.group).size()));
      sum += known->second;
    }
    return sum;
  }
  void note(const RankOperation& one, StageTalk& talk) {
    if (one.verb == RankVerb::send) {
      messages_ += 1;
      const auto kind = static_cast<GroupKind>(one.tag % group_kinds);
      talk.messages.emplace(kind, int64_t{one.peer} / of_stage_, one.amount);
    }
    if (one.verb != RankVerb::call) return;
    const RankCall call = one.call();
    const Program& program = first_->schedule.program(call.program);
    const auto members = static_cast<int>(first_->schedule.group(call.group).size());
    double& sent = sent_in_.try_emplace(call.program, -1).first->second;
    if (sent < 0) sent = static_cast<double>(traffic_of(program, members).messages) / members;
    messages_ += sent;
    uint32_t& known =
        talk.programs
            .try_emplace({first_->group_labels[call.group], structure_of(program, network_)},
                         call.program)
            .first->second;
    if (bytes_of(first_->schedule.program(known)) < bytes_of(program)) known = call.program;
  }
  // By `unit`, and multiples of it, around every `length` GPUs.
  std::vector<Alikeness::Places> rotations(int64_t unit, int64_t length) const {
    std::vector<Alikeness::Places> all;
    for (int64_t times = 1; unit * times < length; ++times) {
      if (length / unit % times != 0) continue;
      Alikeness::Places& places = all.emplace_back();
      for (int64_t gpu = 0; gpu < layout_.gpus(); ++gpu)
        places.push_back(
            static_cast<int>(gpu - gpu % length + (gpu % length + unit * times) % length));
    }
    return all;
  }

  const Layout& layout_;
  const Network& network_;
  int64_t of_stage_;
  const AllGroups& groups_;
  std::optional<GpuSchedule> first_;  // GPUs of stages
  std::vector<StageTalk> stages_;
  std::map<uint32_t, double> sent_in_;  // programs, messages of a member
  double messages_ = 0;                 // of those GPUs
};

// Of GPUs that have nothing but their stage, and `factors`.
std::vector<uint64_t> first_colours(const Layout& layout, const std::vector<double>& factors) {
  std::vector<uint64_t> first;
  for (int64_t gpu = 0; gpu < layout.gpus(); ++gpu) {
    first.push_back(static_cast<uint64_t>(gpu / (layout.gpus() / layout.pipeline)));
    if (!factors.empty())
      first.back() = mixed(first.back(), std::bit_cast<uint64_t>(factors[at(gpu)]));
  }
  return first;
}

std::optional<StandIns> found_in(const GpuTalk& talk, std::vector<uint64_t> first,
                                 Resources& wires) {
  Alikeness by_moves(first, nullptr, AlphaRule::wire);
  if (!talk.add_to(by_moves)) return std::nullopt;
  std::optional<StandIns> found = by_moves.find_by(talk.moves(), wires);
  if (found || static_cast<int64_t>(first.size()) > most_routed_gpus) return found;
  Alikeness by_routes(std::move(first), &wires, AlphaRule::wire);
  if (talk.add_to(by_routes)) found = by_routes.find();
  return found;
}

}  // namespace

std::optional<GpuStandIns> gpu_stand_ins(const TrainingStep& step, const Cluster& cluster,
                                         GroupTimes& groups, const std::vector<double>& factors,
                                         Resources& wires, Reduction reduction) {
  const Layout& layout = step.layout;
  if (reduction == Reduction::never || cluster.network.workers() != layout.gpus())
    return std::nullopt;
  const std::vector<uint64_t> first = first_colours(layout, factors);
  const AllGroups all(layout, cluster.workers_per_node);
  if (all.has_uneven_rings()) return std::nullopt;
  const GpuTalk talk(step, cluster, groups, all, false);
  std::optional<GpuStandIns> best;
  if (std::optional<StandIns> found = found_in(talk, first, wires))
    best = {std::move(*found), false};
  const bool is_least = best && static_cast<int64_t>(best->all.workers.size()) == layout.pipeline;
  if (!is_least && talk.messages() >= least_equal_messages) {
    const GpuTalk equal(step, cluster, groups, all, true);
    std::optional<StandIns> found = found_in(equal, first, wires);
    if (found && (!best || found->workers.size() < best->all.workers.size()))
      best = {std::move(*found), true};
  }
  if (best && !is_used(reduction, best->all, talk.messages())) best.reset();
  return best;
}

std::unique_ptr<AlikeRanks> alike_ranks(StandIns stand_ins, const GpuSchedule& gpus) {
  auto ranks = std::make_unique<AlikeRanks>();
  ranks->stand_ins = std::move(stand_ins);
  std::vector<LabelledGroup> groups;
  for (uint32_t number = 0; number < gpus.schedule.groups(); ++number)
    groups.push_back({gpus.group_labels[number], number, &gpus.schedule.group(number)});
  take_seats(*ranks, groups, gpus.schedule.groups());
  return ranks;
}

}  // namespace sgdsim
