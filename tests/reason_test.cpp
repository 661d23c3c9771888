// Why a step takes as long as it does: the parts add up to it, and nothing but the parts matters.
#include "study/step/reason.h"

#include <algorithm>
#include <doctest/doctest.h>

#include "models/compression/registry.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/step/experiment.h"
#include "tests/rounds.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

std::string picoseconds(uint64_t count) { return std::to_string(count) + " ps"; }

Json random_layers(Random& random) {
  Json layers = Json::array();
  const std::size_t count = 1 + random.below(7);
  for (std::size_t l = 0; l < count; ++l)
    layers.push_back({{"name", "l" + std::to_string(l)},
                      {"parameters", 1 + random.below(300'000)},
                      {"forward", picoseconds(1 + random.below(400'000'000))},
                      {"backward", picoseconds(1 + random.below(800'000'000))}});
  return layers;
}

Json experiment_of(const Json& layers, const Json& strategy, const char* fidelity) {
  return {{"schema", "sgdsim/experiment/1"},
          {"trace", {{"schema", "sgdsim/trace/1"}, {"update", "30 us"}, {"layers", layers}}},
          {"cluster",
           {{"schema", "sgdsim/cluster/1"},
            {"shape", "single_switch"},
            {"nodes", 4},
            {"nic", {{"latency", "10 us"}, {"bandwidth", "25 Gbit/s"}}}}},
          {"collective", {{"algorithm", "ring"}}},
          {"strategy", strategy},
          {"fidelity", fidelity}};
}

StepResult play(const Json& json) {
  const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
  StepQuestion question = experiment.question();
  question.wants_reason = true;
  return simulate_step(question);
}

Duration sum_of(const StepResult& result) {
  Duration sum;
  for (const CriticalPart& part : result.critical) sum += part.length;
  return sum;
}

bool contains(const StepResult& result, Activity activity, int layer) {
  return std::any_of(result.critical.begin(), result.critical.end(), [&](const CriticalPart& part) {
    return part.activity == activity && part.first_layer <= layer && layer <= part.last_layer;
  });
}

}  // namespace

// Alike workers and enough iterations: the circle repeats, whatever the mode.
TEST_CASE("reason: the parts add up to the iterations that they span") {
  Random random(41);
  int played = 0;
  int unsettled = 0;
  std::vector<Json> synchronizations_of = {"none",
                                           {{"name", "pipe_sgd"}, {"width", 5}},
                                           {{"name", "local_sgd"}, {"steps", 3}},
                                           "pipe_sgd"};
  for (int round = 0; round < rounds(6); ++round)
    for (const StrategyKind& strategy : strategies())
      for (const char* compression : {"none", "topk", "truncate16"})
        for (const Json& synchronization : synchronizations_of)
          for (const char* fidelity : {"closed_form", "message"})
            for (int channels = 1; channels <= 2; ++channels) {
              Json json =
                  experiment_of(random_layers(random), std::string(strategy.name), fidelity);
              if (random.below(3) == 0) json["trace"]["load"] = "900 us";
              json["compression"] = compression;
              json["synchronization"] = synchronization;
              json["channels"] = channels;
              json["iterations"] = 15;
              json["warm_up"] = 210;
              CAPTURE(json.dump());
              StepResult result;
              try {
                result = play(json);
              } catch (const InputError&) {
                continue;
              }
              ++played;
              REQUIRE(result.critical_iterations >= 1);
              // Fusion goes by a clock of its own: iterations differ.
              if (strategy.name == "horovod" && synchronization == "none") {
                CHECK(sum_of(result) == result.iterations.back());
                continue;
              }
              // Computation and exchange that are almost as long as each other take longer to
              // settle.
              const bool settled = std::count(result.iterations.begin(), result.iterations.end(),
                                              result.iterations.back()) == 15;
              const bool period = !synchronization.is_string() && synchronization.contains("steps");
              if (!settled && !period) {
                ++unsettled;
                continue;
              }
              CHECK(sum_of(result) * 15 == result.total() * result.critical_iterations);
            }
  CHECK(played > rounds(500));
  CHECK(unsettled < 10);
}

// Recursive doubling over one uplink: collectives and iterations share wires. Times of flows are
// rounded to picoseconds.
TEST_CASE("reason: the parts add up where messages share wires") {
  Random random(43);
  const Json link = {{"latency", "10 us"}, {"bandwidth", "25 Gbit/s"}};
  const Json in_turn = {{"name", "bsp_lp"}, {"drain", false}};
  const Json layerwise = {{"name", "pipe_sgd"}, {"communication", "layerwise"}};
  const Json local = {{"name", "local_sgd"}, {"steps", 3}};
  int checked = 0;
  for (int round = 0; round < 8; ++round)
    for (const auto& [strategy, synchronization] :
         std::vector<std::pair<Json, Json>>{{"p3", "none"},
                                            {"bytescheduler", "none"},
                                            {in_turn, "none"},
                                            {"wfbp", "none"},
                                            {"sync_easgd", "pipe_sgd"},
                                            {"wfbp", layerwise},
                                            {"sync_easgd", local}}) {
      Json json = experiment_of(random_layers(random), strategy, "flow");
      json["cluster"] = {{"shape", "leaf_spine"}, {"nodes", 4},  {"nodes_per_leaf", 2},
                         {"spines", 1},           {"nic", link}, {"uplink", link}};
      json["collective"]["algorithm"] = "recursive_doubling";
      json["synchronization"] = synchronization;
      json["iterations"] = 6;
      json["warm_up"] = 60;
      CAPTURE(json.dump());
      const StepResult result = play(json);
      CHECK(result.path == "events");
      CHECK(result.warnings.empty());
      REQUIRE(result.critical_iterations >= 1);
      const Duration first = result.iterations.front();
      const bool settled = std::abs((first - result.iterations.back()).ps()) <= 6 * 1000;
      if (!settled && synchronization != local) continue;
      ++checked;
      const Duration off = sum_of(result) * 6 - result.total() * result.critical_iterations;
      CHECK(std::abs(off.ps()) <= 6 * 6 * 1000);
    }
  CHECK(checked >= 50);
}

// Where several messages are in flight pieces of layers overlap, and end in another order than they
// start.
TEST_CASE("reason: with several messages in flight there is a reason, and its parts add up") {
  Random random(47);
  const Json link = {{"latency", "10 us"}, {"bandwidth", "25 Gbit/s"}};
  int checked = 0;
  for (int round = 0; round < rounds(10); ++round)
    for (const Json& strategy : std::vector<Json>{
             "p3",
             "bytescheduler",
             "wfbp",
             "mg_wfbp",
             {{"name", "p3"}, {"slice", "50 KB"}},
             {{"name", "bytescheduler"}, {"partition", "100 KB"}, {"credit", "300 KB"}}})
      for (const char* fidelity : {"flow", "packet"})
        for (int channels = 1; channels <= 4; ++channels) {
          if (std::string(fidelity) == "packet" && round > 1) continue;
          Json layers = random_layers(random);
          if (round % 3 == 0) layers[0]["parameters"] = 0;
          Json json = experiment_of(layers, strategy, fidelity);
          json["cluster"] = {{"shape", "leaf_spine"}, {"nodes", 4},  {"nodes_per_leaf", 2},
                             {"spines", 1},           {"nic", link}, {"uplink", link}};
          json["channels"] = channels;
          json["iterations"] = 4;
          json["warm_up"] = 20;
          if (round % 4 == 1)
            json["workers"] = {{"slow", Json::array({{{"worker", 1}, {"factor", 1.3}}})}};
          CAPTURE(json.dump());
          const Experiment experiment =
              read_experiment(resolve_experiment(Value(json, "test", ""), {}));
          StepQuestion question = experiment.question();
          question.wants_reason = true;
          const StepResult result = simulate_step(question);
          REQUIRE(result.critical_iterations >= 1);
          for (const CriticalPart& part : result.critical) CHECK(part.length >= Duration());
          CHECK(reason_text(result, experiment.trace).find("as long as ") != std::string::npos);
          const Duration first = result.iterations.front();
          if (std::abs((first - result.iterations.back()).ps()) > 4000) continue;
          ++checked;
          const Duration off = sum_of(result) * 4 - result.total() * result.critical_iterations;
          CHECK(std::abs(off.ps()) <= 4 * 6 * 1000);
        }
  CHECK(checked > rounds(150));
}

// Four pieces of layer b over two channels, 2 x 3/4 x 10 MB at 25 Gbit/s in all, which is more than
// the 2 ms that layer a computes meanwhile: the last pieces began when the first ones ended, which
// had waited for the backward pass of b only.
TEST_CASE("reason: with several channels, by hand") {
  const Json layers = {
      {{"name", "a"}, {"parameters", 0}, {"forward", "1 ms"}, {"backward", "1 ms"}},
      {{"name", "b"}, {"parameters", 2'500'000}, {"forward", "1 ms"}, {"backward", "1 ms"}}};
  Json json = experiment_of(layers, {{"name", "p3"}, {"slice", "2.5 MB"}}, "flow");
  json["channels"] = 2;
  json["warm_up"] = 4;
  json["trace"]["update"] = "0 us";
  const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
  StepQuestion question = experiment.question();
  question.wants_reason = true;
  const StepResult result = simulate_step(question);
  CHECK(result.critical_iterations == 1);
  CHECK(sum_of(result) == result.total());
  CHECK(contains(result, Activity::message, 1));
}

// Gradients are used an iteration late, so two messages are in flight and share the ports: both
// take twice 6 x (10 us + 1 MB at 8 ns/B), 96.12 ms, and end as one. So iterations of 0.3 ms
// alternate with those that wait for both; the reason is one message, and the computation beside
// which nothing is on its way.
TEST_CASE("reason: iterations that alternate are told together") {
  Json json = experiment_of(
      {{{"name", "a"}, {"parameters", 1'000'000}, {"forward", "100 us"}, {"backward", "200 us"}}},
      "sync_easgd", "message");
  json["trace"]["update"] = "0 us";
  json["cluster"]["nic"] = {{"latency", "5 us"}, {"bandwidth", "1 Gbit/s"}};
  json["synchronization"] = {{"name", "pipe_sgd"}, {"width", 2}};
  json["channels"] = 2;
  json["iterations"] = 6;
  const StepResult result = play(json);
  CHECK(result.total() == Duration::us(6 * 48'060));
  CHECK(sum_of(result).ps() * 6 == result.total().ps() * result.critical_iterations);
  CHECK(contains(result, Activity::message, 0));
}

// What a picosecond more for one layer does: the step is longer by it where that layer is a part of
// the reason, and no longer where it is not.
TEST_CASE("reason: a layer matters if and only if it is a part") {
  Random random(42);
  int matters = 0;
  int others = 0;
  for (int round = 0; round < 120; ++round)
    for (const char* strategy : {"wfbp", "sync_easgd", "naive", "p3", "bytescheduler"}) {
      Json layers = random_layers(random);
      const Json json = experiment_of(layers, strategy, "closed_form");
      const StepResult before = play(json);
      for (std::size_t l = 0; l < layers.size(); ++l)
        for (const Activity activity : {Activity::forward, Activity::backward}) {
          Json changed = json;
          Json& field =
              changed["trace"]["layers"][l][activity == Activity::forward ? "forward" : "backward"];
          const std::string text = field.get<std::string>();
          field = picoseconds(std::stoull(text) + 1);
          const Duration longer = play(changed).iterations.front() - before.iterations.front();
          const bool is_part = contains(before, activity, static_cast<int>(l));
          CAPTURE(changed.dump());
          CAPTURE(l);
          REQUIRE(longer == Duration::ps(is_part ? 1 : 0));
          (is_part ? matters : others) += 1;
        }
    }
  CHECK(matters > 1000);
  CHECK(others > 500);
}

// Two layers of 1 MB and 3 MB over a line of 10 us + 1 ns/B: messages of 1,010 and 3,010 us. With
// backward times of 100 us each, the second message waits for the first.
TEST_CASE("reason: by hand") {
  const Json layers = {
      {{"name", "a"}, {"parameters", 750'000}, {"forward", "20 us"}, {"backward", "100 us"}},
      {{"name", "b"}, {"parameters", 250'000}, {"forward", "20 us"}, {"backward", "100 us"}}};
  Json json = experiment_of(layers, "wfbp", "closed_form");
  json["collective"] = {{"start_up", "10 us"}, {"per_byte", "1 ns/B"}};
  const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
  StepQuestion question = experiment.question();
  question.wants_reason = true;
  const StepResult slow = simulate_step(question);
  CHECK(reason_text(slow, experiment.trace) ==
        "the step is as long as forward (40.00 us), backward (b, 100.0 us), 2 messages one after "
        "another (all layers, 4.020 ms) and update (30.00 us)");
  const Json expected = Json::parse(R"({"iterations": 1, "length_us": 4190.0, "parts": [
      {"what": "forward", "length_us": 40.0, "layers": [0, 1]},
      {"what": "backward", "length_us": 100.0, "layers": [1, 1]},
      {"what": "messages", "length_us": 4020.0, "layers": [0, 1], "count": 2},
      {"what": "update", "length_us": 30.0}]})");
  CHECK(to_json_by_fields(*reason_of(slow)) == expected);
}

TEST_CASE("reason: before anything repeats, all that there was") {
  Random random(43);
  for (const char* fidelity : {"closed_form", "message"})
    for (const Json& rule : std::vector<Json>{{{"name", "pipe_sgd"}, {"width", 50}},
                                              {{"name", "local_sgd"}, {"steps", 100'000}}}) {
      Json json = experiment_of(random_layers(random), "sync_easgd", fidelity);
      json["synchronization"] = rule;
      json["warm_up"] = 0;
      json["iterations"] = 4;
      const StepResult result = play(json);
      CAPTURE(json.dump());
      // Pipe-SGD repeats computation, or exchanges, from the second iteration on.
      const bool repeats = result.critical_iterations == 1 && rule["name"] == "pipe_sgd";
      if (repeats) continue;
      CHECK(result.critical_iterations == 4);
      CHECK(sum_of(result) == result.total());
    }
}

// Another density is another plan, with other messages: the reason is of the last one alone.
TEST_CASE("reason: where the plan changes, of the last plan") {
  Random random(44);
  for (int round = 0; round < 40; ++round)
    for (const char* strategy : {"mg_wfbp", "optimal", "p3", "wfbp"})
      for (const char* fidelity : {"closed_form", "message"}) {
        Json json = experiment_of(random_layers(random), strategy, fidelity);
        const double dense = round % 2 == 0 ? 0.5 : 0.00001;
        json["compression"] = {
            {"name", "topk"},
            {"density",
             {{{"density", dense}, {"iterations", 2}}, {{"density", 0.5 - dense + 0.00001}}}}};
        json["warm_up"] = 0;
        json["iterations"] = std::string(strategy) == "p3" ? 6 : 3;
        CAPTURE(json.dump());
        const StepResult result = play(json);
        CHECK(result.critical_iterations == 1);
        CHECK(sum_of(result) == result.iterations.back());
        int messages = 0;
        for (const CriticalPart& part : result.critical) messages += part.messages;
        CHECK(messages <= static_cast<int>(result.messages.size()));
      }
}

TEST_CASE("reason: run says it, and the batch that is waited for") {
  const Ran ran =
      run_sgdsim({"run", "app/experiments/googlenet_k80.json", "--set", "trace.load=2 s"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("the step is as long as loading the next batch (2.000 s)\n") !=
        std::string::npos);
}

}  // namespace sgdsim
