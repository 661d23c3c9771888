// Message by message, without time.
#include "sim/play/quiet.h"

#include <algorithm>
#include <array>
#include <deque>

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

// A phase in which everybody always sends to the same worker.
class SamePairs {
 public:
  SamePairs(const Phase& phase, const RingPlay& how)
      : phase_(phase), wires_(how.network, AlphaRule::wire), how_(how) {
    const int workers = phase.team.size;
    if (phase.load == Load::chunk) chunk_B_.resize(static_cast<std::size_t>(workers));
    pairs_.resize(static_cast<std::size_t>(workers));
    for (int worker = 0; worker < workers; ++worker) {
      Pair& pair = pairs_[static_cast<std::size_t>(worker)];
      pair.v = phase.team.relative(worker);
      pair.to = phase.team.colleague(worker, pair.v, phase.receiver(0, pair.v));
      if (chunk_B_.empty()) continue;
      pair.chunk = phase.range(0, pair.v).first;
      chunk_B_[static_cast<std::size_t>(pair.chunk)] = phase.sent_B(0, pair.v, 0);
    }
  }

  void play(std::vector<Time>& clocks) {
    if (phase_.rounds == 0) return;
    if (!how_.sends && play_alike(clocks)) return;
    std::vector<Time> next(clocks.size());
    std::vector<Duration> folds(clocks.size());
    Lookout lookout(how_.stopper);
    for (int round = 0; round < phase_.rounds; ++round) {
      std::fill(next.begin(), next.end(), Time());
      for (std::size_t from = 0; from < pairs_.size(); ++from) {
        Pair& pair = pairs_[from];
        const Taking& taking = taking_of(pair, from, round);
        const auto to = static_cast<std::size_t>(pair.to);
        next[from] = std::max(next[from], clocks[from] + taking.sender);
        next[to] = std::max(next[to], clocks[from] + taking.receiver);
        folds[to] = taking.fold;  // follows both
        if (how_.sent_B != nullptr) (*how_.sent_B)[from] += taking.size_B;
        if (how_.sends) how_.sends(from, clocks[from], clocks[from] + taking.receiver);
      }
      for (std::size_t i = 0; i < next.size(); ++i) clocks[i] = next[i] + folds[i];
      lookout.passed(phase_.team.size);
    }
  }

 private:
  // What a message takes, of a size.
  struct Taking {
    double size_B = -1;
    Duration sender;
    Duration receiver;
    Duration fold;
    bool operator==(const Taking&) const = default;
  };
  struct Pair {
    int v = 0;
    int to = 0;
    int chunk = 0;
    std::array<Taking, 2> takings = {};  // sizes of chunks differ by a byte
  };

  // All messages take the same. Then a worker is done when the latest of the ways is that leads to
  // it: from any worker before it, in so many rounds as that is away, and the others spent anywhere
  // on the way. The latest of all starts in reach is known from those of the worker before.
  bool play_alike(std::vector<Time>& clocks) {
    const std::size_t count = pairs_.size();
    const auto rounds = static_cast<std::size_t>(phase_.rounds);
    const bool one_size =
        phase_.load == Load::whole ||
        std::all_of(chunk_B_.begin(), chunk_B_.end(), [&](double it) { return it == chunk_B_[0]; });
    if (!one_size || phase_.distance != 1 || rounds >= count) return false;
    const Taking first = taking_of(pairs_[0], 0, 0);
    for (std::size_t from = 1; from < count; ++from)
      if (!(taking_of(pairs_[from], from, 0) == first)) return false;
    if (how_.sent_B != nullptr)
      for (double& sent : *how_.sent_B) sent += first.size_B * static_cast<double>(rounds);
    const Duration staying = first.sender + first.fold;
    const Duration going = first.receiver - first.sender;  // more than that
    const auto at = [&](std::size_t place) {
      return clocks[place % count] - going * static_cast<int64_t>(place);
    };
    std::vector<Time> ends(count);
    std::deque<std::size_t> latest;  // places whose starts fall, the latest in reach first
    for (std::size_t place = 0; place < 2 * count; ++place) {
      while (!latest.empty() && at(latest.back()) <= at(place)) latest.pop_back();
      latest.push_back(place);
      if (latest.front() + rounds < place) latest.pop_front();
      if (place < count) continue;
      ends[place - count] = at(latest.front()) + going * static_cast<int64_t>(place) +
                            staying * static_cast<int64_t>(rounds);
    }
    clocks = std::move(ends);
    return true;
  }

  double size_of(Pair& pair, int round) const {
    if (chunk_B_.empty()) return phase_.sent_B(round, pair.v, 0);
    const auto chunks = static_cast<int>(chunk_B_.size());
    const double size_B = chunk_B_[static_cast<std::size_t>(pair.chunk)];
    pair.chunk += phase_.chunk_slope % chunks;
    if (pair.chunk < 0) pair.chunk += chunks;
    if (pair.chunk >= chunks) pair.chunk -= chunks;
    return size_B;
  }
  int place(int worker) const {
    return how_.members == nullptr ? worker : (*how_.members)[static_cast<std::size_t>(worker)];
  }
  const Taking& taking_of(Pair& pair, std::size_t from, int round) const {
    const double size_B = size_of(pair, round);
    if (pair.takings[0].size_B == size_B) return pair.takings[0];
    if (pair.takings[1].size_B != size_B) {
      const Leg leg = wires_.leg(place(static_cast<int>(from)), place(pair.to), size_B,
                                 phase_.folds && how_.folds, phase_.goes_both_ways());
      const Duration arrives = leg.flight + leg.transit;
      const Taking taking{size_B, how_.alpha == AlphaRule::port ? arrives : leg.transit, arrives,
                          leg.fold};
      if (pair.takings[0].size_B < 0) return pair.takings[0] = taking;
      pair.takings[1] = taking;
    }
    return pair.takings[1];
  }

  const Phase& phase_;
  Wires wires_;
  const RingPlay& how_;
  std::vector<Pair> pairs_;      // by sender
  std::vector<double> chunk_B_;  // of each chunk, if one is sent in a round
};

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

bool always_same_pairs(const Program& program, const Network& network, Resources& resources) {
  const Wires wires(network, AlphaRule::wire);
  Loads loads(resources);
  const bool is_launch_only =
      std::all_of(program.stages.begin(), program.stages.end(),
                  [](const Stage& stage) { return std::holds_alternative<Launch>(stage); });
  if (!is_launch_only && ring_of(program, network.workers()) == nullptr) return false;
  for (const Stage& stage : program.stages) {
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) continue;
    // Where links have segments, messages of another size may ask for more.
    loads.clear();
    if (!for_each_message(*phase, 0, network.workers(), [&](int from, int to, double size_B) {
          return loads.add(parcel_of(wires, *phase, from, to, size_B));
        }))
      return false;
  }
  return true;
}

void play_ring(const Program& program, const RingPlay& how, std::vector<Time>& clocks) {
  for (const Stage& stage : program.stages) {
    if (const auto* launch = std::get_if<Launch>(&stage)) {
      for (Time& clock : clocks) clock += launch->length;
    } else {
      SamePairs(std::get<Phase>(stage), how).play(clocks);
    }
  }
}

std::optional<std::vector<Time>> play_same_pairs(const Program& program, const Network& network,
                                                 Resources& resources, AlphaRule alpha,
                                                 std::vector<Time> clocks, const Stopper* stopper) {
  if (!always_same_pairs(program, network, resources)) return std::nullopt;
  play_ring(program, {.network = network, .alpha = alpha, .stopper = stopper}, clocks);
  return clocks;
}

}  // namespace sgdsim
