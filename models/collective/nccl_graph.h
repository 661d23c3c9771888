// The channels that NCCL's search would find, guessed from the bandwidths of the wires.
//
// NCCL walks the machine's topology for rings and trees: for one speed after the other of a list,
// it counts how many channels of that speed fit, keeps the most bandwidth in total, and splits wide
// channels in two (NVIDIA/nccl 2.30, src/graph/search.cc). Here the topology is reduced to two
// numbers, what a GPU can send inside its node and what the node's NICs can send, so that counting
// is a division. Published logs that these rules meet: 12 x 20 GB/s in a node of A100, 12 x 30 of
// H100.
//
// When it is wrong: real topologies hold other limits (PCI switches shared by GPU and NIC, sockets,
// GPUs without NVLink to all others) and then give fewer, narrower or differently shaped channels.
// Where a log is at hand, take the graphs from it.
#pragma once

#include "models/collective/nccl_tuning.h"

namespace sgdsim {

// Each in one direction and in the terms of NCCL's topology: 240 GB/s of NVLink for an A100
// (12 x 20), 370.8 for an H100 (18 x 20.6), 24 for PCI 4.0 x16.
struct NcclWires {
  Bandwidth gpu;  // of one GPU to the others of its node
  int nics = 0;   // of a node
  Bandwidth nic;
};

// `machine` with its graphs, same_channels and plain_trees filled in. Throws InputError when wires
// are missing that the machine needs.
NcclMachine nccl_guess_graphs(NcclMachine machine, const NcclWires& wires);

}  // namespace sgdsim
