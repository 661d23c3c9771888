// Merge schedules against published and derived values (MG-WFBP, INFOCOM 2019; merge
// counterexamples worked out by hand). Times are in microseconds from the start of backward.
#include <cmath>
#include <doctest/doctest.h>
#include <functional>

#include "models/step/step.h"
#include "models/strategy/registry.h"
#include "sim/core/random.h"

using namespace sgdsim;

namespace {

// Layers given in backward order, as the published examples are.
Trace trace_of(const std::vector<double>& backward_us, const std::vector<int64_t>& bytes) {
  Trace trace;
  for (std::size_t i = backward_us.size(); i-- > 0;) {
    Layer layer;
    layer.name = std::to_string(i);
    layer.gradient = Bytes(bytes[i]);
    layer.parameters = bytes[i] / 4;
    layer.backward = Duration::ps(std::llrint(backward_us[i] * 1e6));
    trace.layers.push_back(layer);
  }
  return trace;
}

MessageCost line_us(double a_us, double b_us_per_byte) {
  return MessageCost::of_lines({{a_us * 1e6, b_us_per_byte * 1e6}});
}

StepResult step(const Trace& trace, const std::string& strategy, const MessageCost& cost,
                Fidelity fidelity = Fidelity::closed_form) {
  const Cluster cluster{"", Network::uniform(4, {}), 1, {}, {}};
  const Strategy chosen = strategy_named(strategy, "test");
  StepQuestion question;
  question.trace = &trace;
  question.cluster = &cluster;
  question.strategy = &chosen;
  question.cost = cost;
  question.fidelity = fidelity;
  return simulate_step(question);
}

double iteration_us(const Trace& trace, const std::string& strategy, const MessageCost& cost) {
  const Duration closed = step(trace, strategy, cost).iterations.front();
  CHECK(step(trace, strategy, cost, Fidelity::message).iterations.front() == closed);
  return closed.us();
}

Trace family(int layers) {
  return trace_of(std::vector<double>(static_cast<std::size_t>(layers), 1000),
                  std::vector<int64_t>(static_cast<std::size_t>(layers), 900));
}

Trace random_trace(Random& random, int layers) {
  std::vector<double> backward;
  std::vector<int64_t> bytes;
  for (int l = 0; l < layers; ++l) {
    backward.push_back(static_cast<double>(random.below(5) == 0 ? 0 : random.below(100)));
    bytes.push_back(random.below(5) == 0 ? 0 : static_cast<int64_t>(random.below(100)));
  }
  return trace_of(backward, bytes);
}

// The least end over all 2^(L-1) ways to cut, by the recurrence of one channel.
double exhaustive_us(const Trace& trace, double a_us, double b_us) {
  const int layers = static_cast<int>(trace.layers.size());
  double best = 1e300;
  for (unsigned cuts = 0; cuts < 1U << (layers - 1); ++cuts) {
    double now = 0, end = 0, pending = 0;
    for (int l = layers - 1; l >= 0; --l) {
      now += trace.layers[static_cast<std::size_t>(l)].backward.us();
      pending += static_cast<double>(trace.layers[static_cast<std::size_t>(l)].gradient.count());
      if (l > 0 && (cuts >> (l - 1) & 1U) == 0) continue;
      if (pending > 0) end = std::max(end, now) + a_us + b_us * pending;
      pending = 0;
    }
    best = std::min(best, std::max(end, now));
  }
  return best;
}

}  // namespace

TEST_CASE("the greedy rule is not optimal: counterexamples") {
  struct Row {
    std::vector<double> backward;
    std::vector<int64_t> bytes;
    double a, b, greedy, optimum, wfbp, sync;
  };
  for (const Row& row : std::vector<Row>{{{1, 1, 2}, {1, 1, 1}, 2, 1, 9, 8, 10, 9},
                                         {{3, 3, 3}, {1, 1, 1}, 4, 2, 19, 17, 21, 19}}) {
    const Trace trace = trace_of(row.backward, row.bytes);
    const MessageCost cost = line_us(row.a, row.b);
    CHECK(iteration_us(trace, "mg_wfbp", cost) == row.greedy);
    CHECK(iteration_us(trace, "optimal", cost) == row.optimum);
    CHECK(iteration_us(trace, "wfbp", cost) == row.wfbp);
    CHECK(iteration_us(trace, "sync_easgd", cost) == row.sync);
  }
}

TEST_CASE("the family in which greedy tends to twice the optimum") {
  struct Row {
    int layers;
    double greedy, optimum;
    std::size_t messages;
    double wfbp;
  };
  for (const Row& row : std::vector<Row>{{4, 8601, 7602, 2, 8604},
                                         {8, 16201, 12303, 4, 16208},
                                         {16, 31401, 21501, 5, 31416},
                                         {64, 122601, 72201, 13, 122664},
                                         {256, 487401, 266008, 34, 487656},
                                         {1024, 1946601, 1034085, 111, 1947624}}) {
    CAPTURE(row.layers);
    const Trace trace = family(row.layers);
    const MessageCost cost = line_us(1001, 1);
    CHECK(iteration_us(trace, "mg_wfbp", cost) == row.greedy);
    CHECK(iteration_us(trace, "sync_easgd", cost) == row.greedy);
    CHECK(iteration_us(trace, "optimal", cost) == row.optimum);
    CHECK(iteration_us(trace, "wfbp", cost) == row.wfbp);
    CHECK(step(trace, "optimal", cost).messages.size() <= row.messages);
  }
}

TEST_CASE("optimal equals exhaustive search, and is never above greedy") {
  Random random(1);
  for (int i = 0; i < 12'000; ++i) {
    const Trace trace = random_trace(random, 1 + static_cast<int>(random.below(12)));
    const auto a = static_cast<double>(random.below(200));
    const auto b = static_cast<double>(random.below(4));
    CAPTURE(i);
    const MessageCost cost = line_us(a, b);
    const double optimum = step(trace, "optimal", cost).iterations.front().us();
    REQUIRE(optimum == exhaustive_us(trace, a, b));
    const double greedy = step(trace, "mg_wfbp", cost).iterations.front().us();
    REQUIRE(optimum <= greedy);
    REQUIRE(greedy <= step(trace, "wfbp", cost).iterations.front().us());
    REQUIRE(greedy <= step(trace, "sync_easgd", cost).iterations.front().us());
  }
}
