// Counting messages, way by way.
#include "sim/play/sharing.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <variant>

namespace sgdsim {
namespace {

// Counts per way, in both directions; clearing visits only what was counted.
class Counter {
 public:
  explicit Counter(const Network& network) : network_(network) {
    for (const SharedWays& shared : network.shared_ways())
      counts_.emplace_back(2 * shared.count(network.workers()));
    most_.resize(network.shared_ways().size() + (network.crowding().any() ? 1 : 0));
  }

  void add(int from, int to) {
    for (std::size_t g = 0; g < counts_.size(); ++g) {
      const SharedWays& shared = network_.shared_ways()[g];
      if (!shared.carries(from, to)) continue;
      count(g, 2 * shared.way_out(from, to));
      count(g, 2 * shared.way_in(to) + 1);
    }
    const Crowding& crowding = network_.crowding();
    if (crowding.any() && from / crowding.group != to / crowding.group) ++most_.back();
  }

  // The most since the last call.
  WayLoads take() {
    WayLoads most = most_;
    for (const auto& [shared, way] : touched_) counts_[shared][way] = 0;
    touched_.clear();
    std::fill(most_.begin(), most_.end(), 0);
    return most;
  }

 private:
  void count(std::size_t shared, std::size_t way) {
    int& messages = counts_[shared][way];
    if (messages++ == 0) touched_.emplace_back(shared, way);
    most_[shared] = std::max(most_[shared], static_cast<double>(messages));
  }

  const Network& network_;
  std::vector<std::vector<int>> counts_;
  std::vector<std::pair<std::size_t, std::size_t>> touched_;
  WayLoads most_;
};

// Calls f with the first member of every team that takes part.
template <class F>
void for_each_team(const Team& team, int workers, const F& f) {
  for (int block = 0; block < workers; block += team.size * team.stride)
    for (int lane = 0; lane < team.stride; ++lane)
      if (team.takes_part(block + lane)) f(block + lane);
}

WayLoads loads_of_round(const Network& network, const Phase& phase, int round) {
  Counter counter(network);
  const Team& team = phase.team;
  for_each_team(team, network.workers(), [&](int base) {
    const auto worker = [&](int v) { return base + team.member(v) * team.stride; };
    if (phase.talk == Talk::shift || phase.talk == Talk::exchange) {
      for (int v = 0; v < team.size; ++v) {
        const int to = phase.receiver(round, v);
        if (to >= 0) counter.add(worker(v), worker(to));
      }
    } else {
      phase.for_each_one_way(round, [&](int v, int to) { counter.add(worker(v), worker(to)); });
    }
  });
  return counter.take();
}

void widen(WayLoads& most, const WayLoads& other) {
  most.resize(std::max(most.size(), other.size()));
  for (std::size_t g = 0; g < other.size(); ++g) most[g] = std::max(most[g], other[g]);
}

}  // namespace

PhaseLoads::PhaseLoads(const Network& network, const Phase& phase)
    : network_(&network), phase_(&phase) {
  if (!any()) return;
  const bool alike = phase.talk == Talk::shift && phase.distance_step == 0 && !phase.doubles;
  rounds_.resize(static_cast<std::size_t>(alike ? std::min(1, phase.rounds) : phase.rounds));
}

const WayLoads& PhaseLoads::at(int round) {
  WayLoads& loads = rounds_[rounds_.size() == 1 ? 0 : static_cast<std::size_t>(round)];
  if (loads.empty()) loads = loads_of_round(*network_, *phase_, round);
  return loads;
}

namespace {

// Calls f(from, to) for all edges of all teams.
template <class F>
void for_each_edge(const TreePipeline& pipeline, int workers, const F& f) {
  const Team& team = pipeline.team;
  for_each_team(team, workers, [&](int base) {
    const auto worker = [&](int v) { return base + team.member(v) * team.stride; };
    for (const TreeFlow& flow : pipeline.flows)
      for (int v = 0; v < team.size; ++v) {
        const int parent = flow.parents[static_cast<std::size_t>(v)];
        if (parent >= 0) f(worker(flow.to_root ? v : parent), worker(flow.to_root ? parent : v));
      }
  });
}

// An edge on a way that it shares.
struct Use {
  std::size_t way = 0;
  int from = 0;
  int to = 0;
};

// The most edges that one worker has among them, at this end.
int most_of_one(std::span<Use> uses, int Use::*end) {
  std::sort(uses.begin(), uses.end(), [=](const Use& a, const Use& b) { return a.*end < b.*end; });
  int most = 0;
  int same = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    same = i > 0 && uses[i].*end == uses[i - 1].*end ? same + 1 : 1;
    most = std::max(most, same);
  }
  return most;
}

// How much longer a block takes so that the worker with the most edges on a way, at either end of
// it, is busy for as long as all blocks on it take one after the other. Calls f(way, that).
template <class F>
void for_each_shared(std::vector<Use>& uses, const F& f) {
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.way < b.way; });
  for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
    while (end < uses.size() && uses[end].way == uses[begin].way) ++end;
    const std::size_t way = uses[begin].way;
    const std::span<Use> on_way(&uses[begin], end - begin);
    const int by_one = std::max(most_of_one(on_way, &Use::from), most_of_one(on_way, &Use::to));
    f(way, static_cast<double>(on_way.size()) / by_one);
  }
}

}  // namespace

// A port sends one block at a time, and gets one: of the edges of a worker one is in use at once.
TreeLoads::TreeLoads(const Network& network, const TreePipeline& pipeline) : network_(&network) {
  if (!any()) return;
  std::vector<Use> uses;
  for (const SharedWays& shared : network.shared_ways()) {
    uses.clear();
    for_each_edge(pipeline, network.workers(), [&](int from, int to) {
      if (!shared.carries(from, to)) return;
      uses.push_back({2 * shared.way_out(from, to), from, to});
      uses.push_back({2 * shared.way_in(to) + 1, from, to});
    });
    WayLoads& its = by_way_.emplace_back(2 * shared.count(network.workers()));
    for_each_shared(uses, [&](std::size_t way, double load) { its[way] = load; });
  }
  const Crowding& crowding = network.crowding();
  if (!crowding.any()) return;
  uses.clear();
  for_each_edge(pipeline, network.workers(), [&](int from, int to) {
    if (from / crowding.group != to / crowding.group) uses.push_back({0, from, to});
  });
  for_each_shared(uses, [&](std::size_t, double load) { crowd_ = std::ceil(load); });
}

const WayLoads& TreeLoads::of(int from, int to) {
  answer_.clear();
  for (std::size_t g = 0; g < by_way_.size(); ++g) {
    const SharedWays& shared = network_->shared_ways()[g];
    answer_.push_back(shared.carries(from, to) ? std::max(by_way_[g][2 * shared.way_out(from, to)],
                                                          by_way_[g][2 * shared.way_in(to) + 1])
                                               : 0);
  }
  if (network_->crowding().any()) answer_.push_back(crowd_);
  return answer_;
}

WayLoads TreeLoads::most() const {
  WayLoads most;
  for (const WayLoads& its : by_way_)
    most.push_back(its.empty() ? 0 : *std::max_element(its.begin(), its.end()));
  if (network_->crowding().any()) most.push_back(crowd_);
  return most;
}

WayLoads most_loads(const Network& network, const Program& program) {
  WayLoads most;
  if (!network.has_loads()) return most;
  for (const Stage& stage : program.stages) {
    if (const auto* phase = std::get_if<Phase>(&stage)) {
      PhaseLoads loads(network, *phase);
      const bool alike = phase->talk == Talk::shift && phase->distance_step == 0 && !phase->doubles;
      const int different = alike ? std::min(1, phase->rounds) : phase->rounds;
      for (int round = 0; round < different; ++round) widen(most, loads.at(round));
    } else if (const auto* pipeline = std::get_if<TreePipeline>(&stage)) {
      widen(most, TreeLoads(network, *pipeline).most());
    }
  }
  most.resize(network.shared_ways().size() + (network.crowding().any() ? 1 : 0));
  return most;
}

}  // namespace sgdsim
