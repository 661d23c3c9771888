// Plans that change from iteration to iteration, on shared wires: Horovod's, and those of a
// schedule of densities. By hand, against other ways to play the same, and where nothing is shared.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/jobs_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

Lengths played(const std::vector<Json>& jobs) {
  return iterations_of({{"cluster", racks}, {"jobs", jobs}});
}

StepResult step_of(Json experiment, const char* fidelity) {
  experiment["fidelity"] = fidelity;
  return simulate_step(
      read_experiment(resolve_experiment(Value(experiment, "t", ""), {})).question());
}

Json horovod(const std::string& cycle, const std::string& threshold, bool blocking = false) {
  return {{"name", "horovod"}, {"cycle", cycle}, {"threshold", threshold}, {"blocking", blocking}};
}

const Json single_switch = {{"shape", "single_switch"},
                            {"nodes", 4},
                            {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}};

// Layers that nothing is aligned with.
Json random_layers(Random& random, int most) {
  Json layers = Json::array();
  for (std::size_t l = 0; l < 1 + random.below(static_cast<uint64_t>(most)); ++l)
    layers.push_back({{"name", "l" + std::to_string(l)},
                      {"parameters", 840 * (1 + random.below(40))},  // whole chunks for 2 to 8
                      {"forward", std::to_string(random.below(40'000'000)) + " ps"},
                      {"backward", std::to_string(random.below(80'000'000)) + " ps"}});
  return layers;
}

void check_near(const std::vector<Duration>& a, const std::vector<Duration>& b, int64_t off_ps) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs((a[i] - b[i]).ps()) <= off_ps);
}

}  // namespace

// Between the racks, 1 MB takes 2 (4 + 500) = 1008 us alone, and 2008 us beside as much of others.
// The thread wakes up at multiples of 500 us; gradients are ready 300 us after the start.
TEST_CASE("jobs: two of Horovod share wires") {
  Json one = job("0,2");
  one["experiment"]["strategy"] = horovod("500 us", "64 MB");
  Json other = one;
  other["placement"] = "1,3";
  // Messages from 500 to 1508, from 2000 to 3008, from 3500 to 4508.
  CHECK(played({one})[0] == us({1508, 1500, 1500}));
  // From 500 to 2508, from 3000 to 5008, from 5500 to 7508.
  CHECK(played({one, other}) == Lengths{us({2508, 2500, 2500}), us({2508, 2500, 2500})});
  // The clock of a job starts with it: its cycles need not be those of the other one.
  other["start"] = "2100 us";
  one["experiment"]["iterations"] = other["experiment"]["iterations"] = 1;
  CHECK(played({one, other}) == Lengths{us({1508}), us({1508})});
}

// The second job starts at 1000 us and sends at 1500, when 4 us are left of the first one's second
// half but for the latency of 4 us of what comes: the link is shared from 1504 to 1512, where the
// first one's iteration ends. It sends again at 2000:
//
//   second job  4 us of its first half are left at 2004, which take until 2012
//   first job   sends alone from 2012 to 2016; of its first half 492 us are left then
//   both        share until 3000: the first job's half is over, the second one has 8 us left
//   second job  alone until 3004, then shared until 3012, and its iteration ends
//   first job   496 us of its second half are left, and nobody else is there: until 3508
TEST_CASE("jobs: two of Horovod whose clocks differ") {
  Json one = job("0,2");
  one["experiment"]["strategy"] = horovod("500 us", "64 MB");
  Json other = one;
  other["placement"] = "1,3";
  other["start"] = "1000 us";
  one["experiment"]["iterations"] = 2;
  other["experiment"]["iterations"] = 1;
  CHECK(played({one, other}) == Lengths{us({1512, 3508 - 1512}), us({2012})});
}

// Two layers of 1 MB, ready 400 and 600 us after the start.
TEST_CASE("jobs: what Horovod fuses depends on when iterations start") {
  Json one = job("0,2");
  one["experiment"]["trace"]["layers"].push_back(Json(one_layer["trace"]["layers"][0]));
  Json other = one;
  other["placement"] = "1,3";
  const auto lengths = [&](const Json& strategy, bool alone) {
    one["experiment"]["strategy"] = other["experiment"]["strategy"] = strategy;
    return alone ? played({one})[0] : played({one, other})[0];
  };
  // Cycles at 500 and 1000 us, so two messages, back to back until 2516. Gradients are ready at
  // 2916 and 3116, the next cycles are at 3000 and 3500; 5416 and 5616, 5500 and 6000.
  CHECK(lengths(horovod("500 us", "64 MB"), true) == us({2516, 2500, 2500}));
  // Until 4516; cycles at 5000, when gradients have been ready at 4916, and at 5500.
  CHECK(lengths(horovod("500 us", "64 MB"), false) == us({4516, 4500, 4500}));
  // All is ready at 1000 us: 2 MB take 2 (4 + 1000), or twice 1008; the next cycle after 3608 or
  // 3616 is at 4000.
  CHECK(lengths(horovod("1 ms", "2 MB"), true) == us({3008, 3000, 3000}));
  CHECK(lengths(horovod("1 ms", "1 MB"), true) == us({3016, 3000, 3000}));
  // Two jobs: 2 (4 + 2000). All is ready at 5608, and goes at 6000.
  CHECK(lengths(horovod("1 ms", "2 MB"), false) == us({5008, 5000, 5000}));
  // In cycles of 700 us all is fused at 700, until 2708. All is ready again at 3308 and goes at
  // 3500, until 5508; then at 6108 and at 6300.
  CHECK(lengths(horovod("700 us", "64 MB"), true) == us({2708, 2800, 2800}));
  // A thread that waits for its operations, 1008 us each: it wakes at 500, 1508 and 2516, where the
  // next iteration starts, and 500 us later again.
  CHECK(lengths(horovod("500 us", "64 MB", true), true) == us({2516, 2516, 2516}));
}

// 250,000 entries of 8 B, half or a quarter of them chosen: two workers send each other 1 or 0.5
// MB, which take 4 + 1000 or 4 + 500 us between the racks, and twice the bytes' time if shared.
TEST_CASE("jobs: a schedule of densities on shared wires") {
  Json one = job("0,2");
  one["experiment"]["compression"] = {
      {"name", "topk"},
      {"density", Json::parse(R"([{"density": 0.5, "iterations": 2}, {"density": 0.25}])")}};
  Json other = one;
  other["placement"] = "1,3";
  const auto both = [&](const Json& fields, const std::vector<int64_t>& alone,
                        const std::vector<int64_t>& together) {
    for (Json* it : {&one, &other}) (*it)["experiment"].update(fields);
    CHECK(played({one})[0] == us(alone));
    CHECK(played({one, other}) == Lengths{us(together), us(together)});
  };
  both({{"warm_up", 0}}, {1304, 1304, 804}, {2304, 2304, 1304});
  // The iterations of the warm-up have the first density.
  both({{"warm_up", 2}}, {1304, 1304, 804}, {2304, 2304, 1304});
  // Back to back from the second one on.
  both({{"warm_up", 0}, {"synchronization", "pipe_sgd"}, {"strategy", "sync_easgd"}},
       {1304, 1004, 504}, {2304, 2004, 1004});
  // From one end of backward to the next, with the message of the iteration before in between.
  both({{"synchronization", "none"}, {"strategy", {{"name", "p3"}, {"slice", "9 MB"}}}},
       {300, 1304, 1304}, {300, 2304, 2304});
  both({{"iterations", 4}}, {300, 1304, 1304, 804}, {300, 2304, 2304, 1304});
}

// In its first iteration Horovod with cycles of a picosecond sends as WFBP does, wherever
// they meet.
TEST_CASE("steps: Horovod with the shortest cycle is WFBP on shared wires") {
  Random random(83);
  for (int round = 0; round < rounds(100); ++round)
    for (const char* algorithm : {"ring", "recursive_doubling", "direct"}) {
      Json experiment = one_layer;
      experiment["trace"]["layers"] = random_layers(random, 6);
      for (Json& layer : experiment["trace"]["layers"]) layer["backward"] = "13 us";
      experiment["iterations"] = 1;
      experiment["cluster"] = racks;
      experiment["cluster"]["nodes"] = 2 + random.below(7);
      experiment["collective"]["algorithm"] = algorithm;
      if (random.below(2) == 0) experiment["channels"] = 3;
      CAPTURE(experiment.dump());
      StepResult wfbp;
      try {
        wfbp = step_of(experiment, "flow");
      } catch (const InputError&) {
        continue;  // no power of two
      }
      experiment["strategy"] = horovod("1 ps", "1 B");
      const StepResult anew = step_of(experiment, "flow");
      CHECK(anew.messages.size() == wfbp.messages.size());
      check_near(anew.iterations, wfbp.iterations, wfbp.message_count);
    }
}

// Where nothing is shared, flows take what messages take, and jobs do not feel each other.
TEST_CASE("steps: plans that change, without contention") {
  Random random(89);
  const std::vector<Json> strategies = {{{"name", "horovod"}, {"preset", "2018"}},
                                        {{"name", "horovod"}, {"preset", "0.28"}},
                                        horovod("23 us", "60 KB"),
                                        horovod("47 us", "90 KB", true),
                                        horovod("311 us", "1 GB", true)};
  const Json densities = Json::parse(
      R"([{"density": 0.25, "iterations": 1}, {"density": 0.06, "iterations": 2}, {"density": 0.5}])");
  for (int round = 0; round < rounds(100); ++round)
    for (const char* algorithm : {"ring", "recursive_doubling", "halving_doubling"}) {
      const bool is_ring = std::string(algorithm) == "ring";
      Json experiment = one_layer;
      experiment["trace"] = {{"update", "3 us"}, {"layers", random_layers(random, 6)}};
      experiment["iterations"] = 4;
      experiment["warm_up"] = random.below(3);
      experiment["cluster"] = single_switch;
      experiment["cluster"]["nodes"] = is_ring ? 2 + random.below(7) : 2ULL << random.below(3);
      experiment["collective"]["algorithm"] = algorithm;
      experiment["seed"] = 1 + random.below(1000);
      if (random.below(3) == 0) experiment["trace"]["load"] = "90 us";
      const bool is_anew = random.below(2) == 0;
      if (is_anew) {
        // All workers send at the same time, so that unlike ones do not wait for each other twice.
        experiment["strategy"] = strategies[random.below(strategies.size())];
        if (random.below(2) == 0)
          experiment["workers"] = {{"slow", {{{"worker", 1}, {"factor", 1.4}}}}};
        if (random.below(2) == 0)
          experiment["workers"]["jitter"] = {{"distribution", "lognormal"}, {"sigma", 0.2}};
      } else {
        const Json others = {"wfbp",
                             "mg_wfbp",
                             {{"name", "p3"}, {"slice", "8400 B"}},
                             {{"name", "bytescheduler"}, {"partition", "16800 B"}}};
        experiment["strategy"] = others[random.below(others.size())];
        experiment["compression"] = {{"name", random.below(2) == 0 ? "gtopk" : "topk"},
                                     {"density", densities},
                                     {"whole_entries", false},
                                     {"collective",
                                      {{"algorithm", is_ring ? "ring" : "recursive_doubling"},
                                       {"options", {{"chunks", "fractional"}}}}}};
        if (experiment["strategy"].is_string() && random.below(2) == 0)
          experiment["synchronization"] = {
              {"name", "pipe_sgd"}, {"width", 1 + random.below(3)}, {"communication", "layerwise"}};
      }
      CAPTURE(experiment.dump());
      const StepResult ports = step_of(experiment, "message");
      const StepResult flows = step_of(experiment, "flow");
      const int64_t off_ps = 2 * ports.message_count;
      check_near(flows.iterations, ports.iterations, off_ps);
      Json cluster = experiment["cluster"];
      const int nodes = cluster["nodes"];
      cluster["nodes"] = 2 * nodes;
      const std::string half = std::to_string(nodes);
      const Lengths both = iterations_of(
          {{"cluster", cluster},
           {"jobs",
            {{{"experiment", experiment}, {"placement", "0-" + std::to_string(nodes - 1)}},
             {{"experiment", experiment},
              {"placement", half + "-" + std::to_string(2 * nodes - 1)},
              {"start", "77 us"}}}}});
      check_near(both[0], ports.iterations, off_ps);
      check_near(both[1], ports.iterations, off_ps);
    }
}
