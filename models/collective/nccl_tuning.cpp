// The model in three parts: the constants, what a pair costs, the table.
// Microseconds and GB/s inside, as in the source, so that the two can be held side by side; they
// become picoseconds in one place, in_picoseconds. When it is wrong: see the header.
#include "models/collective/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <string>

#include "models/collective/nccl_refusal.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

// ---- the constants ----

template <typename Enum>
constexpr size_t at(Enum value) {
  return static_cast<size_t>(value);
}

using PerProtocol = std::array<double, 3>;            // LL, LL128, Simple
using PerAlgorithm = std::array<PerProtocol, 7>;      // in their order
using PerScale = std::array<double, 3>;               // 1 node, 2 nodes, more
using PerGeneration = std::array<PerScale, 4>;        // Volta, Ampere, Hopper, Blackwell
enum class Place : uint8_t { nvlink, pci, network };  // what a step crosses

constexpr PerAlgorithm base_us = {
    {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {}, {}, {}, {}, {8.0, 8.0, 8.0}}};

constexpr std::array<PerAlgorithm, 3> step_us = {{
    {{{0.6, 1.25, 4.0},
      {0.6, 1.9, 3.4},
      {0, 0, 3.7},
      {0, 0, 2.8},
      {0, 0, 25.0},
      {0, 0, 25.0},
      {0, 0, 4.0}}},
    {{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4.0}}},
    {{{5.0, 8.5, 14.0},
      {2.7, 4.0, 14.0},
      {0, 0, 31.0},
      {0, 0, 30.0},
      {0, 0, 18.0},
      {0, 0, 20.9},
      {0, 0, 14.0}}},
}};

// All channels together. Between nodes the row is not the GPU's but the CPU's: Intel and others
// first, AMD second.
constexpr PerGeneration ll_limit = {
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};

// Of one channel.
constexpr PerGeneration ring_ll128_limit = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}};
constexpr PerGeneration tree_ll128_limit = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr PerGeneration tree_limit = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
constexpr PerGeneration nvls_tree_limit = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};
constexpr std::array<double, 4> nvls_efficiency = {0.0, 0.0, 0.85, 0.74};

// What is left of a tree's bandwidth at 64 B, 128 B, ... 512 MiB.
constexpr std::array<std::array<double, 24>, 3> tree_correction = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

constexpr int max_channels = 64;
constexpr double collnet_turn_us = 0.4;  // of one more GPU of the node
constexpr int batch_collectives = 8;     // 1024 bytes of work, 128 for each collective

// ---- what a pair costs ----

const NcclPair& fitted_of(const NcclMachine& machine, NcclAlgorithm algorithm,
                          NcclProtocol protocol) {
  return machine.pairs[nccl_pair_of(algorithm, protocol)];
}

double us_or(const std::optional<Duration>& fitted, double own) {
  return fitted ? fitted->us() : own;
}

size_t scale_of(const NcclMachine& machine) {
  return static_cast<size_t>(std::min(machine.nodes, 3) - 1);
}

double limit_of(const PerGeneration& table, const NcclMachine& machine) {
  return table[at(machine.generation)][scale_of(machine)];
}

double ranks_per_node(const NcclMachine& machine) {
  return static_cast<double>(machine.ranks) / machine.nodes;
}

// Of a count of 1 or more, rounded down. (std::bit_width has another type in every library.)
int log2_down(int64_t count) { return 63 - std::countl_zero(static_cast<uint64_t>(count)); }

int ring_steps(const NcclMachine& machine, Operation operation) {
  switch (operation) {
    case Operation::allreduce:
      return 2 * (machine.ranks - 1);
    case Operation::reduce_scatter:
    case Operation::allgather:
      return machine.ranks - 1;
    case Operation::broadcast:
    case Operation::reduce:
      return machine.ranks;
    case Operation::alltoall:
      break;  // refused by check
  }
  assert(false);
  return 0;
}

double ll_limit_of(const NcclMachine& machine) {
  const size_t cpu = machine.cpu == CpuVendor::amd ? 1 : 0;
  return ll_limit[machine.nodes == 1 ? at(machine.generation) : cpu][scale_of(machine)];
}

// Up to two nodes, each GPU's wires inside the node are what is short.
double channel_GBps(const NcclMachine& machine, const NcclGraph& graph) {
  return (machine.nodes <= 2 ? graph.intra : graph.inter).GBps();
}

// The bandwidths: of all channels, in bytes of the message per second (NCCL's algbw).

double ring_GBps(const NcclMachine& machine, Operation operation, NcclProtocol protocol) {
  const int channels = machine.ring.channels;
  double rate = channels * channel_GBps(machine, machine.ring);
  if (protocol == NcclProtocol::ll) rate = std::min(ll_limit_of(machine), rate * .5);
  if (protocol == NcclProtocol::ll128) {
    rate = std::min(rate * .92, channels * limit_of(ring_ll128_limit, machine));
  }
  return rate * machine.ranks / ring_steps(machine, operation);
}

double tree_GBps(const NcclMachine& machine, NcclProtocol protocol) {
  const int channels = machine.tree.channels;
  double rate = std::min(channels * channel_GBps(machine, machine.tree) * .92,
                         channels * limit_of(tree_limit, machine));
  if (protocol == NcclProtocol::ll) rate = std::min(rate / 3.8, ll_limit_of(machine));
  if (protocol == NcclProtocol::ll128) {
    rate = std::min(rate * (machine.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                    channels * limit_of(tree_ll128_limit, machine));
  }
  if (machine.plain_trees) rate *= .85;
  return rate * .5;
}

double nvls_GBps(const NcclMachine& machine, Operation operation, NcclAlgorithm algorithm) {
  const int channels = machine.nvls_graph.channels;
  if (channels < 2) return 0;
  double intra = machine.nvls_graph.intra.GBps() * nvls_efficiency[at(machine.generation)] *
                 (channels - 1) / channels;
  const bool is_allreduce = operation == Operation::allreduce;
  // An allreduce keeps both directions of the switch busy at once.
  intra *= is_allreduce ? 2.0 : 1 - 1 / ranks_per_node(machine);
  double inter = machine.nvls_graph.inter.GBps();
  if (algorithm == NcclAlgorithm::nvls_tree) {
    inter = std::min(inter * (machine.nodes <= 2 ? 2 : 1), limit_of(nvls_tree_limit, machine));
  }
  const double all = std::min(intra, inter) * channels;
  return is_allreduce ? all * machine.ranks / ring_steps(machine, operation) : all;
}

// The switches reduce: each byte goes to them and comes back. Where GPUs share a card, half of what
// that costs is hidden.
double collnet_GBps(const NcclMachine& machine, Operation operation, NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::collnet_chain)
    return machine.tree.channels * machine.tree.intra.GBps() * .5;
  const NcclGraph& graph = machine.collnet_direct;
  const double per_node = ranks_per_node(machine);
  if (operation != Operation::allreduce)
    return per_node * std::min(graph.intra.GBps(), graph.inter.GBps() * .9);
  const double gpus_per_card = per_node / graph.channels;
  const double slower = gpus_per_card - (gpus_per_card - 1) / 2;
  const double reached = machine.generation >= GpuGeneration::hopper ? .85 : 1;
  return graph.channels * graph.intra.GBps() / slower * reached * .5;
}

double own_GBps(const NcclMachine& machine, Operation operation, const NcclRow& row) {
  switch (row.algorithm) {
    case NcclAlgorithm::tree:
      return tree_GBps(machine, row.protocol);
    case NcclAlgorithm::ring:
      return ring_GBps(machine, operation, row.protocol);
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return collnet_GBps(machine, operation, row.algorithm);
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return nvls_GBps(machine, operation, row.algorithm);
    case NcclAlgorithm::pat:  // plays on the channels of the trees
      return machine.tree.channels * channel_GBps(machine, machine.tree) * .75;
  }
  assert(false);
  return 0;
}

double pair_GBps(const NcclMachine& machine, Operation operation, const NcclRow& row) {
  const NcclPair& fitted = fitted_of(machine, row.algorithm, row.protocol);
  return own_GBps(machine, operation, row) * fitted.efficiency.value_or(1);
}

// The latencies: a base, and so and so many steps inside and between nodes.

double intra_step_us(const NcclMachine& machine, NcclAlgorithm algorithm, NcclProtocol protocol) {
  const Place place = machine.link == IntraLink::nvlink ? Place::nvlink : Place::pci;
  return us_or(fitted_of(machine, algorithm, protocol).inside,
               step_us[at(place)][at(algorithm)][at(protocol)]);
}

double across_us(const NcclMachine& machine, NcclAlgorithm algorithm, NcclProtocol protocol) {
  return us_or(fitted_of(machine, algorithm, protocol).across,
               step_us[at(Place::network)][at(algorithm)][at(protocol)]);
}

double inter_step_us(const NcclMachine& machine, NcclAlgorithm algorithm, NcclProtocol protocol) {
  // With one rank per node nothing hides the network, and every algorithm pays what a tree pays.
  const NcclAlgorithm payer = machine.ranks == machine.nodes ? NcclAlgorithm::tree : algorithm;
  // Simple must also flush what the NIC wrote, which is one more way to the NIC.
  const int ways = protocol == NcclProtocol::simple ? 2 : 1;
  return across_us(machine, payer, protocol) + ways * machine.nic_latency.us();
}

// Broadcast and reduce: chunks follow one another, so that the ring's length only shows where the
// channels go different ways.
double ring_chain_us(const NcclMachine& machine, NcclProtocol protocol) {
  const bool pays_chunk = !machine.same_channels && protocol == NcclProtocol::simple;
  const NcclAlgorithm payer = pays_chunk ? NcclAlgorithm::tree : NcclAlgorithm::ring;
  const double step = machine.nodes == 1 ? intra_step_us(machine, payer, protocol)
                                         : across_us(machine, payer, protocol);
  return machine.same_channels ? step : machine.ranks * step;
}

double ring_us(const NcclMachine& machine, Operation operation, NcclProtocol protocol) {
  if (operation == Operation::broadcast || operation == Operation::reduce) {
    return ring_chain_us(machine, protocol);
  }
  double intra = intra_step_us(machine, NcclAlgorithm::ring, protocol);
  if (machine.nodes > 1) {
    // Every step of a ring that leaves the node waits for the CPU to post to the network.
    const double post = machine.cpu == CpuVendor::amd ? 2.0 : 1.0;
    intra = std::max(intra, protocol == NcclProtocol::simple ? 3 * post : post);
  }
  const int inter_steps = (operation == Operation::allreduce ? 2 : 1) * (machine.nodes - 1);
  return (ring_steps(machine, operation) - inter_steps) * intra +
         inter_steps * inter_step_us(machine, NcclAlgorithm::ring, protocol);
}

double pair_us(const NcclMachine& machine, Operation operation, const NcclRow& row) {
  const NcclPair& fitted = fitted_of(machine, row.algorithm, row.protocol);
  const double base = us_or(fitted.base, base_us[at(row.algorithm)][at(row.protocol)]);
  const double intra = intra_step_us(machine, row.algorithm, row.protocol);
  const double inter = inter_step_us(machine, row.algorithm, row.protocol);
  const int levels = log2_down(machine.nodes);
  const int hops = machine.ranks / machine.nodes - 1;  // a tree is a chain inside a node
  switch (row.algorithm) {
    case NcclAlgorithm::tree:
      return base + 2 * (hops * intra + levels * inter);
    case NcclAlgorithm::ring:
      return base + ring_us(machine, operation, row.protocol);
    case NcclAlgorithm::collnet_direct:
      return base + 2 * (std::min(1, hops) * intra + hops * collnet_turn_us) + inter;
    case NcclAlgorithm::collnet_chain:
      return base + 2 * hops * intra + inter;
    case NcclAlgorithm::nvls:
      return intra + (machine.nodes > 1 ? inter : 0);
    case NcclAlgorithm::nvls_tree:
      return base + intra + 2 * levels * inter;
    case NcclAlgorithm::pat:
      return base + levels * (inter / 3.5) + machine.ranks * 2.8;
  }
  assert(false);
  return 0;
}

// ---- the table ----

// The only place where the model's microseconds become picoseconds: the nearest one.
Duration in_picoseconds(double time_us) { return Duration::nearest_ps(time_us * 1e6); }

double size_correction(const NcclMachine& machine, const NcclRow& row, Bytes size) {
  const int64_t units = size.count() / 64;
  if (units == 0) return 1;
  const auto step = static_cast<size_t>(log2_down(units));
  const std::array<double, 24>& factors = tree_correction[at(row.protocol)];
  // The source stops one short of the table for trees.
  if (row.algorithm == NcclAlgorithm::tree) return step < 23 ? factors[step] : 1;
  const bool is_corrected = row.algorithm == NcclAlgorithm::nvls_tree &&
                            machine.generation == GpuGeneration::blackwell &&
                            machine.cpu != CpuVendor::arm;
  return is_corrected && step < factors.size() ? factors[step] : 1;
}

// Long messages in rings across nodes: steps wait for one another.
double plateau(const NcclMachine& machine, Operation operation, const NcclRow& row, Bytes size) {
  const bool is_concerned = row.algorithm == NcclAlgorithm::ring &&
                            row.protocol == NcclProtocol::simple && machine.nodes > 1 &&
                            operation == Operation::allreduce;
  const int64_t pieces = int64_t{nccl_kernel_channels(machine)} * machine.ranks;
  if (!is_concerned || size.count() / pieces < 64) return 1;
  return machine.generation == GpuGeneration::volta ? 1.9 : 1.4;
}

void fill(NcclRow& row, const NcclMachine& machine, Operation operation, Bytes size,
          int aggregated) {
  row.reason = nccl_refusal(machine, operation, row.algorithm, row.protocol);
  if (*row.reason != '\0') return;
  const double rate = pair_GBps(machine, operation, row);
  if (rate <= 0) {
    row.reason = "no bandwidth is left for the message";
    return;
  }
  const double latency = pair_us(machine, operation, row);
  // Groups are launched together: all but rings pay their latency once for a batch.
  const int batches = (aggregated + batch_collectives - 1) / batch_collectives;
  const int count = row.algorithm == NcclAlgorithm::ring ? aggregated : batches;
  row.usable = true;
  row.latency = in_picoseconds(latency);
  row.bandwidth = Bandwidth::Bps(rate * 1e9);
  row.time = in_picoseconds(latency * plateau(machine, operation, row, size) * count +
                            static_cast<double>(size.count()) /
                                (1000 * rate * size_correction(machine, row, size)));
}

[[noreturn]] void refuse(const std::string& sentence) { throw InputError("NCCL model", sentence); }

void check_graph(const NcclMachine& machine, const NcclGraph& graph, const std::string& name) {
  const bool has_inter = graph.inter.Bps() > 0 || machine.nodes == 1;
  if (graph.channels >= 1 && graph.intra.Bps() > 0 && has_inter) return;
  refuse("the " + name + " graph needs at least one channel and bandwidths above 0");
}

void check(const NcclMachine& machine, Operation operation, Bytes size, int aggregated) {
  if (operation == Operation::alltoall)
    refuse("expected an operation that NCCL tunes, got alltoall");
  if (machine.nodes < 1 || machine.ranks < machine.nodes) {
    refuse("expected at least one rank on each of at least one node, got " +
           std::to_string(machine.ranks) + " ranks on " + std::to_string(machine.nodes) + " nodes");
  }
  if (size.count() < 0) refuse("expected a size of 0 or more, got " + std::to_string(size.count()));
  if (aggregated < 1) {
    refuse("expected one or more grouped operations, got " + std::to_string(aggregated));
  }
  if (machine.nic_latency < Duration()) refuse("expected a NIC latency of 0 or more");
  if (machine.ranks == 1) return;
  check_graph(machine, machine.ring, "ring");
  check_graph(machine, machine.tree, "tree");
  if (machine.collnet && machine.nodes > 1) check_graph(machine, machine.collnet_direct, "CollNet");
}

NcclTable empty_table() {
  NcclTable table;
  size_t next = 0;
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::tree, NcclAlgorithm::ring}) {
    for (const NcclProtocol protocol :
         {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
      table.rows[next].algorithm = algorithm;
      table.rows[next++].protocol = protocol;
    }
  }
  for (const NcclAlgorithm algorithm :
       {NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain, NcclAlgorithm::nvls,
        NcclAlgorithm::nvls_tree, NcclAlgorithm::pat}) {
    table.rows[next++].algorithm = algorithm;
  }
  assert(next == nccl_row_count);
  return table;
}

}  // namespace

const NcclRow& NcclTable::row(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const NcclRow& row) {
    return row.algorithm == algorithm && row.protocol == protocol;
  });
  assert(found != rows.end());
  return *found;
}

NcclPair nccl_own_pair(const NcclMachine& machine, size_t pair) {
  NcclMachine own = machine;
  own.pairs = {};
  const NcclRow row = empty_table().rows[pair];
  const auto latency = [](double time_us) {
    return time_us > 0 ? std::optional(in_picoseconds(time_us)) : std::nullopt;
  };
  return {latency(base_us[at(row.algorithm)][at(row.protocol)]),
          latency(intra_step_us(own, row.algorithm, row.protocol)),
          latency(across_us(own, row.algorithm, row.protocol)), 1};
}

// The search's channels twice, and twice again where few wide ones cross the network.
int nccl_kernel_channels(const NcclMachine& machine) {
  const int found = std::min(machine.ring.channels, machine.tree.channels);
  int channels = std::min(2 * found, max_channels);
  const bool is_recent = machine.generation >= GpuGeneration::hopper;
  if (is_recent && machine.nodes > 1 && machine.ring.intra.GBps() > 45 && channels < 16) {
    channels *= 2;
  }
  return channels;
}

NcclTable nccl_tuning(const NcclMachine& machine, Operation operation, Bytes size, int aggregated) {
  check(machine, operation, size, aggregated);
  NcclTable table = empty_table();
  table.best = 5;  // ring with Simple is always usable
  assert(table.choice().algorithm == NcclAlgorithm::ring);
  if (machine.ranks == 1) {
    for (NcclRow& row : table.rows) row.reason = "one rank has nobody to talk to";
    table.rows[table.best].usable = true;
    table.rows[table.best].reason = "";
    return table;
  }
  Duration least = Duration::longest();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    NcclRow& row = table.rows[i];
    fill(row, machine, operation, size, aggregated);
    if (!row.usable || row.time >= least) continue;
    least = row.time;
    table.best = i;
  }
  assert(table.choice().usable);
  return table;
}

}  // namespace sgdsim
