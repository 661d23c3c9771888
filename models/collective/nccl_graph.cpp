// Counting channels: how many of a speed fit into the wires, for rings, trees, CollNet and NVLS in
// turn. GB/s inside, as in the source. When it is wrong: see the header.
#include "models/collective/nccl_graph.h"

#include <algorithm>
#include <limits>
#include <span>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

// The speeds that NCCL tries, inside one node and between nodes.
constexpr std::array early_intra = {40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array early_inter = {48., 30., 28., 24., 20., 18., 15., 12.,  10., 9.,
                                    7.,  6.,  5.,  4.,  3.,  2.4, 1.2, 0.24, 0.12};
constexpr std::array hopper_intra = {60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
constexpr std::array hopper_inter = {48., 45., 42., 40., 30., 24., 22.,  20., 17.5,
                                     15., 12., 6.,  3.,  2.4, 1.2, 0.24, 0.12};
constexpr std::array blackwell_intra = {90., 80., 70., 60., 50., 45., 40., 30., 24., 20., 19., 18.};
constexpr std::array blackwell_inter = {96., 86.,  80., 48., 45.1, 42., 40., 30., 24.,  22.,
                                        20., 17.5, 15., 12., 6.,   3.,  2.4, 1.2, 0.24, 0.12};

constexpr int max_ring_channels = 32;
constexpr int max_nvls_channels = 32;
constexpr int max_collnet_channels = 64;
constexpr double last_resort_GBps = 0.1;
constexpr int unlimited = std::numeric_limits<int>::max();

std::span<const double> speeds_of(const NcclMachine& machine) {
  const bool has_network = machine.nodes > 1;
  switch (machine.generation) {
    case GpuGeneration::volta:
    case GpuGeneration::ampere:
      if (has_network) return early_inter;
      return early_intra;
    case GpuGeneration::hopper:
      if (has_network) return hopper_inter;
      return hopper_intra;
    case GpuGeneration::blackwell:
      if (has_network) return blackwell_inter;
      return blackwell_intra;
  }
  return {};
}

// What the search divides among channels. Without a second GPU in the node nothing limits the
// inside; without a second node nothing limits the outside.
struct Budget {
  int gpus = 1;  // of a node
  bool has_network = false;
  double gpu_GBps = 0;
  int nics = 0;
  double nic_GBps = 0;
};

// A rate that was a time per byte may be short by its last bit: 239.99999999999997 GB/s are 12
// x 20.
int times_in(double GBps, double speed) {
  constexpr double rounding = 1e-9;
  return static_cast<int>(GBps / speed * (1 + rounding));
}

int fit_inside(const Budget& budget, double speed) {
  return budget.gpus == 1 ? unlimited : times_in(budget.gpu_GBps, speed);
}

// A channel does not spread over NICs.
int fit_outside(const Budget& budget, double speed) {
  return budget.has_network ? budget.nics * times_in(budget.nic_GBps, speed) : unlimited;
}

struct Found {
  int channels = 0;
  double speed = last_resort_GBps;
};

// The most bandwidth in total, the widest channels first; halving the width is as far as it goes.
Found search(std::span<const double> speeds, const Budget& budget, int most) {
  Found best;
  for (const double speed : speeds) {
    if (best.channels > 0 && speed / best.speed <= .49) break;
    const int channels = std::min({fit_inside(budget, speed), fit_outside(budget, speed), most});
    if (channels * speed > best.channels * best.speed) best = {channels, speed};
  }
  best.channels = std::max(best.channels, 1);
  return best;
}

Found split(const Found& found, GpuGeneration generation) {
  const bool is_recent = generation >= GpuGeneration::hopper;
  if (found.speed < 25 || (is_recent && found.speed < 50 && found.channels > 4)) return found;
  if (2 * found.channels > max_ring_channels) return found;
  return {2 * found.channels, found.speed / 2};
}

// One side of a graph is made wider while it is less than twice the other and `fits`.
template <typename Fits>
double widen(std::span<const double> speeds, double from, const Fits& fits) {
  double wide = from;
  for (size_t i = speeds.size(); i-- > 0;) {
    if (speeds[i] <= from) continue;
    if (wide >= 2 * from || !fits(speeds[i])) break;
    wide = speeds[i];
  }
  return wide;
}

NcclGraph graph(int channels, double intra_GBps, double inter_GBps) {
  return {channels, Bandwidth::Bps(intra_GBps * 1e9), Bandwidth::Bps(inter_GBps * 1e9)};
}

template <typename Fits>
double widest_that(std::span<const double> speeds, const Fits& fits) {
  const auto speed = std::find_if(speeds.begin(), speeds.end(), fits);
  return speed == speeds.end() ? last_resort_GBps : *speed;
}

double widest(std::span<const double> speeds, const Budget& budget, int channels) {
  return widest_that(speeds, [&](double each) {
    return fit_inside(budget, each) >= channels && fit_outside(budget, each) >= channels;
  });
}

// As many trees as rings. A tree does not come back to where it began, so that of every g GPUs one
// leaves its wire unused, which the others may fill.
NcclGraph tree_graph(std::span<const double> speeds, Budget budget, int channels) {
  if (budget.gpus > 1) budget.gpu_GBps *= budget.gpus / (budget.gpus - 1.0);
  const double speed = widest(speeds, budget, channels);
  const auto fits = [&](double wider) { return fit_inside(budget, wider) >= channels; };
  return graph(channels, widen(speeds, speed, fits), speed);
}

// One channel per GPU, which is the head of it; in one node none may be missing.
NcclGraph nvls_graph(std::span<const double> speeds, const Budget& budget) {
  const int most = std::min(budget.gpus, max_nvls_channels);
  const Found found =
      budget.has_network ? search(speeds, budget, most) : Found{most, widest(speeds, budget, most)};
  const auto fits = [&](double wider) { return fit_outside(budget, wider) >= found.channels; };
  return graph(found.channels, found.speed, widen(speeds, found.speed, fits));
}

// One channel per card, whose head is a GPU that no other card has. What a head sends to the
// switches of the network it has from the other GPUs of the node, an equal part from each.
NcclGraph collnet_graph(std::span<const double> speeds, const Budget& budget) {
  const int heads = std::min({budget.nics, budget.gpus, max_collnet_channels});
  const auto fit = [&](double speed) {
    if (budget.gpus == 1) return unlimited;
    const double others = budget.gpus - 1.0;
    return times_in(others * budget.gpu_GBps - (others - 1) * speed, speed);
  };
  const double speed = widest_that(speeds, [&](double each) {
    return fit(each) >= heads && fit_outside(budget, each) >= heads;
  });
  return graph(heads, widen(speeds, speed, [&](double wider) { return fit(wider) >= heads; }),
               speed);
}

void check(const Budget& budget) {
  if (budget.gpus > 1 && budget.gpu_GBps <= 0) {
    throw InputError("NCCL model", "expected a bandwidth above 0 between the GPUs of a node");
  }
  if (budget.has_network && (budget.nics < 1 || budget.nic_GBps <= 0)) {
    throw InputError("NCCL model", "expected NICs and their bandwidth, as there are several nodes");
  }
}

}  // namespace

NcclMachine nccl_guess_graphs(NcclMachine machine, const NcclWires& wires) {
  if (machine.nodes < 1 || machine.ranks < machine.nodes) {
    throw InputError("NCCL model", "expected at least one rank on each of at least one node");
  }
  const Budget budget{machine.ranks / machine.nodes, machine.nodes > 1, wires.gpu.GBps(),
                      wires.nics, wires.nic.GBps()};
  check(budget);
  const std::span<const double> speeds = speeds_of(machine);
  const Found ring = split(search(speeds, budget, max_ring_channels), machine.generation);
  machine.ring = graph(ring.channels, ring.speed, ring.speed);
  machine.tree = tree_graph(speeds, budget, ring.channels);
  machine.same_channels = machine.nodes == 1 || wires.nics == 1;
  machine.plain_trees = budget.gpus == 1;
  if (machine.collnet && budget.has_network) machine.collnet_direct = collnet_graph(speeds, budget);
  if (machine.nvls && budget.gpus > 2) machine.nvls_graph = nvls_graph(speeds, budget);
  return machine;
}

}  // namespace sgdsim
