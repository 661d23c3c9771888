// Links that get faster, slower, or close while a message is under way, by hand.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

struct Change {
  int at_us = 0;
  const char* node = "";
  double bandwidth = 1;
};

// One message from node 0 (1 B/ns) to node 1, in microseconds.
double took_us(const Json& cluster, int size_B, const std::vector<Change>& changes) {
  Json traffic = {{"schema", "sgdsim/traffic/1"},
                  {"flows",
                   {{{"generator", "incast"},
                     {"from", "0"},
                     {"to", 1},
                     {"size", std::to_string(size_B) + " B"}}}},
                  {"changes", Json::array()}};
  for (const Change& one : changes)
    traffic["changes"].push_back({{"at", std::to_string(one.at_us) + " us"},
                                  {"link", {one.node, "switch"}},
                                  {"bandwidth", one.bandwidth}});
  const Temporary file(Temporary::Kind::file, traffic.dump());
  const Temporary on(Temporary::Kind::file, cluster.dump());
  return json_of_run({"traffic", file.name(), "-c", on.name(), "--format", "json"})["makespan_us"];
}

Json pair_of_nodes(const char* latency) {
  return {{"schema", "sgdsim/cluster/1"},
          {"name", "pair"},
          {"shape", "single_switch"},
          {"nodes", 2},
          {"nic", {{"latency", latency}, {"bandwidth", "8 Gbps"}}}};
}

// Node 1 has 0.5 B/ns at first. What a message gets is the least of both, whichever changed last.
TEST_CASE("changing links: a message goes as fast as the narrowest link of the moment") {
  Json cluster = pair_of_nodes("0 us");
  cluster["ports"] = {{{"node", 1}, {"bandwidth", "4 Gbps"}}};
  struct Row {
    std::vector<Change> changes;
    double end_us;
  };
  const std::vector<Row> rows = {
      {{}, 40},
      {{{5, "node1", 2}}, 22.5},
      // 2,500 B by 5 us, 5,000 B by 15 us, 12,500 B at 1 B/ns.
      {{{3, "node0", 0.5}, {5, "node1", 2}, {15, "node0", 1}}, 27.5},
      {{{3, "node0", 0.5}, {4, "node0", 1}, {5, "node1", 2}}, 22.5},
      // 1,500, 500 and 2,500 B by 15 us, 15,500 B at 0.75 B/ns.
      {{{3, "node0", 0.25}, {5, "node1", 2}, {15, "node0", 0.75}}, 15 + 15'500 / 750.},
      // And back again: 2,500 B, then 10,000 at 1 B/ns, the rest at 0.5.
      {{{5, "node1", 2}, {15, "node1", 1}}, 30}};
  for (const Row& row : rows) {
    CAPTURE(row.end_us);
    CHECK(took_us(cluster, 20'000, row.changes) == doctest::Approx(row.end_us).epsilon(1e-6));
  }
}

// 3,000 B over 2 us of way end at 5 us, when nothing is left on the link that closes.
TEST_CASE("changing links: what has left when a link closes has left") {
  for (const std::vector<Change>& changes :
       {std::vector<Change>{{5, "node0", 0}}, {{5, "node0", 0}, {1000, "node0", 1}}, {}})
    CHECK(took_us(pair_of_nodes("1 us"), 3000, changes) == 5);
  CHECK(took_us(pair_of_nodes("1 us"), 3000, {{4, "node0", 0}, {1000, "node0", 1}}) == 1001);
}

// Who paces, waits and keeps packets under way by what links had goes on with what they have: 30 MB
// are there soon after they would be at 0.1 B/ns for 1 ms and at 1 B/ns then, 30.9 ms, and headers.
// MLT finds its rate back by steps, DCQCN by its timers.
TEST_CASE("changing links: transports go on at the rates of the moment") {
  const Json cluster = pair_of_nodes("5 us");
  const auto took_ms = [&](const std::string& transport, const Json& changes) {
    const Json traffic = {{"schema", "sgdsim/traffic/1"},
                          {"flows",
                           {{"generator", "listed"},
                            {"list", Json::array({{{"from", 0}, {"to", 1}, {"size", "30 MB"}}})}}},
                          {"changes", changes}};
    const Temporary file(Temporary::Kind::file, traffic.dump());
    return json_of_run({"traffic", file.name(), "-c", cluster.dump(), "--fidelity", "packet",
                        "--transport", transport, "--format", "json"})["makespan_us"]
               .get<double>() /
           1000;
  };
  for (const std::string node : {"node0", "node1"})
    for (const std::string transport : {"ideal", "tcp", "ndp", "pfabric", "dctcp", "dlcp"}) {
      CAPTURE(node);
      CAPTURE(transport);
      const auto at = [&](const char* when, double bandwidth) {
        return Json{{"at", when}, {"link", {node, "switch"}}, {"bandwidth", bandwidth}};
      };
      const double slow_first = took_ms(transport, Json::array({at("0 ms", 0.1), at("1 ms", 1)}));
      CHECK(slow_first >= 0.9 * 30.9);  // of DLCP a tenth may be missing
      CHECK(slow_first <= 1.07 * 30.9);
      // 10 MB by 10 ms, 20 at half of the rate: 50 ms. And raised: 10 MB, then 20 at twice: 20 ms.
      CHECK(took_ms(transport, Json::array({at("10 ms", 0.5)})) <= 1.07 * 50);
    }
}

}  // namespace
}  // namespace sgdsim
