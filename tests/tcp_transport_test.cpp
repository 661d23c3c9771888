// The transport `tcp`: windows, cards and ports that are first in, first out, cut-through; against
// drawings, and against real runs that share hosts.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "sim/core/json.h"
#include "sim/core/random.h"
#include "sim/play/replay.h"
#include "study/validate/validation.h"
#include "tests/packet_cases.h"
#include "tests/source_tree.h"
#include "traces/goal.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

namespace {

// 1 ns/B, so that a packet of 1,000 B takes 1 us; a way of two links takes 10 us.
const char* const packets_of_1000 = "tcp packet=1000B window=";
std::string tcp(const std::string& window) { return packets_of_1000 + window; }
Cluster star(int nodes) { return cluster_of(rack_of(nodes, "8 Gbps", "5 us")); }

Duration us(int64_t count) { return Duration::us(count); }

// A star whose host 1 has a link of a quarter of the rate.
Cluster star_with_slow_host() {
  Json json = {{"shape", "explicit"},
               {"vertices", Json::array()},
               {"links",
                {{"fast", {{"latency", "5 us"}, {"bandwidth", "8 Gbps"}}},
                 {"slow", {{"latency", "5 us"}, {"bandwidth", "2 Gbps"}}}}},
               {"edges", Json::array()}};
  for (int i = 0; i < 3; ++i)
    json["vertices"].push_back({{"name", "h" + std::to_string(i)}, {"kind", "gpu"}});
  json["vertices"].push_back({{"name", "switch"}, {"kind", "switch"}});
  for (int i = 0; i < 3; ++i)
    json["edges"].push_back(
        {{"from", "h" + std::to_string(i)}, {"to", "switch"}, {"link", i == 1 ? "slow" : "fast"}});
  return cluster_of(json);
}

Replayed replayed(const Cluster& cluster, const std::string& goal, const std::string& transport) {
  const RankSchedule schedule = parse_goal(goal, "test");
  const Json json = transport_in(transport);
  Replay question;
  question.schedule = &schedule;
  question.network = &cluster.network;
  const auto wires = cluster.wires({});
  question.resources = wires.get();
  question.carrier = carrier_of(Value(json, "test", ""), {}, 1);
  question.records = true;
  return play(question);
}

Duration end_of(const Replayed& replayed) {
  return *std::max_element(replayed.ends.begin(), replayed.ends.end()) - Time();
}

// As a cluster that sends over TCP carries messages at this fidelity, with no other word.
FlowsPlayed carried(const Cluster& cluster, const std::vector<PlainFlow>& flows, Fidelity fidelity,
                    const Json& asked = {}) {
  const Json json = transport_on(cluster, fidelity, Routing::by_destination, asked);
  const auto wires = cluster.wires({});
  FlowsQuestion question;
  question.flows = flows;
  question.network = &cluster.network;
  question.resources = wires.get();
  question.carrier = carrier_of(Value(json, "test", ""), {}, 1);
  return play_flows(question);
}

// Messages of 1 KB to 10 MB, begun within 20 ms.
std::vector<PlainFlow> random_flows(int hosts, uint64_t seed) {
  Random random(seed);
  std::vector<PlainFlow> flows;
  for (int i = 0; i < 40; ++i) {
    const auto start = Duration::ns(static_cast<int64_t>(random.uniform(0, 2e7)));
    const int from = static_cast<int>(random.uniform(0, hosts));
    const int to = static_cast<int>(random.uniform(0, hosts - 1));
    const auto size_B = static_cast<int64_t>(std::pow(10, random.uniform(3, 7)));
    flows.push_back(flow(start, from, to < from ? to : to + 1, size_B));
  }
  std::stable_sort(flows.begin(), flows.end(),
                   [](const PlainFlow& a, const PlainFlow& b) { return a.start < b.start; });
  return flows;
}

std::string refusal_of(const std::string& transport) {
  try {
    const Json json = transport_in(transport);
    check_transport(Value(json, "test", ""));
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

// 10 us of way and one serialisation, however many packets: size x beta + alpha.
TEST_CASE("tcp: a message alone takes its latency and its bytes once") {
  const Cluster rack = star(3);
  for (const int64_t size_B :
       {int64_t{1}, int64_t{999}, int64_t{1'000}, int64_t{1'001}, int64_t{500'000}}) {
    CAPTURE(size_B);
    const std::vector<PlainFlow> one = {flow({}, 0, 1, size_B)};
    CHECK(last_of(played(rack, one, tcp("1GB"))) == us(10) + Duration::ns(size_B));
    CHECK(last_of(played(rack, one, "tcp")) == us(10) + Duration::ns(size_B));
  }
  // The slower link decides, at whichever end it is.
  const Cluster slow = star_with_slow_host();
  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{0, 2}}) {
    const std::vector<PlainFlow> one = {flow({}, from, to, 50'000)};
    const int64_t ns_per_B = from == 1 || to == 1 ? 4 : 1;
    CHECK(last_of(played(slow, one, tcp("1GB"))) == us(10) + Duration::ns(50'000 * ns_per_B));
  }
}

// With two packets in the system: they leave at 0 and 1 us, are there at 11 and 12, and are heard
// of at 21 and 22. So pairs of packets leave every 21 us; the last one of 2 k is there 12 us later.
TEST_CASE("tcp: no more than the window is in the system") {
  const Cluster rack = star(2);
  for (const int64_t pairs : {1, 2, 10}) {
    CAPTURE(pairs);
    const std::vector<PlainFlow> one = {flow({}, 0, 1, pairs * 2'000)};
    CHECK(last_of(played(rack, one, tcp("2000B"))) == us(21 * (pairs - 1) + 12));
  }
  // 21 packets fill the round trip: the 22nd leaves as soon as the card is free.
  const std::vector<PlainFlow> one = {flow({}, 0, 1, 100'000)};
  CHECK(last_of(played(rack, one, tcp("21000B"))) == us(110));
  CHECK(last_of(played(rack, one, tcp("20000B"))) > us(110));
  // Messages of a pair share it, one behind the other: two of 10 pairs are one of 20 pairs.
  const std::vector<PlainFlow> two = {flow({}, 0, 1, 20'000), flow({}, 0, 1, 20'000)};
  const FlowsPlayed shared = played(rack, two, tcp("2000B"));
  CHECK(took(shared, two, 0) == us(21 * 9 + 12));
  CHECK(took(shared, two, 1) == us(21 * 19 + 12));
  // With a window each, four packets leave every 21 us; they take the card in turns.
  const FlowsPlayed own = played(rack, two, tcp("2000B") + " connections=0");
  CHECK(last_of(own) < us(21 * 10 + 20));
}

// Card of 0: a first, then b; both 100 us. Port of 3: packets as they come.
TEST_CASE("tcp: cards and ports are first in, first out") {
  const Cluster rack = star(4);
  const std::vector<PlainFlow> out = {flow({}, 0, 1, 100'000), flow({}, 0, 2, 100'000),
                                      flow(us(1), 0, 3, 1'000)};
  const FlowsPlayed left = played(rack, out, tcp("1GB"));
  CHECK(took(left, out, 0) == us(110));
  CHECK(took(left, out, 1) == us(210));
  CHECK(took(left, out, 2) == us(211 - 1));  // behind 200 packets
  // Two that come together take the port in turns: the last packets are there after 199 and 200.
  const std::vector<PlainFlow> in = {flow({}, 1, 0, 100'000), flow({}, 2, 0, 100'000)};
  const FlowsPlayed come = played(rack, in, tcp("1GB"));
  CHECK(took(come, in, 0) == us(209));
  CHECK(took(come, in, 1) == us(210));
  // One that begins 20 us later finds nobody waiting, and then shares: until 100 us the first one
  // has sent 100 packets, of which 20 went alone and 40 in turns by then; what waits goes first in,
  // first out, so that a packet of the first that comes at t leaves at 20 + 2 (t - 20).
  const std::vector<PlainFlow> later = {flow({}, 1, 0, 100'000), flow(us(20), 2, 0, 100'000)};
  const FlowsPlayed apart = played(rack, later, tcp("1GB"));
  CHECK(took(apart, later, 0).us() == doctest::Approx(10 + 20 + 2 * 80).epsilon(0.01));
  CHECK(took(apart, later, 1) == us(210 - 20));
}

// What is handed over is off the sender's hands; the rest waits for the window.
TEST_CASE("tcp: a sender is free when its message is handed over") {
  const Cluster rack = star(2);
  const std::string goal =
      "num_ranks 2\nrank 0 {\nl0: send 4000b to 1\nl1: calc 0\nl1 requires l0\n}\n"
      "rank 1 {\nl0: recv 4000b from 0\n}\n";
  CHECK(replayed(rack, goal, tcp("4000B")).ends[0] == Time());
  // The third packet is handed over when the first is heard of, the fourth with the second.
  CHECK(replayed(rack, goal, tcp("2000B")).ends[0] == Time() + us(22));
  CHECK(replayed(rack, goal, tcp("2000B")).ends[1] == Time() + us(33));
  // Another nic is another connection, with a window of its own.
  const std::string two =
      "num_ranks 2\nrank 0 {\nl0: send 2000b to 1 nic 0\nl1: send 2000b to 1 tag 1 nic 1\n}\n"
      "rank 1 {\nl0: recv 2000b from 0\nl1: recv 2000b from 0 tag 1 nic 1\n}\n";
  CHECK(replayed(rack, two, tcp("2000B")).ends[1] == Time() + us(14));
}

TEST_CASE("tcp: what it has not is refused with what to do") {
  CHECK(refusal_of("tcp") == "none");
  CHECK(refusal_of("tcp window=9000B") == "none");
  CHECK(refusal_of("tcp window=8999B").find("smaller \"packet\"") != std::string::npos);
  CHECK(refusal_of("tcp window=0B") != "none");
  CHECK(refusal_of("tcp buffer=1MB").find("\"window\"") != std::string::npos);
  CHECK(refusal_of("tcp queue_buffer=1MB").find("\"window\"") != std::string::npos);
  CHECK(refusal_of("tcp spray=random").find("per_flow or by_destination") != std::string::npos);
  CHECK(refusal_of("tcp connections=2") != "none");
  CHECK(refusal_of("tcp gain=0.1").find("unknown field \"gain\"") != std::string::npos);
}

// Bars for the time of a whole run, by class (median and 90th percentile in percent), of hosts that
// are shared by rings, trainings, buckets, senders and servers. 130 us and more are measured by a
// clock of every host, so that less than 0.1 % is not to be had.
struct Bar {
  const char* label;
  double median;
  double p90;
};
const std::vector<Bar> bars_of_runs = {
    {"two_rings", 1, 6}, {"three_rings", 1, 6}, {"one_training", 1, 6},   {"two_trainings", 1, 6},
    {"buckets", 0.5, 2}, {"incast", 1, 3},      {"incast_unequal", 1, 3}, {"incast_apart", 1, 2},
    {"crossed", 1, 2},   {"random", 1, 2},      {"one_server", 1, 5}};
const std::filesystem::path contention_cases =
    std::filesystem::path(SGDSIM_SOURCE_DIR) / "models/transport/data";

// ---- at fidelity flow

// Card of 0: with a window above both messages the first is done when it is alone; with a small one
// they take turns, as flows that share evenly do.
TEST_CASE("tcp: clusters over TCP share wires as queues do") {
  const std::vector<PlainFlow> two = {flow({}, 0, 1, 500'000), flow({}, 0, 2, 500'000)};
  struct Row {
    Json fields;
    double first_us;  // 10 us of way, 1 ns/B; to a window's time
    double last_us;
  };
  const std::vector<Row> rows = {{{{"network", "tcp"}}, 510, 1010},
                                 {{{"network", "mpi"}}, 510, 1010},
                                 {{{"network", "gloo"}}, 510, 1010},
                                 {{{"network", "tcp"}, {"window", "40 KB"}}, 990, 1010},
                                 {{{"network", "tcp"}, {"sharing", "max_min"}}, 1010, 1010},
                                 {{{"network", "nccl"}}, 1010, 1010},
                                 {{{"network", "nccl"}, {"sharing", "queues"}}, 510, 1010},
                                 {Json::object(), 1010, 1010}};
  Json fitted = rack_of(3, "8 Gbps", "5 us");
  fitted["network"] = "tcp";
  fitted["nic"]["segments"] =
      Json::array({{{"from", "1 MB"}, {"latency", "9 us"}, {"bandwidth", "8 Gbps"}}});
  CHECK(took(carried(cluster_of(fitted), two, Fidelity::flow), two, 0) == us(1010));
  for (const Row& row : rows) {
    Json json = rack_of(3, "8 Gbps", "5 us");
    json.update(row.fields);
    CAPTURE(json.dump());
    const FlowsPlayed ended = carried(cluster_of(json), two, Fidelity::flow);
    CHECK(std::abs(took(ended, two, 0).us() - row.first_us) <=
          (row.fields.contains("window") ? 20 : 0.5));
    CHECK(took(ended, two, 1).us() == doctest::Approx(row.last_us).epsilon(0.001));
  }
}

TEST_CASE("tcp: a cluster's window and default transport hold at fidelity packet") {
  const Json asked = {{"name", "tcp"}, {"window", "50 KB"}};
  Json json = rack_of(3);
  const auto on = [&](const Json& transport) {
    return transport_on(cluster_of(json), Fidelity::packet, Routing::by_destination, transport);
  };
  CHECK(on({}) == Json{{"name", "ideal"}});
  json["network"] = "gloo";
  json["window"] = "100 KB";
  CHECK(on({}) == Json{{"name", "tcp"}, {"window", "100 KB"}});
  CHECK(on("tcp") == Json{{"name", "tcp"}, {"window", "100 KB"}});
  CHECK(on(asked) == asked);
  CHECK(on("ndp") == "ndp");
  json["window"] = "1 KB";  // less than a packet
  CHECK(on({})["packet"] == "1 KB");
  CHECK(last_of(carried(cluster_of(json), {flow({}, 0, 1, 10'000)}, Fidelity::packet)) > us(10));
  for (const char* bad : {"0 B", "3 GB", "-1 B"}) {
    json["window"] = bad;
    CHECK_THROWS_AS(cluster_of(json), InputError);
  }
  json["window"] = "1 MB";
  CHECK_THROWS_AS(transport_on(cluster_of(json), Fidelity::flow, Routing::split, {}), InputError);
}

// A burst holds 46 KB at most, 0.04 ms here, and what meets it may wait for it at each port, so
// that short messages differ; the whole does not.
TEST_CASE("tcp: bursts at fidelity flow agree with packets") {
  std::vector<Json> clusters = {rack_of(6, "10 Gbps", "1 us"), rack_of(16, "10 Gbps", "1 us"),
                                leaf_spine(16, 4, 2), fat_tree(4, "10 Gbps")};
  const Json same_ways = {{"name", "tcp"}, {"spray", "by_destination"}};
  uint64_t seed = 1;
  for (Json& json : clusters) {
    json["network"] = "tcp";
    const Cluster cluster = cluster_of(json);
    for (int i = 0; i < 10; ++i) {
      CAPTURE(json.dump());
      CAPTURE(seed);
      const auto flows = random_flows(cluster.network.workers(), seed++);
      const FlowsPlayed bursts = carried(cluster, flows, Fidelity::flow);
      const FlowsPlayed packets = carried(cluster, flows, Fidelity::packet, same_ways);
      CHECK(last_of(bursts).us() == doctest::Approx(last_of(packets).us()).epsilon(0.02));
      double sum_us = 0;
      double apart_us = 0;
      for (std::size_t k = 0; k < flows.size(); ++k) {
        sum_us += took(packets, flows, k).us();
        apart_us += std::abs(took(packets, flows, k).us() - took(bursts, flows, k).us());
      }
      CHECK(apart_us <= 0.02 * sum_us);
    }
  }
}

// The same bars with defaults alone: the cluster says that it sends over TCP, the fidelity is flow.
TEST_CASE("tcp: real runs that share hosts are predicted by defaults at fidelity flow") {
  std::map<std::string, std::vector<double>> errors;  // of whole runs, by label
  for (const auto& entry : std::filesystem::directory_iterator(contention_cases)) {
    if (entry.path().extension() != ".json") continue;
    Json json = Document::read(entry.path().string()).root().json();
    json["cluster"]["network"] = "tcp";
    const Cluster cluster = cluster_of(json["cluster"]);
    const Json sent = transport_on(cluster, Fidelity::flow, Routing::by_destination, {});
    for (const Json& row : json["measured"]) {
      const RankSchedule schedule =
          read_goal((contention_cases / row["schedule"].get<std::string>()).string());
      Replay question;
      question.schedule = &schedule;
      question.network = &cluster.network;
      const auto wires = cluster.wires({});
      question.resources = wires.get();
      question.carrier = carrier_of(Value(sent, "test", ""), {}, 1);
      const double measured_us = Value(row["time"], "test", "").duration().us();
      errors[row["label"].get<std::string>()].push_back(
          100 * std::abs(end_of(play(question)).us() / measured_us - 1));
    }
  }
  for (const Bar& bar : bars_of_runs) {
    CAPTURE(bar.label);
    std::vector<double>& all = errors[bar.label];
    std::sort(all.begin(), all.end());
    REQUIRE(!all.empty());
    CHECK(all[all.size() / 2] <= bar.median);
    CHECK(all[all.size() * 9 / 10] <= bar.p90);
  }
}

TEST_CASE("tcp: real runs that share hosts are predicted, class by class") {
  std::vector<CaseFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(contention_cases))
    if (entry.path().extension() == ".json") files.push_back(read_case_file(entry.path().string()));
  REQUIRE(files.size() == 7);
  std::map<std::string, std::vector<RowResult>> runs;
  std::map<std::string, std::vector<std::string>> shown;
  for (const SuiteResult& suite : validate(files)) {
    CAPTURE(suite.name);
    CHECK(suite.breaches.empty());
    for (const LabelResult& label : suite.judged.labels)
      if (label.label != "oneway")
        shown[label.label] = {"`" + label.label + "`", std::to_string(label.errors.rows),
                              percent_text(label.errors.median), percent_text(label.errors.p90),
                              percent_text(label.errors.max)};
    for (const RowResult& row : suite.judged.rows)
      if (!row.row->inputs.line) runs[row.row->label].push_back(row);
  }
  for (const Bar& bar : bars_of_runs) {
    CAPTURE(bar.label);
    const ErrorSummary errors = summary_of(runs[bar.label]);
    REQUIRE(errors.rows > 0);
    CHECK(errors.median <= bar.median);
    CHECK(errors.p90 <= bar.p90);
  }
  // docs/validation.md, digit by digit.
  const auto page =
      read_text((std::filesystem::path(SGDSIM_SOURCE_DIR) / "docs/validation.md").string());
  const house::TableRows table =
      house::markdown_table(page, "| label | rows | median % | p90 % | max % |");
  CHECK(table.size() == shown.size());
  for (const std::vector<std::string>& row : table)
    CHECK(row == shown[row.front().substr(1, row.front().size() - 2)]);
}
