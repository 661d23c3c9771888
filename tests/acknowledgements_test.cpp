// Acknowledgements over TCP: who gets something while it sends, sends as much slower.
#include <doctest/doctest.h>

#include "sim/core/random.h"
#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

constexpr double usual = 52. / (2 * 8948);

// alpha = 20 us and beta = 1 ns/B between two hosts.
Json star(int nodes, const char* network, const Json& more = Json::object()) {
  Json json = {{"schema", "sgdsim/cluster/1"},
               {"shape", "single_switch"},
               {"nodes", nodes},
               {"network", network},
               {"nic", {{"latency", "10 us"}, {"per_byte", "1 ns/B"}}}};
  json.update(more);
  return json;
}

double took_us(const Json& cluster, std::vector<std::string> words) {
  const Temporary file(Temporary::Kind::file, cluster.dump());
  words.insert(words.begin(), "collective");
  words.insert(words.end(), {"-c", file.name(), "--format", "json"});
  return json_of_run(words)["time_us"].get<double>();
}

// Of 8 MB among 8: rounds, bytes of all rounds in MB that go both ways, and one way.
struct Row {
  const char* algorithm;
  const char* operation;
  int start_ups;
  double both_ways_MB;
  double one_way_MB;
};

TEST_CASE("acknowledgements: what goes both ways takes 52 bytes for two packets more") {
  for (const Row& row :
       {Row{"ring", "allreduce", 14, 14, 0}, Row{"ring", "allgather", 7, 7, 0},
        Row{"recursive_doubling", "allreduce", 3, 24, 0},
        Row{"halving_doubling", "allreduce", 6, 14, 0}, Row{"direct", "alltoall", 1, 7, 0},
        Row{"mst", "reduce", 3, 0, 24}, Row{"linear", "broadcast", 1, 0, 56},
        Row{"be", "reduce", 6, 7, 7}, Row{"be", "broadcast", 10, 7, 7}})
    for (const char* network : {"tcp", "gloo", "mpi", "nccl"})
      for (const char* fidelity : {"message", "closed_form"}) {
        const std::string name = row.algorithm;
        const bool is_nccl = std::string(network) == "nccl";
        if (is_nccl && (name == "be" || name == "direct")) continue;  // other rounds
        const bool has_formula = name != "be" || std::string(row.operation) == "reduce";
        if (!has_formula && std::string(fidelity) == "closed_form") continue;
        CAPTURE(name);
        CAPTURE(row.operation);
        CAPTURE(network);
        CAPTURE(fidelity);
        const double more = is_nccl ? 0 : usual;
        const double expected_us =
            20 * row.start_ups + 1e3 * (row.both_ways_MB * (1 + more) + row.one_way_MB);
        CHECK(took_us(star(8, network),
                      {"-a", name, "--op", row.operation, "-n", "8 MB", "--fidelity", fidelity}) ==
              doctest::Approx(expected_us).epsilon(1e-9));
      }
}

// Seven hops of 1 MB, and behind the first block seven more: inside the chain both ways are busy.
TEST_CASE("acknowledgements: chains of blocks have them behind two members") {
  for (const int ranks : {2, 8}) {
    CAPTURE(ranks);
    const double more = ranks > 2 ? usual : 0;
    const double blocks_us = 1e3 * (8 + ranks - 2) * (1 + more);
    CHECK(took_us(star(ranks, "tcp"),
                  {"-a", "lp", "--op", "broadcast", "-n", "8 MB", "--block", "1 MB"}) ==
          doctest::Approx(20 * (ranks - 1) + blocks_us).epsilon(1e-9));
  }
}

TEST_CASE("acknowledgements: the cluster says how much, or none") {
  const std::vector<std::string> ring = {"-a", "ring", "-n", "8 MB"};
  CHECK(took_us(star(8, "tcp", {{"acknowledgements", 0}}), ring) ==
        doctest::Approx(14 * 1020).epsilon(1e-9));
  for (const char* network : {"tcp", "nccl"})
    CHECK(took_us(star(8, network, {{"acknowledgements", 0.5}}), ring) ==
          doctest::Approx(14 * 1520).epsilon(1e-9));
  // 1,500 bytes: 52 for two packets of 1,448.
  CHECK(took_us(star(8, "tcp", {{"acknowledgements", 0.018}}), ring) ==
        doctest::Approx(14 * 1038).epsilon(1e-9));
  for (const Json& wrong : {Json(-0.1), Json(1.5), Json("much"), Json(nullptr)}) {
    const Temporary file(Temporary::Kind::file,
                         star(8, "tcp", {{"acknowledgements", wrong}}).dump());
    const Ran run = call_sgdsim({"collective", "-a", "ring", "-n", "8 MB", "-c", file.name()});
    CHECK(run.exit_code == 2);
    CHECK(run.log.find("/acknowledgements") != std::string::npos);
  }
}

// A ring over two nodes of four: 100 ns/B between them decide, 1 ns/B inside has nothing to answer.
TEST_CASE("acknowledgements: inside a node there are none") {
  const Json boxes = {{"schema", "sgdsim/cluster/1"},
                      {"shape", "nvlink_box"},
                      {"nodes", 2},
                      {"gpus_per_node", 4},
                      {"network", "tcp"},
                      {"gpu_link", {{"latency", "0 us"}, {"per_byte", "1 ns/B"}}},
                      {"nic", {{"latency", "0 us"}, {"per_byte", "100 ns/B"}}}};
  const auto inside_us = [&](double share) {
    Json json = boxes;
    json["acknowledgements"] = share;
    return took_us(json, {"-a", "hierarchical", "-n", "8 MB", "--option", "inner=ring", "--option",
                          "outer=ring", "--fidelity", "message"});
  };
  // Reduce-scatter and all-gather inside, 3 chunks of 2 MB each; between, 2 of 1 MB, four of which
  // share the card of a node.
  CHECK(inside_us(0) == doctest::Approx(2 * 3 * 2000 + 2 * 400'000).epsilon(1e-9));
  CHECK(inside_us(0.5) == doctest::Approx(2 * 3 * 2000 + 2 * 600'000).epsilon(1e-9));
}

// Two machines drawn by hand, unlike inside: rounds of pairs within them have nothing to answer.
TEST_CASE("acknowledgements: none inside any node of a graph") {
  const auto took = [](const char* share, const char* ranks) {
    return json_of_run({"collective", "-a", "halving_doubling", "--op", "allgather", "-n", "4 MB",
                        "-c", "two_boxes_explicit", "--set", "network=tcp", "--set",
                        std::string("acknowledgements=") + share, "--ranks", ranks, "--format",
                        "json"})["time_us"]
        .get<double>();
  };
  CHECK(took("0.5", "2") == took("0", "2"));
  // 1 MB inside each, and then 2 MB between them at 11.875 GB/s.
  CHECK(took("0.5", "4") - took("0", "4") == doctest::Approx(0.5 * 2e6 / 11'875).epsilon(1e-6));
}

// Collectives at fidelity flow and packet: what a card owes goes with what it sends next. Bursts
// are a 64th of a message, by which what is owed may come later.
TEST_CASE("acknowledgements: queues of TCP have them, too") {
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const std::string algorithm = std::vector{"ring", "recursive_doubling", "direct", "mst",
                                              "linear"}[static_cast<std::size_t>(i % 5)];
    // Others fold first, and then some are early at ports that are busy.
    const int ranks =
        algorithm == "recursive_doubling" ? 8 : static_cast<int>(random.uniform(3, 12));
    const std::string size = std::to_string(ranks * 500'000) + " B";
    const auto ratio = [&](const char* fidelity, double share) {
      const auto at = [&](double acknowledged) {
        return took_us(star(ranks, "tcp", {{"acknowledgements", acknowledged}}),
                       {"-a", algorithm, "-n", size, "--fidelity", fidelity});
      };
      return at(share) / at(0);
    };
    CAPTURE(algorithm);
    CAPTURE(ranks);
    const double by_messages = ratio("message", 0.1);
    const bool goes_one_way = algorithm == "mst" || algorithm == "linear";
    CHECK((goes_one_way ? by_messages == 1 : by_messages > 1.08));
    for (const char* fidelity : {"flow", "packet"}) {
      CAPTURE(fidelity);
      CHECK(ratio(fidelity, 0.1) == doctest::Approx(by_messages).epsilon(0.02));
    }
  }
}

}  // namespace
}  // namespace sgdsim
