// Message by message, without time.
#include "sim/play/quiet.h"

#include <algorithm>

#include "sim/play/same_pairs.h"

namespace sgdsim {
namespace {

constexpr double rounding = 1e-9;

// What messages that are under way together ask of each resource.
class Loads {
 public:
  explicit Loads(Resources& resources)
      : resources_(resources), capacities_(resources.capacities()), asked_(capacities_.size()) {}

  // False if there is no room for it at full rate, or no way.
  bool add(const Parcel& parcel) {
    if (parcel.size_B <= 0 || parcel.leg.transit <= Duration()) return true;
    // A time that was rounded down would ask for more than there is, by 3e-9 where 150 us have
    // been.
    constexpr double rounded_ps = 0.5;
    const double rate = parcel.size_B / (static_cast<double>(parcel.leg.transit.ps()) + rounded_ps);
    uses_.clear();
    if (!resources_.find(parcel, Resources::Part::whole, uses_)) return false;
    for (const ResourceUse& use : uses_) {
      if (asked_[use.resource] == 0) touched_.push_back(use.resource);
      asked_[use.resource] += use.share * rate;
      if (asked_[use.resource] > capacities_[use.resource] * (1 + rounding)) return false;
    }
    return true;
  }
  void clear() {
    for (const uint32_t resource : touched_) asked_[resource] = 0;
    touched_.clear();
  }

 private:
  Resources& resources_;
  std::vector<double> capacities_;
  std::vector<double> asked_;
  std::vector<uint32_t> touched_;
  std::vector<ResourceUse> uses_;
};

bool sends_to_the_same(const Phase& phase) {
  return phase.talk == Talk::shift && !phase.doubles && phase.distance_step == 0;
}

// Calls f(from, to, size_B) for all messages of a round, until it returns false; whether it never
// did.
template <class F>
bool for_each_message(const Phase& phase, int round, int workers, const F& f) {
  for (int worker = 0; worker < workers; ++worker) {
    if (!phase.team.takes_part(worker)) continue;
    const int v = phase.team.relative(worker);
    const int to = phase.receiver(round, v);
    if (to < 0) continue;
    if (!f(worker, phase.team.colleague(worker, v, to),
           phase.sent_B(round, v, phase.team.lane(worker))))
      return false;
  }
  return true;
}

Parcel parcel_of(const Wires& wires, const Phase& phase, int from, int to, double size_B) {
  return {.from = from,
          .to = to,
          .size_B = size_B,
          .leg = wires.leg(from, to, size_B, false, phase.goes_both_ways()).bytes_only()};
}

void add_blocks(const TreePipeline& pipeline, int workers, Resources& resources,
                std::vector<ResourceUse>& uses, std::vector<double>& carried) {
  for (int worker = 0; worker < workers; ++worker) {
    if (!pipeline.team.takes_part(worker)) continue;
    const int v = pipeline.team.relative(worker);
    for (const TreeFlow& flow : pipeline.flows) {
      const int parent = flow.parents[static_cast<std::size_t>(v)];
      if (parent < 0) continue;
      const int other = pipeline.team.colleague(worker, v, parent);
      double size_B = 0;
      for (const BlockRun& run : flow.blocks) size_B += run.size_B * static_cast<double>(run.count);
      uses.clear();
      resources.find({.from = flow.to_root ? worker : other, .to = flow.to_root ? other : worker},
                     Resources::Part::whole, uses);
      for (const ResourceUse& use : uses) carried[use.resource] += use.share * size_B;
    }
  }
}

}  // namespace

std::vector<double> carried_by(const Program& program, const Network& network,
                               Resources& resources) {
  std::vector<double> carried(resources.capacities().size());
  std::vector<ResourceUse> uses;
  for (const Stage& stage : program.stages) {
    if (const auto* pipeline = std::get_if<TreePipeline>(&stage))
      add_blocks(*pipeline, network.workers(), resources, uses, carried);
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) continue;
    // Of rounds that differ by a byte, one stands for all.
    const bool alike = sends_to_the_same(*phase) && phase->load == Load::chunk;
    const int times = alike ? phase->rounds : 1;
    for (int round = 0; round < (alike ? std::min(1, phase->rounds) : phase->rounds); ++round)
      for_each_message(*phase, round, network.workers(), [&](int from, int to, double size_B) {
        uses.clear();
        resources.find({.from = from, .to = to}, Resources::Part::whole, uses);
        for (const ResourceUse& use : uses) carried[use.resource] += use.share * size_B * times;
        return true;
      });
  }
  return carried;
}

bool is_quiet_in_step(const Program& program, const Network& network, Resources& resources,
                      const Stopper* stopper) {
  Lookout lookout(stopper);
  const Wires wires(network, AlphaRule::wire);
  Loads loads(resources);
  for (const Stage& stage : program.stages) {
    if (std::holds_alternative<TreePipeline>(stage)) return false;
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) continue;
    if (phase->at_once) return false;
    const int rounds = sends_to_the_same(*phase) ? std::min(1, phase->rounds) : phase->rounds;
    for (int round = 0; round < rounds; ++round) {
      loads.clear();
      lookout.passed(network.workers());
      if (!for_each_message(*phase, round, network.workers(), [&](int from, int to, double size_B) {
            return loads.add(parcel_of(wires, *phase, from, to, size_B));
          }))
        return false;
    }
  }
  return true;
}

const Phase* ring_of(const Program& program, int workers) {
  const Phase* first = nullptr;
  for (const Stage& stage : program.stages) {
    if (std::holds_alternative<Launch>(stage)) continue;
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr || !sends_to_the_same(*phase) || phase->at_once ||
        phase->handshake != Handshake::buffered || phase->team.size != workers)
      return nullptr;
    if (first == nullptr) first = phase;
    if (phase->distance != first->distance || phase->team.root != first->team.root) return nullptr;
  }
  return first;
}

bool always_same_pairs(const Program& program, const Network& network, Resources& resources,
                       AlphaRule of_legs) {
  const Wires wires(network, of_legs);
  Loads loads(resources);
  const bool is_launch_only =
      std::all_of(program.stages.begin(), program.stages.end(),
                  [](const Stage& stage) { return std::holds_alternative<Launch>(stage); });
  if (!is_launch_only && ring_of(program, network.workers()) == nullptr) return false;
  for (const Stage& stage : program.stages) {
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) continue;
    // Where links have segments, messages of another size may ask for more. Those that agree with
    // their receivers wait for them.
    loads.clear();
    if (!for_each_message(*phase, 0, network.workers(), [&](int from, int to, double size_B) {
          const Parcel parcel = parcel_of(wires, *phase, from, to, size_B);
          return parcel.leg.agreed == Duration() && loads.add(parcel);
        }))
      return false;
  }
  return true;
}

void play_ring(const Program& program, const RingPlay& how, std::vector<Time>& clocks) {
  RingPlay one = how;
  for (const Stage& stage : program.stages) {
    ++one.stage;
    if (const auto* launch = std::get_if<Launch>(&stage)) {
      for (Time& clock : clocks) clock += launch->length;
    } else {
      SamePairs(std::get<Phase>(stage), one).play(clocks);
    }
  }
}

std::optional<std::vector<Time>> play_same_pairs(const Program& program, const RingPlay& how,
                                                 Resources& resources, std::vector<Time> clocks) {
  if (!always_same_pairs(program, how.network, resources, how.of_legs)) return std::nullopt;
  play_ring(program, how, clocks);
  return clocks;
}

}  // namespace sgdsim
