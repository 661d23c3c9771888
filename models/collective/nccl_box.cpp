// The rate between nodes is that of the slowest hop of rings by all cards: a slow card holds up
// all, and uplinks are shared by the rings that take them. The one inside a node is that of the
// first pair, but where GPUs are joined one to one: there NCCL's rings and trees use all links of a
// GPU.
#include "models/collective/nccl_box.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "models/collective/registry.h"
#include "sim/core/cast.h"
#include "sim/core/letters.h"
#include "sim/net/way_counts.h"

namespace sgdsim {
namespace {

// The rate of one pair; a free link counts as very fast.
Bandwidth rate_of(const PairCost& cost) {
  return Bandwidth::Bps(1e12 / std::max(cost.per_byte.ps(), 1e-3));
}

// What each worker of the first node sends, and to whom, over routes with so few wires as any pair
// of them has: straight to another GPU, or over one switch to all of them.
struct ShortWays {
  std::size_t wires = std::numeric_limits<std::size_t>::max();  // of each
  std::vector<std::set<uint32_t>> firsts;                       // of each worker: its own wires
  std::vector<std::set<int>> reached;                           // of each worker
};

ShortWays short_ways(Resources& wires, int workers) {
  ShortWays ways;
  for (int from = 0; from < workers; ++from) {
    for (int to = 0; to < workers; ++to) {
      std::vector<ResourceUse> uses;
      Parcel parcel;
      parcel.from = from;
      parcel.to = to;
      if (from == to || !wires.find(parcel, Resources::Part::whole, uses) || uses.empty()) continue;
      if (uses.size() > ways.wires) continue;
      if (uses.size() < ways.wires) {
        ways.wires = uses.size();
        ways.firsts.assign(at(workers), {});
        ways.reached.assign(at(workers), {});
      }
      ways.firsts[at(from)].insert(uses.front().resource);
      ways.reached[at(from)].insert(to);
    }
  }
  return ways;
}

bool join_all(const ShortWays& ways) {
  std::set<int> seen{0};
  std::vector<int> open{0};
  while (!open.empty()) {
    const int from = open.back();
    open.pop_back();
    for (const int to : ways.reached[at(from)])
      if (seen.insert(to).second) open.push_back(to);
  }
  return seen.size() == ways.reached.size();
}

Bandwidth slowest_inside(const Network& network, int per_node) {
  Bandwidth slowest = rate_of(network.between(0, 1));
  for (int from = 0; from < per_node; ++from)
    for (int to = 0; to < per_node; ++to)
      if (from != to) slowest = std::min(slowest, rate_of(network.between(from, to)));
  return slowest;
}

struct Inside {
  Bandwidth rate;
  bool switched = true;  // not GPU to GPU
};

// Explicit graphs alone have links of pairs: at most so many workers in all, and nobody knows how
// more nodes would hang there.
Inside inside_of(const Cluster& cluster, int per_node) {
  constexpr int most_per_node = 128;
  constexpr int most_in_graph = 4096;
  const bool is_graph = cluster.wires && !cluster.with_more && cluster.grid.empty() &&
                        cluster.network.workers() <= most_in_graph;
  if (!is_graph || per_node < 3 || per_node > most_per_node)
    return {rate_of(cluster.network.between(0, 1))};
  const std::unique_ptr<Resources> wires = cluster.wires({});
  const ShortWays ways = short_ways(*wires, per_node);
  const bool switched = ways.wires > 1;
  if (ways.firsts.empty() || !join_all(ways))
    return {slowest_inside(cluster.network, per_node), switched};
  const std::vector<double> capacities = wires->capacities();
  double least = std::numeric_limits<double>::max();
  for (const std::set<uint32_t>& firsts : ways.firsts) {
    double rate = 0;
    for (const uint32_t way : firsts) rate += capacities[way];
    least = std::min(least, rate);
  }
  return {Bandwidth::Bps(1e12 * least), switched};
}

// Where all nodes are alike, so many of them show what all are.
int nodes_to_look_at(const Network& network, int nodes) {
  constexpr int enough = 1 << 14;
  const bool are_alike =
      network.ports().empty() &&
      std::all_of(network.shared_ways().begin(), network.shared_ways().end(),
                  [](const SharedWays& shared) { return shared.rates.size() == 1; });
  return are_alike ? std::min(nodes, enough) : nodes;
}

// Hops of as many rings through all nodes as there are cards, which leave a node by the member that
// the next one is entered by. The last node may have fewer members.
template <class F>
void for_each_hop(const Network& network, int per_node, int rings, const F& f) {
  const int nodes = (network.workers() + per_node - 1) / per_node;
  const int looked_at = nodes_to_look_at(network, nodes);
  for (int node = 0; node < looked_at; ++node)
    for (int ring = 0; ring < rings; ++ring) {
      const int member = ring * per_node / rings;
      const int from = std::min(node * per_node + member, network.workers() - 1);
      const int to = (node + 1) % nodes * per_node + member;
      f(from, std::min(to, network.workers() - 1));
    }
}

Bandwidth slowest_across(const Network& network, int per_node, int rings) {
  std::vector<double> loads;
  for (const SharedWays& shared : network.shared_ways()) {
    WayCounts counts(shared, network.workers());
    for_each_hop(network, per_node, rings, [&](int from, int to) { counts.add(from, to); });
    loads.push_back(static_cast<double>(std::max<int64_t>(1, counts.most())));
  }
  if (network.crowding().any()) loads.push_back(1);  // which NCCL's rings are no part of
  Bandwidth slowest = Bandwidth::Bps(std::numeric_limits<double>::max());
  for_each_hop(network, per_node, rings, [&](int from, int to) {
    PairCost cost = network.between(from, to);
    if (!loads.empty()) cost.per_byte = network.through_ways(cost.per_byte, from, to, loads);
    slowest = std::min(slowest, rate_of(cost));
  });
  return slowest;
}

// Its file's word first, then what its GPUs are.
void set_constants(NcclBox& box, const Cluster& cluster) {
  const NcclConstants constants = cluster.nccl ? *cluster.nccl : NcclConstants();
  NcclMachine& machine = box.machine;
  const GpuGeneration generation = generation_of(cluster.gpu).value_or(machine.generation);
  machine.generation = constants.generation.value_or(generation);
  machine.link = constants.gpu_link.value_or(machine.link);
  if (!may_reduce_in_switches(cluster.gpu)) box.nvls = false;
  if (constants.nvls) box.nvls = *constants.nvls == Switched::on;
  machine.collnet = constants.collnet.value_or(Switched::off) == Switched::on;
  machine.cpu = constants.cpu.value_or(machine.cpu);
  box.wires.nics = constants.nics.value_or(box.wires.nics);
  machine.pairs = constants.pairs;
}

// Of a GPU of each generation: V100, A100, H100, B200.
constexpr std::array multiprocessors{80, 108, 132, 148};

}  // namespace

std::optional<GpuGeneration> generation_of(const std::string& device) {
  std::string text = in_lower_case(device);
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '-' || letter == '_'; });
  // By compute capability, as NCCL: what is older counts as Volta, and Ada as Ampere. Beginnings do
  // for longer names: a10 for a100, l4 for l40, h20 for h200, b200 for gb200.
  using Generation = GpuGeneration;
  constexpr std::array<std::pair<const char*, Generation>, 30> names{
      {{"ada", Generation::ampere},
       {"quadro", Generation::volta},
       {"v100", Generation::volta},
       {"p100", Generation::volta},
       {"k80", Generation::volta},
       {"t4", Generation::volta},
       {"a800", Generation::ampere},
       {"a10", Generation::ampere},
       {"a16", Generation::ampere},
       {"a30", Generation::ampere},
       {"a40", Generation::ampere},
       {"a5000", Generation::ampere},
       {"a6000", Generation::ampere},
       {"l4", Generation::ampere},
       {"rtx3080", Generation::ampere},
       {"rtx3090", Generation::ampere},
       {"rtx4080", Generation::ampere},
       {"rtx4090", Generation::ampere},
       {"h100", Generation::hopper},
       {"h800", Generation::hopper},
       {"h20", Generation::hopper},
       {"b100", Generation::blackwell},
       {"b200", Generation::blackwell},
       {"b300", Generation::blackwell},
       {"gb10", Generation::blackwell},
       {"rtx5070", Generation::blackwell},
       {"rtx5080", Generation::blackwell},
       {"rtx5090", Generation::blackwell},
       {"rtxpro5000", Generation::blackwell},
       {"rtxpro6000", Generation::blackwell}}};
  for (const auto& [name, generation] : names)
    if (text.find(name) != std::string::npos) return generation;
  return std::nullopt;
}

bool may_reduce_in_switches(const std::string& gpu) {
  if (gpu.empty()) return true;  // as NCCL's model counts then, a Hopper
  const bool is_card = in_lower_case(gpu).find("rtx") != std::string::npos;
  return !is_card && generation_of(gpu).has_value();
}

std::string nccl_note(const std::string& gpu, GpuGeneration taken) {
  if (gpu.empty() || generation_of(gpu)) return "";
  return "NCCL's model has no constants of GPUs called " + gpu + ": those of " +
         std::string(name_in(gpu_generations, taken)) +
         " are taken; `nccl.generation` of the cluster says other ones";
}

std::string nccl_note(const Cluster& cluster) {
  const bool is_said = cluster.nccl && cluster.nccl->generation;
  return is_said ? "" : nccl_note(cluster.gpu, NcclMachine().generation);
}

NcclBox nccl_box_of(const Cluster& cluster) {
  NcclBox box;
  const int workers = cluster.network.workers();
  box.per_node = std::min(cluster.workers_per_node, workers);
  box.wires.nics = std::min(cluster.cards_per_node(), box.per_node);
  set_constants(box, cluster);
  if (box.per_node > 1) {
    const Inside inside = inside_of(cluster, box.per_node);
    box.wires.gpu = inside.rate;
    box.machine.switched = inside.switched;
  }
  if (workers > box.per_node)
    box.wires.nic = slowest_across(cluster.network, box.per_node, box.wires.nics);
  return box;
}

NcclMachine nccl_communicator(const NcclBox& box, int64_t ranks, int64_t per_node) {
  NcclMachine machine = box.machine;
  // As NCCL does by default where the switches can.
  machine.nvls = box.nvls.value_or(machine.generation >= GpuGeneration::hopper &&
                                   machine.link == IntraLink::nvlink && machine.switched);
  machine.ranks = static_cast<int>(ranks);
  machine.nodes = static_cast<int>((ranks + per_node - 1) / per_node);
  NcclWires wires = box.wires;
  const double cards = real(wires.nics) * real(per_node) / real(box.per_node);
  wires.nics = std::max(1, static_cast<int>(cards));
  if (cards < 1) wires.nic = Bandwidth::Bps(wires.nic.Bps() * cards);
  return nccl_guess_graphs(machine, wires);
}

double nccl_slowdown(const Cluster& cluster, const std::string& device) {
  NcclBox box = nccl_box_of(cluster);
  box.machine.generation = generation_of(device).value_or(box.machine.generation);
  const NcclMachine machine = nccl_communicator(box, cluster.network.workers(), box.per_node);
  const double all = multiprocessors[static_cast<std::size_t>(machine.generation)];
  return all / (all - nccl_kernel_channels(machine));
}

bool usually_runs_nccl(const Cluster& cluster) {
  const bool others_send = sends_over_tcp(cluster.kind) || cluster.kind == NetworkKind::paper;
  const bool alike = cluster.network.ports().empty() && cluster.grid.empty();
  if (others_send || !alike || cluster.network.crowding().any()) return false;
  if (cluster.network.workers() > cluster.workers_per_node) return cluster.cards_per_node() > 1;
  const bool is_named = cluster.kind == NetworkKind::nccl && generation_of(cluster.gpu).has_value();
  return is_named && cluster.network.workers() > 1;
}

bool has_rails(const Cluster& cluster) {
  return has_rails(cluster, cluster.network.workers(), cluster.workers_per_node);
}

bool has_rails(const Cluster& cluster, int ranks, int per_node) {
  const int cards =
      cluster.nccl && cluster.nccl->nics ? *cluster.nccl->nics : cluster.cards_per_node();
  return per_node > 1 && ranks > per_node && ranks % per_node == 0 && cards > 1;
}

NcclStandIn nccl_stand_in(NcclAlgorithm choice, Operation operation, bool by_rails) {
  const bool is_collnet =
      choice == NcclAlgorithm::collnet_direct || choice == NcclAlgorithm::collnet_chain;
  const bool is_tree = choice == NcclAlgorithm::tree || choice == NcclAlgorithm::nvls_tree ||
                       (is_collnet && operation == Operation::allreduce);
  const bool is_one_way = operation == Operation::broadcast || operation == Operation::reduce;
  // Of one way, which has a root, a chain of blocks is faster than whole messages by nodes. Long
  // messages, for which NVLSTree is chosen, take as long by rings between nodes as its switches do.
  if (by_rails && !is_one_way && operation != Operation::alltoall)
    return {&algorithm_named("hierarchical", ""), choice == NcclAlgorithm::tree};
  if (is_tree) return {&algorithm_named("double_binary_tree", "")};
  return {&algorithm_named(is_one_way ? "lp" : "ring", "")};
}

}  // namespace sgdsim
