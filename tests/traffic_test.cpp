// Plain traffic: what generators draw, what tables hold, what is refused, and the command.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <map>
#include <set>

#include "models/traffic/registry.h"
#include "sim/core/error.h"
#include "sim/play/play_flows.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"
#include "traces/flows_csv.h"

using namespace sgdsim;

namespace {

Network network_of(int workers) {
  return Network::uniform(workers, {Duration::us(1), PerByte::ps(80), {}});
}
std::vector<PlainFlow> drawn(const Json& json, int workers, uint64_t seed = 1) {
  return read_flows(Value(json, "t", ""), network_of(workers), seed);
}
std::string refusal_of(const Json& json, int workers = 16) {
  try {
    drawn(json, workers);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}
bool are_equal(const std::vector<PlainFlow>& a, const std::vector<PlainFlow>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.start == y.start && x.size == y.size && x.from == y.from && x.to == y.to;
  });
}

}  // namespace

// Load 0.5 of 100 workers of 12.5 GB/s is 625 flows of 1 GB a second: 10,000 of them take 16 s,
// with a deviation of 0.16 s.
TEST_CASE("traffic: poisson has its load, and draws workers evenly") {
  const Json json = {{"generator", "poisson"}, {"load", 0.5}, {"size", "1 GB"}, {"count", 10'000}};
  const auto flows = drawn(json, 100);
  REQUIRE(flows.size() == 10'000);
  CHECK(std::abs(flows.back().start.since_start().s() - 16) < 4 * 0.16);
  CHECK(std::is_sorted(flows.begin(), flows.end(),
                       [](const auto& a, const auto& b) { return a.start < b.start; }));
  std::map<int, int> from;
  std::map<int, int> to;
  for (const PlainFlow& flow : flows) {
    REQUIRE(flow.from != flow.to);
    REQUIRE(flow.size == Bytes(1'000'000'000));
    ++from[flow.from];
    ++to[flow.to];
  }
  // 100 of each, with a deviation of 10.
  for (int worker = 0; worker < 100; ++worker) {
    CHECK(std::abs(from[worker] - 100) < 50);
    CHECK(std::abs(to[worker] - 100) < 50);
  }
  // Gaps are exponential: e^-1 of them are longer than their mean.
  int longer = 0;
  for (std::size_t i = 1; i < flows.size(); ++i)
    longer += (flows[i].start - flows[i - 1].start).s() > 16.0 / 10'000 ? 1 : 0;
  CHECK(std::abs(longer - 3'679) < 4 * 50);
  // By time instead of number, and the same again.
  Json timed = json;
  timed.erase("count");
  timed["duration"] = "1.6 s";
  const auto some = drawn(timed, 100);
  CHECK(std::abs(static_cast<double>(some.size()) - 1'000) < 4 * 32);
  CHECK(some.back().start.since_start() <= Duration::ms(1600));
  CHECK(are_equal(drawn(json, 100), flows));
  CHECK_FALSE(are_equal(drawn(json, 100, 2), flows));
  Json seeded = json;
  seeded["seed"] = 9;
  CHECK(are_equal(drawn(seeded, 100, 1), drawn(seeded, 100, 2)));
  // Who asks for a seed gets what it draws, whatever the file says.
  CHECK(are_equal(read_flows(Value(seeded, "t", ""), network_of(100), 2, OwnSeeds::give_way),
                  drawn(json, 100, 2)));
}

// The mean of web search: the trapezoids under its points, 1.7 MB as published.
TEST_CASE("traffic: sizes follow their distribution") {
  const Json base = {{"generator", "poisson"}, {"load", 1}, {"count", 40'000}};
  Json json = base;
  json["size"] = Json::parse(R"({"cdf": [["10 KB", 0.5], ["30 KB", 1]]})");
  int below = 0;
  double sum_B = 0;
  for (const PlainFlow& flow : drawn(json, 4)) {
    below += flow.size <= Bytes(10'000) ? 1 : 0;
    sum_B += static_cast<double>(flow.size.count());
    REQUIRE(flow.size <= Bytes(30'000));
    REQUIRE(flow.size >= Bytes(1));
  }
  CHECK(std::abs(below - 20'000) < 4 * 100);
  CHECK(std::abs(sum_B / 40'000 - 12'500) < 4 * 50);  // (0 + 10 KB) / 4 + (10 + 30 KB) / 4
  json["size"] = "web_search";
  double search_B = 0;
  for (const PlainFlow& flow : drawn(json, 4)) search_B += static_cast<double>(flow.size.count());
  const double mean_B = 0.15 * 5e3 + 0.05 * 15e3 + 0.1 * 25e3 + 0.1 * 40e3 + 0.13 * 65e3 +
                        0.07 * 140e3 + 0.1 * 600e3 + 0.1 * 1.5e6 + 0.1 * 3.5e6 + 0.07 * 7.5e6 +
                        0.03 * 20e6;
  CHECK(std::abs(search_B / 40'000 / mean_B - 1) < 0.05);
}

TEST_CASE("traffic: permutations, incasts and all to all") {
  for (int workers = 2; workers < 12; ++workers) {
    const auto flows = drawn({{"generator", "permutation"}, {"size", "5 B"}}, workers);
    std::set<int> to;
    std::set<int> from;
    for (const PlainFlow& flow : flows) {
      CHECK(flow.from != flow.to);
      to.insert(flow.to);
      from.insert(flow.from);
    }
    CHECK(flows.size() == static_cast<std::size_t>(workers));
    CHECK(to.size() == flows.size());
    CHECK(from.size() == flows.size());
    CHECK(drawn({{"generator", "all_to_all"}, {"size", "5 B"}}, workers).size() ==
          static_cast<std::size_t>(workers * (workers - 1)));
  }
  for (const PlainFlow& flow :
       drawn({{"generator", "permutation"}, {"size", "5 B"}, {"shift", 3}, {"among", "2-9"}}, 16))
    CHECK(flow.to == (flow.from - 2 + 3) % 8 + 2);
  const auto incast =
      drawn({{"generator", "incast"}, {"size", "5 B"}, {"to", 4}, {"flows_each", 3}}, 16);
  CHECK(incast.size() == 45);
  for (const PlainFlow& flow : incast) CHECK(flow.to == 4);
  // Several generators in the order of their starts.
  const auto both = drawn({{{"generator", "incast"}, {"size", "5 B"}, {"start", "2 us"}},
                           {{"generator", "listed"},
                            {"list",
                             {{{"from", 3}, {"to", 1}, {"size", "7 B"}, {"start", "1 us"}},
                              {{"from", 3}, {"to", 2}, {"size", "7 B"}}}}}},
                          4);
  CHECK(both.size() == 5);
  CHECK(both[0].to == 2);
  CHECK(both[1].start == Time() + Duration::us(1));
  CHECK(both[2].start == Time() + Duration::us(2));
}

TEST_CASE("traffic: what cannot be is refused with a sentence") {
  const Json poisson = {{"generator", "poisson"}, {"load", 0.5}, {"size", "1 MB"}, {"count", 3}};
  const auto with = [](Json json, const char* field, const Json& value) {
    json[field] = value;
    if (value.is_null()) json.erase(field);
    return json;
  };
  CHECK(refusal_of(with(poisson, "generator", "poison")) ==
        "t: /generator: unknown generator \"poison\" (did you mean \"poisson\"?); known: poisson, "
        "permutation, incast, all_to_all, listed");
  CHECK(refusal_of(with(poisson, "load", 0)) == "t: /load: a load of 0 brings no flows");
  CHECK(refusal_of(with(poisson, "load", nullptr)) == "t: /: the field \"load\" is missing");
  CHECK(refusal_of(with(poisson, "load", -1)).starts_with("t: /load: expected a number from 0"));
  CHECK(refusal_of(with(poisson, "duration", "1 s")) ==
        "t: /: expected either a `count` of flows or a `duration`");
  CHECK(refusal_of(with(poisson, "count", 1e9)).starts_with("t: /count: expected a whole number"));
  CHECK(refusal_of(with(with(poisson, "count", nullptr), "duration", "50 days"))
            .starts_with("t: /duration: "));
  CHECK(refusal_of(with(with(poisson, "count", nullptr), "duration", "1000 h")) ==
        "t: /: more than 33554432 flows");
  CHECK(refusal_of(with(poisson, "size", "0 B")) == "t: /size: a flow has at least one byte");
  CHECK(refusal_of(with(poisson, "size", "websearch")).starts_with("t: /size: unknown size or"));
  CHECK(
      refusal_of(with(poisson, "size", Json::parse(R"({"cdf": [["2 KB", 0.5], ["1 KB", 1]]})"))) ==
      "t: /size/cdf/1: sizes and parts must grow");
  CHECK(refusal_of(with(poisson, "size", Json::parse(R"({"cdf": [["2 KB", 0.5]]})"))) ==
        "t: /size/cdf: the last part must be 1");
  CHECK(refusal_of(with(poisson, "among", "3")) == "t: /: traffic needs two workers");
  CHECK(refusal_of(with(poisson, "among", "3-99")) ==
        "t: /among: there is no worker 99: the last one is 15");
  CHECK(refusal_of(with(poisson, "laod", 1)).find("unknown field \"laod\"") != std::string::npos);
  CHECK(refusal_of(poisson, 1) == "t: /: traffic needs two workers; the cluster has 1");
  CHECK(refusal_of(Json::array()) == "t: /: no flows");
  CHECK(refusal_of({{"generator", "incast"}, {"size", "1 B"}, {"from", "0"}}) ==
        "t: /: worker 0 would send to itself");
  CHECK(refusal_of({{"generator", "permutation"}, {"size", "1 B"}, {"shift", 16}})
            .starts_with("t: /shift: expected a whole number from 1 to 15"));
  CHECK(refusal_of(
            {{"generator", "listed"}, {"list", {{{"from", 1}, {"to", 1}, {"size", "1 B"}}}}}) ==
        "t: /list/0: worker 1 would send to itself");
  const auto table = [](const std::string& text) -> std::string {
    try {
      parse_flows_csv(text, "t.csv", 8);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string head = "start_us,from,to,size_B\n";
  CHECK(table(head + "1.5,0,7,10\n\n# end\n").empty());
  CHECK(table("to,size_B,from,start_ns\n7,10,0,3\n").empty());
  CHECK(table("\"start_us\",\"from\",\"to\",\"size_B\"\n\"1.5\",0,\"7\",10\n").empty());
  CHECK(table("") == "t.csv: no flows");
  CHECK(table(head) == "t.csv: no flows");
  CHECK(table("start_us,from,to\n") == "t.csv: line 1: the column size_B is missing");
  CHECK(table("start_us,from,from,to\n") == "t.csv: line 1: the column from is there twice");
  CHECK(table("start,from,to,size_B\n").starts_with("t.csv: line 1: unknown column \"start\""));
  CHECK(table(head + "1,0,7\n") == "t.csv: line 2: expected 4 fields, got 3");
  CHECK(table(head + "1,0,8,5\n").starts_with("t.csv: line 2: expected a worker, a whole number"));
  CHECK(table(head + "-1,0,7,5\n").starts_with("t.csv: line 2: expected a start"));
  CHECK(table(head + "1,0,0,5\n") == "t.csv: line 2: worker 0 would send to itself");
  CHECK(table(head + "1,0,1,0\n").starts_with("t.csv: line 2: expected a size in bytes"));
  CHECK(table(head + "1,0,1,2.5\n").starts_with("t.csv: line 2: expected a size in bytes"));
}

// Bytes are conserved: what first and last links carry is what was sent.
TEST_CASE("traffic: bytes are conserved, and no link gives more than it has") {
  const Document document = Document::read(std::string(SGDSIM_SOURCE_DIR) +
                                           "/topologies/data/leaf_spine_oversubscribed.json");
  const Cluster cluster = read_cluster(document.root()).cluster;
  for (const Routing routing : {Routing::by_destination, Routing::hashed, Routing::split}) {
    const auto wires = cluster.wires({.routing = routing});
    const auto flows = read_flows(
        Value({{"generator", "poisson"}, {"load", 0.4}, {"size", "web_search"}, {"count", 400}},
              "t", ""),
        cluster.network, 3);
    FlowsQuestion question;
    question.flows = flows;
    question.network = &cluster.network;
    question.resources = wires.get();
    question.interval = Duration::us(50);
    question.intervals = 1 << 20;
    for (uint32_t way = 0; way < wires->capacities().size(); ++way) question.watched.push_back(way);
    const FlowsPlayed played = play_flows(question);
    double sent_B = 0;
    double carried_B = 0;
    for (const PlainFlow& flow : flows) sent_B += static_cast<double>(flow.size.count());
    const std::vector<double> capacities = wires->capacities();
    for (uint32_t way = 0; way < capacities.size(); ++way) {
      const ResourceName name = wires->name_of(way);
      double seen_B = 0;
      for (const double part : played.watched[way]) {
        REQUIRE(part <= 1 + 1e-9);
        seen_B += part * 50e6 * capacities[way];
      }
      REQUIRE(std::abs(seen_B - played.carried_B[way]) <= 1e-6 * sent_B);
      if (name.from.starts_with("node")) carried_B += played.carried_B[way];
    }
    CHECK(std::abs(carried_B / sent_B - 1) < 1e-12);
    for (std::size_t i = 0; i < flows.size(); ++i)
      REQUIRE(played.ends[i] - flows[i].start >=
              alone(flows[i], cluster.network) - Duration::ps(1));
  }
}

TEST_CASE("traffic: the command, and the files that ship") {
  const std::string rack = "topologies/data/mgwfbp_paper_10gbe.json";
  const Ran table =
      run_sgdsim({"traffic", "app/flows/incast_4.csv", "-c", rack, "--format", "json"});
  REQUIRE(table.exit_code == 0);
  const Json incast = Json::parse(table.out);
  // Of mgwfbp_paper_10gbe: 45.25 us, and 0.9934 ms for a MB. Three share the port until the fourth
  // comes after 0.1 ms; together they need four times as long as one, and the fourth has as much
  // left then.
  const double byte_ms = 0.9934107462565104;
  const auto end_ms = [&](std::size_t flow) {
    return incast["flows"][flow]["end_ps"].get<double>() / 1e9;
  };
  CHECK(std::abs(end_ms(3) - (0.04525 + 4 * byte_ms)) < 1e-6);
  // While there are four, each of the three gets a quarter, of what 0.1 ms at a third leaves.
  CHECK(std::abs(end_ms(0) - (0.04525 + 0.1 + 4 * (byte_ms - 0.1 / 3))) < 1e-6);
  CHECK(incast["completion_us"]["max"].get<double>() == doctest::Approx(1e3 * end_ms(0)));
  CHECK(incast["complete"] == true);
  for (const auto& [file, cluster] :
       {std::pair("poisson_half.json", "fat_tree_k8.json"),
        std::pair("web_search_and_incast.json", "leaf_spine_144.json"),
        std::pair("closed_spine.json", "leaf_spine_144.json")}) {
    const Ran ran = run_sgdsim({"traffic", std::string("app/flows/") + file, "-c",
                                std::string("topologies/data/") + cluster, "--format", "json",
                                "--no-flows", "--bins", "4", "--links", "3"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    const Json json = Json::parse(ran.out);
    CHECK(json["flows_ended"] == json["flow_count"]);
    CHECK_FALSE(json.contains("flows"));
    CHECK(json["busiest"].size() == 3);
    CHECK(json["busiest"][0]["over_time"].size() == 4);
    double mean = 0;
    for (const Json& part : json["busiest"][0]["over_time"]) mean += part.get<double>() / 4;
    // Where a link changes, intervals count against what it can carry in each of them.
    const double apart = std::string(file).starts_with("closed") ? 0.02 : 1e-3;
    CHECK(mean == doctest::Approx(json["busiest"][0]["utilisation"].get<double>()).epsilon(apart));
    CHECK(json["slowdown"]["p50"].get<double>() >= 1 - 1e-9);
  }
  const auto log_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "traffic");
    const Ran ran = run_sgdsim(words);
    return std::to_string(ran.exit_code) + " " + ran.log;
  };
  CHECK(log_of({"no.json", "-c", rack}).starts_with("2 sgdsim: no.json: "));
  CHECK(log_of({"app/flows/incast_4.csv"}).starts_with("2 sgdsim: --cluster"));
  CHECK(log_of({"app/flows/incast_4.csv", "-c", rack, "--bins", "3"}) ==
        "2 sgdsim: --bins: what links carry over time is shown with --format json only\n");
  CHECK(log_of({"app/flows/incast_4.csv", "-c", rack, "--set", "nodes=4"})
            .starts_with("2 sgdsim: app/flows/incast_4.csv: line 5: expected a worker"));
  CHECK(log_of({"app/flows/incast_4.csv", "-c", rack, "--routing", "random"})
            .starts_with("2 sgdsim: --routing: unknown routing"));
  CHECK(log_of({"app/flows/closed_spine.json", "-c", rack})
            .starts_with("2 sgdsim: app/flows/closed_spine.json: /flows/shift: "));
  CHECK(
      log_of({"app/flows/closed_spine.json", "-c", rack, "--set", "nodes=40"})
          .starts_with("2 sgdsim: app/flows/closed_spine.json: /changes/0/vertex: unknown vertex"));
}

TEST_CASE("traffic: flows that never have a way are named, with exit code 4") {
  const std::string text =
      R"({"flows": {"generator": "permutation", "size": "1 MB", "shift": 1},
          "changes": [{"at": "1 us", "vertex": "node2", "bandwidth": 0}]})";
  const Temporary file(Temporary::Kind::file, text);
  const Ran ran =
      run_sgdsim({"traffic", file.name(), "-c", "topologies/data/mgwfbp_paper_10gbe.json"});
  CHECK(ran.exit_code == 4);
  CHECK(ran.log ==
        "sgdsim: the network is stuck: 2 flows have no way\n"
        "  flow 1: 1000000 B from worker 1 to worker 2: still waiting\n"
        "  flow 2: 1000000 B from worker 2 to worker 3: still waiting\n");
}

// A third of what a spine carries is lost from 0.5 ms on, acknowledgements too, and all of what
// goes to a host from 3 ms on: who sends to that host gives up, and nobody else asks for ever.
TEST_CASE("traffic: senders that lost acknowledgements hear that all has come") {
  const std::string text = R"({"flows": {"generator": "permutation", "size": "2 MB"},
      "changes": [{"at": "500 us", "vertex": "spine0", "loss": 0.3},
                  {"at": "3 ms", "link": ["node7", "leaf1"], "loss": 1}]})";
  const Temporary file(Temporary::Kind::file, text);
  const Json racks = {{"shape", "leaf_spine"},
                      {"nodes", 8},
                      {"nodes_per_leaf", 4},
                      {"spines", 2},
                      {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}},
                      {"uplink", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
  const Temporary cluster(Temporary::Kind::file, racks.dump());
  for (const char* seed : {"1", "2", "3", "4"}) {
    CAPTURE(seed);
    const Ran ran = run_sgdsim({"traffic", file.name(), "-c", cluster.name(), "--fidelity",
                                "packet", "--transport", "ndp", "--seed", seed});
    CHECK(ran.exit_code == 4);
    CHECK(ran.log.find("worker 7") != std::string::npos);
  }
}

// Flows are printed one by one, and yet like the rest of the answer.
TEST_CASE("traffic: the text of an answer is that of its JSON") {
  const std::string text =
      R"({"flows": [{"generator": "permutation", "size": "1 MB", "shift": 1},
                    {"generator": "poisson", "size": "1 KB", "count": 700, "load": 0.1}],
          "changes": [{"at": "1 us", "vertex": "node2", "bandwidth": 0}]})";
  const Temporary file(Temporary::Kind::file, text);
  const std::vector<std::vector<std::string>> more = {
      {}, {"--no-flows"}, {"--fidelity", "packet", "--transport", "dctcp"}};
  for (const std::vector<std::string>& options : more) {
    std::vector<std::string> words = {"traffic",  file.name(),
                                      "-c",       "topologies/data/mgwfbp_paper_10gbe.json",
                                      "--format", "json"};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 4);
    const Json json = Json::parse(ran.out);
    CHECK(ran.out == json.dump(1) + "\n");
    const bool lists = options != more[1];
    CHECK(json.contains("flows") == lists);
    if (!lists) continue;
    CHECK(json["flows"].size() == json["flow_count"]);
    CHECK(json["flows"][1]["end_ps"].is_null());
    CHECK(json["flows"][0]["end_ps"].is_number_integer());
    CHECK(json["flows"][0].contains("delivered") == (json["fidelity"] == "packet"));
  }
}

// Packets are sent again and again to a worker that is gone, long after the flow of others: no link
// is in use for longer than it is watched.
TEST_CASE("traffic: links in a network that is stuck") {
  const std::string text =
      R"({"flows": [{"generator": "incast", "to": 0, "from": "1-2", "size": "1 MB"},
                    {"generator": "incast", "to": 5, "from": "6", "size": "1 MB"}],
          "changes": [{"at": "10 us", "vertex": "node0", "bandwidth": 0}]})";
  const Temporary file(Temporary::Kind::file, text);
  for (const char* transport : {"pfabric", "mlt", "ndp", "dctcp", "ideal"}) {
    CAPTURE(transport);
    const Ran ran = run_sgdsim({"traffic", file.name(), "-c", "topologies/data/leaf_spine_144.json",
                                "--fidelity", "packet", "--transport", transport, "--format",
                                "json", "--bins", "4"});
    REQUIRE(ran.exit_code == 4);
    const Json json = Json::parse(ran.out);
    CHECK(json["flows_ended"] == 1);
    CHECK(json["delivered"]["least"] <= json["delivered"]["mean"]);
    CHECK(json["until_us"] >= json["makespan_us"]);
    REQUIRE_FALSE(json["busiest"].empty());
    const double until_us = json["until_us"].get<double>();
    CHECK(json["interval_us"].get<double>() == doctest::Approx(until_us / 4));
    constexpr double per_us_B = 12'500;  // 100 Gbit/s
    for (const Json& link : json["busiest"]) {
      const double part = link["utilisation"].get<double>();
      CHECK(part <= 1.0 + 1e-12);
      CHECK(part == doctest::Approx(link["carried_B"].get<double>() / per_us_B / until_us));
      const auto over_time = link["over_time"].get<std::vector<double>>();
      REQUIRE(over_time.size() == 4);
      // A packet that is being sent at the end is carried as a whole.
      CHECK((over_time[0] + over_time[1] + over_time[2] + over_time[3]) / 4 ==
            doctest::Approx(part).epsilon(1e-3));
    }
  }
}

TEST_CASE("traffic: a seed where nothing draws is refused") {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"traffic", "app/flows/incast_4.csv", "-c", "10gbe_16", "--seed", "1"});
    return run_sgdsim(more);
  };
  const Ran refused = with({});
  CHECK(refused.exit_code == 2);
  CHECK(refused.log ==
        "sgdsim: --seed: has no effect without --fidelity packet or --routing hashed\n");
  CHECK(with({"--routing", "hashed"}).exit_code == 0);
  CHECK(with({"--fidelity", "packet"}).exit_code == 0);
}

// Of packets that a link loses: the file's seed draws as `--seed` does.
TEST_CASE("traffic: the seed of the file draws losses, too") {
  const auto makespan = [](int in_file, const std::vector<std::string>& more) {
    const Json json = {
        {"seed", in_file},
        {"flows", {{{"generator", "incast"}, {"to", 7}, {"from", "0"}, {"size", "2 MB"}}}},
        {"changes", {{{"at", "0 us"}, {"link", {"node7", "switch"}}, {"loss", 0.2}}}}};
    const Json star = {{"shape", "single_switch"},
                       {"nodes", 8},
                       {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
    const Temporary file(Temporary::Kind::file, json.dump()),
        cluster(Temporary::Kind::file, star.dump());
    std::vector<std::string> words = {"traffic", file.name(),   "-c",  cluster.name(), "--fidelity",
                                      "packet",  "--transport", "ndp", "--format",     "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["makespan_ps"].get<int64_t>();
  };
  const int64_t second = makespan(2, {});
  CHECK(makespan(2, {}) == second);
  CHECK(makespan(1, {"--seed", "2"}) == second);
  CHECK(makespan(3, {}) != second);
  CHECK(makespan(2, {"--seed", "3"}) == makespan(3, {}));
}
