// Several messages in flight: those of which only the time is known, and those that are played.
#include "models/step/channels.h"

#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "tests/step_cases.h"

using namespace sgdsim;

// Four gradients are ready at 0. Alone a message takes 3 us + 1 ns/B of 1000 B: 4 us; on two
// channels 3 us + 2 us, two at a time: 10 us instead of 16. Without start-ups 4 us both ways.
TEST_CASE("channels share the ports: start-ups overlap, bytes get no faster") {
  StepCase one;
  for (int l = 0; l < 4; ++l) {
    Layer layer;
    layer.gradient = Bytes(1000);
    one.trace.layers.push_back(layer);
  }
  struct Row {
    double start_up_us;
    int channels;
    int64_t us;
  };
  for (const Row& row : std::vector<Row>{{3, 1, 16}, {3, 2, 10}, {0, 1, 4}, {0, 2, 4}, {0, 4, 4}}) {
    CAPTURE(row.channels);
    one.cost = MessageCost::of_lines({{row.start_up_us * 1e6, 1000}});
    one.channels = row.channels;
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
      CHECK(one.play("wfbp", fidelity).iterations.front() == Duration::us(row.us));
  }
}

// Where alpha occupies the ports and nothing folds, the messages of a ring keep every port busy all
// the time, so that two rings share all of it: message by message as by formula, up to the rounding
// of each change of a rate.
TEST_CASE("channels: rings that meet at the ports share them as the closed form says") {
  Random random(9);
  for (int i = 0; i < 150; ++i) {
    StepCase ring;
    ring.trace = random_trace(random);
    ring.cluster.network = Network::uniform(
        2 + static_cast<int>(random.below(7)),
        {Duration::us(static_cast<int64_t>(random.below(100))), PerByte::ps(800), {}});
    ring.cost =
        MessageCost::of_algorithm(algorithm_named("ring", ""), ring_job(ring.cluster, true));
    ring.channels = 1 + static_cast<int>(random.below(4));
    CAPTURE(ring.channels);
    const Duration formula = ring.play("wfbp", Fidelity::closed_form).iterations.front();
    const Duration played = ring.play("wfbp", Fidelity::message).iterations.front();
    CHECK(std::abs((played - formula).ps()) <= 1000);
  }
}

// Two layers of 8 kB, ready together; four workers, 10 us of flight, 1 ns/B, no folds. A round of a
// ring is a chunk of 2 us; with both in flight it takes 4 us: 6 (10 + 4) us instead of two times
// 6 (10 + 2) us.
TEST_CASE("channels: flights overlap, bytes share the ports") {
  StepCase one;
  one.trace.layers.resize(2);
  for (Layer& layer : one.trace.layers) layer.gradient = Bytes(8000);
  one.cluster.network = Network::uniform(4, {Duration::us(10), PerByte::ps(1000), {}});
  CollectiveJob job = ring_job(one.cluster, false);
  job.options.alpha = AlphaRule::wire;
  one.cost = MessageCost::of_algorithm(algorithm_named("ring", ""), job);
  for (const auto& [channels, us] : {std::pair(1, 144), {2, 84}, {7, 84}}) {
    one.channels = channels;
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
      CHECK(one.play("wfbp", fidelity).iterations.front() == Duration::us(us));
  }
  // The messages are one communication while both are on their way.
  const StepResult both = one.play("wfbp", Fidelity::message);
  CHECK(both.mean.communication == Duration::us(84));
  CHECK(both.mean.exposed == Duration::us(84));
  CHECK(both.message_count == 2 * 6 * 4);
  CHECK(both.wire_B == 2 * 6 * 8000);
}

TEST_CASE("channels: several are never slower than one, and lose no byte") {
  Random random(10);
  for (int i = 0; i < 300; ++i) {
    StepCase one;
    one.trace = random_trace(random);
    const double start_up_ps = 1e6 * static_cast<double>(random.below(1000));
    one.cost =
        MessageCost::of_lines({{start_up_ps, 1000. * static_cast<double>(1 + random.below(9))}});
    Duration serial = Duration::s(3600);
    for (const int channels : {1, 2, 3, 8}) {
      one.channels = channels;
      const StepResult formula = one.play("wfbp", Fidelity::closed_form);
      CHECK(one.play("wfbp", Fidelity::message).iterations == formula.iterations);
      CHECK(formula.iterations.front() <= serial + Duration::ns(1));
      if (channels == 1) serial = formula.iterations.front();
    }
    // Without a start-up there is nothing to gain.
    one.cost = MessageCost::of_lines({{0, 2000}});
    const Duration many = one.play("wfbp", Fidelity::closed_form).iterations.front();
    one.channels = 1;
    const Duration single = one.play("wfbp", Fidelity::closed_form).iterations.front();
    CHECK(std::abs((many - single).ps()) <= 1000);
  }
}

// A takes 1 us and then 3 us of bytes, B 1 us and 2 us. A flows from 1 us on, B enters at 2 us and
// flows from 3 us on, when A has 1 us left: they share, A ends at 5 us, and B, with 1 us left,
// at 6. C has to wait for a channel until 5 us, flows from 6 us on, and ends at 7 us.
TEST_CASE("channels: exchanges in flight share what is there") {
  Channels two(2);
  CHECK(two.enter(Duration(), Duration::us(4), Duration::us(1)) == Duration());
  CHECK(two.silent() == Duration::us(4));
  CHECK(two.enter(Duration::us(2), Duration::us(3), Duration::us(1)) == Duration::us(2));
  CHECK(two.silent() == Duration::us(6));
  CHECK(two.enter(Duration::us(4), Duration::us(2), Duration::us(1)) == Duration::us(5));
  CHECK(two.ends() == std::vector{Duration::us(5), Duration::us(6), Duration::us(7)});
  Random random(11);
  for (int i = 0; i < 500; ++i) {
    Channels one(1);
    Channels many(1 + static_cast<int>(random.below(5)));
    Duration ready;
    Duration end;
    std::vector<Duration> serial;
    for (int k = 0; k < 20; ++k) {
      ready += Duration::ns(static_cast<int64_t>(random.below(4000)));
      const Duration alone = Duration::ns(static_cast<int64_t>(random.below(4000)));
      one.enter(ready, alone, Duration::ns(static_cast<int64_t>(random.below(5000))));
      many.enter(ready, alone, Duration());
      serial.push_back(end = std::max(end, ready) + alone);
    }
    CHECK(one.ends() == serial);
    CHECK(std::abs((many.silent() - end).ps()) <= 100);  // nothing but bytes: none are lost
  }
}

// A message is one block of T = 8 us: to the root of two, and back. One after the other two of them
// take 2 (2 L + 2 T); together they share the port to the root, and then the one back: 2 L + 4 T.
TEST_CASE("channels: blocks of pipelines share the ports, too") {
  StepCase one;
  one.trace.layers.resize(2);
  for (Layer& layer : one.trace.layers) layer.gradient = Bytes(8000);
  one.cluster.network = Network::uniform(2, {Duration::us(10), PerByte::ps(1000), {}});
  CollectiveJob job = ring_job(one.cluster, false);
  job.options.alpha = AlphaRule::wire;
  job.block = Bytes(8000);
  one.cost = MessageCost::of_algorithm(algorithm_named("lp", ""), job);
  CHECK(one.play("wfbp", Fidelity::message).iterations.front() == Duration::us(72));
  one.channels = 2;
  CHECK(one.play("wfbp", Fidelity::message).iterations.front() == Duration::us(52));
}
