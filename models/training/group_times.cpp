// The slowest edges are found once per kind of group by looking at all of them.
#include "models/training/group_times.h"

#include <algorithm>
#include <optional>
#include <string>

#include "models/collective/network_defaults.h"
#include "models/training/port_loads.h"
#include "sim/core/cast.h"
#include "sim/net/way_counts.h"

namespace sgdsim {
namespace {

PairCost cost_of(double latency_s, double s_per_B) {
  return {Duration::nearest_ps(latency_s * 1e12), PerByte::ps(s_per_B * 1e12), {}};
}

CollectiveJob job_of(Operation operation, int64_t members, double bytes) {
  CollectiveJob job;
  job.operation = operation;
  job.team = {static_cast<int>(members), 1};
  job.share = {.total = Bytes::nearest(std::max(1.0, bytes)), .fractional = true, .split = {}};
  return job;
}

// What a part of a message takes that goes by a pair alone, and with all parts on the ways that it
// shares with others.
double slowest_part_s_per_B(const Network& network, std::pair<int, int> pair, double alone,
                            const std::vector<double>& parts) {
  const auto [from, to] = pair;
  double slowest = alone;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const SharedWays& shared = network.shared_ways()[i];
    if (!shared.carries(from, to)) continue;
    const double way = std::max(shared.rate_of(from), shared.rate_of(to)).ps() * 1e-12;
    slowest = std::max(slowest, way * parts[i]);
  }
  return slowest;
}

}  // namespace

// Sizes of one band see one network.
double GroupTimes::band_start_B(double message_B) const {
  double start = 0;
  for (const SizeBand& band : cluster_->network.bands())
    if (message_B >= band.from_B) start = band.from_B;
  return start;
}

std::vector<int64_t> GroupTimes::members_by_node(const RankGroup& group, int64_t first) const {
  std::vector<int64_t> nodes;
  for_each_node(group, first, cluster_->workers_per_node,
                [&](int64_t, int64_t members) { nodes.push_back(members); });
  return nodes;
}

GroupTimes::Edges GroupTimes::find_edges(const RankGroup& group, const Network& network) const {
  const int64_t per_node = cluster_->workers_per_node;
  const RankGroup all{group.stride, group.size};
  const std::vector<double> loads = loads_of(group.among_others ? all : group, network);
  Edges edges;
  edges.per_node = edges.most_per_node = group.size;
  const auto grow = [](double& most, double one) { most = std::max(most, one); };
  auto add = [&](int64_t from, int64_t to, double rings, double& across_s_per_B) {
    const PairCost cost = network.between(static_cast<int>(from), static_cast<int>(to));
    const double alone = cost.per_byte.ps() * 1e-12;
    if (from / per_node == to / per_node) {
      edges.has_inside = true;
      grow(edges.inside_latency_s, cost.start_up().s());
      grow(edges.inside_s_per_B, alone);
      return;
    }
    edges.crosses = true;
    const double part = slowest_part_s_per_B(
        network, {static_cast<int>(from), static_cast<int>(to)}, alone / rings, loads);
    grow(edges.across_latency_s, cost.start_up().s());
    grow(edges.directly_s_per_B, alone);
    grow(edges.around_s_per_B, part);
    grow(across_s_per_B, part * rings);
  };
  bool is_first = true;
  for_each_group(group, [&](int64_t first) {
    std::vector<int64_t> nodes = members_by_node(group, first);
    const auto [least, most] = std::minmax_element(nodes.begin(), nodes.end());
    edges.per_node = std::min(edges.per_node, *least);
    edges.most_per_node = is_first ? *most : std::max(edges.most_per_node, *most);
    edges.nodes = std::max(edges.nodes, static_cast<int64_t>(nodes.size()));
    const double rings = real(*least);
    double& across_s_per_B = edges.members[std::move(nodes)];
    for (int64_t member = 0; member < group.size; ++member)
      add(first + member * group.stride, first + (member + 1) % group.size * group.stride, rings,
          across_s_per_B);
    grow(edges.across_s_per_B, across_s_per_B);
    is_first = false;
  });
  return edges;
}

// What the rings of all groups put on the fullest of each of the ways that workers share, in parts
// of what a member sends around.
std::vector<double> GroupTimes::loads_of(const RankGroup& group, const Network& network) const {
  std::vector<double> loads;
  for (const SharedWays& shared : network.shared_ways()) {
    std::vector<double> out(shared.count(static_cast<int>(gpus_)));
    std::vector<double> in(out.size());
    double& most = loads.emplace_back();
    for_each_ring_send(group, [&](int from, int to, int64_t rings) {
      if (!shared.carries(from, to)) return;
      const double part = 1 / real(rings);
      most = std::max({most, out[shared.way_out(from, to)] += part, in[shared.way_in(to)] += part});
    });
  }
  return loads;
}

// From node to node, a ring for every member that each node of a group has, which leaves the nodes
// by other members each.
template <class F>
void GroupTimes::for_each_ring_send(const RankGroup& group, const F& f) const {
  struct Node {
    int64_t first = 0;
    int64_t members = 0;
  };
  std::vector<Node> nodes;
  for_each_group(group, [&](int64_t first) {
    nodes.clear();
    int64_t rings = group.size;
    for_each_node(group, first, cluster_->workers_per_node, [&](int64_t rank, int64_t members) {
      nodes.push_back({rank, members});
      rings = std::min(rings, members);
    });
    for (std::size_t i = 0; i < nodes.size() && nodes.size() > 1; ++i)
      for (int64_t ring = 0; ring < rings; ++ring) {
        const Node& to = nodes[(i + 1) % nodes.size()];
        const int64_t last = (ring + nodes[i].members - 1) % nodes[i].members;
        f(static_cast<int>(nodes[i].first + last * group.stride),
          static_cast<int>(to.first + ring * group.stride), rings);
      }
  });
}

const GroupTimes::Edges& GroupTimes::edges_of(const RankGroup& group, double message_B) {
  const Network& network = cluster_->network;
  const double start = band_start_B(message_B);
  const auto key = std::pair(start, group);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, find_edges(group, network.at_size(message_B))).first->second;
}

std::vector<int> GroupTimes::grid_of(const RankGroup& group) const {
  std::vector<int> dimensions;
  int64_t stride = 1;
  int64_t size = 1;
  for (const int dimension : cluster_->grid) {
    if (stride < group.stride) {
      stride *= dimension;
    } else if (size < group.size) {
      size *= dimension;
      dimensions.push_back(dimension);
    }
  }
  const bool is_grid = stride == group.stride && size == group.size;
  return is_grid ? dimensions : std::vector<int>();
}

double GroupTimes::seconds(Operation operation, const RankGroup& group, double whole_B) {
  if (group.size <= 1 || whole_B <= 0) return 0;
  return answer_of(operation, group, whole_B).seconds;
}

const Algorithm& GroupTimes::algorithm_of(Operation operation, const RankGroup& group,
                                          double whole_B) {
  if (const Algorithm* chosen = algorithms_.of(operation)) return *chosen;
  return *answer_of(operation, group, whole_B).algorithm;
}

Duration GroupTimes::launch_of(Operation operation, const RankGroup& group, double whole_B) {
  if (!algorithms_.is_nccl(operation) || group.size <= 1 || whole_B <= 0) return {};
  return Duration::nearest_ps(1e12 * answer_of(operation, group, whole_B).launch_s);
}

GroupTimes::Answer GroupTimes::answer_of(Operation operation, const RankGroup& group,
                                         double whole_B) {
  const auto time_of = [&](const Algorithm& algorithm) {
    return seconds_of(algorithm, operation, group, whole_B);
  };
  if (algorithms_.is_usual(operation)) {  // as quick as looking it up
    const Algorithm* usual = algorithms_.of(operation);
    return {usual, time_of(*usual)};
  }
  Answer& answer = answers_[{operation, group, whole_B}];
  if (answer.algorithm != nullptr) return answer;
  if (algorithms_.is_nccl(operation)) return answer = answer_like_nccl(operation, group, whole_B);
  const Algorithm& algorithm = algorithms_.cheapest(operation, time_of);
  return answer = {&algorithm, time_of(algorithm)};
}

// NCCL's model for a communicator of the group. What bytes take grows by what they do not reach
// beside products; latencies do not.
GroupTimes::Answer GroupTimes::answer_like_nccl(Operation operation, const RankGroup& group,
                                                double whole_B) {
  const Edges& edges = edges_of(group, whole_B / real(group.size));
  // Nodes of unlike sizes are as many of one size.
  const int64_t per_node =
      edges.are_even() ? edges.per_node : (group.size + edges.nodes - 1) / edges.nodes;
  if (!nccl_) {
    nccl_ = nccl_box_of(*cluster_);
    if (!cluster_->nccl || !cluster_->nccl->generation)
      nccl_->machine.generation = algorithms_.nccl.generation;
    if (!cluster_->nccl || !cluster_->nccl->nvls)
      nccl_->nvls = algorithms_.nccl.may_reduce_in_switches ? std::nullopt : std::optional(false);
    nccl_->wires.gpu = Bandwidth::Bps(nccl_->wires.gpu.Bps() / algorithms_.nccl.reach_inside);
    nccl_->wires.nic = Bandwidth::Bps(nccl_->wires.nic.Bps() / algorithms_.nccl.reach_across);
  }
  const auto [place, is_new] = communicators_.try_emplace(group);
  if (is_new) place->second = nccl_communicator(*nccl_, group.size, per_node);
  const NcclRow row =
      nccl_tuning(place->second, operation, Bytes::nearest(std::max(1.0, whole_B))).choice();
  const double bytes_s = std::max(0.0, row.time.s() - row.latency.s());
  const double reach =
      edges.crosses ? algorithms_.nccl.reach_across : algorithms_.nccl.reach_inside;
  const Algorithm& stand_in = *nccl_stand_in(row.algorithm, operation).algorithm;
  const double own_s = seconds_of(stand_in, operation, group, real(group.size));
  return {&stand_in, cluster_->network.start().s() + row.time.s() - bytes_s + bytes_s / reach,
          std::max(0., row.latency.s() - own_s)};
}

double GroupTimes::seconds_of(const Algorithm& algorithm, Operation operation,
                              const RankGroup& group, double whole_B) {
  if (algorithm.name == "direct" && operation == Operation::alltoall)
    return direct_s(group, whole_B);
  if (algorithm.name != "ring") return closed_form_s(algorithm, operation, group, whole_B);
  return (operation == Operation::allreduce ? 2 : 1) * ring_pass_s(group, whole_B);
}

// A scatter and reduce, or a gather. Where latencies are flight, the slowest port sends all the
// time, or else what goes all the way around decides, which meets each edge in turn.
double GroupTimes::ring_pass_s(const RankGroup& group, double whole_B) {
  const double steps = real(group.size - 1);
  const double part_B = whole_B / real(group.size);
  const Edges& edges = edges_of(group, part_B);
  const double latency = std::max(edges.inside_latency_s, edges.across_latency_s);
  const double inside = part_B * edges.inside_s_per_B;
  const double across = part_B * edges.around_s_per_B;
  const double start = cluster_->network.start().s();
  if (!starts_in_flight(cluster_->kind) || !edges.crosses || !edges.has_inside)
    return start + steps * (latency + std::max(inside, across));
  const double on_inside = inside * edges.part_inside();
  const double hops_across = real(edges.nodes);
  const double all_around =
      (real(group.size) - hops_across) * (edges.inside_latency_s + on_inside) +
      hops_across * (edges.across_latency_s + across);
  return start + std::max(latency + steps * std::max(on_inside, across),
                          steps * all_around / real(group.size));
}

GroupTimes::Busy GroupTimes::busy_in_ring(const RankGroup& group, double sent_B) {
  if (group.size <= 1 || sent_B <= 0) return {};
  const Edges& edges = edges_of(group, sent_B);
  return {edges.has_inside ? sent_B * edges.inside_s_per_B * edges.part_inside() : 0,
          sent_B * edges.around_s_per_B};
}

// Where all members send in every round, a card carries what its member sends to other nodes, in
// how many parts whatever: rounds between nodes, as of one member of each, and rounds inside them.
// Nothing where nodes have other numbers of members than those are made for.
std::optional<double> GroupTimes::two_levels_s(const Algorithm& algorithm, Operation operation,
                                               const RankGroup& group, double whole_B) {
  using Rounds = Algorithm::Rounds;
  const Edges& edges = edges_of(group, whole_B / real(group.size));
  const auto is_power = [](int64_t n) { return (n & (n - 1)) == 0; };
  if (algorithm.rounds == Rounds::few || !edges.crosses || !edges.are_even() ||
      !is_power(group.size) || !is_power(edges.per_node))
    return std::nullopt;
  const int64_t near = edges.per_node;
  const int64_t far = group.size / near;
  const auto level_s = [&](int64_t members, double bytes, double latency_s, double s_per_B) {
    if (members <= 1) return 0.0;
    CollectiveJob job = job_of(operation, members, bytes);
    job.cost = cost_of(latency_s, s_per_B);
    return closed_form_of(algorithm, job).value().s();  // powers of two have one
  };
  // Gathers by doubling begin with the near ones, who have little yet.
  const bool halves_far =
      algorithm.rounds == Rounds::far_halves || operation == Operation::allgather;
  const bool halves_near = algorithm.rounds == Rounds::near_halves;
  return cluster_->network.start().s() +
         level_s(far, whole_B / (halves_near ? real(near) : 1), edges.across_latency_s,
                 edges.across_s_per_B) +
         level_s(near, whole_B / (halves_far ? real(far) : 1), edges.inside_latency_s,
                 edges.inside_s_per_B);
}

// By what its messages keep busy: in as many parts as there are cards, so that a byte leaves the
// node in a part of the time.
std::optional<double> GroupTimes::on_ports_s(const Algorithm& algorithm, Operation operation,
                                             const RankGroup& group, double whole_B) {
  const Edges& edges = edges_of(group, whole_B / real(group.size));
  double longest = 0;
  for (const auto& [members, across_s_per_B] : edges.members) {
    const int64_t least = *std::min_element(members.begin(), members.end());
    const GroupPorts ports{.members = members,
                           .parts = members.size() > 1 ? least : 1,
                           .inside_latency_s = edges.inside_latency_s,
                           .inside_s_per_B = edges.inside_s_per_B,
                           .across_latency_s = edges.across_latency_s,
                           .across_s_per_B = across_s_per_B,
                           .starts_in_flight = starts_in_flight(cluster_->kind)};
    CollectiveJob job = job_of(operation, group.size, whole_B / real(ports.parts));
    job.cost = cost_of(std::max(edges.inside_latency_s, edges.across_latency_s),
                       std::max(edges.inside_s_per_B, edges.across_s_per_B));
    job.grid = grid_of(group);
    const auto seconds = seconds_on_ports(schedule_of(algorithm, job), ports);
    if (!seconds) return std::nullopt;
    longest = std::max(longest, *seconds);
  }
  return cluster_->network.start().s() + longest;
}

// On the slowest edges. An algorithm of nodes sees them as two levels, and any other one as its
// messages keep ports busy. Adding up is free, as in rings.
double GroupTimes::closed_form_s(const Algorithm& algorithm, Operation operation,
                                 const RankGroup& group, double whole_B) {
  if (const auto seconds = two_levels_s(algorithm, operation, group, whole_B)) return *seconds;
  const Edges& edges = edges_of(group, whole_B / real(group.size));
  const bool knows_nodes = algorithm.parts != nullptr;
  CollectiveJob job = job_of(operation, group.size, whole_B);
  std::optional<Network> levels;
  if (knows_nodes && edges.crosses && edges.are_even()) {
    job.workers_per_node = static_cast<int>(edges.per_node);
    levels.emplace(job.team.size, NestedGroups{{job.workers_per_node}},
                   std::vector<PairCost>{cost_of(edges.inside_latency_s, edges.inside_s_per_B),
                                         cost_of(edges.across_latency_s, edges.across_s_per_B)});
    job.network = &*levels;
    job.cost = worst_of_job(algorithm, job);
  } else {  // one that knows nodes, but not such, is whole
    job.cost = cost_of(std::max(edges.inside_latency_s, edges.across_latency_s),
                       std::max(edges.inside_s_per_B, edges.across_s_per_B));
  }
  job.grid = grid_of(group);
  try {
    if (!knows_nodes)
      if (const auto seconds = on_ports_s(algorithm, operation, group, whole_B)) return *seconds;
    if (const auto time = closed_form_of(algorithm, job))
      return cluster_->network.start().s() + time->s();
  } catch (const InputError& error) {
    throw UnfitGroup("--algorithm", error.what());
  }
  throw UnfitGroup("--algorithm", "no closed form of " + std::string(algorithm.name) +
                                      " is known for " + std::to_string(group.size) + " ranks");
}

// ---- what members send to the next one

template <class F>
void GroupTimes::for_each_send(const RankGroup& group, bool goes_around, const F& f) const {
  const int64_t sends = group.size - (goes_around ? 0 : 1);
  for_each_group(group, [&](int64_t first) {
    for (int64_t member = 0; member < sends; ++member)
      f(member, static_cast<int>(first + member * group.stride),
        static_cast<int>(first + (member + 1) % group.size * group.stride));
  });
}

int GroupTimes::most_sends_on_a_way(const RankGroup& group, const SharedWays& shared,
                                    bool goes_around) const {
  WayCounts counts(shared, static_cast<int>(gpus_));
  for_each_send(group, goes_around, [&](int64_t, int from, int to) { counts.add(from, to); });
  return static_cast<int>(std::max<int64_t>(1, counts.most()));
}

std::vector<GroupTimes::Way> GroupTimes::find_ways(const RankGroup& group, const Network& network,
                                                   bool goes_around) const {
  const int per_node = cluster_->workers_per_node;
  std::vector<double> loads;
  for (const SharedWays& shared : network.shared_ways())
    loads.push_back(most_sends_on_a_way(group, shared, goes_around));
  std::vector<Way> ways(at(group.size - (goes_around ? 0 : 1)));
  for_each_send(group, goes_around, [&](int64_t member, int from, int to) {
    const PairCost cost = network.between(from, to);
    const bool crosses = from / per_node != to / per_node;
    const PerByte rate =
        crosses ? network.through_ways(cost.per_byte, from, to, loads) : cost.per_byte;
    Way& way = ways[at(member)];
    way.latency_s = std::max(way.latency_s, cost.start_up().s());
    way.s_per_B = std::max(way.s_per_B, rate.ps() * 1e-12);
    way.crosses = way.crosses || crosses;
  });
  return ways;
}

const std::vector<GroupTimes::Way>& GroupTimes::ways_of(const RankGroup& group, double message_B,
                                                        bool goes_around) {
  const Network& network = cluster_->network;
  const double start = band_start_B(message_B);
  const auto key = std::tuple(start, group, goes_around);
  const auto found = known_ways_.find(key);
  if (found != known_ways_.end()) return found->second;
  return known_ways_.emplace(key, find_ways(group, network.at_size(message_B), goes_around))
      .first->second;
}

std::vector<double> GroupTimes::sends_s(const RankGroup& group, double bytes, bool goes_around) {
  std::vector<double> sends;
  if (group.size <= 1 || bytes <= 0) return sends;
  for (const Way& way : ways_of(group, bytes, goes_around))
    sends.push_back(way.latency_s + bytes * way.s_per_B);
  return sends;
}

std::vector<GroupTimes::Busy> GroupTimes::busy_to_next(const RankGroup& group, double sent_B,
                                                       bool goes_around) {
  std::vector<Busy> all;
  if (group.size <= 1 || sent_B <= 0) return all;
  for (const Way& way : ways_of(group, sent_B, goes_around)) {
    const double busy_s = sent_B * way.s_per_B;
    all.push_back(way.crosses ? Busy{0, busy_s} : Busy{busy_s, 0});
  }
  return all;
}

}  // namespace sgdsim
