// What NCCL's model takes a GPU to send inside its node, where GPUs are joined one to one.
#include "models/collective/nccl_box.h"

#include <doctest/doctest.h>

#include "tests/cluster_cases.h"

namespace sgdsim {
namespace {

struct Joined {
  int from = 0;
  int to = 0;
  int links = 1;  // of 20 GB/s
};

// GPUs on PCIe of 12 GB/s, and such NVLinks between them.
Cluster graph_of(int gpus, const std::vector<Joined>& nvlinks) {
  Json json = {{"schema", "sgdsim/cluster/1"}, {"name", "graph"},       {"network", "nccl"},
               {"shape", "explicit"},          {"gpus_per_node", gpus}, {"vertices", Json::array()},
               {"links", Json::object()},      {"edges", Json::array()}};
  const auto name_of = [](int gpu) { return "gpu" + std::to_string(gpu); };
  json["links"]["pcie"] = {{"latency", "0.5 us"}, {"bandwidth", "12 GBps"}};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    json["vertices"].push_back({{"name", name_of(gpu)}, {"kind", "gpu"}, {"forwards", false}});
    json["edges"].push_back({{"from", name_of(gpu)}, {"to", "host"}, {"link", "pcie"}});
  }
  json["vertices"].push_back({{"name", "host"}, {"kind", "cpu"}});
  for (const Joined& joined : nvlinks) {
    const std::string link = "nvlink" + std::to_string(joined.links);
    json["links"][link] = {{"latency", "0.6 us"},
                           {"bandwidth", std::to_string(20 * joined.links) + " GBps"}};
    json["edges"].push_back(
        {{"from", name_of(joined.from)}, {"to", name_of(joined.to)}, {"link", link}});
  }
  return cluster_from(json.dump()).cluster;
}

Cluster boxes(const std::string& more) {
  return cluster_from(R"({"schema": "sgdsim/cluster/1", "name": "boxes", "network": "nccl",
    "shape": "nvlink_box", "nodes": 2, "gpus_per_node": 8, "nics_per_node": 8,
    "gpu_link": {"latency": "0.3 us", "bandwidth": "240 GBps"},
    "nic": {"latency": "0.35 us", "bandwidth": "400 Gbps"})" +
                      more + "}")
      .cluster;
}

NcclMachine machine_of(const Cluster& cluster) {
  return nccl_communicator(nccl_box_of(cluster), cluster.network.workers(), 8);
}

// NCCL tells GPUs apart by compute capability, of which 8.9 is still Ampere's row, and reduces in
// NVLink switches from Hopper on unless it is told not to.
TEST_CASE("nccl box: the GPUs of a cluster say their generation, and whether switches reduce") {
  struct Row {
    std::string more;
    GpuGeneration generation;
    bool reduces;
    bool is_known = true;
  };
  const Row rows[] = {
      {"", GpuGeneration::hopper, true},
      {R"(, "gpu": "v100")", GpuGeneration::volta, false},
      {R"(, "gpu": "a100")", GpuGeneration::ampere, false},
      {R"(, "gpu": "RTX 4090")", GpuGeneration::ampere, false},
      {R"(, "gpu": "l40s")", GpuGeneration::ampere, false},
      {R"(, "gpu": "NVIDIA H100 80GB HBM3")", GpuGeneration::hopper, true},
      {R"(, "gpu": "gb200")", GpuGeneration::blackwell, true},
      {R"(, "gpu": "mi300x")", GpuGeneration::hopper, false, false},
      {R"(, "gpu": "mi300x", "nccl": {"generation": "ampere"})", GpuGeneration::ampere, false},
      {R"(, "gpu": "h100", "nccl": {"generation": "ampere"})", GpuGeneration::ampere, false},
      {R"(, "gpu": "h100", "nccl": {"nvls": "off"})", GpuGeneration::hopper, false},
      {R"(, "gpu": "h100", "nccl": {"gpu_link": "pci"})", GpuGeneration::hopper, false},
      {R"(, "gpu": "a100", "nccl": {"nvls": "on"})", GpuGeneration::ampere, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.more);
    const Cluster cluster = boxes(row.more);
    CHECK(machine_of(cluster).generation == row.generation);
    CHECK(machine_of(cluster).nvls == row.reduces);
    CHECK(nccl_note(cluster).empty() == row.is_known);
  }
}

TEST_CASE("nccl box: GPUs that are joined one to one send over all their links") {
  struct Row {
    std::string reason;
    int gpus;
    std::vector<Joined> nvlinks;
    double GBps;
  };
  const std::vector<Row> rows = {
      {"DGX-1, a hybrid cube mesh: 6 NVLinks of every GPU, to 4 of 7 others",
       8,
       {{0, 1, 1},
        {0, 2, 1},
        {0, 3, 2},
        {0, 4, 2},
        {1, 2, 2},
        {1, 3, 1},
        {1, 5, 2},
        {2, 3, 2},
        {2, 6, 1},
        {3, 7, 1},
        {4, 5, 1},
        {4, 6, 1},
        {4, 7, 2},
        {5, 6, 2},
        {5, 7, 1},
        {6, 7, 2}},
       // GPU 2: 1 + 2 + 2 + 1; GPU 3: 2 + 1 + 2 + 1; all have 6, with 20 each
       120},
      {"a ring of four, two links a neighbour",
       4,
       {{0, 1, 2}, {1, 2, 2}, {2, 3, 2}, {3, 0, 2}},
       80},
      {"the GPU with the fewest links decides: 1 + 1", 3, {{0, 1, 3}, {0, 2, 1}, {1, 2, 1}}, 40},
      {"two pairs, between which PCIe is the only way", 4, {{0, 1, 4}, {2, 3, 4}}, 12},
      {"PCIe alone", 4, {}, 12},
      {"a pair", 2, {{0, 1, 4}}, 80},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(nccl_box_of(graph_of(row.gpus, row.nvlinks)).wires.gpu.GBps() ==
          doctest::Approx(row.GBps));
  }
}

// 240 GB/s as a time per byte, and back, are 239.99999999999997.
TEST_CASE("nccl box: a node of A100 has 12 channels of 20 GB/s") {
  NcclBox box =
      nccl_box_of(read_cluster_file(SGDSIM_SOURCE_DIR "/topologies/data/dgx_a100_2.json").cluster);
  box.machine.generation = GpuGeneration::ampere;
  const NcclMachine machine = nccl_communicator(box, 8, 8);
  CHECK(machine.ring.channels == 12);
  CHECK(machine.ring.intra.GBps() == 20);
}

}  // namespace
}  // namespace sgdsim
