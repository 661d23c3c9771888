// What a run measures that does not say it: whole periods of the synchronization after its
// transient. And workers that are faster than the others, or listed twice.
#include <doctest/doctest.h>

#include "models/synchronization/registry.h"
#include "sim/core/error.h"
#include "study/step/experiment.h"
#include "study/step/result_json.h"

using namespace sgdsim;

namespace {

Json experiment(const Json& synchronization, const char* fidelity) {
  const bool servers = synchronization == "async_ps" || synchronization == "ssp";
  Json collective = {{"algorithm", "ring"}};
  if (servers) collective = {{"parameter_server", Json::object()}};
  return {{"schema", "sgdsim/experiment/1"},
          {"trace",
           {{"schema", "sgdsim/trace/1"},
            {"name", "one"},
            {"update", "0 us"},
            {"layers", Json::array({{{"name", "l"},
                                     {"parameters", 1'000'000},
                                     {"forward", "1 ms"},
                                     {"backward", "2 ms"}}})}}},
          {"cluster",
           {{"schema", "sgdsim/cluster/1"},
            {"shape", "single_switch"},
            {"nodes", 4},
            {"nic", {{"latency", "10 us"}, {"bandwidth", "10 Gbit/s"}}}}},
          {"collective", collective},
          {"synchronization", synchronization},
          {"fidelity", fidelity}};
}

struct Answer {
  double efficiency;
  double mean_us;
  std::vector<std::string> warnings;
  double wire_B;
  double busiest_B;  // what the busiest link carries
};

Answer play(const Json& json) {
  const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
  const StepResult result = simulate_step(experiment.question());
  const Metrics metrics = metrics_of(experiment, result);
  const std::vector<LinkUse>& links = result.wires.busiest;
  return {metrics.efficiency, metrics.mean_us, result.warnings, result.wire_B,
          links.empty() ? 0 : links.front().carried_B};
}

Answer in_the_long_run(Json json) {
  json["iterations"] = 600;
  json["warm_up"] = 600;
  return play(json);
}

}  // namespace

TEST_CASE("default iterations: the long run of every synchronization, and no efficiency above 1") {
  std::vector<Json> all;
  for (const SynchronizationKind& kind : synchronizations()) all.push_back(std::string(kind.name));
  for (const int width : {1, 2, 3, 5})
    for (const char* until : {"exchange", "computation"})
      for (const char* communication : {"sequential", "layerwise"})
        all.push_back({{"name", "pipe_sgd"},
                       {"width", width},
                       {"until", until},
                       {"communication", communication}});
  for (const int steps : {1, 2, 3, 50}) all.push_back({{"name", "local_sgd"}, {"steps", steps}});
  all.push_back({{"name", "pipe_sgd"}, {"synchronous_iterations", 7}});
  for (const Json& synchronization : all)
    for (const char* fidelity : {"closed_form", "message"})
      for (const bool slow : {false, true}) {
        CAPTURE(synchronization.dump());
        CAPTURE(fidelity);
        CAPTURE(slow);
        Json json = experiment(synchronization, fidelity);
        if (slow) json["workers"] = {{"slow", Json::array({{{"worker", 1}, {"factor", 2}}})}};
        const Answer answer = play(json);
        CHECK(answer.mean_us == doctest::Approx(in_the_long_run(json).mean_us).epsilon(0.01));
        CHECK(answer.efficiency <= 1);
        // Of workers that differ the formula says what it does not count.
        const bool is_limit = slow && std::string(fidelity) == "closed_form" &&
                              (synchronization == "async_ps" || synchronization == "ssp");
        CHECK(answer.warnings.size() == (is_limit ? 1 : 0));
      }
}

// 3 ms of computation; every fourth step an exchange of 2 (P-1) (alpha + n/P beta) with n = 4 MB,
// alpha = 20 us (10 us at each end) and beta = 0.8 ns/B.
TEST_CASE("default iterations: local SGD has its averages") {
  const double exchange_us = 6 * (20 + 1'000'000 * 0.8e-3);
  for (const char* fidelity : {"closed_form", "message"})
    CHECK(play(experiment("local_sgd", fidelity)).mean_us ==
          doctest::Approx(3000 + exchange_us / 4));
}

TEST_CASE("iterations: what is too short for a synchronization is a warning") {
  struct Row {
    Json synchronization;
    int warm_up, iterations;
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"local_sgd", 4, 1, "`iterations` 1 are not whole periods of local_sgd, which have 4"},
           {"local_sgd", 4, 6, "`iterations` 6 are not whole periods"},
           {"local_sgd", 2, 8, "`warm_up` 2 ends before the steady state of local_sgd"},
           {{{"name", "pipe_sgd"}, {"width", 5}}, 2, 1, "`warm_up` 2 ends before"},
           {"ssp", 10, 20, "`warm_up` 10 ends before the steady state of ssp, which 80"},
           {"async_ps", 20, 1, "`iterations` 1 are fewer than the mean of async_ps needs, 20"},
           {"local_sgd", 4, 8, ""},
           {"pipe_sgd", 4, 1, ""}}) {
    CAPTURE(row.synchronization.dump());
    Json json = experiment(row.synchronization, "message");
    json["warm_up"] = row.warm_up;
    json["iterations"] = row.iterations;
    const std::vector<std::string> warnings = play(json).warnings;
    CHECK(warnings.size() == (row.sentence.empty() ? 0 : 1));
    if (!row.sentence.empty() && !warnings.empty())
      CHECK(warnings.front().find(row.sentence) != std::string::npos);
  }
}

// 3 ms of computation, then 20 slices of 200 kB at 6 (20 us + 50 kB * 0.8 ns/B) each, for which the
// forward of the next iteration waits.
TEST_CASE("iterations: the first one waits for no message, where the forward waits for those") {
  const double slices_us = 20 * 6 * (20 + 50'000 * 0.8e-3);
  for (const char* fidelity : {"closed_form", "message", "flow"}) {
    CAPTURE(fidelity);
    Json json = experiment("none", fidelity);
    json["strategy"] = {{"name", "p3"}, {"slice", "200 KB"}};
    json["iterations"] = 4;
    const Answer whole = play(json);
    CHECK(whole.mean_us == doctest::Approx(3000 + slices_us));
    CHECK(whole.warnings.empty());
    json["warm_up"] = 0;
    const Answer from_start = play(json);
    const bool is_steady = json["fidelity"] == "closed_form";  // it plays one iteration for all
    CHECK(from_start.mean_us == doctest::Approx(3000 + slices_us * (is_steady ? 4 : 3) / 4));
    REQUIRE(from_start.warnings.size() == (is_steady ? 0 : 1));
    if (!is_steady) CHECK(from_start.warnings.front().starts_with("`warm_up` 0 takes in"));
    Json alone = json;
    alone["cluster"]["nodes"] = 1;
    CHECK(play(alone).warnings.empty());
    json["strategy"] = "wfbp";
    CHECK(play(json).warnings.empty());
  }
}

// Everybody sends 8 bytes for each entry that is left, of 1,000,000 first and then of 1000, to the
// next of four workers, three times.
TEST_CASE("iterations: bytes are the mean of those that are measured") {
  const double link_B = 3 * 8 * (1'000'000 + 1000) / 2.0;
  for (const char* fidelity : {"message", "flow", "packet"}) {
    CAPTURE(fidelity);
    for (const int warm_up : {0, 4}) {
      CAPTURE(warm_up);
      Json json = experiment("none", fidelity);
      json["compression"] = {
          {"name", "topk"},
          {"density", Json::array({{{"density", 1.0}, {"iterations", 1}}, {{"density", 0.001}}})}};
      json["iterations"] = 2;
      json["warm_up"] = warm_up;
      const Answer answer = play(json);
      CHECK(answer.wire_B == doctest::Approx(4 * link_B));
      if (json["fidelity"] != "message") CHECK(answer.busiest_B == doctest::Approx(link_B));
    }
  }
}

// The first exchange would be that of the fourth iteration.
TEST_CASE("iterations: links are idle as long as nothing is sent") {
  for (const char* fidelity : {"flow", "packet"})
    for (const int warm_up : {0, 1}) {
      Json json = experiment("local_sgd", fidelity);
      json["warm_up"] = warm_up;
      json["iterations"] = 2;
      const Answer answer = play(json);
      CHECK(answer.wire_B == 0);
      CHECK(answer.busiest_B == 0);
      CHECK(answer.mean_us == doctest::Approx(3000));
    }
}

TEST_CASE("workers: a factor below 1 makes one faster, and the step is bound by the others") {
  for (const char* fidelity : {"closed_form", "message"}) {
    Json json = experiment("none", fidelity);
    const double alike_us = play(json).mean_us;
    json["workers"] = {{"slow", Json::array({{{"worker", 1}, {"factor", 0.5}}})}};
    CHECK(play(json).mean_us == alike_us);
    const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
    const StepResult result = simulate_step(experiment.question());
    if (result.workers.size() > 1) {
      CHECK(result.workers[1].forward == Duration::us(500));
      CHECK(result.workers[1].backward == Duration::ms(1));
      CHECK(result.workers[1].waiting == Duration::us(1500));
      CHECK(result.workers[0].forward == Duration::ms(1));
    }
    json["workers"]["slow"] = Json::array();
    for (int worker = 0; worker < 4; ++worker)
      json["workers"]["slow"].push_back({{"worker", worker}, {"factor", 0.5}});
    CHECK(play(json).mean_us == doctest::Approx(alike_us - 1500));
  }
}

TEST_CASE("workers: one that is listed twice is refused") {
  Json json = experiment("none", "message");
  json["workers"] = {
      {"slow", Json::array({{{"worker", 1}, {"factor", 2}}, {{"worker", 1}, {"factor", 3}}})}};
  CHECK_THROWS_WITH_AS(play(json), doctest::Contains("worker 1 is listed twice"), InputError);
}
