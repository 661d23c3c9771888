// Messages that slow computation down, at every fidelity that has messages: by hand, and against
// the rounds in which nothing is decided in time.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/play/slowed_work.h"
#include "study/step/experiment.h"
#include "tests/run_program.h"
#include "tests/step_cases.h"

using namespace sgdsim;

namespace {

// Two workers; a byte takes 1 ns, and nothing else takes time: a ring sends n bytes in n ns.
Json two_workers(const Json& layers) {
  return {{"trace", {{"layers", layers}}},
          {"cluster",
           {{"shape", "single_switch"},
            {"nodes", 2},
            {"nic", {{"latency", "0 us"}, {"per_byte", "1 ns/B"}}}}},
          {"collective", {{"algorithm", "ring"}}},
          {"strategy", "wfbp"},
          {"iterations", 2},
          {"warm_up", 3},
          {"interference", 2}};
}
Json layer(const char* name, int forward_us, int backward_us, int message_us) {
  return {{"name", name},
          {"parameters", 250 * message_us},
          {"forward", std::to_string(forward_us) + " us"},
          {"backward", std::to_string(backward_us) + " us"}};
}

StepResult simulated_at(Json json, const char* fidelity, const Json& changes = Json::object()) {
  json["fidelity"] = fidelity;
  json.merge_patch(changes);
  return simulate_step(read_experiment(resolve_experiment(Value(json, "test", ""), {})).question());
}

const std::vector<const char*> with_messages = {"message", "flow", "packet"};
Duration mean_of(const StepResult& result) {
  return Duration::ps(result.total().ps() / static_cast<int64_t>(result.iterations.size()));
}

}  // namespace

// 100 us of work, twice as long between 20 and 60 us, and from 90 us on: 20 + 20 + 30, and of the
// 30 us that are left 60.
TEST_CASE("interference: work is slowed while it lasts") {
  const auto at = [](int64_t us) { return Time() + Duration::us(us); };
  SlowedWork work(at(0), Duration::us(100), 2);
  CHECK(work.end() == at(100));
  work.turn(at(20), true);
  CHECK(work.end() == at(180));
  work.turn(at(60), false);
  CHECK(work.end() == at(120));
  work.turn(at(90), true);
  CHECK(work.end() == at(150));
  work.turn(at(150), false);
  CHECK(work.end() == at(150));
}

// Backward passes of 100 us each. The message of `top`, 300 us alone, flows from 100 us on;
// `middle` takes twice as long and is ready at 300 us. Its message of 50 us shares the ports from
// then on, or waits until 400 us: either way both have gone by 450 us. `bottom` gets 75 us of work
// done by then, and ends at 475 us.
TEST_CASE("interference: several channels, by hand") {
  const Json json = two_workers(
      {layer("bottom", 0, 100, 0), layer("middle", 0, 100, 50), layer("top", 0, 100, 300)});
  for (const char* fidelity : {"message", "flow"})
    for (const int channels : {1, 2}) {
      INFO(std::string(fidelity) << ", channels " << channels);
      const StepResult result = simulated_at(json, fidelity, {{"channels", channels}});
      CHECK(mean_of(result) == Duration::us(475));
      CHECK(result.mean.backward == Duration::us(475));
      CHECK(result.mean.communication == Duration::us(350));
      CHECK(result.mean.overlapped == Duration::us(350));
      CHECK(result.mean.exposed == Duration());
    }
}

// By priority, in pieces of 50 us. From the end of the backward pass of `top` on: its first piece
// flows until 50 us, the backward of `bottom` takes 20 us beside it. The message of `bottom` goes
// next, until 70 us, and the other piece of `top` until 120 us. The forward of `bottom` begins at
// 70 us, has 25 us of its 50 us done by 120 us, and ends at 145 us; that of `top` takes 10 us, and
// so does its backward.
TEST_CASE("interference: the next forward pass is slowed by messages that go on, by hand") {
  const Json json = two_workers({layer("bottom", 50, 10, 20), layer("top", 10, 10, 100)});
  const Json p3 = {{"name", "p3"}, {"slice", "50 KB"}};
  for (const char* fidelity : {"message", "flow"}) {
    INFO(std::string(fidelity));
    const StepResult result = simulated_at(json, fidelity, {{"strategy", p3}});
    CHECK(mean_of(result) == Duration::us(165));
    CHECK(result.mean.forward == Duration::us(85));
    CHECK(result.mean.backward == Duration::us(30));
  }
  CHECK_THROWS_WITH_AS(simulated_at(json, "closed_form", {{"strategy", p3}}),
                       "no closed form is known for strategies that go by priority with "
                       "interference or several channels; use fidelity message",
                       InputError);
}

// The message of an iteration takes 60 us beside the next one, whose backward has 30 us done by
// then and 70 us left. Where two may overlap it is the same, but for the first.
TEST_CASE("interference: iterations that overlap, by hand") {
  const Json json = two_workers(Json::array({layer("only", 0, 100, 60)}));
  const Json pipe = {{"strategy", "sync_easgd"},
                     {"synchronization", {{"name", "pipe_sgd"}, {"width", 2}}},
                     {"channels", 2}};
  for (const char* fidelity : {"message", "flow"}) {
    INFO(std::string(fidelity));
    CHECK(mean_of(simulated_at(json, fidelity, pipe)) == Duration::us(130));
  }
  CHECK_THROWS_WITH_AS(simulated_at(json, "closed_form", pipe),
                       "no closed form is known for interference and several channels where "
                       "iterations overlap; use fidelity message",
                       InputError);
}

// A slowdown that no picosecond shows: what is decided in time is what is played in rounds.
TEST_CASE("interference: none is none, whoever plays") {
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    StepCase one;
    one.trace = random_trace(random);
    const int workers = 2 + static_cast<int>(random.below(6));
    one.cluster.network = Network::uniform(
        workers, {Duration::ns(static_cast<int64_t>(random.below(50'000))),
                  PerByte::ps(static_cast<double>(random.below(2000))), PerByte::ps(10)});
    one.cost = MessageCost::of_algorithm(algorithm_named("ring", ""), ring_job(one.cluster, false));
    if (i % 2 == 1) one.workers.slowness = {{0, 1.5}};
    if (i % 3 == 1) one.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.1}};
    one.iterations = 3;
    for (const char* name : {"p3", "bytescheduler", "bsp_lp"}) {
      INFO(i << ", " << std::string(name) << ", workers " << workers);
      one.interference = 1;
      const StepResult rounds = one.play(name, Fidelity::message);
      one.interference = 1 + 1e-15;
      const StepResult in_time = one.play(name, Fidelity::message);
      // One coordinator may see the last worker's end of a round of uneven chunks a little sooner.
      const double most = name == std::string("bsp_lp") ? 0 : 2e-6;
      CHECK(std::abs(in_time.total() / rounds.total() - 1) <= most);
    }
    one.channels = 2;
    one.interference = 1;
    const StepResult together = one.play("wfbp", Fidelity::message);
    one.interference = 1 + 1e-15;
    CHECK(one.play("wfbp", Fidelity::message).iterations == together.iterations);
  }
}

// What a worker computes takes at least as long as without, and at most so many times as long; and
// flows on wires of their own are rounds.
TEST_CASE("interference: bounds, and fidelities agree where nothing is shared") {
  Random random(6);
  const auto ratio = [](Duration a, Duration b) { return a / b; };
  for (int i = 0; i < 20; ++i) {
    Json layers = Json::array();
    for (int l = 0; l < 1 + static_cast<int>(random.below(5)); ++l)
      layers.push_back(layer(("l" + std::to_string(l)).c_str(), static_cast<int>(random.below(100)),
                             1 + static_cast<int>(random.below(200)),
                             1 + static_cast<int>(random.below(200))));
    Json json = two_workers(layers);
    json["cluster"]["nodes"] = 2 + random.below(3);
    for (const char* strategy : {"wfbp", "p3", "bytescheduler", "ddp", "bsp_lp"}) {
      INFO(json.dump() << std::string(strategy));
      const StepResult message = simulated_at(json, "message", {{"strategy", strategy}});
      const StepResult flow = simulated_at(json, "flow", {{"strategy", strategy}});
      CHECK(message.iterations == flow.iterations);
      const StepResult without =
          simulated_at(json, "flow", {{"strategy", strategy}, {"interference", 1}});
      CHECK(ratio(flow.mean.backward, without.mean.backward) >= 1 - 1e-9);
      CHECK(ratio(flow.mean.computed(), without.mean.computed()) <= 2 + 1e-9);
    }
  }
}

// Halves of gradients go as gradients of half the size, where coding takes no time; and both of two
// transfers are carried.
TEST_CASE("parameter servers: compressed gradients on shared wires") {
  Json json = two_workers({layer("a", 10, 20, 80), layer("b", 10, 20, 160)});
  json["interference"] = 1;
  json["cluster"]["nodes"] = 4;
  json["collective"] = {{"parameter_server", {{"placement", "co_located"}}}};
  Json half = json;
  for (Json& one : half["trace"]["layers"]) one["parameters"] = one["parameters"].get<int>() / 2;
  for (const char* fidelity : with_messages) {
    INFO(std::string(fidelity));
    const StepResult coded = simulated_at(json, fidelity, {{"compression", "truncate16"}});
    CHECK(coded.iterations == simulated_at(half, fidelity).iterations);
    // Of a square of n floats two factors of sqrt n: to three other workers and back.
    const Json powersgd = {{"name", "powersgd"}, {"rank", 1}};
    const StepResult factors = simulated_at(json, fidelity, {{"compression", powersgd}});
    double factors_B = 0;
    for (const int us : {80, 160}) factors_B += 2 * 4 * std::sqrt(250. * us);
    CHECK(factors.wire_B == doctest::Approx(2 * 3 * factors_B).epsilon(0.01));
    CHECK(factors.message_count == 2 * 2 * (3 + 3));
    CHECK(mean_of(factors) < mean_of(coded));
  }
}

TEST_CASE("interference: asynchronous workers compute and exchange in turns, which is said") {
  Json json = two_workers(Json::array({layer("only", 10, 20, 30)}));
  json["collective"] = {{"parameter_server", {{"placement", "co_located"}}}};
  json["strategy"] = "sync_easgd";
  json["synchronization"] = "async_ps";
  const StepResult slowed = simulated_at(json, "message");
  CHECK(slowed.iterations == simulated_at(json, "message", {{"interference", 1}}).iterations);
  CHECK(std::any_of(slowed.warnings.begin(), slowed.warnings.end(), [](const std::string& text) {
    return text.find("have no effect: workers compute and exchange in turns") != std::string::npos;
  }));
}
