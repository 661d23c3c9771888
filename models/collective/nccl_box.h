// What NCCL's model sees of a cluster of boxes, and of a communicator on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/collective/nccl_graph.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// Without ranks, nodes and graphs, which depend on the communicator.
struct NcclBox {
  NcclMachine machine;
  NcclWires wires;
  int per_node = 1;               // workers
  std::optional<bool> nvls = {};  // what was said of its switches
};
// Workers per node, cards and costs of pairs from the cluster, with what its file says of NCCL.
NcclBox nccl_box_of(const Cluster& cluster);

// A communicator of so many ranks, the same number of them in each node but perhaps the last. Where
// they are not all workers of a node, others like it are taken to work at the same time: it has its
// part of the cards.
NcclMachine nccl_communicator(const NcclBox& box, int64_t ranks, int64_t per_node);

// "NVIDIA H100 80GB HBM3", "h100": the generation that its name says.
std::optional<GpuGeneration> generation_of(const std::string& device);

// Whether switches that join such GPUs may add up for them.
bool may_reduce_in_switches(const std::string& gpu);

// Where NCCL's model does not know the GPUs that the cluster's file names; else empty.
std::string nccl_note(const Cluster& cluster);
std::string nccl_note(const std::string& gpu, GpuGeneration taken);

// How many times as long computing takes while NCCL's kernels run beside it, by what they take: one
// multiprocessor for each channel of a communicator of all workers. Memory that both want, and
// kernels that leave multiprocessors idle, are left out.
double nccl_slowdown(const Cluster& cluster, const std::string& device);

// Which of our algorithms sends messages where NCCL chose that one: its rings and trees; a
// pipelined chain where it sends one way along a ring. For what it leaves to switches (NVLS,
// CollNet) the same without them. `by_rails`: one that leaves nodes by all of their cards, as
// NCCL's channels do; ours otherwise take one way through a node.
struct NcclStandIn {
  const Algorithm* algorithm = nullptr;
  bool has_trees_across = false;  // where it is of parts: option outer
};
NcclStandIn nccl_stand_in(NcclAlgorithm choice, Operation operation, bool by_rails = false);
inline constexpr char trees_across[] = "outer=double_binary_tree";
// Whether people run NCCL there, so that its model is what they ask for: several GPUs of a node
// have several network cards, or all the GPUs, which the file names, are in one node. Its model
// knows machines that are alike, and no grids.
bool usually_runs_nccl(const Cluster& cluster);
// Several nodes alike, each with several GPUs and cards: all workers, or a communicator's ranks.
bool has_rails(const Cluster& cluster);
bool has_rails(const Cluster& cluster, int ranks, int per_node);
inline constexpr char nccl_stand_in_note[] =
    "rings, trees and exchanges by nodes stand for what NCCL's model chooses; also for what it "
    "leaves to switches (NVLS, CollNet)";

}  // namespace sgdsim
