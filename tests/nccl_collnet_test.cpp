// NCCL over switches that reduce: CollNet's two algorithms and NVLS across nodes, against
// arithmetic on the published constants (NVIDIA/nccl, src/graph/tuning.cc and search.cc).
//
// A row's reason shows the arithmetic: latency in us, bandwidth in GB/s, and what 1 MiB adds.
#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "models/collective/nccl_box.h"
#include "models/collective/nccl_graph.h"
#include "models/collective/nccl_tuning.h"
#include "sim/core/error.h"
#include "tests/json_of_run.h"
#include "tests/nccl_cases.h"

namespace sgdsim {
namespace {

constexpr Bytes one_mib(int64_t{1} << 20);

NcclMachine sixteen_hoppers() {
  NcclMachine made = machine(128, 16, GpuGeneration::hopper);
  made.nvls = made.collnet = true;
  made.ring = graph(8, 45, 45);
  made.tree = graph(8, 48, 45);
  made.nvls_graph = graph(8, 45, 48);
  made.collnet_direct = graph(8, 48, 48);
  return made;
}

NcclMachine with_heads(NcclMachine made, int heads) {
  made.collnet_direct.channels = heads;
  return made;
}

NcclMachine with_slow_card(NcclMachine made) {
  made.nic_latency = Duration::us(5);
  return made;
}

NcclMachine two_amperes() {
  NcclMachine made = sixteen_hoppers();
  made.generation = GpuGeneration::ampere;
  made.nvls = false;
  made.ranks = 16;
  made.nodes = 2;
  return made;
}

NcclMachine lone_gpus() {
  NcclMachine made = sixteen_hoppers();
  made.ranks = made.nodes;
  made.collnet_direct = graph(1, 48, 48);
  return made;
}

struct SwitchedTime {
  std::string reason;
  NcclMachine machine;
  Operation operation;
  NcclAlgorithm algorithm;
  double time_us;
};

const std::vector<SwitchedTime> switched_times = {
    {"2 (3.7 + 7 x 0.4) + 31 = 44; 8 x 48 x 0.85 / 2 = 163.2: 6.425098", sixteen_hoppers(),
     Operation::allreduce, NcclAlgorithm::collnet_direct, 50.425098},
    {"and 2 x 5 of the card", with_slow_card(sixteen_hoppers()), Operation::allreduce,
     NcclAlgorithm::collnet_direct, 60.425098},
    {"4 cards for 8 GPUs: 4 x 48 / 1.5 x 0.85 / 2 = 54.4: 19.275294",
     with_heads(sixteen_hoppers(), 4), Operation::allreduce, NcclAlgorithm::collnet_direct,
     63.275294},
    {"before Hopper: 8 x 48 / 2 = 192: 5.461333", two_amperes(), Operation::allreduce,
     NcclAlgorithm::collnet_direct, 49.461333},
    {"a GPU for each card: 8 x min(48, 0.9 x 48) = 345.6: 3.034074", sixteen_hoppers(),
     Operation::allgather, NcclAlgorithm::collnet_direct, 47.034074},
    {"likewise", sixteen_hoppers(), Operation::reduce_scatter, NcclAlgorithm::collnet_direct,
     47.034074},
    {"2 x 7 x 2.8 + 30 = 69.2; 8 x 48 / 2 = 192: 5.461333", sixteen_hoppers(), Operation::allreduce,
     NcclAlgorithm::collnet_chain, 74.661333},
    {"one GPU a node pays what a tree pays, 14; 48 x 0.85 / 2 = 20.4: 51.400784", lone_gpus(),
     Operation::allreduce, NcclAlgorithm::collnet_direct, 65.400784},
    {"25 + 18 = 43; min(45 x 0.85 x 7 / 8 x 2, 48) = 48, x 8 x 128 / 254: 5.418667",
     sixteen_hoppers(), Operation::allreduce, NcclAlgorithm::nvls, 48.418667},
    {"43; min(45 x 0.85 x 7 / 8 x 7 / 8, 48) x 8 = 234.28125: 4.475714", sixteen_hoppers(),
     Operation::allgather, NcclAlgorithm::nvls, 47.475714},
};

TEST_CASE("nccl collnet: times are those of the published constants") {
  for (const SwitchedTime& row : switched_times) {
    INFO(row.reason);
    const NcclRow pair =
        nccl_tuning(row.machine, row.operation, one_mib).row(row.algorithm, NcclProtocol::simple);
    REQUIRE_MESSAGE(pair.usable, pair.reason);
    CHECK(std::abs(pair.time.us() - row.time_us) < 1e-6);
  }
}

struct SwitchedRefusal {
  std::string reason;
  NcclMachine machine;
  Operation operation;
  NcclAlgorithm algorithm;
};

template <class Change>
NcclMachine changed(const Change& change) {
  NcclMachine made = sixteen_hoppers();
  change(made);
  return made;
}

TEST_CASE("nccl collnet: pairs that are not used say why") {
  const std::vector<SwitchedRefusal> rows = {
      {"the network has no CollNet", changed([](auto& one) { one.collnet = false; }),
       Operation::allreduce, NcclAlgorithm::collnet_direct},
      {"the network has no CollNet", changed([](auto& one) { one.collnet = false; }),
       Operation::allreduce, NcclAlgorithm::collnet_chain},
      {"NVLS across nodes needs CollNet, switches that reduce: --option collnet=on",
       changed([](auto& one) { one.collnet = false; }), Operation::allreduce, NcclAlgorithm::nvls},
      {"CollNet is for several nodes", changed([](auto& one) {
         one.nodes = 1;
         one.ranks = 8;
       }),
       Operation::allreduce, NcclAlgorithm::collnet_chain},
      {"CollNet has 8 ranks a node at most", changed([](auto& one) { one.nodes = 15; }),
       Operation::allreduce, NcclAlgorithm::collnet_chain},
      {"CollnetDirect needs NVLink switches", changed([](auto& one) { one.switched = false; }),
       Operation::allreduce, NcclAlgorithm::collnet_direct},
      {"CollnetDirect needs NVLink switches", changed([](auto& one) { one.link = IntraLink::pci; }),
       Operation::allreduce, NcclAlgorithm::collnet_direct},
      {"gathers over CollNet need a card for every GPU", with_heads(sixteen_hoppers(), 7),
       Operation::allgather, NcclAlgorithm::collnet_direct},
      {"gathers over CollNet need a card for every GPU", with_heads(sixteen_hoppers(), 7),
       Operation::reduce_scatter, NcclAlgorithm::nvls},
      {"CollnetChain is for allreduce only", sixteen_hoppers(), Operation::allgather,
       NcclAlgorithm::collnet_chain},
      {"CollNet has no broadcast and no reduce", sixteen_hoppers(), Operation::broadcast,
       NcclAlgorithm::collnet_direct},
  };
  for (const SwitchedRefusal& row : rows) {
    const NcclRow pair =
        nccl_tuning(row.machine, row.operation, one_mib).row(row.algorithm, NcclProtocol::simple);
    CHECK_FALSE(pair.usable);
    CHECK(pair.reason == row.reason);
  }
  CHECK_THROWS_AS(nccl_tuning(with_heads(sixteen_hoppers(), 0), Operation::allreduce, one_mib),
                  InputError);
}

TEST_CASE("nccl collnet: one channel for each card that has a GPU") {
  struct Row {
    std::string reason;
    int ranks;
    GpuGeneration generation;
    NcclWires wires;
    NcclGraph direct;
  };
  const std::vector<Row> rows = {
      {"8 x 48: (7 x 370.8 - 6 x 48) / 48 hold 48; nothing wider is tried",
       16,
       GpuGeneration::hopper,
       {gb(370.8), 8, gb(50)},
       graph(8, 48, 48)},
      {"8 x 24, inside 28, 30, 48: less than twice 24 was passed",
       16,
       GpuGeneration::ampere,
       {gb(240), 8, gb(25)},
       graph(8, 48, 24)},
      {"one card of 12.5: 12, inside 24",
       16,
       GpuGeneration::hopper,
       {gb(370.8), 1, gb(12.5)},
       graph(1, 24, 12)},
      {"8 cards of 50 at NVLinks of 90: a head takes 2 s, so 45",
       16,
       GpuGeneration::hopper,
       {gb(90), 8, gb(50)},
       graph(8, 45, 45)},
      {"2 cards and 1 GPU: one head", 2, GpuGeneration::hopper, {{}, 2, gb(50)}, graph(1, 48, 48)},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    NcclMachine two_nodes = machine(row.ranks, 2, row.generation);
    two_nodes.collnet = true;
    CHECK(nccl_guess_graphs(two_nodes, row.wires).collnet_direct == row.direct);
  }
}

// 256 MiB among 32 H100: direct takes 44 us and 268435456 / 163.2e3, and chains, which have no
// limit of Hopper's, 69.2 us and 268435456 / 192e3. Without switches that reduce neither is there.
TEST_CASE("nccl collnet: from the command line, and from a cluster's file") {
  const auto answer = [](const std::string& constants, const std::vector<std::string>& options) {
    std::vector<std::string> words = {
        "collective",
        "-a",
        "nccl",
        "--op",
        "allreduce",
        "-n",
        "256 MiB",
        "-p",
        "32",
        "--format",
        "json",
        "--cluster",
        R"({"shape": "nvlink_box", "nodes": 4, "gpus_per_node": 8, "nics_per_node": 8,
            "gpu_link": {"bandwidth": "370.8 GB/s", "latency": "1 us"},
            "nic": {"bandwidth": "400 Gbit/s", "latency": "5 us"})" +
            constants + "}"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--option", "nvls=off"});
    return json_of_run(words);
  };
  const auto direct_us = [](const Json& json) {
    for (const Json& pair : json["candidates"])
      if (pair["algorithm"] == "CollnetDirect/Simple") return pair.value("time_us", -1.0);
    return -2.0;
  };
  const Json off = answer("", {});
  CHECK(direct_us(off) == -1);
  for (const Json& on :
       {answer("", {"--option", "collnet=on"}), answer(R"(, "nccl": {"collnet": "on"})", {})}) {
    CHECK(direct_us(on) == doctest::Approx(44 + 268435456 / 163.2e3).epsilon(1e-9));
    CHECK(on["time_us"].get<double>() == doctest::Approx(69.2 + 268435456 / 192e3).epsilon(1e-9));
    CHECK(on["time_us"].get<double>() < off["time_us"].get<double>());
  }
}

// What carries the messages at fidelities that have some: the switches' way up and down is a tree.
TEST_CASE("nccl collnet: its stand-ins") {
  for (const NcclAlgorithm choice : {NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain})
    CHECK(nccl_stand_in(choice, Operation::allreduce).algorithm->name == "double_binary_tree");
  CHECK(nccl_stand_in(NcclAlgorithm::collnet_direct, Operation::allgather).algorithm->name ==
        "ring");
}

}  // namespace
}  // namespace sgdsim
