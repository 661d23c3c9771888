// No link is in use for more than all the time: where others' flows outlast the jobs, where
// messages outlast the iterations, where links get faster, and at random.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/play/replay.h"
#include "study/step/experiment.h"
#include "study/step/result_json.h"
#include "tests/jobs_cases.h"
#include "tests/rounds.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

// Times are whole picoseconds, and messages of these tests take a microsecond or more.
constexpr double all_the_time = 1 + 1e-6;

Json answer_of(const std::vector<std::string>& words) {
  const Ran ran = run_sgdsim(words);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

void check_links(const Json& answer) {
  for (const Json& kind : answer["kinds"]) {
    CHECK(kind["utilisation_max"].get<double>() <= all_the_time);
    CHECK(kind["utilisation_mean"].get<double>() <= all_the_time);
  }
  for (const Json& link : answer["busiest"]) {
    CHECK(link["utilisation"].get<double>() <= all_the_time);
    if (!link.contains("over_time")) continue;
    for (const Json& part : link["over_time"]) CHECK(part.get<double>() <= all_the_time);
  }
}

Json jobs_answer(const Json& jobs) {
  const Temporary file(Temporary::Kind::file, jobs.dump());
  Json answer = answer_of({"jobs", file.name(), "--format", "json", "--bins", "7"});
  check_links(answer);
  return answer;
}

double use_between(const Json& answer, const std::string& from, const std::string& to) {
  for (const Json& link : answer["busiest"])
    if (link["from"] == from && link["to"] == to) return link["utilisation"].get<double>();
  return 0;
}

Json flow_between(int from, int to, const std::string& size) {
  return {{"generator", "listed"}, {"list", {{{"from", from}, {"to", to}, {"size", size}}}}};
}

}  // namespace

// The job sends 3 times 1 MB each way between workers 0 and 2; a byte takes 1 ns. From worker 2 to
// worker 0 it shares the uplinks with a flow of others, so that its 1 MB takes 2 ms: 3 x (308 +
// 2000) us.
TEST_CASE("link use: of what was carried while the jobs were there") {
  Json jobs = {{"cluster", racks}, {"jobs", Json::array({job("0,2")})}};
  const double end_us = 3 * 2308;
  jobs["traffic"] = {{"flows", flow_between(3, 1, "100 GB")}};
  const Json answer = jobs_answer(jobs);
  CHECK(answer["end_us"].get<double>() == doctest::Approx(end_us));
  // The flow of others has its card to itself for 308 us of each iteration and half of it for 2000;
  // it and the job's messages fill the uplink, but for the latency at the start.
  CHECK(use_between(answer, "node3", "leaf1") == doctest::Approx(1308. / 2308).epsilon(0.002));
  CHECK(use_between(answer, "leaf1", "spine0") > 0.998);
  CHECK(use_between(answer, "leaf1", "spine0") <= 1);
  CHECK(use_between(answer, "node0", "leaf0") == doctest::Approx(3e3 / end_us).epsilon(0.002));
}

// One layer: 1.2 ms of computation, and 3 ms of messages that the first iteration does not wait
// for.
TEST_CASE("link use: messages that outlast the iterations take their time") {
  Json experiment = one_layer;
  experiment["cluster"] = racks;
  experiment["fidelity"] = "flow";
  experiment["trace"]["layers"][0]["parameters"] = 1'000'000;
  for (const char* strategy : {"p3", "bytescheduler", "wfbp", "naive", "sync_easgd"})
    for (const char* synchronization : {"none", "pipe_sgd", "local_sgd"})
      for (const int warm_up : {0, 1, 3})
        for (const int iterations : {1, 2, 5}) {
          CAPTURE(strategy);
          CAPTURE(synchronization);
          CAPTURE(warm_up);
          CAPTURE(iterations);
          experiment["strategy"] = strategy;
          experiment["synchronization"] = synchronization;
          experiment["warm_up"] = warm_up;
          experiment["iterations"] = iterations;
          try {
            const StepResult result = simulate_step(
                read_experiment(resolve_experiment(Value(experiment, "test", ""), {})).question());
            for (const LinkUse& link : result.wires.busiest)
              CHECK(link.utilisation <= all_the_time);
          } catch (const InputError&) {
            // a strategy that this synchronization does not play
          }
        }
}

// 125 MB over links of 10 Gb/s that carry four times as much from the start, or from half way on.
TEST_CASE("link use: of what a link can carry when it has become faster") {
  for (const auto& [at, use] : {std::pair("0 us", 1.0), std::pair("50 ms", 1.0)}) {
    const auto& at_said = at;
    CAPTURE(at_said);
    const Json traffic = {{"flows", flow_between(0, 1, "125 MB")},
                          {"changes",
                           {{{"at", at}, {"vertex", "node0"}, {"bandwidth", 4}},
                            {{"at", at}, {"vertex", "node1"}, {"bandwidth", 4}}}}};
    const Temporary file(Temporary::Kind::file, traffic.dump());
    for (const char* fidelity : {"flow", "packet"}) {
      CAPTURE(fidelity);
      const Json answer =
          answer_of({"traffic", file.name(), "-c", "topologies/data/mgwfbp_paper_10gbe.json",
                     "--fidelity", fidelity, "--format", "json", "--bins", "5"});
      for (const Json& link : answer["busiest"])
        CHECK(link["utilisation"].get<double>() <= use * all_the_time);
    }
  }
}

TEST_CASE("link use: jobs and traffic at random") {
  Random random(83);
  const auto below = [&](uint64_t count) { return static_cast<int>(random.below(count)); };
  for (int round = 0; round < rounds(60); ++round) {
    CAPTURE(round);
    Json cluster = racks;
    cluster["nodes"] = 8;
    cluster["nodes_per_leaf"] = 2 + 2 * below(2);
    cluster["spines"] = 1 + below(3);
    Json list = Json::array();
    for (int i = 0; i < 1 + below(6); ++i) {
      const int from = below(8);
      list.push_back({{"from", from},
                      {"to", (from + 1 + below(7)) % 8},
                      {"start", std::to_string(below(3000)) + " us"},
                      {"size", std::to_string(1 + below(20'000)) + " KB"}});
    }
    Json traffic = {{"flows", {{"generator", "listed"}, {"list", list}}}};
    const char* const factors[] = {"0.25", "0.5", "3"};
    traffic["changes"] = {{{"at", std::to_string(below(3000)) + " us"},
                           {"link", {"leaf0", "spine0"}},
                           {"bandwidth", Json::parse(factors[below(3)])}}};
    Json first = one_layer;
    const char* const strategies[] = {"wfbp", "p3", "mg_wfbp"};
    first["strategy"] = strategies[below(3)];
    first["warm_up"] = below(2);
    first["iterations"] = 1 + below(4);
    Json second = first;
    if (below(3) == 0) second["collective"] = {{"parameter_server", {{"placement", "co_located"}}}};
    jobs_answer({{"cluster", cluster},
                 {"seed", round},
                 {"jobs",
                  {{{"experiment", first}, {"workers", 2 + below(3)}, {"placement", "random"}},
                   {{"experiment", second},
                    {"workers", 2 + below(2)},
                    {"placement", "spread"},
                    {"start", std::to_string(below(2000)) + " us"}}}},
                 {"traffic", traffic}});
    const Temporary flows(Temporary::Kind::file, traffic.dump());
    const Temporary on(Temporary::Kind::file, cluster.dump());
    check_links(
        answer_of({"traffic", flows.name(), "-c", on.name(), "--format", "json", "--bins", "9"}));
  }
}

// A schedule whose messages wait for a link that closes, beside flows that outlast it.
TEST_CASE("link use: of a schedule that is replayed") {
  const Cluster cluster = read_cluster(Value(racks, "test", "")).cluster;
  Random random(29);
  for (int round = 0; round < rounds(40); ++round) {
    RankSchedule schedule(4);
    for (uint32_t rank = 0; rank < 4; ++rank) {
      std::vector<RankOperation> operations;
      for (const uint32_t peer : {rank ^ 2U, rank ^ 1U}) {
        operations.push_back({.amount = 1'000'000, .peer = peer, .verb = RankVerb::send});
        operations.push_back({.amount = 1'000'000, .peer = peer, .verb = RankVerb::receive});
      }
      std::vector<RankSchedule::Requirement> none;
      schedule.write(rank, operations, none);
    }
    const auto wires = cluster.wires({});
    const std::vector<PlainFlow> others = {
        {.start = Time() + Duration::us(static_cast<int64_t>(random.below(2000))),
         .size = Bytes(static_cast<int64_t>(1 + random.below(1'000'000'000))),
         .from = 0,
         .to = 3}};
    const Replayed played = play(Replay{.schedule = &schedule,
                                        .costs = {},
                                        .network = &cluster.network,
                                        .resources = wires.get(),
                                        .meanwhile = {others, {}}});
    const WireUse use = use_of(*wires, played.carried_B, played.until - Time(), 100);
    REQUIRE_FALSE(use.busiest.empty());
    for (const LinkUse& link : use.busiest) CHECK(link.utilisation <= all_the_time);
  }
}
