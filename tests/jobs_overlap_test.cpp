// Jobs whose collectives or iterations overlap, on shared wires: by hand.
#include <doctest/doctest.h>

#include "tests/jobs_cases.h"

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

// One dedicated server, whose port serves one message at a time: pushes that share it are all there
// when pushes that take turns are, and answers leave one by one.
TEST_CASE("steps: with one server, what overlaps takes on wires what it takes on ports") {
  const std::vector<Json> kinds = {
      {{"synchronization", "pipe_sgd"}},
      {{"synchronization", {{"name", "pipe_sgd"}, {"communication", "layerwise"}, {"width", 3}}}},
      {{"synchronization", {{"name", "local_sgd"}, {"steps", 2}}}},
      {{"strategy", {{"name", "p3"}, {"slice", "200 KB"}}}},
      {{"strategy", {{"name", "bytescheduler"}, {"partition", "200 KB"}, {"credit", "500 KB"}}}},
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
