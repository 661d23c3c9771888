// Network cards of imported machines: which GPU sends by which, and what of them becomes one.
#include <doctest/doctest.h>

#include "tests/cluster_cases.h"
#include "topologies/nccl_xml.h"

namespace sgdsim {
namespace {

constexpr const char* at_nvswitch =
    R"(<nvlink target="0000:f1:00.0" count="12" tclass="0x068000"/>)";

std::string pci(const std::string& pci_class, const std::string& speed, const std::string& inside) {
  return R"(<pci busid="0" class=")" + pci_class + R"(" link_speed=")" + speed +
         R"( GT/s PCIe" link_width="16">)" + inside + "</pci>";
}
std::string gpu(int rank, const std::string& speed, const std::string& links = at_nvswitch) {
  return pci("0x030200", speed,
             R"(<gpu sm="80" rank=")" + std::to_string(rank) + R"(">)" + links + "</gpu>");
}
std::string port(int dev, int megabits_per_s) {
  return R"(<net dev=")" + std::to_string(dev) + R"(" speed=")" + std::to_string(megabits_per_s) +
         R"("/>)";
}
std::string card(const std::string& speed, const std::string& ports) {
  return pci("0x020000", speed, "<nic>" + ports + "</nic>");
}
std::string bridge(const std::string& speed, const std::string& inside) {
  return pci("0x060400", speed, inside);
}
std::string cpu(const std::string& inside) {
  return R"(<cpu arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">)" + inside +
         "</cpu>";
}
NcclImport imported(const std::string& cpus) {
  return import_nccl_xml("<system>" + cpus + "</system>", "a.xml", {2, "two"});
}

// Two GPUs on PCIe 5.0, so many cards of a GPU at its switch.
std::string machine_with(int cards_of_gpu, int megabits_per_s) {
  std::string inside;
  for (int rank = 0; rank < 2; ++rank) {
    std::string at_switch = gpu(rank, "32");
    for (int i = 0; i < cards_of_gpu; ++i)
      at_switch += card("32", port(rank * cards_of_gpu + i, megabits_per_s));
    inside += bridge("32", at_switch);
  }
  return cpu(inside);
}

TEST_CASE("nccl cards: several of one GPU are one") {
  const Json one = imported(machine_with(1, 400'000)).cluster;
  CHECK(one["shape"] == "nvlink_box");
  CHECK(one["nics_per_node"] == 2);
  CHECK(one["pcie"]["bandwidth"] == "48 GBps");  // 16 x 240 / 80
  CHECK(one["nic"]["bandwidth"] == "50 GBps");   // 400000 / 8000, 2 x 25, 4 x 12.5
  CHECK(imported(machine_with(2, 200'000)).cluster == one);
  CHECK(imported(machine_with(4, 100'000)).cluster == one);
  // Each of two is limited by a slot of 12 GB/s: 2 x min(12, 25).
  const std::string slow = card("8", port(0, 200'000)) + card("8", port(1, 200'000));
  CHECK(imported(cpu(bridge("32", gpu(0, "32") + slow))).cluster["nic"]["bandwidth"] == "24 GBps");
}

TEST_CASE("nccl cards: the ports of a card share its slot") {
  // Two GPUs at a card with two ports of 25 GB/s, in a slot of 16 x 120 / 80 = 24 GB/s.
  const NcclImport import =
      imported(cpu(gpu(0, "32") + gpu(1, "32") + card("16", port(0, 200'000) + port(1, 200'000))));
  CHECK(import.cluster["nics_per_node"] == 1);
  CHECK(import.cluster["nic"]["bandwidth"] == "24 GBps");
  const ClusterFile file = cluster_from(import.cluster.dump());
  REQUIRE(file.cluster.network.shared_ways().size() == 1);
  CHECK(file.cluster.network.shared_ways()[0].ways == 1);
  CHECK(file.cluster.network.shared_ways()[0].rates[0].ps() == doctest::Approx(1000 / 24.));
}

// Two GPUs with a card each at a switch of PCIe 4.0.
std::string pair_at_switch(int first, const std::string& links_of_first = at_nvswitch) {
  return bridge("16", gpu(first, "16", links_of_first) + card("16", port(first, 200'000)) +
                          gpu(first + 1, "16") + card("16", port(first + 1, 200'000)));
}

TEST_CASE("nccl cards: cards that no GPU sends by make no other machine") {
  const NcclImport without = imported(cpu(pair_at_switch(0)) + cpu(pair_at_switch(2)));
  CHECK(without.cluster["shape"] == "nvlink_box");
  CHECK(without.notes.empty());
  struct Row {
    std::string reason;
    std::string storage;
  };
  const std::vector<Row> rows = {{"farther than the others", card("16", port(8, 200'000))},
                                 {"farther and slower", card("16", port(8, 100'000))}};
  for (const Row& row : rows) {
    INFO(row.reason);
    const NcclImport with = imported(cpu(pair_at_switch(0) + row.storage) + cpu(pair_at_switch(2)));
    CHECK(with.cluster == without.cluster);
    REQUIRE(with.notes.size() == 1);
    CHECK(with.notes[0] ==
          "left out 1 network card by which no GPU sends: others are faster or nearer (as cards "
          "of storage are not), or the GPUs there have as many each without it");
  }
  // A third card at a switch of two GPUs, which have one each.
  const std::string three = gpu(0, "16") + gpu(1, "16") + card("16", port(0, 200'000)) +
                            card("16", port(1, 200'000)) + card("16", port(2, 200'000));
  CHECK(imported(cpu(bridge("16", three))).cluster == imported(cpu(pair_at_switch(0))).cluster);
  // As near as the other one, but slower: 12.5 against 24 GB/s.
  const std::string pair = gpu(0, "16") + card("16", port(0, 200'000));
  CHECK(imported(cpu(pair + card("16", port(9, 100'000)))).cluster == imported(cpu(pair)).cluster);
}

// Routes of graphs: two GPUs at one switch with two cards, one of them with half of its NVLinks.
TEST_CASE("nccl cards: in a graph every GPU sends by its own, too") {
  const std::string half = R"(<nvlink target="0000:f1:00.0" count="6" tclass="0x068000"/>)";
  const NcclImport import = imported(cpu(pair_at_switch(0, half)));
  CHECK(import.cluster["shape"] == "explicit");
  CHECK(import.notes.empty());
  const ClusterFile file = cluster_from(import.cluster.dump());
  const Graph graph = file.build();
  const auto names = [&](int from, int to) {
    std::string all;
    for (const int vertex : graph.route(from, to))
      all += graph.vertices()[static_cast<std::size_t>(vertex)].name + " ";
    return all;
  };
  CHECK(names(0, 2) ==
        "node0/gpu0 node0/at_nic0 node0/nic0 switch node1/nic0 node1/at_nic0 node1/gpu0 ");
  CHECK(names(1, 3) ==
        "node0/gpu1 node0/at_nic1 node0/nic1 switch node1/nic1 node1/at_nic1 node1/gpu1 ");
  CHECK(names(0, 3) ==
        "node0/gpu0 node0/at_nic0 node0/nic0 switch node1/nic1 node1/at_nic1 node1/gpu1 ");
  // As in a box: 2.7 us in all, PCIe 24 GB/s; 6 NVLinks of 20 GB/s inside.
  CHECK(file.cluster.network.between(0, 3).latency == Duration::ns(2700));
  CHECK(file.cluster.network.between(0, 3).per_byte.ps() == doctest::Approx(1000 / 24.));
  CHECK(file.cluster.network.between(0, 1).per_byte.ps() == doctest::Approx(1000 / 120.));
}

TEST_CASE("nccl cards: a graph that cannot tell cards apart says so") {
  const std::string half = R"(<nvlink target="0000:f1:00.0" count="6" tclass="0x068000"/>)";
  const NcclImport import =
      imported(cpu(bridge("16", gpu(0, "16", half) + gpu(1, "16")) +
                   bridge("16", card("16", port(0, 200'000)) + card("16", port(1, 200'000)))));
  REQUIRE(import.notes.size() == 1);
  CHECK(import.notes[0] ==
        "1 GPUs are not at the PCIe switch of their network card, and share the first one of "
        "those that are as near; NCCL takes turns");
}

}  // namespace
}  // namespace sgdsim
