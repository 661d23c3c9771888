// Which network card each GPU of a machine sends by, as NCCL chooses it: the port with the fastest
// way to it, of those the nearest ones. GPUs with the same choice share it in the order of their
// ranks.
//
// When it is wrong: NCCL also lets GPUs send by the cards of others (PXN, NCCL_CROSS_NIC), and a
// user may choose cards himself (NCCL_IB_HCA). Where cards do not divide among the GPUs that are
// next to them, the rest stays idle here, with a note; NCCL takes turns.
#pragma once

#include "topologies/nccl_machine.h"

namespace sgdsim {

// How NCCL ranks ways: through one PCIe switch, several, a CPU, two CPUs.
enum class NcclDistance { one_switch, switches, cpu, cpus };

// Through the PCIe tree, and from CPU to CPU where the roots differ.
struct NcclWay {
  NcclDistance distance = NcclDistance::one_switch;
  int hops = 0;
  double GBps = 0;
};
NcclWay way_between(const TopologyMachine& machine, int from, int to);

// Sets the card of every GPU. All ports of a card become one, and so do all cards that one GPU has
// to itself; a card that nobody sends by is taken off the list, with a note.
void join_cards(TopologyMachine& machine);

}  // namespace sgdsim
