// What breaks, what is hidden, and when another layout is faster: by formulas, and by asking again
// with the link slower.
#include <cmath>
#include <doctest/doctest.h>
#include <fstream>

#include "app/schema_check.h"
#include "sim/core/cast.h"
#include "study/need/link_classes.h"
#include "tests/one_layer.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

Json answered(std::vector<std::string> words, const char* schema) {
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), schema, json).empty());
  return json;
}

const Json& part_in(const Json& breaks, const std::string& part, const std::string& left) {
  const Json& parts = breaks.at("parts");
  for (const Json& one : parts)
    if (one.at("part") == part && one.at("left") == left) return one;
  FAIL(part, " ", left, " is not there: ", breaks.dump());
  return parts;
}

Json box(int nics) {
  return {{"schema", "sgdsim/cluster/1"},
          {"name", "c"},
          {"shape", "single_switch"},
          {"nodes", 4},
          {"gpus_per_node", 4},
          {"nics_per_node", nics},
          {"gpu_link", {{"latency", "1 us"}, {"bandwidth", "100 GBps"}}},
          {"nic", {{"latency", "10 us"}, {"bandwidth", "10 Gbps"}}}};
}

// Seconds of a byte from the first worker to the last one.
double across_ps(const Json& cluster) {
  const ClusterFile file = read_cluster(Value(cluster, "test", ""));
  return file.cluster.network.between(0, file.cluster.network.workers() - 1).per_byte.ps();
}

TEST_CASE("breaks: links at half of their rate, however it is written") {
  const Json usual = box(4);
  CHECK(across_ps(with_slower(usual, "nic", 0.5)) == doctest::Approx(2 * across_ps(usual)));
  CHECK(across_ps(with_slower(usual, "gpu_link", 0.5)) == doctest::Approx(across_ps(usual)));
  Json by_byte = usual;
  by_byte["nic"] = {{"latency", "1 us"}, {"per_byte", "500 ps/B"}, {"efficiency", 0.8}};
  CHECK(across_ps(with_slower(by_byte, "nic", 0.25)) == doctest::Approx(4 * across_ps(by_byte)));
  Json tiers = box(4);
  tiers["shape"] = "leaf_spine";
  tiers["nodes_per_leaf"] = 2;
  tiers["spines"] = 2;
  for (const bool has_own : {false, true}) {
    if (has_own) tiers["uplink"] = {{"latency", "1 us"}, {"bandwidth", "5 Gbps"}};
    const double slowest_ps = has_own ? 1600 : 800;  // 5 and 10 Gbit/s
    CHECK(across_ps(tiers) == doctest::Approx(slowest_ps));
    CHECK(across_ps(with_slower(tiers, "uplink", 0.5)) == doctest::Approx(2 * slowest_ps));
  }
  tiers.erase("uplink");
  tiers["oversubscription"] = 4;  // 2 nodes of 4 cards of 10 Gbps over 2 x 4: 10 Gbps each
  const Json gone = with_one_gone(tiers, "uplink")->cluster;
  CHECK(gone["spines"] == 1);
  CHECK(across_ps(gone) == doctest::Approx(across_ps(tiers)));
  CHECK(across_ps(with_slower(tiers, "uplink", 0.5)) ==
        doctest::Approx(2 * across_ps(with_slower(tiers, "uplink", 1))));
  CHECK(with_one_gone(usual, "nic")->cluster["nics_per_node"] == 3);
  CHECK(!with_one_gone(box(1), "nic"));
  CHECK(!with_one_gone(usual, "gpu_link"));
  std::vector<std::string> names;
  for (const LinkClass& one : link_classes(tiers)) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"gpu_link", "nic", "uplink"});
}

// Of one_layer().
double ring_ms(double workers, double bandwidth_Bps) {
  const double alpha_ms = 0.020;  // two links
  return 2 * (workers - 1) * alpha_ms + 1e3 * 2 * (workers - 1) / workers * 100e6 / bandwidth_Bps;
}

TEST_CASE("breaks: of an experiment, by the formula of the ring") {
  const Temporary file(Temporary::Kind::file);
  std::ofstream(file.name()) << one_layer().dump();
  const Json breaks = answered({"run", file.name(), "--breaks"}, "sgdsim/result/1")["breaks"];
  const double base = 30 + ring_ms(16, 1.25e9);
  struct Row {
    const char* part;
    const char* left;
    double step_ms;
    double work;
    const char* grew;
  };
  for (const Row& row : {Row{"nic", "half", 30 + ring_ms(16, 0.625e9), 1, "exposed communication"},
                         Row{"worker", "half", 60 + ring_ms(16, 1.25e9), 1, "computing"},
                         Row{"worker", "gone", 30 + ring_ms(15, 1.25e9), 15. / 16, ""}}) {
    const Json& one = part_in(breaks, row.part, row.left);
    INFO(one.dump());
    CHECK(one["step_us"].get<double>() == doctest::Approx(1e3 * row.step_ms));
    CHECK(one["change_percent"].get<double>() == doctest::Approx(100 * (row.step_ms / base - 1)));
    CHECK(one["gpu_hours_lost_a_day"].get<double>() ==
          doctest::Approx(24 * 16 * (1 - row.work * base / row.step_ms)));
    if (*row.grew != 0) CHECK(one["grew"] == row.grew);
  }
  CHECK(breaks["parts"][0]["part"] == "nic");  // the worst first
  CHECK(breaks["stops"] == Json({"network card (nic)"}));
  const Ran ran = call_sgdsim({"run", file.name(), "--breaks"});
  CHECK(ran.out.find("The most sensitive: network card (nic)") != std::string::npos);
}

TEST_CASE("breaks: of a slow worker, what grew is its computing, whatever the others do") {
  for (const char* synchronization : {"none", "pipe_sgd"}) {
    const Json breaks = answered({"run", "resnet50_v100", "-c", "25gbe_16", "--set",
                                  std::string("synchronization=") + synchronization, "--breaks"},
                                 "sgdsim/result/1")["breaks"];
    CHECK(part_in(breaks, "worker", "half")["grew"] == "computing");
  }
}

// What --traffic says with one link closed is what --breaks prices.
TEST_CASE("breaks: a link with others in its place does not stop the step") {
  struct Row {
    const char* cluster;
    std::vector<std::string> spare;
    std::vector<std::string> stops;
  };
  const std::string link = "link between nodes (link)";
  const std::string card = "network card (nic)";
  for (const Row& row :
       {Row{"torus_4x4x4", {"link"}, {"a worker"}}, Row{"fat_tree_k8", {"uplink"}, {card}},
        Row{"dragonfly_72", {"local", "global"}, {card, "a worker"}},
        Row{"25gbe_16", {}, {card}}}) {
    INFO(row.cluster);
    const std::vector<std::string> asked = {"run",   "resnet50_v100",   "-c",      row.cluster,
                                            "--set", "collective=ring", "--breaks"};
    const Json by_message = answered(asked, "sgdsim/result/1")["breaks"];
    CHECK(by_message["stops"] == Json(row.stops));
    CHECK(by_message.value("carried", Json::array()).size() == row.spare.size());
    std::vector<std::string> on_wires = asked;
    on_wires.insert(on_wires.end(), {"--fidelity", "flow"});
    const Json by_flow = answered(on_wires, "sgdsim/result/1")["breaks"];
    CHECK(by_flow["stops"] == Json(row.stops));
    CHECK(!by_flow.contains("carried"));
    for (const std::string& part : row.spare)
      CHECK(part_in(by_flow, part, "gone")["says"].get<std::string>().starts_with("one "));
  }
  // Four nodes in a ring of links: without one of them, its messages take the three others.
  Json experiment = one_layer();
  experiment["cluster"] = {{"schema", "sgdsim/cluster/1"},
                           {"name", "c"},
                           {"shape", "ring"},
                           {"nodes", 4},
                           {"link", {{"latency", "10 us"}, {"bandwidth", "10 Gbps"}}}};
  experiment["fidelity"] = "flow";
  experiment["collective"] = "recursive_doubling";
  const Temporary file(Temporary::Kind::file, experiment.dump());
  const Json gone = part_in(answered({"run", file.name(), "--breaks"}, "sgdsim/result/1")["breaks"],
                            "link", "gone");
  const Json closed =
      answered({"run", file.name(), "--traffic",
                R"({"changes": [{"at": "0 us", "link": ["node0", "node1"], "bandwidth": 0}]})"},
               "sgdsim/result/1");
  CHECK(gone["step_us"].get<double>() ==
        doctest::Approx(closed["iteration_ps"].get<double>() / 1e6));
  CHECK(gone["change_percent"].get<double>() > 1);
}

// A card's rate by the number of senders, and a card with a rate of its own: half of the rate is
// what half of the bandwidth is.
TEST_CASE("breaks: half of the rate is half of the bandwidth, whatever the card says besides") {
  const Json senders = {{{"senders", 16}, {"efficiency", 0.5}}};
  for (const bool has_port : {false, true}) {
    Json experiment = one_layer();
    Json& cluster = experiment["cluster"];
    if (has_port)
      cluster["ports"] = {{{"node", 3}, {"efficiency", 0.4}}};
    else
      cluster["nic"]["efficiency"] = senders;
    const Temporary file(Temporary::Kind::file, experiment.dump());
    const Json breaks = answered({"run", file.name(), "--breaks"}, "sgdsim/result/1")["breaks"];
    const Json half =
        answered({"run", file.name(), "--set", "cluster.nic.bandwidth=5Gbps"}, "sgdsim/result/1");
    CHECK(part_in(breaks, "nic", "half")["step_us"].get<double>() ==
          doctest::Approx(half["iteration_ps"].get<double>() / 1e6));
  }
}

// 1 ms + 100 MB * 1 ns/B = 101 ms beside 30 ms of passes; at half 201 ms.
TEST_CASE("breaks: what an exchange costs is slower where it is given, and links are not asked") {
  Json experiment = one_layer();
  experiment["collective"] = {{"start_up", "1 ms"}, {"per_byte", "1 ns/B"}};
  const Temporary file(Temporary::Kind::file, experiment.dump());
  const Json breaks = answered({"run", file.name(), "--breaks"}, "sgdsim/result/1")["breaks"];
  CHECK(part_in(breaks, "collective", "half")["step_us"].get<double>() == doctest::Approx(231e3));
  for (const Json& part : breaks["parts"]) CHECK(part["part"] != "nic");
  CHECK(breaks.value("stops", Json::array()).empty());
  for (const char* axis : {"cluster.nodes=2..16", "cluster.nic.bandwidth=1Gbps..100Gbps"}) {
    const Ran ran =
        call_sgdsim({"need", file.name(), "--axis", axis, "--target", "efficiency=0.3"});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("change collective.per_byte") != std::string::npos);
  }
  CHECK(call_sgdsim({"need", file.name(), "--axis", "collective.per_byte=1ns/B..4ns/B", "--target",
                     "step=231ms"})
            .exit_code == 0);
}

TEST_CASE("breaks: what nothing crosses stops nothing") {
  Json experiment = one_layer();
  experiment["cluster"]["nodes"] = 1;
  const Temporary file(Temporary::Kind::file, experiment.dump());
  const Json breaks = answered({"run", file.name(), "--breaks"}, "sgdsim/result/1")["breaks"];
  CHECK(breaks["stops"] == Json({"a worker"}));
}

const std::vector<std::string> of_whole_rates = {
    "--set", "gpu_link.latency=0us",  "--set", "nic.latency=0us", "--set", "pcie.latency=0us",
    "--set", "gpu_link.efficiency=1", "--set", "nic.efficiency=1"};

Json layout_of(const std::string& layout, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"layout", "llama3.1_8b", "-c",   "dgx_h100_4", "--layout",
                                    layout,   "--sequence",  "4096", "--memory",   "1TB"};
  words.insert(words.end(), of_whole_rates.begin(), of_whole_rates.end());
  words.insert(words.end(), more.begin(), more.end());
  return answered(words, "sgdsim/layouts/1");
}

constexpr double gpu_link_Bps = 370.8e9;
constexpr double card_Bps = 48e9;  // PCIe is slower than 400 Gbit/s
constexpr double layers_of_8b = 32;
constexpr double activation_B = 2. * 4096 * 4096;

TEST_CASE("breaks: NVLink of a tensor-parallel node, in load and at half, by its bytes") {
  // Two pairs of a gather and a scatter a layer and pass, each (t - 1) / t of an activation.
  const double bytes = 4 * layers_of_8b * 2 * 2 * 2 * activation_B * 7 / 8;
  const Json json = layout_of("tp8 dp1 ga4 sp", {"--breaks"});
  const Json& line = json["layouts"][0];
  const double step_us = line["step_us"];
  const double busy_us = 1e6 * bytes / gpu_link_Bps;
  CHECK(line["busy"]["inside"].get<double>() * step_us == doctest::Approx(busy_us));
  CHECK(line["busy"]["across"] == 0);
  const Json& half = part_in(json["breaks"], "gpu_link", "half");
  CHECK(half["grew"] == "tp");
  CHECK(half["grew_us"].get<double>() == doctest::Approx(busy_us));
  CHECK(half["step_us"].get<double>() == doctest::Approx(step_us + busy_us));
  CHECK(half["gpu_hours_lost_a_day"].get<double>() ==
        doctest::Approx(24 * 8 * (1 - step_us / (step_us + busy_us))));
  CHECK(part_in(json["breaks"], "nic", "half")["change_percent"].get<double>() ==
        doctest::Approx(0));
  // A slow GPU of one node makes its group compute half as fast.
  const Json& gpu = part_in(json["breaks"], "gpu", "half");
  CHECK(gpu["grew"] == "computing");
  CHECK(json["breaks"]["parts"][0]["part"] == "gpu");
}

TEST_CASE("breaks: cards that replicas meet at, and a replica that is away") {
  // 8 x 4 GPUs: replicas of a rank lie in four nodes; one card each. A ring scatters gradients of
  // 4 bytes and gathers weights of 2.
  const Json json = layout_of("tp8 dp4 ga4 zero1 sp overlap=off", {"--breaks"});
  const Json& line = json["layouts"][0];
  const double data_us = line["parts"]["data_us"];
  const Json& half = part_in(json["breaks"], "pcie", "half");
  CHECK(half["grew"] == "dp");
  CHECK(half["grew_us"].get<double>() == doctest::Approx(data_us).epsilon(1e-4));
  CHECK(line["busy"]["across"].get<double>() * line["step_us"].get<double>() ==
        doctest::Approx(data_us).epsilon(1e-4));
  // PCIe of 48 GB/s is 0.96 of a card of 50 GB/s.
  CHECK(part_in(json["breaks"], "nic", "half")["grew_us"].get<double>() ==
        doctest::Approx(data_us * (card_Bps / 25e9 - 1)).epsilon(1e-4));
  // Of seven cards two GPUs share one, which has 50 GB/s for both.
  CHECK(part_in(json["breaks"], "nic", "gone")["grew_us"].get<double>() ==
        doctest::Approx(data_us * (card_Bps / 25e9 - 1)).epsilon(1e-4));
  const Json three = layout_of("tp8 dp3 ga4 zero1 sp overlap=off");
  const Json& gone = part_in(json["breaks"], "gpu", "gone");
  const double step_us = three["layouts"][0]["step_us"];
  CHECK(gone["step_us"].get<double>() == doctest::Approx(step_us));
  CHECK(gone["gpu_hours_lost_a_day"].get<double>() ==
        doctest::Approx(24 * 32 * (1 - 0.75 * line["step_us"].get<double>() / step_us)));
}

TEST_CASE("hidden: what lies under passes is what would be exposed without overlap") {
  for (const char* layout : {"tp8 dp4 ga4 zero1 sp", "tp8 dp4 ga4 zero0 sp"}) {
    const Json under = layout_of(layout)["layouts"][0];
    const Json apart = layout_of(std::string(layout) + " overlap=off")["layouts"][0];
    CHECK(under["hidden"]["data_us"].get<double>() > 0);
    CHECK(under["hidden"]["data_us"].get<double>() + under["parts"]["data_us"].get<double>() ==
          doctest::Approx(apart["parts"]["data_us"].get<double>()).epsilon(1e-4));
    CHECK(apart["hidden"]["data_us"] == 0);
  }
  // Keys and values of 8 heads of 128 each, 2 bytes, of half of the tokens; twice as much backward.
  const Json ring = layout_of("cp2 ga4")["layouts"][0];
  const double send_us = 1e6 * 2 * 2048 * 2 * 1024 / gpu_link_Bps;
  CHECK(ring["parts"]["context_us"] == 0);
  CHECK(ring["hidden"]["context_us"].get<double>() ==
        doctest::Approx(4 * layers_of_8b * 3 * send_us));
}

TEST_CASE("margins: with a link just slower than said another layout is first, just faster not") {
  const std::vector<std::vector<std::string>> questions = {
      {"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "32"},
      {"layout", "llama3.1_70b", "-c", "dgx_h100_4", "--gpus", "512", "--global-batch", "1024"}};
  for (const std::vector<std::string>& words : questions) {
    auto with = [&](std::vector<std::string> more) {
      std::vector<std::string> all = words;
      all.insert(all.end(), more.begin(), more.end());
      return answered(all, "sgdsim/layouts/1");
    };
    const Json json = with({"--margins"});
    const std::string first = json["layouts"][0]["layout"];
    int flips = 0;
    for (const Json& margin : json["margins"]) {
      INFO(margin.dump());
      if (!margin.contains("left")) continue;
      ++flips;
      const double left = margin["left"];
      const std::string link = margin["part"];
      if (link != "pcie" && link != "gpu_link" && link != "nic") FAIL(link);
      const double usual = link == "gpu_link" ? 0.8 : link == "nic" ? 0.9 : 1;
      const auto at = [&](double part) -> std::string {
        return with({"--set",
                     link + ".efficiency=" + std::to_string(part * usual)})["layouts"][0]["layout"];
      };
      CHECK(at(left * 1.002) == first);
      CHECK(at(left * 0.998) != first);
      CHECK(at(left * 0.998) == margin["layout"]);
    }
    CHECK(flips > 0);
    CHECK(!with({}).contains("margins"));
  }
}

TEST_CASE("breaks and margins: mistakes are a sentence") {
  const Ran given = call_sgdsim(
      {"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--layout", "tp8 dp4 zero1", "--margins"});
  CHECK(given.exit_code == 2);
  CHECK(given.log.find("--margins: compares the layouts of a search; leave --layout out") !=
        std::string::npos);
  const Ran played = call_sgdsim(
      {"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--fidelity", "message", "--margins"});
  CHECK(played.exit_code == 2);
  CHECK(played.log.find("--margins: is of the closed form") != std::string::npos);
  // At the other fidelities the same question.
  for (const char* fidelity : {"message", "flow"}) {
    const Json json = answered({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--fidelity", fidelity,
                                "--layout", "tp8 dp4 ga2 zero1 sp", "--breaks"},
                               "sgdsim/layouts/1");
    CHECK(json["breaks"]["parts"].size() == 6);
    CHECK(!json["layouts"][0].contains("hidden"));
    // It computes for twice as long, and the others wait for it.
    CHECK(part_in(json["breaks"], "gpu", "half")["grew"] == "computing");
  }
}

}  // namespace
}  // namespace sgdsim
