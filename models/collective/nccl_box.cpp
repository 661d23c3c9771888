// Rates of pairs are those of the first worker.
#include "models/collective/nccl_box.h"

#include <algorithm>

#include "models/collective/registry.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

// The rate of one pair; a free link counts as very fast.
Bandwidth rate_of(const PairCost& cost) {
  return Bandwidth::Bps(1e12 / std::max(cost.per_byte.ps(), 1e-3));
}

void set_constants(NcclBox& box, const NcclConstants& constants) {
  NcclMachine& machine = box.machine;
  machine.generation = constants.generation.value_or(machine.generation);
  machine.link = constants.gpu_link.value_or(machine.link);
  machine.nvls = constants.nvls.value_or(Switched::off) == Switched::on;
  machine.cpu = constants.cpu.value_or(machine.cpu);
  box.wires.nics = constants.nics.value_or(box.wires.nics);
  machine.pairs = constants.pairs;
}

}  // namespace

NcclBox nccl_box_of(const Cluster& cluster) {
  NcclBox box;
  const int workers = cluster.network.workers();
  box.per_node = std::min(cluster.workers_per_node, workers);
  box.wires.nics = std::min(cluster.cards_per_node(), box.per_node);
  if (cluster.nccl) set_constants(box, *cluster.nccl);
  if (box.per_node > 1) box.wires.gpu = rate_of(cluster.network.between(0, 1));
  if (workers > box.per_node) box.wires.nic = rate_of(cluster.network.between(0, box.per_node));
  return box;
}

NcclMachine nccl_communicator(const NcclBox& box, int64_t ranks, int64_t per_node) {
  NcclMachine machine = box.machine;
  machine.ranks = static_cast<int>(ranks);
  machine.nodes = static_cast<int>((ranks + per_node - 1) / per_node);
  NcclWires wires = box.wires;
  const double cards = real(wires.nics) * real(per_node) / real(box.per_node);
  wires.nics = std::max(1, static_cast<int>(cards));
  if (cards < 1) wires.nic = Bandwidth::Bps(wires.nic.Bps() * cards);
  return nccl_guess_graphs(machine, wires);
}

const Algorithm& nccl_stand_in(NcclAlgorithm choice, Operation operation) {
  const bool is_tree = choice == NcclAlgorithm::tree || choice == NcclAlgorithm::nvls_tree;
  const bool is_one_way = operation == Operation::broadcast || operation == Operation::reduce;
  if (is_tree) return algorithm_named("double_binary_tree", "");
  return algorithm_named(is_one_way ? "lp" : "ring", "");
}

}  // namespace sgdsim
