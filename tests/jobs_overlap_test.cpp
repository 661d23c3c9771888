// Jobs whose collectives or iterations overlap, on shared wires: by hand.
#include <algorithm>
#include <doctest/doctest.h>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/jobs_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

// Recursive doubling among four workers, of whom all but rank 1 are in one rack: 1 MB a message,
// which takes B = 1000 us and 2 us of latency within the rack, X = 1604 us of latency out of it.
// From S = 300 us on, when gradients are ready:
//
//   rank 2 -> 0   flows from S + B + 4, and has d = 400 us left when 1 -> 0 joins it at S + X
//   rank 1 -> 0   until S + X + B + d, since both flow at half the rate for 2 d
//   rank 0 -> 2   behind that, until S + X + 2 B + d + 2: then 0 and 2 are through
//   rank 1 -> 3   flows from S + 2 X + B + d = S + 4608 on
//
// Rank 2 sends the gradients of the next iteration to 3, which are ready: they flow from S + 4008
// on through the port that 1 -> 3 comes to. When that begins, 400 us are left of them, which takes
// both 800 us; 1 -> 3 has another 600 us to go and ends at S + 6008, instead of S + 5608.
TEST_CASE("jobs: exchanges of two iterations share a port under Pipe-SGD") {
  Json cluster = racks;
  cluster["nodes"] = 6;
  cluster["nodes_per_leaf"] = 3;
  cluster["uplink"]["latency"] = "801 us";
  Json one = job("0,3,1-2");
  one["experiment"]["collective"]["algorithm"] = "recursive_doubling";
  one["experiment"]["synchronization"] = "pipe_sgd";
  one["experiment"]["strategy"] = "sync_easgd";
  const auto first_of_first = [&](int iterations) {
    one["experiment"]["iterations"] = iterations;
    return iterations_of({{"cluster", cluster}, {"jobs", Json::array({one})}})[0][0];
  };
  CHECK(first_of_first(1) == Duration::us(300 + 5608));
  CHECK(first_of_first(2) == Duration::us(300 + 6008));
}

// Two workers each, in different racks: the one link between the racks carries the exchanges of
// both jobs, which alone take 2 (4 + 500) us, longer than an iteration computes.
TEST_CASE("jobs: two jobs of Pipe-SGD, or of local SGD") {
  Json pipe = job("0,2");
  pipe["experiment"]["synchronization"] = "pipe_sgd";
  pipe["experiment"]["strategy"] = "sync_easgd";
  Json other = pipe;
  other["placement"] = "1,3";
  const auto played = [](const std::vector<Json>& jobs) {
    return iterations_of({{"cluster", racks}, {"jobs", jobs}});
  };
  // Back to back from the second one on.
  CHECK(played({pipe})[0] == us({300 + 1008, 1008, 1008}));
  CHECK(played({pipe, other}) ==
        Lengths{us({300 + 2008, 2008, 2008}), us({300 + 2008, 2008, 2008})});
  // Every third step ends with an average.
  for (Json* one : {&pipe, &other})
    (*one)["experiment"]["synchronization"] = {{"name", "local_sgd"}, {"steps", 3}};
  CHECK(played({pipe})[0] == us({300, 300, 300 + 1008}));
  CHECK(played({pipe, other}) == Lengths{us({300, 300, 300 + 2008}), us({300, 300, 300 + 2008})});
  // One average is over before the other one begins.
  other["start"] = "1300 us";
  CHECK(played({pipe, other}) == Lengths{us({300, 300, 1308}), us({300, 300, 1308})});
}

// Two layers of 1 MB. By priority the first layer's overtakes pieces of the last one that have not
// gone, and its forward does not wait for them.
TEST_CASE("jobs: messages by priority and in turn share wires with another job") {
  const Json layer = one_layer["trace"]["layers"][0];
  Json one = job("0,2");
  one["experiment"]["trace"]["layers"].push_back(layer);
  one["experiment"]["strategy"] = {{"name", "p3"}, {"slice", "500 KB"}};
  Json other = one;
  other["placement"] = "1,3";
  const auto played = [](const std::vector<Json>& jobs) {
    return iterations_of({{"cluster", racks}, {"jobs", jobs}});
  };
  // Backward ends at 400 and 600 us; a slice takes 2 (4 + 250) = 508 us alone. Of the last layer's,
  // one is on its way then; behind it go both of the first layer's, until 400 + 3 508 = 1924 us,
  // and the last layer's second one, until 2432, from where its forward and two backwards take 500.
  CHECK(played({one})[0] == us({600, 2432 + 500 - 600, 2432 - 100}));
  // At half the rate, a slice takes 2 (4 + 500).
  CHECK(played({one, other})[0] == us({600, 400 + 4 * 1008 + 500 - 600, 400 + 4 * 1008 - 100}));
  // One collective at a time and in turn: forward 200, backward 200, then the first of two
  // reductions of 2 (4 + 500), the second backward beside it.
  for (Json* it : {&one, &other}) (*it)["experiment"]["strategy"] = "bsp_lp";
  CHECK(played({one})[0] == us({400 + 2016, 400 + 2016, 400 + 2016}));
  CHECK(played({one, other})[0] == us({400 + 4016, 400 + 4016, 400 + 4016}));
}

// The two layers above, whose four slices take 2 (4 + 250) each alone. With two channels the last
// layer's go together at 400 us, at half the rate, until 400 + 2 (4 + 500); then the first layer's
// go, and its forward begins at 400 + 2 1008. With four, the first layer's join at 600 us, when
// half of the last layer's first rounds is left but for the latency:
//
//   150 KB of each at a quarter of the rate, until 1204 us, when 150 KB of the others have come
//   4 us at half the rate, 2 KB, and the last 98 KB at a quarter, until 1600 us
//   the last layer's have 152 KB to go then, of which 2 KB flow while the others pay their latency:
//   until 1604 + 4 150 us, and the first layer's, which have 100 KB left, 200 us later.
TEST_CASE("jobs: by priority, on several channels") {
  Json one = job("0,2");
  Json& experiment = one["experiment"];
  experiment["trace"]["layers"].push_back(Json(one_layer["trace"]["layers"][0]));
  Duration together;  // how long messages were in flight, an iteration
  const auto played = [&](int channels, const Json& strategy) {
    experiment["channels"] = channels;
    experiment["strategy"] = strategy;
    const std::vector<Duration> in_job =
        iterations_of({{"cluster", racks}, {"jobs", Json::array({one})}})[0];
    Json alone = experiment;
    alone["cluster"] = racks;
    alone["cluster"]["nodes"] = 2;
    alone["cluster"]["nodes_per_leaf"] = 1;
    alone["fidelity"] = "flow";
    const StepResult step =
        simulate_step(read_experiment(resolve_experiment(Value(alone, "t", ""), {})).question());
    CHECK(step.iterations == in_job);
    together = step.mean.communication;
    return in_job;
  };
  const Json slices = {{"name", "p3"}, {"slice", "500 KB"}};
  CHECK(played(2, slices) == us({600, 2416, 2416}));
  CHECK(together == Duration::us(2416 - 400));
  CHECK(played(4, slices) == us({600, 2404, 2404}));
  CHECK(together == Duration::us(2404 - 400));
  CHECK(played(9, slices) == us({600, 2404, 2404}));
  // Credit commits ahead; channels say how many are in flight.
  const Json credit = {{"name", "bytescheduler"}, {"partition", "500 KB"}, {"credit", "9 MB"}};
  CHECK(played(2, credit) == us({600, 2416, 2416}));
  CHECK(played(4, credit) == us({600, 2404, 2404}));
  // Slices of 900 and of 100 KB of one layer: the second one ends first, and is not waited for
  // alone. From 300 us on, the small one takes 2 (4 + 100) and the large one the rest of 1008.
  experiment["trace"]["layers"].erase(1);
  CHECK(played(2, {{"name", "p3"}, {"slice", "900 KB"}}) == us({300, 1308, 1308}));
}

// Where every message may go as soon as it is ready, priorities change nothing before the next
// forward pass.
TEST_CASE("steps: by priority, with as many channels as messages, all go at once") {
  Random random(31);
  for (int round = 0; round < rounds(60); ++round) {
    Json experiment = one_layer;
    const int layers = 1 + static_cast<int>(random.below(6));
    for (int layer = 1; layer < layers; ++layer)
      experiment["trace"]["layers"].push_back({{"name", std::to_string(layer)},
                                               {"parameters", 1 + random.below(400'000)},
                                               {"forward", "50 us"},
                                               {"backward", "83 us"}});
    experiment["iterations"] = 1;
    experiment["channels"] = layers;
    experiment["cluster"] = racks;
    // All workers end together: who ends first begins the next forward pass first.
    const bool is_ring = random.below(2) == 0;
    experiment["cluster"]["nodes"] = is_ring ? 2 + random.below(5) : 2 + 2 * random.below(2);
    experiment["collective"]["algorithm"] = is_ring ? "ring" : "recursive_doubling";
    const auto messages_of = [&](const Json& strategy, const char* fidelity) {
      experiment["strategy"] = strategy;
      experiment["fidelity"] = fidelity;
      std::vector<std::pair<Duration, Duration>> times;
      for (const MessageRecord& message :
           simulate_step(
               read_experiment(resolve_experiment(Value(experiment, "t", ""), {})).question())
               .messages)
        times.emplace_back(message.start, message.end);
      std::sort(times.begin(), times.end());
      return times;
    };
    const Json whole = {{"name", "p3"}, {"slice", "1 GB"}};
    CAPTURE(experiment.dump());
    CHECK(messages_of(whole, "flow") == messages_of("wfbp", "flow"));
    CHECK(messages_of(whole, "message") == messages_of("wfbp", "message"));
    if (layers == 1) continue;
    CHECK_THROWS_WITH_AS(messages_of(whole, "closed_form"),
                         "no closed form is known for strategies that go by priority with "
                         "interference or several channels; use fidelity message",
                         InputError);
  }
}

// One dedicated server, whose port serves one message at a time: pushes that share it are all there
// when pushes that take turns are, and answers leave one by one.
TEST_CASE("steps: with one server, what overlaps takes on wires what it takes on ports") {
  const std::vector<Json> kinds = {
      {{"synchronization", "pipe_sgd"}, {"strategy", "sync_easgd"}},
      {{"synchronization", {{"name", "pipe_sgd"}, {"communication", "layerwise"}, {"width", 3}}}},
      {{"synchronization", {{"name", "local_sgd"}, {"steps", 2}}}, {"strategy", "sync_easgd"}},
      {{"strategy", {{"name", "p3"}, {"slice", "200 KB"}}}},
      {{"strategy", {{"name", "bytescheduler"}, {"partition", "200 KB"}, {"credit", "500 KB"}}}},
      {{"strategy", {{"name", "horovod"}, {"cycle", "170 us"}, {"threshold", "500 KB"}}}},
      {{"strategy", {{"name", "horovod"}, {"cycle", "70 us"}, {"blocking", true}}}},
      {{"strategy", "horovod"},
       {"synchronization", {{"name", "pipe_sgd"}, {"communication", "layerwise"}}}},
      {{"strategy", "bsp_lp"}},
      {{"strategy", {{"name", "bsp_lp"}, {"drain", false}, {"form", "lockstep"}}}}};
  for (const int nodes : {2, 3, 5, 8})
    for (const Json& kind : kinds) {
      Json experiment = one_layer;
      for (int layer = 1; layer < 4; ++layer)
        experiment["trace"]["layers"].push_back({{"name", std::to_string(layer)},
                                                 {"parameters", 90'000 * layer},
                                                 {"forward", "50 us"},
                                                 {"backward", "83 us"}});
      experiment["iterations"] = experiment["warm_up"] = 4;
      experiment["cluster"] = {{"shape", "single_switch"},
                               {"nodes", nodes},
                               {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}};
      experiment["collective"] = {
          {"parameter_server", {{"servers", 1}, {"placement", "dedicated"}, {"alpha", "wire"}}}};
      experiment.update(kind);
      CAPTURE(experiment.dump());
      const auto step_at = [&](const char* fidelity) {
        experiment["fidelity"] = fidelity;
        return simulate_step(
            read_experiment(resolve_experiment(Value(experiment, "t", ""), {})).question());
      };
      const StepResult ports = step_at("message");
      const StepResult flows = step_at("flow");
      REQUIRE(flows.iterations.size() == ports.iterations.size());
      CHECK(flows.message_count == ports.message_count);
      for (std::size_t i = 0; i < flows.iterations.size(); ++i)
        CHECK(std::abs((flows.iterations[i] - ports.iterations[i]).ps()) <= ports.message_count);
    }
}
