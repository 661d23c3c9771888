// Steps whose iterations repeat, against all of their iterations.
#include <algorithm>
#include <doctest/doctest.h>

#include "models/step/step_alone.h"
#include "study/step/experiment.h"
#include "tests/jobs_cases.h"
#include "tests/random_layers.h"
#include "tests/rounds.h"

namespace sgdsim {
namespace {

Json random_experiment(Random& random) {
  const auto one_of = [&](const std::vector<Json>& all) { return all[random.below(all.size())]; };
  const int nodes = 2 + static_cast<int>(random.below(6));
  const Json layers = random_layers(random, nodes, 60'000'000, 90'000'000);
  Json cluster = racks;
  cluster["nodes"] = nodes;
  Json experiment = {
      {"trace", {{"update", "3 us"}, {"layers", layers}}},
      {"cluster", cluster},
      {"strategy", one_of({"wfbp",
                           "sync_easgd",
                           {{"name", "p3"}, {"slice", "9 KB"}},
                           {{"name", "bytescheduler"}, {"partition", "20 KB"}, {"credit", "30 KB"}},
                           {{"name", "horovod"}, {"cycle", "40 us"}, {"threshold", "30 KB"}}})},
      {"fidelity", one_of({"flow", "flow", "message"})},
      {"iterations", 14},
      {"warm_up", one_of({0, 2})}};
  if (random.below(2) == 0) {
    experiment["collective"] = {
        {"parameter_server",
         {{"servers", 1 + random.below(3)}, {"sharding", one_of({"uniform", "hashed"})}}}};
    if (random.below(2) == 0)
      experiment["collective"]["parameter_server"]["placement"] = "co_located";
  } else {
    experiment["collective"] = {
        {"algorithm", one_of({"ring", "direct", "double_binary_tree", "mst"})}};
  }
  if (random.below(2) == 0) experiment["workers"] = {{"slow", {{{"worker", 0}, {"factor", 1.4}}}}};
  if (experiment["strategy"].is_string()) {
    if (random.below(2) == 0) experiment["channels"] = 2;
    if (random.below(3) == 0)
      experiment["synchronization"] = {{"name", "local_sgd"}, {"steps", 1 + random.below(3)}};
  }
  if (random.below(3) == 0) experiment["interference"] = 1.2;
  if (random.below(4) == 0) experiment["compression"] = "truncate16";
  if (random.below(3) == 0) experiment["trace"]["load"] = one_of({"90 us", "250 us", "1 ms"});
  return experiment;
}

// Iteration by iteration as when each is simulated, to the picosecond, and as many bytes.
TEST_CASE("steps that repeat: as if every iteration were simulated") {
  Random random(311);
  int compared = 0;
  int repeating = 0;
  for (int round = 0; round < rounds(400); ++round) {
    const Json json = random_experiment(random);
    CAPTURE(json.dump());
    std::optional<Experiment> experiment;
    StepQuestion question;
    std::optional<JobsInTime> all;
    try {
      experiment = read_experiment(resolve_experiment(Value(json, "t", ""), {}));
      question = on_its_wires(experiment->question());
      all.emplace(alone_in_time(question));
    } catch (const InputError&) {
      continue;
    }
    StepAlone step(question, {}, true);
    ++compared;
    for (int i = 0; i < question.warm_up + question.iterations; ++i) {
      CAPTURE(i);
      const IterationTimes expected = all->times_of(0, i);
      const IterationTimes times = step.times_of(i);
      REQUIRE(times.size() == expected.size());
      for (std::size_t message = 0; message < times.size(); ++message) {
        REQUIRE(times[message].starts == expected[message].starts);
        REQUIRE(times[message].ends == expected[message].ends);
      }
    }
    if (step.repeats_behind()) ++repeating;
    CHECK(step.now() == all->now());
    CHECK(step.end() == all->end());
    const std::vector<double> carried_B = step.carried_B();
    const std::vector<double> expected = all->carried_B();
    REQUIRE(carried_B.size() == expected.size());
    for (std::size_t wire = 0; wire < expected.size(); ++wire)
      CHECK(carried_B[wire] == doctest::Approx(expected[wire]).epsilon(1e-9));
  }
  CHECK(compared >= rounds(200));
  CHECK(repeating >= compared / 3);
}

// Fast workers send of the next iteration while slow links still have the end of this one: it is as
// long as if others followed, however many are asked for.
TEST_CASE("steps: an iteration takes as long whatever is asked for behind it") {
  Random random(312);
  int compared = 0;
  for (int round = 0; round < rounds(200); ++round) {
    Json json = random_experiment(random);
    if (json["strategy"].is_string() && random.below(2) == 0)
      json["synchronization"] = {{"name", "pipe_sgd"}, {"width", 1 + random.below(4)}};
    json["channels"] = 1 + random.below(3);
    json["warm_up"] = 2;
    CAPTURE(json.dump());
    std::vector<Duration> lengths;
    try {
      json["iterations"] = 9;
      const Experiment many = read_experiment(resolve_experiment(Value(json, "t", ""), {}));
      lengths = simulate_step(many.question()).iterations;
    } catch (const InputError&) {
      continue;
    }
    ++compared;
    for (const int iterations : {1, 2, 4}) {
      json["iterations"] = iterations;
      const Experiment few = read_experiment(resolve_experiment(Value(json, "t", ""), {}));
      const StepResult result = simulate_step(few.question());
      REQUIRE(std::equal(result.iterations.begin(), result.iterations.end(), lengths.begin()));
    }
  }
  CHECK(compared >= rounds(100));
}

// A cycle of 1 ms takes the gradients of two iterations, each of which computes for 120 us: the
// second one waits for no cycle.
TEST_CASE("steps: an iteration that is unlike the one before it is told of") {
  const Json json = Json::parse(R"({
    "trace": {"layers": [{"name": "a", "parameters": 1000, "forward": "0 us", "backward": "10 us"},
                         {"name": "b", "parameters": 0, "forward": "100 us", "backward": "10 us"}]},
    "cluster": {"shape": "ring", "nodes": 3,
                "link": {"latency": "0.5 us", "per_byte": "8 ps/B", "reduce": "2 ps/B"}},
    "collective": {"algorithm": "direct", "options": {"alpha": "port"}},
    "synchronization": {"name": "pipe_sgd", "communication": "layerwise"},
    "strategy": {"name": "horovod", "cycle": "1 ms", "threshold": "1 MB"}})");
  const Temporary file(Temporary::Kind::file, json.dump());
  const Ran once = call_sgdsim({"run", file.name()});
  CHECK(once.log.find("iterations are not alike: this one takes 882 us, the one before it 120 us; "
                      "`iterations` 20 gives their mean") != std::string::npos);
  CHECK(call_sgdsim({"run", file.name(), "--set", "iterations=20"}).log.find("alike") ==
        std::string::npos);
}

// As many messages as channels are under way together, and as many iterations end together.
TEST_CASE("steps: pipelines on several channels are no faster than their workers") {
  const auto answer = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"run", "resnet50_v100", "-c", "10gbe_16"};
    for (const char* set : {"synchronization=pipe_sgd", "synchronization.width=3", "channels=3"})
      arguments.insert(arguments.end(), {"--set", set});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_sgdsim(arguments);
  };
  const Json usual = Json::parse(answer({"--format", "json"}).out);
  const Json long_run = Json::parse(answer({"--format", "json", "--set", "iterations=60"}).out);
  CHECK(usual["metrics"]["efficiency"].get<double>() <= 1);
  CHECK(usual["metrics"]["iteration_us"]["mean"].get<double>() ==
        doctest::Approx(long_run["metrics"]["iteration_us"]["mean"].get<double>()).epsilon(0.01));
  // Two of the three are not a whole period.
  const Ran two = answer({"--set", "iterations=2"});
  CHECK(two.log.find("`iterations` 2 are not whole periods of pipe_sgd") != std::string::npos);
}

}  // namespace
}  // namespace sgdsim
