// NCCL's own idea of how long a collective takes, and with it the choice NCCL makes.
//
// For every algorithm and protocol NCCL keeps a latency and a bandwidth, made of measured constants
// and of the channels that its search found, and takes the pair with the least
//
//     time_us = latency_us * count + bytes / (1000 * bandwidth_GBps).
//
// This is that model: the constants and formulas of NVIDIA/nccl 2.30, src/graph/tuning.cc, with the
// conditions of src/enqueue.cc under which a pair is considered at all. Size is that of the whole
// message: what one rank holds after an allgather or before a reduce-scatter.
//
// Other versions: 2.28 differs in NVLSTree between nodes (14 us, and Blackwell's cap) and in
// Blackwell's ring LL128 (73.4 GB/s a channel). After 2.30 the file was split up under src/tuning;
// rings of Blackwell in two nodes then take the bandwidth between nodes.
//
// When it is wrong. The constants are NCCL's and not fitted to the machine at hand, unless its
// `pairs` are (nccl_fit.h): NCCL's are made for choosing between pairs, so that the choice deserves
// more trust than the time.
// CollNet is taken to be there for every data type and reduction, for gathers too, and on all
// cards; its network's own limits (trees of switches, jobs at once) are not known. The tree
// correction is a step function of the size: at a power of two a tree may be faster than just below
// it. NCCL computes in 32-bit floats and we in 64: pairs that tie to seven digits may be chosen
// differently. No user's settings (NCCL_ALGO, NCCL_PROTO, ...) are applied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/collective/collective.h"
#include "sim/core/units.h"
#include "sim/net/nccl_constants.h"

namespace sgdsim {

// In the order in which NCCL tries them; the first of two equals wins.
enum class NcclAlgorithm : uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat
};
enum class NcclProtocol : uint8_t { ll, ll128, simple };
// As NCCL's environment spells them.
inline constexpr std::array<std::string_view, 7> nccl_algorithm_names = {
    "Tree", "Ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
inline constexpr std::array<std::string_view, 3> nccl_protocol_names = {"LL", "LL128", "Simple"};

// The way from a GPU to its NIC, nearest first: one PCI switch, several, through another GPU's NIC,
// through the host bridge, across sockets. LL128 needs a near one.
enum class NicPath : uint8_t { pix, pxb, pxn, phb, sys };

// What NCCL's search found, as NCCL_DEBUG_SUBSYS=GRAPH prints it: "nChannels 12, bw 20.0/20.0" is
// the number of channels and what one of them carries inside a node and between nodes. Without a
// log, nccl_graph.h guesses it from the wires.
struct NcclGraph {
  int channels = 0;
  Bandwidth intra;
  Bandwidth inter;
  bool operator==(const NcclGraph&) const = default;
};

struct NcclMachine {
  int ranks = 1;
  int nodes = 1;
  GpuGeneration generation = GpuGeneration::hopper;
  IntraLink link = IntraLink::nvlink;
  CpuVendor cpu = CpuVendor::intel;
  NicPath nic_path = NicPath::pxb;
  Duration nic_latency;       // as the network plugin reports it; InfiniBand and sockets report 0
  bool nvls = false;          // NVLink switches that reduce and multicast; Hopper and later
  bool switched = true;       // switches join the GPUs of a node
  bool collnet = false;       // network switches that reduce (SHARP)
  bool same_channels = true;  // all ring channels visit the GPUs in the same order
  bool plain_trees = false;   // all traffic of a node to the network goes through one GPU
  NcclGraph ring;
  NcclGraph tree;
  NcclGraph collnet_direct;  // one channel per card that has a GPU of its own; chains are the trees
  NcclGraph nvls_graph;      // one channel per GPU; unused without nvls
  NcclPairs pairs;           // in place of NCCL's own constants
};

// One pair. latency and bandwidth are those that NCCL_DEBUG_SUBSYS=TUNING prints, before the
// corrections that depend on the size; bandwidth is bytes of the message per second (algbw).
struct NcclRow {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Duration latency;
  Bandwidth bandwidth;
  Duration time;
  bool usable = false;
  const char* reason = "";  // why it is not usable
};

// Tree and ring with three protocols each; the others exist with Simple only. Rows are in the order
// of NcclPairs.
constexpr size_t nccl_row_count = nccl_pair_count;

// The place of a pair in both.
constexpr size_t nccl_pair_of(NcclAlgorithm algorithm, NcclProtocol protocol) {
  const auto place = static_cast<size_t>(algorithm);
  const bool has_three = algorithm == NcclAlgorithm::tree || algorithm == NcclAlgorithm::ring;
  return has_three ? 3 * place + static_cast<size_t>(protocol) : place + 4;
}
static_assert(nccl_pair_of(NcclAlgorithm::pat, NcclProtocol::simple) + 1 == nccl_pair_count);

struct NcclTable {
  std::array<NcclRow, nccl_row_count> rows;
  size_t best = 0;  // there always is a usable row: ring with Simple
  const NcclRow& choice() const { return rows[best]; }
  const NcclRow& row(NcclAlgorithm algorithm, NcclProtocol protocol) const;
};

// `aggregated` is the number of operations that the caller grouped into one launch; `size` is the
// sum of their messages. Throws InputError on a machine that cannot be, and on alltoall, which NCCL
// makes of sends and does not tune.
NcclTable nccl_tuning(const NcclMachine& machine, Operation operation, Bytes size,
                      int aggregated = 1);

// NCCL's own constants of a pair on this machine, whatever its `pairs` say; nothing where the model
// has none.
NcclPair nccl_own_pair(const NcclMachine& machine, size_t pair);

// The channels on which NCCL's kernels run, about twice those of the search.
int nccl_kernel_channels(const NcclMachine& machine);

}  // namespace sgdsim
