// Fidelity flow: against drawings, against ports where wires say the same, and against the fidelity
// message where nothing is shared.
#include <algorithm>
#include <doctest/doctest.h>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "models/step/jobs_in_time.h"
#include "models/step/step.h"
#include "models/step/step_schedule.h"
#include "sim/core/error.h"
#include "sim/play/play_flows.h"
#include "sim/play/quiet.h"
#include "sim/play/replay.h"
#include "study/step/experiment.h"
#include "tests/collective_cases.h"
#include "tests/flow_cases.h"
#include "tests/random_layers.h"
#include "tests/rounds.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

Json fat_tree(int k, int nodes) {
  return {{"shape", "fat_tree"},
          {"k", k},
          {"nodes", nodes},
          {"nic", {{"latency", "1 us"}, {"per_byte", "80 ps/B"}}},
          {"uplink", {{"latency", "2 us"}, {"per_byte", "80 ps/B"}}}};
}

}  // namespace

// One rack of two workers, two spines: 4 us of latency between racks, 2 us within one.
TEST_CASE("flow: by hand, on two racks") {
  const Cluster racks = cluster_of(leaf_spine(4, 2, 1));
  // Alone: latency, then 1 ms for 1 MB.
  CHECK(end_of(played(racks, {flow(0, 0, 2, 1'000'000)}), 0) == us(1004));
  CHECK(end_of(played(racks, {flow(3, 0, 1, 1'000'000)}), 0) == us(3 + 1002));
  // Both cross the one uplink: each gets half of it.
  const FlowsPlayed two = played(racks, {flow(0, 0, 2, 1'000'000), flow(0, 1, 3, 1'000'000)});
  CHECK(end_of(two, 0) == us(2004));
  CHECK(end_of(two, 1) == us(2004));
  // Two spines: each receiver's number chooses another one.
  const FlowsPlayed apart =
      played(cluster_of(leaf_spine(4, 2, 2)), {flow(0, 0, 2, 1'000'000), flow(0, 1, 3, 1'000'000)});
  CHECK(end_of(apart, 0) == us(1004));
  CHECK(end_of(apart, 1) == us(1004));
  // Split over both spines, the same.
  const FlowsPlayed split =
      played(cluster_of(leaf_spine(4, 2, 2)),
             {flow(0, 0, 2, 1'000'000), flow(0, 1, 2 + 1, 1'000'000)}, {.routing = Routing::split});
  CHECK(end_of(split, 0) == us(1004));
  // Both ways at once is no sharing.
  const FlowsPlayed duplex = played(racks, {flow(0, 0, 2, 1'000'000), flow(0, 2, 0, 1'000'000)});
  CHECK(end_of(duplex, 0) == us(1004));
  // The second one comes when the first has 500 KB left, and both have half from then on: the first
  // ends at 4 + 500 + 1000, and the second has the last half of its bytes alone.
  const FlowsPlayed later = played(racks, {flow(0, 0, 2, 1'000'000), flow(500, 1, 3, 1'000'000)});
  CHECK(end_of(later, 0) == us(1504));
  CHECK(end_of(later, 1) == us(2004));
}

TEST_CASE("flow: an incast, and the parking lot of a chain") {
  const Cluster rack = cluster_of({{"shape", "single_switch"},
                                   {"nodes", 1001},
                                   {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}});
  std::vector<PlainFlow> incast;
  for (int from = 1; from <= 1000; ++from) incast.push_back(flow(0, from, 0, 1'000));
  const FlowsPlayed all = played(rack, incast);
  for (std::size_t i = 0; i < incast.size(); ++i) REQUIRE(end_of(all, i) == us(1002));
  // Node 3 is fed over three links; the one-hop flows have theirs for themselves afterwards. All
  // have half of their link until the short ones are done, and then the long one has all of them.
  const Cluster chain = cluster_of(
      {{"shape", "chain"}, {"nodes", 4}, {"link", {{"latency", "0 us"}, {"per_byte", "1 ns/B"}}}});
  const FlowsPlayed lot = played(chain, {flow(0, 0, 3, 1'000'000), flow(0, 0, 1, 500'000),
                                         flow(0, 1, 2, 500'000), flow(0, 2, 3, 500'000)});
  CHECK(end_of(lot, 1) == us(1000));
  CHECK(end_of(lot, 2) == us(1000));
  CHECK(end_of(lot, 3) == us(1000));
  CHECK(end_of(lot, 0) == us(1500));
}

TEST_CASE("flow: wires that get slow, close and open again") {
  const Cluster racks = cluster_of(leaf_spine(4, 2, 2));
  const auto wires = racks.wires({});
  const std::vector<PlainFlow> flows = {flow(0, 0, 2, 1'000'000), flow(0, 1, 3, 1'000'000)};
  // Worker 2's spine closes after 504 us, 500 KB have gone: both share the other one, 500 KB each.
  const WireChange closed{Time() + us(504), ways_at(*wires, "spine0"), 0};
  const FlowsPlayed shared = played(racks, flows, {}, {closed});
  CHECK(end_of(shared, 0) == us(1504));
  CHECK(end_of(shared, 1) == us(1504));
  // It opens again when each has 250 KB left.
  const WireChange opened{Time() + us(1004), ways_at(*wires, "spine0"), 1};
  const FlowsPlayed again = played(racks, flows, {}, {closed, opened});
  CHECK(end_of(again, 0) == us(1254));
  // A link with a quarter of its bandwidth, for what is left after 504 us.
  const WireChange slow{Time() + us(504), ways_at(*wires, "leaf0", "spine0"), 0.25};
  CHECK(end_of(played(racks, flows, {}, {slow}), 0) == us(504 + 2000));
  CHECK(end_of(played(racks, flows, {}, {slow}), 1) == us(1004));
  // A worker's only link: it waits until there is a way, and for ever if there is none.
  const WireChange cut{Time() + us(504), ways_at(*wires, "node2"), 0};
  const WireChange mended{Time() + us(3000), ways_at(*wires, "node2"), 1};
  CHECK(end_of(played(racks, flows, {}, {cut, mended}), 0) == us(3500));
  const FlowsPlayed stuck = played(racks, flows, {}, {cut});
  CHECK(stuck.ends[0] == Time::last());
  CHECK(end_of(stuck, 1) == us(1004));
  CHECK(stuck.stranded == std::vector<std::size_t>{0});
  CHECK(stuck.until == Time() + us(1004));
  // What happens later might have given it a way.
  const WireChange later{Time() + us(3000), ways_at(*wires, "leaf0", "spine0"), 0.25};
  CHECK(played(racks, flows, {}, {cut, later}).until == Time() + us(3000));
}

// 1 ns/B: 9 * 10^15 B take 9 * 10^18 ps, and a clock of 64 bits goes to 9.22 * 10^18.
TEST_CASE("flow: a message may take nearly all of the clock") {
  const std::string cluster =
      R"({"shape": "single_switch", "nodes": 2, "nic": {"latency": "0 us", "per_byte": "1 ns/B"}})";
  const auto ran = [&](const std::string& bytes) {
    const std::string traffic =
        R"({"flows": {"generator": "listed", "list": [{"from": 0, "to": 1, "size": ")" + bytes +
        R"("}]}})";
    return run_sgdsim({"traffic", traffic, "-c", cluster, "--format", "json"});
  };
  CHECK(Json::parse(ran("9000000000000000B").out)["makespan_ps"] == 9'000'000'000'000'000'000);
  CHECK(ran("9300000000000000B").exit_code == 2);
}

// At one switch, the links of workers are their ports: messages share the same things.
TEST_CASE("flow: at one switch, flows are messages that share ports") {
  Random random(29);
  int compared = 0;
  int unlike = 0;
  for (int round = 0; round < rounds(60); ++round)
    for_each_offer([&](const Algorithm& algorithm, Operation operation) {
      CollectiveCase one =
          draw_case(random, algorithm, operation,
                    {.most_ranks = 12, .most_messages = 2'000, .uniform_network = true});
      if (one.ranks() < 2 || one.options.of(duplex_of_links)) return;
      const Network network =
          Network::uniform(one.ranks(), {Duration::us(1), PerByte::ps(800), PerByte::ps(100)});
      one.network = network;
      if (round % 2 == 0) one.starts = draw_starts(random, one.ranks());
      const Cluster cluster =
          cluster_of({{"shape", "single_switch"},
                      {"nodes", one.ranks()},
                      {"nic", {{"latency", "0.5 us"}, {"per_byte", "800 ps/B"}}}});
      const auto wires = cluster.wires({});
      Program program;
      try {
        program = one.program();
      } catch (const InputError&) {
        return;
      }
      PlayOptions ports{.alpha = AlphaRule::wire,
                        .jitter = one.jitter,
                        .path = PathChoice::events,
                        .shares_ports = true};
      PlayOptions flows{.alpha = AlphaRule::wire,
                        .jitter = one.jitter,
                        .path = PathChoice::events,
                        .resources = wires.get()};
      const Played by_ports = play(program, network, ports, one.starts);
      const Played by_flows = play(program, network, flows, one.starts);
      ++compared;
      CAPTURE(one.text());
      const int64_t off_ps = (by_ports.last_end() - by_flows.last_end()).ps();
      // Pipelines of many blocks have a share of a third at every block.
      const int64_t rounded_ps =
          std::max(by_ports.traffic.messages, by_ports.last_end().since_start().ps() / 10'000);
      REQUIRE(std::abs(off_ps) <= rounded_ps);
      unlike += off_ps != 0 ? 1 : 0;
      // However it is played.
      flows.path = PathChoice::fastest;
      const Played fastest = play(program, network, flows, one.starts);
      REQUIRE(std::abs((fastest.last_end() - by_flows.last_end()).ps()) <= rounded_ps);
    });
  CHECK(compared >= rounds(1'000));
  // Most are the same: ports have no shares of a third, and wires round them.
  CHECK(unlike <= compared / 20);
}

// Every port sends and receives one message at a time, of a size whose time is no whole picosecond.
TEST_CASE("flow: a ring at one switch has room, however times were rounded") {
  Random random(53);
  const Cluster cluster =
      cluster_of({{"shape", "single_switch"},
                  {"nodes", 5},
                  {"nic", {{"latency", "1 us"}, {"per_byte", "0.9934107462565104 ns/B"}}}});
  const auto wires = cluster.wires({});
  for (int round = 0; round < rounds(300); ++round) {
    CollectiveCase one;
    one.algorithm = &algorithm_named("ring", "");
    one.operation = Operation::allreduce;
    one.network = cluster.network;
    one.size = Bytes(static_cast<int64_t>(1 + random.below(1'000'000)));
    CAPTURE(one.size.count());
    CHECK(always_same_pairs(one.program(), cluster.network, *wires));
  }
}

// Rounds and rings that are proved to have room, against flows, on trees.
TEST_CASE("flow: where messages have room, no flow need be played") {
  Random random(43);
  int quiet = 0;
  for (int round = 0; round < rounds(300); ++round) {
    const int k = 4 + 2 * static_cast<int>(random.below(2));
    const int nodes = 2 + static_cast<int>(random.below(static_cast<uint64_t>(k * k * k / 4 - 1)));
    const Cluster cluster = cluster_of(fat_tree(k, nodes));
    const auto wires = cluster.wires({});
    for (const char* name : {"ring", "recursive_doubling", "halving_doubling", "direct"}) {
      CollectiveCase one;
      one.algorithm = &algorithm_named(name, "");
      one.operation = Operation::allreduce;
      one.network = cluster.network;
      one.size = Bytes(static_cast<int64_t>(1 + random.below(1'000'000)));
      Program program;
      try {
        program = one.program();
      } catch (const InputError&) {
        continue;
      }
      PlayOptions options{.alpha = random.below(2) == 0 ? AlphaRule::port : AlphaRule::wire,
                          .jitter = {},
                          .resources = wires.get()};
      const Played fastest = play(program, cluster.network, options);
      if (fastest.path == PathTaken::events) continue;
      ++quiet;
      options.path = PathChoice::events;
      const Played flows = play(program, cluster.network, options);
      CAPTURE(name);
      CAPTURE(nodes);
      REQUIRE(std::abs((flows.last_end() - fastest.last_end()).ps()) <= flows.traffic.messages);
      if (fastest.ends.size() == 1) continue;
      for (std::size_t i = 0; i < flows.ends.size(); ++i)
        REQUIRE(std::abs((flows.ends[i] - fastest.ends[i]).ps()) <= flows.traffic.messages);
    }
  }
  CHECK(quiet >= rounds(250));
}

// A step whose messages meet on uplinks, against its own schedule replayed flow by flow.
TEST_CASE("flow: a step is as long as its schedule, replayed") {
  Random random(61);
  int compared = 0;
  for (int round = 0; round < rounds(150); ++round)
    for (const char* algorithm : {"ring", "recursive_doubling", "halving_doubling", "direct"}) {
      const int nodes = 2 + static_cast<int>(random.below(9));
      const Json layers = random_layers(random, nodes, 40'000'000, 80'000'000);
      Json json = {{"trace", {{"layers", layers}}},
                   {"cluster", leaf_spine(nodes, 1 + static_cast<int>(random.below(4)),
                                          1 + static_cast<int>(random.below(2)))},
                   {"collective", {{"algorithm", algorithm}}},
                   {"strategy", random.below(2) == 0 ? "wfbp" : "mg_wfbp"},
                   {"fidelity", "flow"},
                   {"warm_up", 0}};
      if (random.below(2) == 0) json["workers"] = {{"slow", {{{"worker", 0}, {"factor", 1.4}}}}};
      if (random.below(2) == 0) json["collective"]["options"]["alpha"] = "wire";
      if (random.below(3) == 0) json["collective"]["options"]["routing"] = "split";
      CAPTURE(json.dump());
      try {
        const Experiment experiment = read_experiment(resolve_experiment(Value(json, "t", ""), {}));
        const StepQuestion question = experiment.question();
        // A schedule ends: nothing of a next iteration meets its last messages.
        const StepQuestion on_wires = on_its_wires(question);
        JobsQuestion alone = alone_in_time(on_wires);
        alone.jobs.front().goes_on = false;
        JobsInTime in_time(alone);
        StepQuestion accounted = question;
        accounted.played = [&](int iteration) { return in_time.times_of(0, iteration); };
        const StepResult result = simulate_step(accounted);
        const StepSchedule written(question);
        RankSchedule schedule(static_cast<uint32_t>(written.ranks()));
        for (int rank = 0; rank < written.ranks(); ++rank) {
          RankWork work = written.of_rank(rank);
          schedule.write(static_cast<uint32_t>(rank), work.operations, work.requirements);
        }
        const CollectiveOptions& options = experiment.cost.job().options;
        const auto wires = wires_of(experiment.cluster, options, 1);
        Replay replay;
        replay.schedule = &schedule;
        replay.network = &experiment.cluster.network;
        replay.alpha = options.alpha;
        replay.resources = wires.get();
        const Replayed replayed = play(replay);
        const Time last = *std::max_element(replayed.ends.begin(), replayed.ends.end());
        ++compared;
        REQUIRE(result.message_count == static_cast<int64_t>(replayed.messages));
        REQUIRE(std::abs((last - Time() - result.iterations.front()).ps()) <=
                static_cast<int64_t>(replayed.messages));
      } catch (const InputError&) {
        continue;  // no power of two
      }
    }
  CHECK(compared >= rounds(300));
}

// On a cluster whose messages have room, every strategy and synchronization that is played takes
// what it takes at fidelity message.
TEST_CASE("flow: without contention, a step is that of fidelity message") {
  const std::string folder = std::string(SGDSIM_SOURCE_DIR) + "/app/experiments/";
  const std::vector<Json> synchronizations = {
      "none", {{"name", "pipe_sgd"}, {"communication", "layerwise"}}, "pipe_sgd", "local_sgd"};
  int compared = 0;
  for (const char* strategy : {"naive", "wfbp", "sync_easgd", "mg_wfbp", "optimal", "fixed_buckets",
                               "ddp", "horovod", "bytescheduler", "p3", "omgs"})
    for (const Json& synchronization : synchronizations) {
      Json json = {
          {"trace", Document::read(folder + "bert_base_10gbe.json").root().json()["trace"]},
          {"cluster", fat_tree(4, 16)},
          {"collective", {{"algorithm", "ring"}}},
          {"strategy", strategy},
          {"synchronization", synchronization}};
      json["trace"] = folder + json["trace"].get<std::string>();
      std::vector<Duration> both;
      for (const char* fidelity : {"message", "flow"}) {
        json["fidelity"] = fidelity;
        try {
          both.push_back(
              simulate_step(
                  read_experiment(resolve_experiment(Value(json, "x", ""), {})).question())
                  .total());
        } catch (const InputError& error) {
          CHECK(std::string(error.what()).find("flow") == std::string::npos);
        }
      }
      REQUIRE(both.size() != 1);
      if (both.empty()) continue;
      CAPTURE(strategy);
      CAPTURE(synchronization.dump());
      CHECK(both[0] == both[1]);
      ++compared;
    }
  CHECK(compared >= 20);
}

// A worker alone sends nothing: it takes its own time, and no wire is in use.
TEST_CASE("flow: one worker") {
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    const Json json = {
        {"trace",
         {{"schema", "sgdsim/trace/1"},
          {"name", "t"},
          {"source", "invented"},
          {"layers",
           {{{"name", "a"}, {"parameters", 250000}, {"forward", "1 ms"}, {"backward", "2 ms"}}}}}},
        {"cluster",
         {{"shape", "single_switch"},
          {"nodes", 1},
          {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}}},
        {"collective", {{"algorithm", algorithm.name}}},
        {"fidelity", "flow"}};
    try {
      const Experiment experiment = read_experiment(resolve_experiment(Value(json, "x", ""), {}));
      const StepResult result = simulate_step(experiment.question());
      CHECK(result.total() == Duration::ms(3));
      CHECK(result.wires.busiest.empty());
    } catch (const InputError& error) {
      // A torus needs more than one worker; it says so.
      CHECK(std::string(error.what()).find("x: ") == 0);
    }
  }
}
