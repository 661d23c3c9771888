// Fidelity flow where links get faster: by hand, and against files of faster links; and their use.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>

#include "sim/core/random.h"
#include "sim/net/link_use.h"
#include "tests/flow_cases.h"
#include "tests/json_of_run.h"
#include "tests/rounds.h"

using namespace sgdsim;

// What a message gets alone follows its narrowest link: 1 MB at 1 ns/B, and 4 us of latency.
TEST_CASE("flow: wires that get faster, by hand") {
  const Cluster racks = cluster_of(leaf_spine(4, 2, 2));
  const auto wires = racks.wires({});
  std::vector<uint32_t> all(wires->capacities().size());
  std::iota(all.begin(), all.end(), 0U);
  const std::vector<uint32_t> uplink = ways_at(*wires, "leaf0", "spine0");
  const std::vector<PlainFlow> one = {flow(0, 0, 2, 1'000'000)};
  struct Row {
    const char* reason;
    std::vector<WireChange> changes;
    double end_us;
  };
  for (const Row& row :
       std::vector<Row>{{"all links, from the start on", {{Time(), all, 4}}, 4 + 250},
                        {"one of them is not the narrowest", {{Time(), uplink, 4}}, 1004},
                        {"half of it is left", {{Time() + us(504), all, 4}}, 504 + 125},
                        {"a quarter is left, and goes slower again",
                         {{Time() + us(504), all, 4}, {Time() + us(566.5), all, 1}},
                         566.5 + 250},
                        {"the narrowest link alone keeps its rate",
                         {{Time() + us(504), all, 4}, {Time() + us(504), uplink, 1}},
                         1004},
                        {"as slow as before, then twice as fast",
                         {{Time() + us(504), all, 0.5}, {Time() + us(1004), all, 2}},
                         1004 + 125},
                        {"closed for a while, and fast when it opens",
                         {{Time() + us(504), all, 0}, {Time() + us(800), all, 5}},
                         800 + 100}}) {
    CAPTURE(row.reason);
    CHECK(end_of(played(racks, one, {}, row.changes), 0) == us(row.end_us));
  }
  // Two flows to one worker share what its link has.
  const std::vector<PlainFlow> two = {flow(0, 0, 2, 1'000'000), flow(0, 1, 2, 1'000'000)};
  const std::vector<WireChange> fast = {{Time(), all, 4}};
  CHECK(end_of(played(racks, two, {}, fast), 1) == us(4 + 500));
  // One that comes later finds the links as they are.
  const std::vector<PlainFlow> later = {flow(10, 0, 2, 1'000'000)};
  CHECK(end_of(played(racks, later, {}, fast), 0) == us(14 + 250));
}

// A multiple of every link from the start on is a file with that multiple.
TEST_CASE("flow: faster wires are a file of faster wires") {
  Random random(37);
  for (int round = 0; round < rounds(60); ++round) {
    const double factor = round % 3 == 0 ? 4 : random.uniform(0.2, 9);
    Json json = leaf_spine(12, 3, 2);
    json["uplink"]["per_byte"] = std::to_string(1 + random.below(5)) + " ns/B";
    const Cluster as_given = cluster_of(json);
    for (const char* link : {"nic", "uplink"}) {
      const double ps = 1000 * std::stod(json[link]["per_byte"].get<std::string>()) / factor;
      json[link]["per_byte"] = Json(ps).dump() + " ps/B";
    }
    const Cluster faster = cluster_of(json);
    std::vector<PlainFlow> flows;
    double start_us = 0;
    for (int i = 0; i < 60; ++i) {
      start_us += random.uniform(0, 300);
      const auto from = static_cast<int>(random.below(12));
      flows.push_back(flow(start_us, from, (from + 1 + static_cast<int>(random.below(11))) % 12,
                           1 + static_cast<int64_t>(random.below(3'000'000))));
    }
    for (const Routing routing : {Routing::by_destination, Routing::hashed, Routing::split}) {
      // Over several ways a message alone takes no more than one of them has, until all together
      // have less.
      if (routing == Routing::split && factor < 1) continue;
      const auto wires = as_given.wires({});
      std::vector<uint32_t> all(wires->capacities().size());
      std::iota(all.begin(), all.end(), 0U);
      const std::vector<WireChange> changes = {{Time(), all, factor}};
      const FlowsPlayed changed = played(as_given, flows, {routing, 1}, changes);
      const FlowsPlayed given = played(faster, flows, {routing, 1});
      for (std::size_t i = 0; i < flows.size(); ++i)
        REQUIRE(std::abs((changed.ends[i] - given.ends[i]).ps()) <= 20'000);
      const auto raised = changed_by(changes, changed.until);
      const WireUse use = use_of(*wires, changed.carried_B, changed.until - Time(), 100, raised);
      for (const LinkUse& link : use.busiest) REQUIRE(link.utilisation <= 1 + 1e-9);
    }
  }
}

TEST_CASE("flow: the use of wires that change counts against what they could carry") {
  const Cluster racks = cluster_of(leaf_spine(4, 2, 2));
  const auto wires = racks.wires({});
  const std::vector<uint32_t> nic = ways_at(*wires, "node0");
  const std::vector<WireChange> changes = {
      {Time() + us(200), nic, 4}, {Time() + us(400), nic, 0.5}, {Time() + us(600), nic, 3}};
  // 200 us at 1, 200 at 4, 200 at 0.5, 200 at 3: 8.5 / 4. Others stay at 1.
  const std::map<uint32_t, double> raised = changed_by(changes, Time() + us(800));
  CHECK(raised.size() == nic.size());
  for (const uint32_t way : nic) CHECK(raised.at(way) == doctest::Approx(8.5 / 4).epsilon(1e-12));
  CHECK(changed_by(changes, Time() + us(200)).empty());
  // Over time, too: 1 MB in 250 us keeps a link that is four times as fast busy all the time.
  std::vector<uint32_t> all(wires->capacities().size());
  std::iota(all.begin(), all.end(), 0U);
  const std::vector<WireChange> fast = {{Time(), all, 4}};
  const std::vector<PlainFlow> one = {flow(0, 0, 2, 1'000'000)};
  FlowsQuestion question;
  question.flows = one;
  question.network = &racks.network;
  question.resources = wires.get();
  question.changes = fast;
  question.watched = nic;
  question.interval = us(50);
  question.intervals = 6;
  const FlowsPlayed watched = play_flows(question);
  double most = 0;
  for (const std::vector<double>& way : watched.watched)
    for (const double used : way) most = std::max(most, used);
  CHECK(most == doctest::Approx(1).epsilon(1e-9));
}

// 10 MB through two links of 10 Gbit/s that have half of it: all that they could carry.
TEST_CASE("traffic: links that get slower are full when they carry all that they can") {
  const Json cluster = {{"shape", "single_switch"},
                        {"nodes", 4},
                        {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
  const Json traffic = {
      {"schema", "sgdsim/traffic/1"},
      {"flows", {{"generator", "incast"}, {"to", 0}, {"from", "1"}, {"size", "10 MB"}}},
      {"changes",
       {{{"at", "0 us"}, {"link", {"node0", "switch"}}, {"bandwidth", 0.5}},
        {{"at", "0 us"}, {"link", {"node1", "switch"}}, {"bandwidth", 0.5}}}}};
  const Temporary file(Temporary::Kind::file, traffic.dump());
  for (const char* fidelity : {"flow", "packet"}) {
    const Json answer = json_of_run({"traffic", file.name(), "-c", cluster.dump(), "--fidelity",
                                     fidelity, "--bins", "3", "--format", "json"});
    const Json busiest = answer["busiest"][0];
    CHECK(busiest["utilisation"].get<double>() == doctest::Approx(1).epsilon(0.01));
    for (const Json& part : busiest["over_time"])
      CHECK(part.get<double>() == doctest::Approx(1).epsilon(0.01));
  }
}

// What is being sent when a link slows down is counted at what the link has.
TEST_CASE("traffic: no link carries more than it can when it slows down under a packet") {
  const Json cluster = {{"shape", "single_switch"},
                        {"nodes", 2},
                        {"nic", {{"latency", "1 us"}, {"bandwidth", "1 Gbps"}}}};
  for (const std::string fidelity : {"flow", "packet"})
    for (const double at_us : {3.0, 31.0, 40.5, 77.7}) {
      CAPTURE(fidelity);
      CAPTURE(at_us);
      const Json traffic = {
          {"schema", "sgdsim/traffic/1"},
          {"flows",
           {{"generator", "listed"},
            {"list", Json::array({{{"from", 0}, {"to", 1}, {"size", "100 KB"}}})}}},
          {"changes",
           {{{"at", std::to_string(at_us) + " us"},
             {"link", {"node0", "switch"}},
             {"bandwidth", 0.01}}}}};
      const Temporary file(Temporary::Kind::file, traffic.dump());
      const Json answer = json_of_run({"traffic", file.name(), "-c", cluster.dump(), "--fidelity",
                                       fidelity, "--bins", "40", "--format", "json"});
      const double used = answer["busiest"][0]["utilisation"].get<double>();
      CHECK(used <= 1 + 1e-9);
      CHECK(used > 0.98);
      for (const Json& part : answer["busiest"][0]["over_time"])
        CHECK(part.get<double>() <= 1 + 1e-9);
      // 125 B/us until then, 1.25 after; headers are less than 6 %.
      const double end_us = answer["makespan_us"].get<double>();
      const double least = at_us + (100e3 - 125 * at_us) / 1.25;
      CHECK(end_us >= least);
      CHECK(end_us <= 1.07 * least);
    }
}

// The same bytes at a tenth of the rate: that one is named.
TEST_CASE("run: the busiest link is the one that got slower") {
  const Json answer = json_of_run(
      {"run", "resnet50_v100", "-c", "25gbe_16", "--fidelity", "flow", "--traffic",
       R"({"changes": [{"at": "0 ms", "link": ["node3", "switch"], "bandwidth": 0.1}]})",
       "--format", "json"});
  const Json busiest = answer["busiest"][0];
  CHECK((busiest["from"] == "node3" || busiest["to"] == "node3"));
  CHECK(busiest["utilisation"].get<double>() > 0.5);
  CHECK(busiest["utilisation"].get<double>() <= 1);
}
