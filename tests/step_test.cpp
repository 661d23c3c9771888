// The training step: golden rows of the MG-WFBP simulation on GoogLeNet/K80, the BSP forms, DDP's
// buckets, and what must hold for any trace.
#include "models/step/step.h"

#include <cmath>
#include <doctest/doctest.h>
#include <map>

#include "models/strategy/registry.h"
#include "sim/core/random.h"
#include "tests/step_cases.h"
#include "traces/trace_file.h"

using namespace sgdsim;

namespace {

Trace shipped(const std::string& name) {
  return read_trace_file(std::string(SGDSIM_SOURCE_DIR) + "/traces/data/" + name + ".json");
}

}  // namespace

// a and b of the ring with alpha 45.25 us, beta 1.2/(9 * 2^30 / 8) s/B, gamma 2.5 ns/B; t_f =
// t_b/2.
TEST_CASE("GoogLeNet on K80: ends and speed-ups of the published simulation") {
  struct Row {
    int nodes;
    double a_us, b_us;
    double wfbp, sync, greedy, optimum;  // ends from the start of backward, us
    double s_wfbp, s_sync, s_greedy, s_optimum;
  };
  for (const Row& row : std::vector<Row>{
           {2, 90.5, 0.0022434107462565105, 205509.810346, 325484.401912, 205509.810346,
            205509.810346, 1.998861, 1.438750, 1.998861, 1.998861},
           {4, 271.5, 0.0033651161193847656, 205733.309520, 385695.196868, 205733.309520,
            205733.309520, 3.994825, 2.522729, 3.994825, 3.994825},
           {8, 633.5, 0.003925968805948894, 251109.370346, 416072.094346, 215133.849891,
            214999.870346, 6.964882, 4.750001, 7.753316, 7.756586},
           {64, 5701.5, 0.0044167149066925045, 601724.405639, 447403.129639, 305110.215069,
            265335.905639, 27.984569, 35.835591, 48.340333, 53.565027}}) {
    CAPTURE(row.nodes);
    StepCase one;
    one.trace = shipped("googlenet_k80");
    one.cost = MessageCost::of_lines({{row.a_us * 1e6, row.b_us * 1e6}});
    const Duration forward = one.trace.forward();
    CHECK(one.trace.backward() == Duration::ns(205'334'312));
    auto check = [&](const char* strategy, double end_us, double speedup) {
      for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
        const Duration iteration = one.play(strategy, fidelity).iterations.front();
        // Six decimals are printed; at most 64 messages are rounded to a picosecond each.
        CHECK(std::abs((iteration - forward).us() - end_us) < 5e-5);
        const double alone = (forward + one.trace.backward()).us();
        CHECK(std::abs(row.nodes * alone / iteration.us() - speedup) < 1e-6);
      }
    };
    check("wfbp", row.wfbp, row.s_wfbp);
    check("sync_easgd", row.sync, row.s_sync);
    check("mg_wfbp", row.greedy, row.s_greedy);
    check("optimal", row.optimum, row.s_optimum);
  }
}

TEST_CASE("BSP-SGD: L=3, f=(2,3,4), b=(4,6,8), B=(5,1,2), R=(6,2,9), A=(11,3,5), u=1") {
  auto us = [](int64_t n) { return Duration::us(n); };
  StepCase one;
  for (int l = 0; l < 3; ++l) {
    Layer layer;
    layer.gradient = Bytes(l + 1);  // the curves below tell layers apart by their sizes
    layer.forward = us(2 + l);
    layer.backward = us(4 + 2 * l);
    one.trace.layers.push_back(layer);
  }
  one.trace.update = us(1);
  auto curve = [&](int64_t first, int64_t second, int64_t third) {
    return MessageCost::of_curve(
        Curve({{Bytes(1), us(first)}, {Bytes(2), us(second)}, {Bytes(3), us(third)}}));
  };
  one.cost = curve(11, 3, 5);
  one.broadcast = curve(5, 1, 2);
  one.reduce = curve(6, 2, 9);
  struct Row {
    const char* form;
    int64_t rooted, all;
  };
  for (const Row& row :
       std::vector<Row>{{"serial", 53, 47}, {"lockstep", 42, 39}, {"fifo", 40, 39}}) {
    CAPTURE(row.form);
    auto iteration = [&](const char* exchange, Fidelity fidelity) {
      return one
          .play(strategy_of(Json({{"name", "bsp_lp"}, {"form", row.form}, {"exchange", exchange}})
                                .dump()
                                .c_str()),
                fidelity)
          .iterations.front();
    };
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
      CHECK(iteration("broadcast_reduce", fidelity) == us(row.rooted));
      CHECK(iteration("allreduce", fidelity) == us(row.all));
    }
  }
}

// Where collectives drain, playing every message gives the recurrence; where workers go on as soon
// as they are through, it can only be sooner.
TEST_CASE("BSP-SGD with a root: message by message, with and without draining") {
  Random random(8);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    StepCase one;
    one.trace = random_trace(random);
    const int workers = 2 + static_cast<int>(random.below(9));
    one.cluster.network =
        Network::uniform(workers, {Duration::us(static_cast<int64_t>(random.below(300))),
                                   PerByte::ps(random.uniform(10, 3000)), PerByte::ps(100)});
    const Algorithm& algorithm = algorithm_named(i % 2 == 0 ? "mst" : "lp", "");
    auto cost = [&](Operation operation) {
      CollectiveJob job = ring_job(one.cluster, false);
      job.operation = operation;
      return MessageCost::of_algorithm(algorithm, job);
    };
    one.cost = cost(Operation::allreduce);
    one.broadcast = cost(Operation::broadcast);
    one.reduce = cost(Operation::reduce);
    for (const char* form : {"serial", "lockstep", "fifo"}) {
      CAPTURE(form);
      auto iteration = [&](bool drain, Fidelity fidelity) {
        const Json json = {
            {"name", "bsp_lp"}, {"form", form}, {"exchange", "broadcast_reduce"}, {"drain", drain}};
        return one.play(strategy_of(json.dump().c_str()), fidelity).iterations.front();
      };
      const Duration recurrence = iteration(true, Fidelity::closed_form);
      CHECK(iteration(true, Fidelity::message) == recurrence);
      CHECK(iteration(false, Fidelity::message) <= recurrence);
    }
  }
}

// Two layers with half of the gradients each, 10 us forward and 15 us backward, an update of 6 us:
// with free messages the optimizer's 3 us per layer still take their time before each forward, 56
// us in all. At 1 ns/B the 4000 B of the second layer travel during the backward of the first,
// whose own are there 4 us after it: its forward waits, the other one's does not, 60 us.
TEST_CASE("an update layer by layer keeps the worker as busy as one at the end") {
  StepCase one;
  for (int l = 0; l < 2; ++l) {
    Layer layer;
    layer.gradient = Bytes(4000);
    layer.forward = Duration::us(10);
    layer.backward = Duration::us(15);
    one.trace.layers.push_back(layer);
  }
  one.trace.update = Duration::us(6);
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
    for (const char* strategy : {"p3", "bytescheduler", "wfbp"}) {
      CAPTURE(strategy);
      one.cost = MessageCost::of_lines({{0, 0}});
      const StepResult free = one.play(strategy, fidelity);
      CHECK(free.iterations.front() == Duration::us(56));
      CHECK(free.mean.update == Duration::us(6));
      CHECK(free.mean.exposed == Duration());
    }
    one.cost = MessageCost::of_lines({{0, 1000}});
    CHECK(one.play("p3", fidelity).iterations.front() == Duration::us(60));
    CHECK(one.play("p3", fidelity).mean.exposed == Duration::us(4));
    CHECK(one.play("wfbp", fidelity).iterations.front() == Duration::us(60));
  }
}

TEST_CASE("DDP buckets, in parameters, of the torchvision models") {
  struct Row {
    const char* trace;
    std::vector<int64_t> elements;
  };
  for (const Row& row :
       std::vector<Row>{{"resnet50_a100_ddp", {2049000, 7875584, 6563840, 6637568, 2431040}},
                        {"alexnet_p102", {4097000, 16781312, 37752832, 2469696}},
                        {"vgg16_v100", {4097000, 16781312, 102764544, 7079424, 7079936, 555328}}}) {
    CAPTURE(row.trace);
    StepCase one;
    one.trace = shipped(row.trace);
    one.cost = MessageCost::of_lines({{1e6, 1}});
    const StepResult result =
        one.play(strategy_of(R"({"name":"ddp","order":"reverse"})"), Fidelity::closed_form);
    std::vector<int64_t> elements;
    for (const MessageRecord& bucket : result.messages) elements.push_back(bucket.size.count() / 4);
    CHECK(elements == row.elements);
  }
}

TEST_CASE("message fidelity equals the recurrence, and the schedules keep their order") {
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    StepCase one;
    one.trace = random_trace(random);
    const int workers = 2 + static_cast<int>(random.below(9));
    one.cluster.network = Network::uniform(
        workers, {Duration::us(static_cast<int64_t>(random.below(300))),
                  PerByte::ps(random.uniform(10, 3000)), PerByte::ps(random.uniform(0, 500))});
    one.cost = MessageCost::of_algorithm(algorithm_named("ring", ""), ring_job(one.cluster, false));
    std::map<std::string, Duration> ends;
    for (const StrategyKind& kind : strategies()) {
      const std::string name(kind.name);
      CAPTURE(name);
      const Duration closed = one.play(name, Fidelity::closed_form).iterations.front();
      CHECK(one.play(name, Fidelity::message).iterations.front() == closed);
      ends[name] = closed;
      const Duration compute = one.trace.forward() + one.trace.backward();
      CHECK(closed >= compute);
    }
    CHECK(ends["optimal"] <= ends["mg_wfbp"]);
    CHECK(ends["optimal"] <= ends["fixed_buckets"]);
    CHECK(ends["optimal"] <= ends["ddp"]);
    CHECK(ends["wfbp"] <= ends["naive"]);
  }
}

// The three cases of the WFBP paper: closed form t_f + max_m (sum_{l>=m} t_b + sum_{l<=m} t_c).
TEST_CASE("WFBP equals its closed form on random traces") {
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    StepCase one;
    one.trace = random_trace(random);
    const Line line{random.uniform(0, 1e9), random.uniform(0, 5000)};
    one.cost = MessageCost::of_lines({line});
    const std::size_t layers = one.trace.layers.size();
    Duration best = one.trace.forward() + one.trace.backward();
    for (std::size_t m = 0; m < layers; ++m) {
      if (one.trace.layers[m].gradient.count() == 0) continue;
      Duration end = one.trace.forward();
      for (std::size_t l = m; l < layers; ++l) end += one.trace.layers[l].backward;
      for (std::size_t l = 0; l <= m; ++l) end += one.cost.of(one.trace.layers[l].gradient);
      best = std::max(best, end);
    }
    CHECK(one.play("wfbp", Fidelity::closed_form).iterations.front() == best);
  }
}

// E[max of 64 lognormals of mean 1 and sigma 0.1] = 1.2591 (numerical integral of the maximum's
// distribution); 4,000 iterations leave a standard error of 0.0009, four of which are allowed.
TEST_CASE("jitter: the slowest of 64 workers decides") {
  StepCase one;
  Layer layer;
  layer.name = "only";
  layer.backward = Duration::ms(1);
  layer.gradient = Bytes(4);
  layer.parameters = 1;
  one.trace.layers = {layer};
  one.cluster.network = Network::uniform(64, {});
  one.cost = MessageCost::of_lines({{0, 0}});
  one.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.1}};
  one.iterations = 4000;
  double sum = 0;
  const StepResult result = one.play("wfbp", Fidelity::message);
  for (const Duration iteration : result.iterations) sum += iteration.ms();
  CHECK(std::abs(sum / 4000 - 1.2591) < 0.0036);
  CHECK(result.mean.waiting > Duration());
  const StepResult again = one.play("wfbp", Fidelity::message);
  CHECK(again.iterations == result.iterations);
}

TEST_CASE("interference: half of a backward under a message takes twice as long") {
  // Two layers of 100 us; the first gradient's message takes 60 us and runs beside the second
  // layer, which gets 30 us done in it at slowdown 2 and needs 70 us more.
  StepCase one;
  for (int l = 0; l < 2; ++l) {
    Layer layer;
    layer.name = std::to_string(l);
    layer.backward = Duration::us(100);
    layer.gradient = Bytes(l == 1 ? 60 : 0);
    one.trace.layers.push_back(layer);
  }
  one.cost = MessageCost::of_lines({{0, 1e6}});
  one.interference = 2;
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
    CHECK(one.play("wfbp", fidelity).iterations.front() == Duration::us(100 + 60 + 70));
}

TEST_CASE("a straggler: the others wait, and waiting is not transferring") {
  StepCase one;
  Layer layer;
  layer.name = "only";
  layer.backward = Duration::us(100);
  layer.gradient = Bytes(10);
  one.trace.layers = {layer};
  one.cost = MessageCost::of_lines({{5e6, 0}});
  one.workers.slowness = {{2, 1.5}};
  const StepResult result = one.play("wfbp", Fidelity::message);
  CHECK(result.iterations.front() == Duration::us(155));
  REQUIRE(result.workers.size() == 4);
  CHECK(result.workers[0].waiting == Duration::us(50));
  CHECK(result.workers[0].communication == Duration::us(5));
  CHECK(result.workers[2].waiting == Duration());
  CHECK(result.workers[2].exposed == Duration::us(5));
}
