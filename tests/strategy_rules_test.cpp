// What single strategies do, by hand: DDP's static buckets, ByteScheduler's credit, Horovod's
// clock, and loading batches under strategies that go on into the next forward.
#include <doctest/doctest.h>

#include "models/collective/registry.h"
#include "models/step/step.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"

using namespace sgdsim;

namespace {

struct Lab {
  Trace trace;
  Cluster cluster{"", Network::uniform(4, {}), 1, {}, {}};
  int iterations = 3;
  int warm_up = 0;

  // `sizes` in bytes, from the input on; every layer computes for as long.
  Lab(const std::vector<int64_t>& sizes, Duration forward, Duration backward) {
    for (const int64_t size_B : sizes) {
      Layer layer;
      layer.name = std::to_string(trace.layers.size());
      layer.parameters = size_B / 4;
      layer.gradient = Bytes(size_B);
      layer.forward = forward;
      layer.backward = backward;
      trace.layers.push_back(layer);
    }
  }
  void connect(int workers, const PairCost& cost) {
    cluster.network = Network::uniform(workers, cost);
  }
  StepResult play(const std::string& strategy, Fidelity fidelity) const {
    const Json parsed = Json::parse(strategy);
    const Strategy chosen = read_strategy(Value(parsed, "test", ""));
    CollectiveJob job;
    job.team = {.size = cluster.network.workers(), .stride = 1};
    job.cost = cluster.network.worst();
    job.network = &cluster.network;
    StepQuestion question;
    question.trace = &trace;
    question.cluster = &cluster;
    question.strategy = &chosen;
    question.cost = MessageCost::of_algorithm(algorithm_named("ring", "test"), job);
    question.fidelity = fidelity;
    question.iterations = iterations;
    question.warm_up = warm_up;
    return simulate_step(question);
  }
};

constexpr std::array two_fidelities = {Fidelity::closed_form, Fidelity::message};

}  // namespace

TEST_CASE("ddp: static buckets are filled from the input on, the first of 1 MiB, and reversed") {
  const Lab lab({1'200'000, 40'000'000, 400'000}, Duration::ms(1), Duration::ms(1));
  const StepResult result = lab.play(R"({"name":"ddp","order":"static"})", Fidelity::closed_form);
  std::vector<int64_t> sizes;
  for (const MessageRecord& bucket : result.messages) sizes.push_back(bucket.size.count());
  CHECK(sizes == std::vector<int64_t>{400'000, 40'000'000, 1'200'000});
}

// Four workers, ring, no latency: a message of M bytes takes 6 M/4 ns = 1.5 M ns.
TEST_CASE("bytescheduler: a partition is sent while the credit is above 0") {
  // Backward of the last layer ends at 20 us, and its three pieces of 40 KB take 60 us each; that
  // of the first layer ends at 30 us. With credit for 60 KB two pieces are on their way by then,
  // and layer 0 goes third: 20 + 2 * 60 = 140 us. With credit for 40 KB one piece is: 80 us.
  Lab lab({40'000, 120'000}, Duration::us(5), Duration::us(10));
  lab.connect(4, {Duration(), PerByte::ps(1000), {}});
  for (const Fidelity fidelity : two_fidelities)
    for (const auto& row : {std::pair("60 KB", 140), std::pair("40 KB", 80)}) {
      const char* const credit = row.first;
      const int start_us = row.second;
      const std::string strategy =
          std::string(R"({"name":"bytescheduler","partition":"40 KB","credit":")") + credit + "\"}";
      lab.iterations = 1;
      const StepResult result = lab.play(strategy, fidelity);
      Duration backward_end = Duration::us(30);
      for (const MessageRecord& message : result.messages)
        if (message.first_layer == 0) {
          CAPTURE(credit);
          // Records of the closed form lie an iteration later than those of the first one played.
          CHECK(message.start - message.ready == Duration::us(start_us) - backward_end);
        }
    }
}

TEST_CASE("horovod: the clock of its thread runs on from one iteration to the next") {
  // 100 KB ready after 700 us, exchanged in 100 us: 0.7 -> cycle at 1 ms -> 1.1 ms; the next
  // gradient is there at 1.8 ms and waits for the cycle at 2 ms: from now on 1 ms each.
  Lab lab({100'000}, Duration::us(300), Duration::us(400));
  lab.connect(2, {Duration::us(25), PerByte::ps(500), {}});  // 2 (25 + 25) us
  for (const Fidelity fidelity : two_fidelities)
    CHECK(lab.play(R"({"name":"horovod"})", fidelity).iterations ==
          std::vector<Duration>{Duration::us(1100), Duration::ms(1), Duration::ms(1)});
  lab.warm_up = 1;
  for (const Fidelity fidelity : two_fidelities)
    CHECK(lab.play(R"({"name":"horovod"})", fidelity).iterations.front() == Duration::ms(1));
}

TEST_CASE("horovod: a single worker pays no cycle, and 2018 fuses 64 MiB") {
  Lab alone({1'000'000, 2'000'000}, Duration::us(10), Duration::us(20));
  alone.connect(1, {});
  for (const Fidelity fidelity : two_fidelities)
    CHECK(alone.play(R"({"name":"horovod","cycle":"5 ms"})", fidelity).iterations.front() ==
          Duration::us(60));
  constexpr int64_t half_B = 32 << 20;
  for (const auto& [size_B, count] : {std::pair(half_B, 1), std::pair(half_B + 4, 2)}) {
    Lab lab({half_B, size_B}, Duration::us(10), Duration::us(20));
    CHECK(
        lab.play(R"({"name":"horovod","preset":"2018"})", Fidelity::closed_form).messages.size() ==
        static_cast<std::size_t>(count));
  }
}

TEST_CASE("a batch that takes long to load is waited for under every strategy") {
  Lab lab({400'000, 400'000, 4'000}, Duration::us(100), Duration::us(200));
  lab.connect(4, {Duration::us(10), PerByte::ps(100), {}});
  lab.warm_up = 3;
  for (const Duration load : {Duration::ms(50), Duration::us(1'050)})
    for (const StrategyKind& kind : strategies()) {
      if (kind.name == "bsp_lp") continue;  // it needs a root's broadcast and reduce
      for (const Fidelity fidelity : two_fidelities) {
        const std::string strategy = R"({"name":")" + std::string(kind.name) + "\"}";
        lab.trace.load = Duration();
        const Duration without = lab.play(strategy, fidelity).iterations.back();
        lab.trace.load = load;
        CAPTURE(kind.name);
        CAPTURE(load.ps());
        const Duration with = lab.play(strategy, fidelity).iterations.back();
        if (kind.name == "horovod")  // which may meet another phase of its clock
          CHECK(with >= load);
        else
          CHECK(with == std::max(without, load));
      }
    }
}

TEST_CASE("slices of a byte are refused before they fill the memory") {
  Lab lab({1'000'000'000}, Duration::ms(1), Duration::ms(1));
  CHECK_THROWS_WITH_AS(lab.play(R"({"name":"p3","slice":"1 B"})", Fidelity::closed_form),
                       doctest::Contains("pieces of 1 B cut the gradients into 1000000000"),
                       InputError);
}
