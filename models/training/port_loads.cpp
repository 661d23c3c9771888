// Ports only get busier within a round, so that the busiest one is known without looking again.
#include "models/training/port_loads.h"

#include <algorithm>
#include <array>

#include "sim/core/cast.h"
#include "sim/work/tree_edges.h"

namespace sgdsim {
namespace {

class PortLoads {
 public:
  explicit PortLoads(const GroupPorts& group) : group_(group) {
    int64_t first = 0;
    for (const int64_t members : group.members) {
      for (int64_t i = 0; i < members; ++i) places_.push_back({first, members});
      first += members;
    }
    busy_B_.resize(places_.size() * ports_of_member);
  }

  // One message of each part.
  void add(int from, int to, double bytes) {
    const bool crosses = places_[at(from)].first != places_[at(to)].first;
    const double rate = crosses ? group_.across_s_per_B : group_.inside_s_per_B;
    latency_s_ = std::max(latency_s_, crosses ? group_.across_latency_s : group_.inside_latency_s);
    slowest_s_per_B_ = std::max(slowest_s_per_B_, rate);
    for (int64_t part = 0; part < group_.parts; ++part) {
      keep(member(from, part), crosses ? card_out : gpu_out, bytes, rate);
      keep(member(to, part), crosses ? card_in : gpu_in, bytes, rate);
    }
  }
  double busiest_s() const { return busiest_s_; }
  double latency_s() const { return latency_s_; }
  double slowest_s_per_B() const { return slowest_s_per_B_; }
  void clear() {
    for (const std::size_t port : used_) busy_B_[port] = 0;
    used_.clear();
    busiest_s_ = latency_s_ = slowest_s_per_B_ = 0;
  }

 private:
  enum Port : std::size_t { gpu_out, gpu_in, card_out, card_in };
  static constexpr std::size_t ports_of_member = 4;
  struct Place {
    int64_t first = 0;    // of the node
    int64_t members = 0;  // in it
  };

  // Who has that number in the order of a part.
  int64_t member(int number, int64_t part) const {
    const Place& place = places_[at(number)];
    return place.first + (number - place.first + part) % place.members;
  }
  void keep(int64_t member, Port port, double bytes, double s_per_B) {
    const std::size_t which = at(member) * ports_of_member + port;
    if (busy_B_[which] == 0) used_.push_back(which);
    busy_B_[which] += bytes;
    busiest_s_ = std::max(busiest_s_, busy_B_[which] * s_per_B);
  }

  const GroupPorts& group_;
  std::vector<Place> places_;  // by number
  std::vector<double> busy_B_;
  std::vector<std::size_t> used_;
  double busiest_s_ = 0;
  double latency_s_ = 0;
  double slowest_s_per_B_ = 0;
};

template <class F>
void for_each_message(const Phase& phase, int round, const F& f) {
  if (!phase.goes_both_ways()) return phase.for_each_one_way(round, f);
  for (int v = 0; v < phase.team.size; ++v)
    if (const int to = phase.receiver(round, v); to >= 0) f(v, to);
}

// Messages to a root come as they come; those of a root follow each other, as rounds do.
double seconds_of(const Phase& phase, const GroupPorts& group, PortLoads& loads) {
  double seconds = 0;
  const bool is_star = phase.talk == Talk::star_in || phase.talk == Talk::star_out;
  const bool at_once = phase.talk == Talk::star_in;
  for (int round = 0; round < phase.rounds; ++round) {
    for_each_message(phase, round,
                     [&](int from, int to) { loads.add(from, to, phase.sent_B(round, from, 0)); });
    const bool is_last = round + 1 == phase.rounds;
    if (at_once && !is_last) continue;
    const double starts = at_once && !group.starts_in_flight ? phase.rounds : 1;
    if (!is_star || is_last || !group.starts_in_flight) seconds += starts * loads.latency_s();
    seconds += loads.busiest_s();
    loads.clear();
  }
  return seconds;
}

// All blocks over the busiest port, and the first one on its way through the trees.
double seconds_of(const TreePipeline& pipeline, PortLoads& loads) {
  const TreeEdges edges(pipeline);
  std::vector<int> hops(pipeline.flows.size());
  double block_B = 0;
  for (const TreeEdge& edge : edges.all()) {
    double bytes = 0;
    for (const BlockRun& run : pipeline.flows[at(edge.flow)].blocks) {
      bytes += run.size_B * real(run.count);
      block_B = std::max(block_B, run.size_B);
    }
    loads.add(edge.from, edge.to, bytes);
    hops[at(edge.flow)] = std::max(hops[at(edge.flow)], edge.hop + 1);
  }
  int most = 0;
  for (std::size_t flow = 0; flow < hops.size(); ++flow) {
    const int before = pipeline.flows[flow].released_by;
    most = std::max(most, hops[flow] + (before >= 0 ? hops[at(before)] : 0));
  }
  const double seconds = loads.busiest_s() + most * loads.latency_s() +
                         std::max(0, most - 1) * block_B * loads.slowest_s_per_B();
  loads.clear();
  return seconds;
}

}  // namespace

std::optional<double> seconds_on_ports(const Program& program, const GroupPorts& group) {
  PortLoads loads(group);
  double seconds = 0;
  for (const Stage& stage : program.stages) {
    if (const auto* phase = std::get_if<Phase>(&stage)) {
      if (phase->talk == Talk::shift && phase->load == Load::chunk) return std::nullopt;
      seconds += seconds_of(*phase, group, loads);
    } else if (const auto* pipeline = std::get_if<TreePipeline>(&stage)) {
      seconds += seconds_of(*pipeline, loads);
    }
  }
  return seconds;
}

}  // namespace sgdsim
