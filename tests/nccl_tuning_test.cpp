// The model of NCCL's choice against arithmetic on the published constants, and against the table
// that NCCL itself printed.
//
// A row's reason shows the arithmetic: latency in us, bandwidth in GB/s, and what the size adds.
// Expected times are whole picoseconds of these fractions; the model's 64-bit floats may be one
// off.
#include "models/collective/nccl_tuning.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "tests/nccl_cases.h"

namespace sgdsim {
namespace {

constexpr Bytes kib(int64_t count) { return Bytes(count * 1024); }
constexpr Bytes mib(int64_t count) { return Bytes(count * 1024 * 1024); }

NcclMachine one_a100_node() {
  NcclMachine made = machine(8, 1, GpuGeneration::ampere);
  made.ring = made.tree = graph(12, 20, 20);
  return made;
}

NcclMachine one_h100_node() {
  NcclMachine made = machine(8, 1, GpuGeneration::hopper);
  made.nvls = true;
  made.ring = made.tree = graph(12, 30, 30);
  made.nvls_graph = graph(8, 40, 60);
  return made;
}

NcclMachine sixteen_h100_nodes() {
  NcclMachine made = machine(128, 16, GpuGeneration::hopper);
  made.nvls = true;
  made.same_channels = false;
  made.ring = graph(8, 45, 45);
  made.tree = graph(8, 48, 45);
  made.nvls_graph = graph(8, 45, 48);
  return made;
}

NcclMachine two_h100_nodes() {
  NcclMachine made = sixteen_h100_nodes();
  made.ranks = 16;
  made.nodes = 2;
  return made;
}

NcclMachine four_b200_nodes(CpuVendor cpu) {
  NcclMachine made = machine(32, 4, GpuGeneration::blackwell);
  made.nvls = true;
  made.cpu = cpu;
  made.ring = made.tree = graph(16, 45, 45);
  made.nvls_graph = graph(8, 80, 96);
  return made;
}

NcclMachine two_v100_pci_nodes() {
  NcclMachine made = machine(8, 2, GpuGeneration::volta);
  made.link = IntraLink::pci;
  made.ring = made.tree = graph(2, 12, 12);
  return made;
}

// One GPU in each of two nodes, over sockets: what the table below was printed for.
NcclMachine two_lone_gpus() {
  NcclMachine made = machine(2, 2, GpuGeneration::blackwell);
  made.link = IntraLink::pci;
  made.nic_path = NicPath::sys;
  made.plain_trees = true;
  made.ring = graph(2, 1.2, 1.2);
  made.tree = graph(2, 2.4, 1.2);
  return made;
}

NcclMachine with_cpu(NcclMachine made, CpuVendor cpu) {
  made.cpu = cpu;
  return made;
}

NcclMachine with_own_channels(NcclMachine made) {
  made.same_channels = false;
  return made;
}

NcclMachine with_nic_latency(NcclMachine made, Duration latency) {
  made.nic_latency = latency;
  return made;
}

// ---- against arithmetic ----

struct TimeRow {
  std::string reason;
  NcclMachine machine;
  Operation operation;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  Bytes size;
  int64_t time_ps;
  int aggregated = 1;
};

const std::vector<TimeRow> time_rows = {
    // Eight A100: 12 channels of 20, 240 together; rings have 14 steps, ratio 8/14.
    {"base 6.6 + 14 x .6 = 15; min(87.7, 240/2) x 8/14 = 50.114; + 1024 B / 50114 B/us = .020433",
     one_a100_node(), Operation::allreduce, NcclAlgorithm::ring, NcclProtocol::ll, kib(1),
     15'020'433},
    {"14 + 14 x 1.9 = 40.6; min(240 x .92, 12 x 20) x 8/14 = 126.171; + 8.310725", one_a100_node(),
     Operation::allreduce, NcclAlgorithm::ring, NcclProtocol::ll128, mib(1), 48'910'725},
    {"8.4 + 14 x 3.4 = 56; 240 x 8/14 = 137.143; + 7.645867", one_a100_node(), Operation::allreduce,
     NcclAlgorithm::ring, NcclProtocol::simple, mib(1), 63'645'867},
    {"6.8 + 2 x 7 x .6 = 15.2; 220.8 / 3.8 / 2 = 29.0526, whole below 1 KiB; + .035212",
     one_a100_node(), Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::ll, Bytes(1023),
     15'235'212},
    {"14 + 14 x 1.25 = 31.5; min(220.8 x 7/9, 240) / 2 = 85.8667, .6 at 1 MiB; + 20.352795",
     one_a100_node(), Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::ll128, mib(1),
     51'852'795},
    {"8.4 + 14 x 4 = 64.4; min(240 x .92, 12 x 24) / 2 = 110.4, .5 at 1 MiB; + 18.995942",
     one_a100_node(), Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::simple, mib(1),
     83'395'942},
    {"three grouped: 3 x 56 + 7.645867, each ring pays", one_a100_node(), Operation::allreduce,
     NcclAlgorithm::ring, NcclProtocol::simple, mib(1), 175'645'867, 3},
    {"three grouped trees are one batch", one_a100_node(), Operation::allreduce,
     NcclAlgorithm::tree, NcclProtocol::simple, mib(1), 83'395'942, 3},
    {"nine grouped trees are two batches: 2 x 64.4 + 18.995942", one_a100_node(),
     Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::simple, mib(1), 147'795'942, 9},
    {"7 steps, ratio 8/7: 8.4 + 7 x 3.4 = 32.2; 274.286; + 3.822933", one_a100_node(),
     Operation::allgather, NcclAlgorithm::ring, NcclProtocol::simple, mib(1), 36'022'933},
    {"a chain, all channels alike: 8.4 + 3.4; 240; + 4.369067", one_a100_node(),
     Operation::broadcast, NcclAlgorithm::ring, NcclProtocol::simple, mib(1), 16'169'067},
    {"a chain, channels differ: 8.4 + 8 x 4.0 of a tree's chunk; 240; + 4.369067",
     with_own_channels(one_a100_node()), Operation::reduce, NcclAlgorithm::ring,
     NcclProtocol::simple, mib(1), 44'769'067},
    {"the same with LL: 6.6 + 8 x .6; 87.7; + .011676", with_own_channels(one_a100_node()),
     Operation::broadcast, NcclAlgorithm::ring, NcclProtocol::ll, kib(1), 11'411'676},

    // Eight H100 with NVLS: 8 channels of 40.
    {"25; min(40 x .85 x 7/8 x 2 = 59.5, 60) x 8 = 476, x 8/14 = 272; + 3.855059", one_h100_node(),
     Operation::allreduce, NcclAlgorithm::nvls, NcclProtocol::simple, mib(1), 28'855'059},
    {"25; 40 x .85 x 7/8 x 7/8 x 8 = 208.25, no ratio; + 5.035179", one_h100_node(),
     Operation::allgather, NcclAlgorithm::nvls, NcclProtocol::simple, mib(1), 30'035'179},

    // 16 nodes of eight H100: 254 steps, 30 of them between nodes, ratio 128/254.
    {"6.6 + 224 x max(.6, 1) + 30 x 2.7 = 311.6; min(20.4, 180) x 128/254 = 10.2803; + .099608",
     sixteen_h100_nodes(), Operation::allreduce, NcclAlgorithm::ring, NcclProtocol::ll, kib(1),
     311'699'608},
    {"AMD: 6.6 + 224 x 2 + 30 x 2.7 = 535.6; 19.0 x 128/254 = 9.57480; + .106947",
     with_cpu(sixteen_h100_nodes(), CpuVendor::amd), Operation::allreduce, NcclAlgorithm::ring,
     NcclProtocol::ll, kib(1), 535'706'947},
    {"8.4 + 224 x 3.4 + 30 x 14 = 1190; 360 x 128/254 = 181.417; 16 x 128 x 64 B are not reached",
     sixteen_h100_nodes(), Operation::allreduce, NcclAlgorithm::ring, NcclProtocol::simple,
     Bytes(131'071), 1'190'722'483},
    {"the plateau begins: 1190 x 1.4 + .722489", sixteen_h100_nodes(), Operation::allreduce,
     NcclAlgorithm::ring, NcclProtocol::simple, Bytes(131'072), 1'666'722'489},
    {"AMD posts 2 us, thrice for Simple: (8.4 + 224 x 6 + 420) x 1.4 + .722489",
     with_cpu(sixteen_h100_nodes(), CpuVendor::amd), Operation::allreduce, NcclAlgorithm::ring,
     NcclProtocol::simple, Bytes(131'072), 2'482'082'489},
    {"no plateau for others: 8.4 + 112 x 3.4 + 15 x 14 = 599.2; 360 x 128/127 = 362.835; + "
     "2.889952",
     sixteen_h100_nodes(), Operation::reduce_scatter, NcclAlgorithm::ring, NcclProtocol::simple,
     mib(1), 602'089'956},
    {"6.8 + 2 (7 x .6 + 4 x 5) = 55.2; min(8 x 36 / 3.8, 20.4) / 2 = 10.2, .9 at 1 KiB; + .111547",
     sixteen_h100_nodes(), Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::ll, kib(1),
     55'311'547},
    {"14 + 2 (7 x 1.25 + 4 x 8.5) = 99.5; min(288 x 120/128, 8 x 29) / 2 = 116, .6 at 1 MiB",
     sixteen_h100_nodes(), Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::ll128, mib(1),
     114'565'747},
    {"8.4 + 2 (7 x 4 + 4 x 14) = 176.4; 144, .9 at 256 MiB; + 2071.261235", sixteen_h100_nodes(),
     Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::simple, mib(256), 2'247'661'235},
    {"from 512 MiB on trees are not corrected: 176.4 + 3728.270222", sixteen_h100_nodes(),
     Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::simple, mib(512), 3'904'670'222},
    {"nor below 64 B: 176.4 + 63/144000", sixteen_h100_nodes(), Operation::allreduce,
     NcclAlgorithm::tree, NcclProtocol::simple, Bytes(63), 176'400'438},
    {"25 + 2 x 4 x 20.9 = 192.2; min(66.94, 48, 45.5) x 8 x 128/254 = 183.433; + 5.716396",
     sixteen_h100_nodes(), Operation::allreduce, NcclAlgorithm::nvls_tree, NcclProtocol::simple,
     mib(1), 197'916'396},
    {"two nodes, both ways out: 25 + 2 x 20.9; min(66.94, 96, 57.7) x 8 x 16/30 = 246.187",
     two_h100_nodes(), Operation::allreduce, NcclAlgorithm::nvls_tree, NcclProtocol::simple, mib(1),
     71'059'272},

    // Four nodes of Blackwell: 8 NVLS channels, capped at 80, ratio 32/62.
    {"25 + 4 x 20.9 = 108.6; 640 x 32/62 = 330.323, corrected to .5 at 1 MiB; + 6.348800",
     four_b200_nodes(CpuVendor::intel), Operation::allreduce, NcclAlgorithm::nvls_tree,
     NcclProtocol::simple, mib(1), 114'948'800},
    {"not corrected beside an Arm CPU; + 3.174400", four_b200_nodes(CpuVendor::arm),
     Operation::allreduce, NcclAlgorithm::nvls_tree, NcclProtocol::simple, mib(1), 111'774'400},

    // Two nodes of four V100 without NVLink: 24 together, 14 steps, 2 of them between nodes.
    {"(8.4 + 12 x 5.7 + 2 x 14) x 1.9 = 199.12; 24 x 8/14 = 13.7143; + 76.458667",
     two_v100_pci_nodes(), Operation::allreduce, NcclAlgorithm::ring, NcclProtocol::simple, mib(1),
     275'578'667},
    {"a NIC that takes 5 us, and to flush 5 more: 8.4 + 2 (3 x 4 + 24) = 80.4; 22.08 / 2 x .5",
     with_nic_latency(two_v100_pci_nodes(), Duration::us(5)), Operation::allreduce,
     NcclAlgorithm::tree, NcclProtocol::simple, mib(1), 270'359'420},
};

TEST_CASE("nccl tuning: times are those of the published constants") {
  for (const TimeRow& row : time_rows) {
    INFO(row.reason);
    const NcclTable table = nccl_tuning(row.machine, row.operation, row.size, row.aggregated);
    const NcclRow& pair = table.row(row.algorithm, row.protocol);
    REQUIRE(pair.usable);
    CHECK(std::abs(pair.time.ps() - row.time_ps) <= 1);
  }
}

// ---- against NCCL ----

// NCCL 2.29.7 printed this table (NCCL_DEBUG_SUBSYS=TUNING) for two lone GPUs over sockets, to one
// decimal; hence the tolerances. "0.0" stands for pairs that it does not use.
struct PrintedRow {
  Operation operation;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double latency_us;
  double bandwidth_GBps;
};

const std::vector<PrintedRow> printed_rows = {
    {Operation::broadcast, NcclAlgorithm::tree, NcclProtocol::ll, 0, 0},
    {Operation::broadcast, NcclAlgorithm::ring, NcclProtocol::ll, 9.3, 1.2},
    {Operation::broadcast, NcclAlgorithm::ring, NcclProtocol::ll128, 0, 0},
    {Operation::broadcast, NcclAlgorithm::ring, NcclProtocol::simple, 22.4, 2.4},
    {Operation::reduce, NcclAlgorithm::ring, NcclProtocol::simple, 22.4, 2.4},
    {Operation::allgather, NcclAlgorithm::ring, NcclProtocol::ll, 11.6, 2.4},
    {Operation::allgather, NcclAlgorithm::ring, NcclProtocol::simple, 22.4, 4.8},
    {Operation::reduce_scatter, NcclAlgorithm::ring, NcclProtocol::simple, 22.4, 4.8},
    {Operation::reduce_scatter, NcclAlgorithm::pat, NcclProtocol::simple, 17.6, 3.6},
    {Operation::allgather, NcclAlgorithm::pat, NcclProtocol::simple, 17.6, 3.6},
    {Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::ll, 16.8, 0.5},
    {Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::ll128, 0, 0},
    {Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::simple, 36.4, 1.9},
    {Operation::allreduce, NcclAlgorithm::ring, NcclProtocol::ll, 16.6, 1.2},
    {Operation::allreduce, NcclAlgorithm::ring, NcclProtocol::simple, 36.4, 2.4},
    {Operation::allreduce, NcclAlgorithm::nvls, NcclProtocol::simple, 0, 0},
    {Operation::allreduce, NcclAlgorithm::nvls_tree, NcclProtocol::simple, 0, 0},
    {Operation::allreduce, NcclAlgorithm::pat, NcclProtocol::simple, 0, 0},
};

TEST_CASE("nccl tuning: the table that NCCL printed") {
  for (const PrintedRow& row : printed_rows) {
    const NcclTable table = nccl_tuning(two_lone_gpus(), row.operation, kib(1));
    const NcclRow& pair = table.row(row.algorithm, row.protocol);
    CHECK(pair.usable == (row.bandwidth_GBps > 0));
    CHECK(std::abs(pair.latency.us() - row.latency_us) <= 0.05);
    CHECK(std::abs(pair.bandwidth.GBps() - row.bandwidth_GBps) <= 0.05);
  }
}

TEST_CASE("nccl tuning: the protocols that the same run chose for broadcasts") {
  for (int64_t size = 1024; size <= 128 * 1024 * 1024; size *= 2) {
    const NcclRow chosen = nccl_tuning(two_lone_gpus(), Operation::broadcast, Bytes(size)).choice();
    CHECK(chosen.algorithm == NcclAlgorithm::ring);
    CHECK(chosen.protocol == (size <= 16 * 1024 ? NcclProtocol::ll : NcclProtocol::simple));
  }
}

// ---- what is refused ----

struct RefusedRow {
  std::string reason;
  NcclMachine machine;
  Operation operation;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
};

NcclMachine with_far_nic(NcclMachine made, NicPath path) {
  made.nic_path = path;
  return made;
}

NcclMachine without_nvls(NcclMachine made) {
  made.nvls = false;
  return made;
}

NcclMachine a100_that_claims_nvls() {
  NcclMachine made = one_a100_node();
  made.nvls = true;
  made.nvls_graph = graph(8, 30, 30);
  return made;
}

const std::vector<RefusedRow> refused_rows = {
    {"NCCL has trees for allreduce only", one_a100_node(), Operation::reduce, NcclAlgorithm::tree,
     NcclProtocol::ll},
    {"LL128 needs NVLink", two_v100_pci_nodes(), Operation::allreduce, NcclAlgorithm::ring,
     NcclProtocol::ll128},
    {"LL128 needs a NIC near the GPU", with_far_nic(sixteen_h100_nodes(), NicPath::phb),
     Operation::allreduce, NcclAlgorithm::tree, NcclProtocol::ll128},
    {"the machine has no NVLS", without_nvls(one_h100_node()), Operation::allreduce,
     NcclAlgorithm::nvls, NcclProtocol::simple},
    {"NVLS came with Hopper", a100_that_claims_nvls(), Operation::allreduce, NcclAlgorithm::nvls,
     NcclProtocol::simple},
    {"NVLS across nodes needs CollNet, switches that reduce: --option collnet=on",
     sixteen_h100_nodes(), Operation::allreduce, NcclAlgorithm::nvls, NcclProtocol::simple},
    {"NVLS has no broadcast and no reduce", one_h100_node(), Operation::broadcast,
     NcclAlgorithm::nvls, NcclProtocol::simple},
    {"NVLSTree is for several nodes", one_h100_node(), Operation::allreduce,
     NcclAlgorithm::nvls_tree, NcclProtocol::simple},
    {"NVLSTree is for allreduce only", sixteen_h100_nodes(), Operation::allgather,
     NcclAlgorithm::nvls_tree, NcclProtocol::simple},
    {"PAT needs one rank per node", one_h100_node(), Operation::allgather, NcclAlgorithm::pat,
     NcclProtocol::simple},
    {"PAT is for reduce_scatter and allgather only", two_lone_gpus(), Operation::allreduce,
     NcclAlgorithm::pat, NcclProtocol::simple},
};

TEST_CASE("nccl tuning: pairs that are not used say why") {
  for (const RefusedRow& row : refused_rows) {
    const NcclTable table = nccl_tuning(row.machine, row.operation, mib(1));
    CHECK_FALSE(table.row(row.algorithm, row.protocol).usable);
    CHECK(table.row(row.algorithm, row.protocol).reason == row.reason);
  }
}

TEST_CASE("nccl tuning: a Hopper's LL128 may pass through another GPU, an Ampere's may not") {
  NcclMachine machine = with_far_nic(two_h100_nodes(), NicPath::pxn);
  const auto is_usable = [&] {
    return nccl_tuning(machine, Operation::allreduce, mib(1))
        .row(NcclAlgorithm::ring, NcclProtocol::ll128)
        .usable;
  };
  CHECK(is_usable());
  machine.generation = GpuGeneration::ampere;
  CHECK_FALSE(is_usable());
}

TEST_CASE("nccl tuning: a machine that cannot be is refused") {
  NcclMachine no_ring = one_a100_node();
  no_ring.ring = {};
  NcclMachine no_network = two_h100_nodes();
  no_network.tree.inter = Bandwidth();
  for (const NcclMachine& wrong :
       {machine(0, 0, GpuGeneration::volta), machine(2, 4, GpuGeneration::volta), no_ring,
        no_network, with_nic_latency(two_h100_nodes(), Duration::us(-1))}) {
    CHECK_THROWS_AS(nccl_tuning(wrong, Operation::allreduce, mib(1)), InputError);
  }
  CHECK_THROWS_AS(nccl_tuning(one_a100_node(), Operation::allreduce, Bytes(-1)), InputError);
  CHECK_THROWS_AS(nccl_tuning(one_a100_node(), Operation::alltoall, mib(1)), InputError);
  CHECK_THROWS_AS(nccl_tuning(one_a100_node(), Operation::allreduce, mib(1), 0), InputError);
}

TEST_CASE("nccl tuning: one rank is done at once") {
  const NcclTable table =
      nccl_tuning(machine(1, 1, GpuGeneration::hopper), Operation::allreduce, mib(1));
  CHECK(table.choice().usable);
  CHECK(table.choice().time == Duration());
}

TEST_CASE("nccl tuning: kernels run on twice the channels, four times on few wide ones") {
  CHECK(nccl_kernel_channels(one_a100_node()) == 24);
  CHECK(nccl_kernel_channels(sixteen_h100_nodes()) == 16);
  NcclMachine wide = two_h100_nodes();
  wide.ring = wide.tree = graph(4, 48, 48);
  CHECK(nccl_kernel_channels(wide) == 16);
}

// ---- properties ----

const std::vector<NcclMachine> machines = {one_a100_node(),
                                           one_h100_node(),
                                           two_h100_nodes(),
                                           sixteen_h100_nodes(),
                                           with_cpu(sixteen_h100_nodes(), CpuVendor::amd),
                                           four_b200_nodes(CpuVendor::intel),
                                           two_v100_pci_nodes(),
                                           two_lone_gpus()};
const std::vector<Operation> operations = {Operation::broadcast, Operation::reduce,
                                           Operation::allreduce, Operation::reduce_scatter,
                                           Operation::allgather};

TEST_CASE("nccl tuning: twice the size takes longer, in every pair and in the best") {
  for (const NcclMachine& machine : machines) {
    for (const Operation operation : operations) {
      NcclTable before = nccl_tuning(machine, operation, Bytes(32));
      for (int64_t size = 64; size <= int64_t{1} << 36; size *= 2) {
        const NcclTable now = nccl_tuning(machine, operation, Bytes(size));
        CHECK(now.choice().time > before.choice().time);
        for (size_t i = 0; i < now.rows.size(); ++i) {
          CHECK(now.rows[i].usable == before.rows[i].usable);
          if (now.rows[i].usable) CHECK(now.rows[i].time > before.rows[i].time);
        }
        before = now;
      }
    }
  }
}

TEST_CASE("nccl tuning: LL for tiny messages, Simple for huge ones, nothing beats the choice") {
  for (const NcclMachine& machine : machines) {
    for (const Operation operation : operations) {
      CHECK(nccl_tuning(machine, operation, Bytes(64)).choice().protocol == NcclProtocol::ll);
      const NcclTable huge = nccl_tuning(machine, operation, mib(16'384));
      CHECK(huge.choice().protocol == NcclProtocol::simple);
      for (const NcclRow& row : huge.rows) {
        if (row.usable) CHECK(row.time >= huge.choice().time);
      }
    }
  }
}

TEST_CASE("nccl tuning: trees win small allreduces on many nodes, rings large ones in one") {
  const NcclRow small = nccl_tuning(sixteen_h100_nodes(), Operation::allreduce, kib(1)).choice();
  CHECK(small.algorithm == NcclAlgorithm::tree);
  const NcclRow large = nccl_tuning(one_a100_node(), Operation::allreduce, mib(1024)).choice();
  CHECK(large.algorithm == NcclAlgorithm::ring);
}

}  // namespace
}  // namespace sgdsim
