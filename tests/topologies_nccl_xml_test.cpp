// NCCL topology files: two small machines of our own, one regular and one not, and files that must
// be refused.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/cluster_cases.h"
#include "topologies/cluster_file.h"
#include "topologies/nccl_xml.h"

namespace sgdsim {
namespace {

std::string xml_of(const std::string& name) {
  return read_text(std::string(SGDSIM_SOURCE_DIR) + "/tests/data/" + name);
}

TEST_CASE("nccl xml: a regular machine becomes an nvlink_box") {
  const NcclImport import = import_nccl_xml(xml_of("nccl_regular.xml"), "a.xml", {2, "two"});
  CHECK(import.notes.empty());
  CHECK(
      import.cluster.dump() ==
      R"({"schema":"sgdsim/cluster/1","name":"two","description":"Rates from a NCCL topology )"
      R"(file; latencies from NCCL's tuning model (0.6 us over NVLink, 1 us over PCIe, 2.7 us )"
      R"(over the network).","source":"imported from a.xml","network":"nccl","shape":"nvlink_box","nodes":2,)"
      R"("gpus_per_node":4,"nics_per_node":4,)"
      R"("gpu_link":{"latency":"0.3 us","bandwidth":"370.8 GBps"},)"  // 18 x 20.6
      R"("pcie":{"latency":"1 us","bandwidth":"48 GBps"},)"           // 16 x 240 / 80
      R"("nic":{"latency":"0.35 us","bandwidth":"50 GBps"},)"         // 400000 / 8000
      R"("nccl":{"generation":"hopper","cpu":"intel"},"gpu":"h100"})");
  const ClusterFile file = cluster_from(import.cluster.dump());
  CHECK(file.cluster.network.workers() == 8);
  CHECK(file.cluster.network.between(0, 3).latency == Duration::ns(600));
  CHECK(file.cluster.network.between(0, 4).latency == Duration::ns(2700));
}

TEST_CASE("nccl xml: any other machine becomes an explicit graph") {
  const NcclImport import = import_nccl_xml(xml_of("nccl_irregular.xml"), "b.xml", {2, "odd"});
  CHECK(import.cluster["shape"] == "explicit");
  CHECK(import.notes ==
        std::vector<std::string>{"ignored <pcilink> (1 times)", "ignored <quantum> (1 times)",
                                 "a GPU without a <gpu>, taken to have no NVLinks and placed last "
                                 "(1 times)",
                                 "missing speed of a <net>, taken as 10000 Mbit/s (1 times)",
                                 "unknown or missing link_speed, taken as 8 GT/s (1 times)"});
  const ClusterFile file = cluster_from(import.cluster.dump());
  CHECK(file.nodes == 2);
  struct Row {
    std::string reason;
    int from;
    int to;
    int64_t latency_ns;
    double GBps;
  };
  const std::vector<Row> rows = {
      {"two NVLinks of 20 GB/s", 0, 1, 600, 40},
      {"the other direction", 1, 0, 600, 40},
      {"over both CPUs: PCIe 16 x 60 / 80 = 12, CPU to CPU 10, PCIe 8 x 120 / 80 = 12", 0, 2, 1000,
       10},
      {"to the other node: GPU 0.5, card 0.5, port 0.35 + 2.5, and back; 10000 / 8000", 1, 4, 7700,
       1.25},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const PairCost cost = file.cluster.network.between(row.from, row.to);
    CHECK(cost.latency == Duration::ns(row.latency_ns));
    CHECK(cost.per_byte.ps() == doctest::Approx(1e3 / row.GBps).epsilon(1e-15));
  }
}

TEST_CASE("nccl xml: one machine alone has no switch") {
  for (const std::string name : {"nccl_regular.xml", "nccl_irregular.xml"}) {
    const ClusterFile file = cluster_from(import_nccl_xml(xml_of(name), name, {}).cluster.dump());
    CHECK(file.nodes == 1);
    CHECK(file.cluster.workers_per_node == file.cluster.network.workers());
  }
}

// How NCCL counts: a GPU at an NVSwitch, so that the rate shows as gpu_link.
TEST_CASE("nccl xml: rates per link") {
  struct Row {
    std::string sm;
    std::string expected;
  };
  const std::vector<Row> rows = {{"60", "18 GBps"},   {"70", "20 GBps"},   {"80", "20 GBps"},
                                 {"86", "12 GBps"},   {"90", "20.6 GBps"}, {"100", "40.1 GBps"},
                                 {"103", "40.1 GBps"}};
  for (const Row& row : rows) {
    const std::string text =
        R"(<system version="1"><cpu numaid="0"><pci class="0x030200"><gpu rank="0" sm=")" + row.sm +
        R"("><nvlink count="1" tclass="0x068000"/></gpu></pci></cpu></system>)";
    CHECK(import_nccl_xml(text, "a.xml", {}).cluster["gpu_link"]["bandwidth"] == row.expected);
  }
  struct Lanes {
    std::string attributes;
    std::string expected;
  };
  const std::vector<Lanes> lanes = {{R"(link_speed="2.5 GT/s" link_width="16")", "3 GBps"},
                                    {R"(link_speed="5.0 GT/s PCIe" link_width="16")", "6 GBps"},
                                    {R"(link_speed="8 GT/s" link_width="16")", "12 GBps"},
                                    {R"(link_speed="16.0 GT/s PCIe" link_width="8")", "12 GBps"},
                                    {R"(link_speed="32.0 GT/s PCIe" link_width="16")", "48 GBps"},
                                    {R"(link_speed="64.0 GT/s PCIe" link_width="16")", "96 GBps"},
                                    {"", "12 GBps"}};
  for (const Lanes& row : lanes) {
    const std::string text = R"(<system version="1"><cpu numaid="0"><pci class="0x030200" )" +
                             row.attributes + "/></cpu></system>";
    const Json cluster = import_nccl_xml(text, "a.xml", {}).cluster;
    CHECK(cluster["links"]["pcie " + row.expected + ", 0.5 us"]["bandwidth"] == row.expected);
  }
}

// Two GPUs at two CPUs, on PCIe of 48 GB/s.
TEST_CASE("nccl xml: rates between CPUs of AMD, in both spellings of a family") {
  struct Row {
    std::string reason;
    int family;
    double GBps;
  };
  const std::vector<Row> rows = {
      {"Zen 2", 23, 16}, {"Zen 2", 143, 16}, {"Zen 3 and 4", 25, 24}, {"Zen 3 and 4", 175, 24},
      {"Zen 5", 26, 32}, {"Zen 5", 191, 32}, {"unknown", 0, 16},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    std::string text = "<system>";
    for (int rank = 0; rank < 2; ++rank)
      text += R"(<cpu arch="x86_64" vendor="AuthenticAMD" familyid=")" +
              std::to_string(row.family) + R"("><pci class="0x030200" link_speed="32 GT/s">)" +
              R"(<gpu sm="90" rank=")" + std::to_string(rank) + R"("/></pci></cpu>)";
    const ClusterFile file =
        cluster_from(import_nccl_xml(text + "</system>", "a.xml", {}).cluster.dump());
    CHECK(file.cluster.network.between(0, 1).per_byte.ps() == doctest::Approx(1000 / row.GBps));
  }
}

// What NCCL's own model asks of a machine.
TEST_CASE("nccl xml: the generation, the CPUs and the cards go into the cluster") {
  const std::string nvlink = R"(<nvlink count="4" tclass="0x068000"/>)";
  struct Row {
    std::string reason;
    std::string cpu;
    std::string sm_of_first;
    std::string links;
    std::string inside;
    std::string expected;
    std::string gpu;  // the usual one of the oldest capability
  };
  const std::vector<Row> rows = {
      {"A100 at AMD", R"(vendor="AuthenticAMD")", "80", nvlink, "",
       R"({"generation":"ampere","cpu":"amd"})", "a100"},
      {"the oldest GPU decides", R"(vendor="GenuineIntel")", "70", nvlink, "",
       R"({"generation":"volta","cpu":"intel"})", "v100"},
      {"without NVLink, at Arm", R"(arch="arm64")", "100", "", "",
       R"({"generation":"ampere","gpu_link":"pci","cpu":"arm"})", "a100"},
      {"unknown CPUs, two GPUs at a card", R"(vendor="Else")", "80", "", "<nic><net/></nic>",
       R"({"generation":"ampere","gpu_link":"pci","nics":1})", "a100"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    std::string text = "<system><cpu " + row.cpu + ">" + row.inside;
    for (const std::string& sm : {row.sm_of_first, std::string("80")})
      text +=
          R"(<pci class="0x030200"><gpu rank="0" sm=")" + sm + R"(">)" + row.links + "</gpu></pci>";
    const NcclImport import = import_nccl_xml(text + "</cpu></system>", "a.xml", {});
    const Json& cluster = import.cluster;
    CHECK(cluster["nccl"].dump() == row.expected);
    CHECK(cluster["gpu"] == row.gpu);
    CHECK(cluster_from(cluster.dump()).cluster.nccl != nullptr);
  }
}

TEST_CASE("nccl xml: a file that is an input for NCCL says so") {
  const NcclImport input = import_nccl_xml(
      R"(<system><cpu><pci class="0x030200" link_speed="16 GT/s"/>)"
      R"(<pci class="0x030200" link_speed="16 GT/s"/><pci class="0x020700"/></cpu></system>)",
      "a.xml", {});
  REQUIRE(input.notes.size() >= 1);
  CHECK(input.notes[0] ==
        "the file names no NVLinks, because it is an input for NCCL (NCCL_TOPO_FILE), which finds "
        "them itself: GPUs here reach each other by PCIe alone; import what NCCL found, which it "
        "writes with NCCL_TOPO_DUMP_FILE=machine.xml");
  for (const std::string& note : input.notes) CHECK(note.find("missing sm") == std::string::npos);
  CHECK_FALSE(input.cluster.contains("nccl"));
  // A dump whose GPUs lack attributes is none.
  const NcclImport dump = import_nccl_xml(
      R"(<system><cpu><pci class="0x030200" link_speed="16 GT/s"><gpu/></pci></cpu></system>)",
      "a.xml", {});
  CHECK(dump.notes == std::vector<std::string>{
                          "missing rank of a GPU, placed after those with one (1 times)",
                          "missing sm of a GPU, its NVLinks taken as 20 GB/s each (1 times)"});
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("nccl xml: what is wrong is refused with a sentence") {
  const std::string gpu = R"(<pci class="0x030200"><gpu rank="0" sm="90"/></pci>)";
  auto system = [](const std::string& inside) {
    return R"(<system version="1"><cpu numaid="0">)" + inside + "</cpu></system>";
  };
  struct Row {
    std::string reason;
    std::string text;
    int nodes;
    std::string expected;
  };
  const std::vector<Row> rows = {
      {"empty", "", 1, "x.xml: not XML: line 1: No document element found"},
      {"garbage", "\n\n{\"a\": 1}", 1, "x.xml: not XML: line 3: No document element found"},
      {"cut off", "<system>\n<cpu", 1, "x.xml: not XML: line 2: Error parsing start element tag"},
      {"mismatched", "<system>\n\n</cpu>", 1, "x.xml: not XML: line 3: Start-end tags mismatch"},
      {"a graph dump", R"(<graphs version="1"><graph id="0"/></graphs>)", 1,
       "x.xml: expected a NCCL topology, <system>, found <graphs>"},
      {"no GPU", system(""), 1, "x.xml: the topology has no GPU"},
      {"no card", system(gpu), 2,
       "x.xml: the machine has no network card by which 2 of it could be joined; import one with "
       "--nodes 1, or add cards to the file: <nic><net speed=...>"},
      {"no ports", system("<pci class=\"0x0302\"/><pci class=\"0x0207\"/>"), 2,
       "x.xml: the machine has no network card by which 2 of it could be joined; of its 1 cards "
       "the file names no ports, because it is an input for NCCL: import what NCCL writes with "
       "NCCL_TOPO_DUMP_FILE=machine.xml, or one machine with --nodes 1"},
      {"no nodes", system(gpu), 0, "x.xml: expected at least one node, got 0"},
      {"speed is no number", system("\n<nic><net speed=\"fast\"/></nic>"), 1,
       "x.xml: line 2: expected a number from -1e+09 to 1e+09 in speed of <net>, got \"fast\""},
      {"count is negative",
       system("\n\n<pci class=\"0x03\"><gpu><nvlink count=\"-2\"/></gpu></pci>"), 1,
       "x.xml: line 3: expected a number from 1 to 1024 in count of <nvlink>, got \"-2\""},
      {"infinite latency", system("<nic><net latency=\"inf\"/></nic>"), 1,
       "x.xml: line 1: expected a number from 0 to 1e+05 in latency of <net>, got \"inf\""},
      {"nested deep", system(repeated("<pci>", 100'000) + repeated("</pci>", 100'000)), 1,
       "x.xml: line 1: nested deeper than 64 levels"},
      {"too many devices", system(repeated("<pci/>", 5000)), 1,
       "x.xml: line 1: more than 4096 devices in one machine"},
      {"too many CPUs", "<system>" + repeated("<cpu/>", 65) + "</system>", 1,
       "x.xml: line 1: more than 64 CPUs in one machine"},
      {"too many workers", system(gpu + "<nic><net/></nic>"), 4097,
       "x.xml: 4097 nodes of 1 GPUs are more than 4096 workers"},
      {"too many vertices", system(gpu + "<nic><net/></nic>" + repeated("<pci/>", 100)), 4000,
       "x.xml: 4000 nodes of 103 devices are more than 262144 vertices"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    std::string error = "accepted";
    try {
      import_nccl_xml(row.text, "x.xml", {row.nodes, "x"});
    } catch (const InputError& problem) {
      error = problem.what();
    }
    CHECK(error == row.expected);
  }
}

}  // namespace
}  // namespace sgdsim
