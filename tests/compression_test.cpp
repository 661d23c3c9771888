// Compressions: the published curves to all printed digits, formulas for any number of workers,
// and the same picosecond from the closed form and from playing every message.
#include "models/compression/compression.h"

#include <cmath>
#include <doctest/doctest.h>

#include "models/compression/registry.h"
#include "models/compression/work.h"
#include "models/step/step.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"

using namespace sgdsim;

namespace {

Trace trace_of(const std::vector<int64_t>& parameters) {
  Trace trace;
  for (const int64_t count : parameters) {
    Layer layer;
    layer.name = std::to_string(trace.layers.size());
    layer.parameters = count;
    layer.gradient = Bytes(4 * count);
    layer.forward = Duration::us(10);
    layer.backward = Duration::us(30);
    trace.layers.push_back(layer);
  }
  return trace;
}

// One network of equal pairs, a trace, and whatever compression a test writes down.
struct Bench {
  Cluster cluster;
  Trace trace;

  Bench(int workers, const PairCost& pair, Trace layers) : trace(std::move(layers)) {
    cluster.network = Network::uniform(workers, pair);
  }
  CollectiveJob job(Operation operation) const {
    CollectiveJob job;
    job.operation = operation;
    job.team = {.size = cluster.network.workers(), .stride = 1};
    job.share = {.total = Bytes(1), .fractional = false, .split = {}};
    job.cost = cluster.network.worst();
    job.network = &cluster.network;
    return job;
  }
  MessageCost dense(const std::string& algorithm = "ring") const {
    return MessageCost::of_algorithm(algorithm_named(algorithm, ""), job(Operation::allreduce));
  }
  MessageCost compressed(const std::string& json, std::string algorithm = "") const {
    const Json parsed = Json::parse(json);
    Object fields(Value(parsed, "test", ""));
    Compression compression =
        read_compression(fields, {trace, cluster.network.workers(), cluster.network.worst()});
    fields.done();
    if (algorithm.empty()) algorithm = compression.algorithm;
    if (algorithm.empty()) algorithm = "ring";
    return MessageCost::compressed(
        MessageCost::of_algorithm(algorithm_named(algorithm, ""), job(compression.operation)),
        compression);
  }
  StepResult play(const Strategy& strategy, const MessageCost& cost, Fidelity fidelity,
                  const WorkerModel& workers = {}, int iterations = 1) const {
    StepQuestion question;
    question.trace = &trace;
    question.cluster = &cluster;
    question.strategy = &strategy;
    question.cost = cost;
    question.fidelity = fidelity;
    question.workers = workers;
    question.iterations = iterations;
    question.warm_up = 2;
    return simulate_step(question);
  }
};

// alpha 0.436 ms and 9 ns/B: 1 Gigabit Ethernet of the gTop-k paper.
PairCost gigabit(Duration alpha = Duration::us(436)) { return {alpha, PerByte::ps(9000), {}}; }

// A message of all gradients, in both fidelities.
double exchange_ms(const Bench& bench, const MessageCost& cost) {
  const Strategy one = strategy_named("sync_easgd", "test");
  const Duration compute = bench.trace.forward() + bench.trace.backward();
  const Duration closed = bench.play(one, cost, Fidelity::closed_form).iterations.front();
  CHECK(bench.play(one, cost, Fidelity::message).iterations.front() == closed);
  return (closed - compute).ms();
}

const std::string sparse_topk = R"({"name":"topk","density":0.001,"whole_entries":false})";
const std::string sparse_gtopk = R"({"name":"gtopk","density":0.001,"whole_entries":false})";

}  // namespace

// Shi and others (ICDCS 2019): dense 2(P-1) alpha + 2 (P-1)/P m beta, top-k lg P alpha + 2(P-1) k
// beta, gTop-k 2 lg P alpha + 4 k lg P beta, beta per 4-byte element, k = m / 1000.
TEST_CASE("gTop-k, top-k and dense over P, m = 25 * 2^20: the published curves") {
  struct Row {
    int workers;
    double dense_ms, topk_ms, gtopk_ms, slow_topk_ms, slow_gtopk_ms;
  };
  for (const Row& row : std::vector<Row>{{4, 1418.19, 6.534, 9.294, 7.662, 11.550},
                                         {8, 1657.61, 14.520, 13.941, 16.212, 17.325},
                                         {16, 1782.55, 30.056, 18.587, 32.312, 23.099},
                                         {32, 1855.49, 60.691, 23.234, 63.511, 28.874},
                                         {64, 1912.88, 121.525, 27.881, 124.909, 34.649},
                                         {128, 1983.44, 242.756, 32.528, 246.704, 40.424}}) {
    CAPTURE(row.workers);
    const Trace trace = trace_of({25 << 20});
    const Bench bench(row.workers, gigabit(), trace);
    const Bench slow(row.workers, gigabit(Duration::ms(1)), trace);
    // Half of the last digit that is printed.
    CHECK(std::abs(exchange_ms(bench, bench.dense()) - row.dense_ms) <= 0.005);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(sparse_topk)) - row.topk_ms) <= 0.0005);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(sparse_gtopk)) - row.gtopk_ms) <= 0.0005);
    CHECK(std::abs(exchange_ms(slow, slow.compressed(sparse_topk)) - row.slow_topk_ms) <= 0.0005);
    CHECK(std::abs(exchange_ms(slow, slow.compressed(sparse_gtopk)) - row.slow_gtopk_ms) <= 0.0005);
  }
}

TEST_CASE("gTop-k, top-k and dense over m, P = 32: the published curves") {
  struct Row {
    int m_log2;
    double topk_ms, gtopk_ms, dense_ms, slow_topk_ms, slow_gtopk_ms;
  };
  for (const Row& row : std::vector<Row>{{20, 4.520, 5.115, 100.17, 7.340, 10.755},
                                         {21, 6.861, 5.870, 173.31, 9.681, 11.510},
                                         {22, 11.542, 7.380, 319.58, 14.362, 13.020},
                                         {23, 20.903, 10.400, 612.14, 23.723, 16.040},
                                         {24, 39.627, 16.440, 1197.24, 42.447, 22.080},
                                         {25, 77.073, 28.519, 2367.45, 79.893, 34.159},
                                         {26, 151.967, 52.678, 4707.88, 154.787, 58.318},
                                         {27, 301.754, 100.997, 9388.72, 304.574, 106.637}}) {
    CAPTURE(row.m_log2);
    const Trace trace = trace_of({int64_t{1} << row.m_log2});
    const Bench bench(32, gigabit(), trace);
    const Bench slow(32, gigabit(Duration::ms(1)), trace);
    CHECK(std::abs(exchange_ms(bench, bench.dense()) - row.dense_ms) <= 0.005);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(sparse_topk)) - row.topk_ms) <= 0.0005);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(sparse_gtopk)) - row.gtopk_ms) <= 0.0005);
    CHECK(std::abs(exchange_ms(slow, slow.compressed(sparse_topk)) - row.slow_topk_ms) <= 0.0005);
    CHECK(std::abs(exchange_ms(slow, slow.compressed(sparse_gtopk)) - row.slow_gtopk_ms) <= 0.0005);
  }
}

// The communication of four networks by the same formulas, in seconds.
TEST_CASE("dense, top-k and gTop-k of VGG-16, ResNet-20, AlexNet and ResNet-50") {
  struct Row {
    int64_t parameters;
    int workers;
    double dense_s, topk_s, gtopk_s;
  };
  for (const Row& row : std::vector<Row>{{14'728'266, 4, .7979, .0041, .0060},
                                         {14'728'266, 8, .9340, .0087, .0090},
                                         {14'728'266, 16, 1.0072, .0177, .0120},
                                         {14'728'266, 32, 1.0543, .0351, .0150},
                                         {269'722, 4, .0172, .0009, .0018},
                                         {269'722, 8, .0231, .0014, .0027},
                                         {269'722, 16, .0313, .0020, .0036},
                                         {269'722, 32, .0458, .0028, .0046},
                                         {61'100'840, 4, 3.3021, .0141, .0193},
                                         {61'100'840, 8, 3.8555, .0321, .0290},
                                         {61'100'840, 16, 4.1374, .0677, .0387},
                                         {61'100'840, 32, 4.2888, .1386, .0484},
                                         {25'557'032, 4, 1.3827, .0064, .0091},
                                         {25'557'032, 8, 1.6162, .0142, .0137},
                                         {25'557'032, 16, 1.7382, .0293, .0182},
                                         {25'557'032, 32, 1.8096, .0592, .0228}}) {
    CAPTURE(row.parameters);
    CAPTURE(row.workers);
    const Bench bench(row.workers, gigabit(), trace_of({row.parameters}));
    CHECK(std::abs(exchange_ms(bench, bench.dense()) / 1e3 - row.dense_s) <= 5e-5);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(sparse_topk)) / 1e3 - row.topk_s) <= 5e-5);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(sparse_gtopk)) / 1e3 - row.gtopk_s) <= 5e-5);
  }
}

// 2 ceil(lg P)(alpha + 2k beta), and lg P (alpha + 2k beta) of the butterfly; k whole, at least 1.
TEST_CASE("gTop-k for any number of workers, entry size and k") {
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    const int workers = 2 + static_cast<int>(random.below(40));
    const auto parameters = static_cast<int64_t>(1 + random.below(3'000'000));
    const double density = random.below(2) == 0 ? 0.001 : 0.01;
    const int64_t entry_B = random.below(2) == 0 ? 8 : 16;
    CAPTURE(workers);
    CAPTURE(parameters);
    const Bench bench(workers, gigabit(), trace_of({parameters}));
    const int64_t k = std::max<int64_t>(1, parameters * (density == 0.001 ? 1 : 10) / 1000);
    const Duration hop = Duration::us(436) + PerByte::ps(9000) * Bytes(k * entry_B);
    const std::string fields = R"("density":)" + std::to_string(density) + R"(,"entry":")" +
                               std::to_string(entry_B) + R"( B")";
    const int rounds = log2_up(workers);
    CHECK(exchange_ms(bench, bench.compressed(R"({"name":"gtopk",)" + fields + "}")) ==
          (2 * rounds * hop).ms());
    if (workers == 1 << rounds)
      CHECK(exchange_ms(bench, bench.compressed(R"({"name":"gtopk","variant":"butterfly",)" +
                                                fields + "}")) == (rounds * hop).ms());
  }
}

// A part of an entry has its start-ups, and a byte.
TEST_CASE("gTop-k: a message of less than half a byte is one") {
  const Bench bench(8, gigabit(), trace_of({60}));
  const auto cost = bench.compressed(R"({"name":"gtopk","density":0.0001,"whole_entries":false})");
  CHECK(exchange_ms(bench, cost) == (6 * (Duration::us(436) + Duration::ns(9))).ms());
}

TEST_CASE("gTop-k: a merge per hop on the way up, and copies of the whole gradient") {
  const Bench bench(8, gigabit(), trace_of({1'000'000}));
  // 1000 entries of 8 B; merging 2000 entries takes 20 ms, copying 4 MB at 10 ns/B takes 40 ms.
  const Duration hop = Duration::us(436) + Duration::us(72);
  const MessageCost cost = bench.compressed(R"({"name":"gtopk","density":0.001,
      "merge":{"start_up":"20 ms"},"host_copy":{"per_byte":"10 ns/B"}})");
  CHECK(exchange_ms(bench, cost) == (6 * hop + 3 * Duration::ms(20) + Duration::ms(40)).ms());
}

// gamma x log2 x against the model's own column for the P102-100.
TEST_CASE("selection time of the P102-100") {
  struct Row {
    double elements, seconds;
  };
  const Json name = "p102_100";
  const Work work = read_work(Value(name, "test", ""));
  for (const Row& row : std::vector<Row>{
           {14'728'266, .0768}, {269'722, .0011}, {61'100'840, .3459}, {25'557'032, .1377}})
    CHECK(std::abs(work.of(row.elements, 4 * row.elements).s() - row.seconds) <= 5e-5);
}

// 2(p-1) alpha + 2 (p-1)/p (n/ratio) beta with p = 4, alpha 50 us, 10 Gb/s.
TEST_CASE("AlexNet and ResNet-18 in 32, 16 and 8 bits over a ring of four") {
  const PairCost ten_gigabit = {Duration::us(50), PerByte::ps(800), {}};
  struct Row {
    int64_t parameters;
    double whole_ms, half_ms, quarter_ms;
  };
  for (const Row& row : std::vector<Row>{{60'965'224, 292.933, 146.617, 73.458},
                                         {11'689'512, 56.410, 28.355, 14.327}}) {
    const Bench bench(4, ten_gigabit, trace_of({row.parameters}));
    CHECK(std::abs(exchange_ms(bench, bench.dense()) - row.whole_ms) <= 5e-4);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(R"({"name":"truncate16"})")) -
                   row.half_ms) <= 5e-4);
    CHECK(std::abs(exchange_ms(bench, bench.compressed(R"({"name":"quantize8"})")) -
                   row.quarter_ms) <= 5e-4);
  }
}

// Folding costs gamma per byte of values, not of codes; per_hop adds both kappas at every hop.
TEST_CASE("codes: placement once and per hop, as Pipe-SGD's timing model has them") {
  const PairCost pair = {Duration::us(50), PerByte::ps(800), PerByte::ps(100)};
  const int64_t n = 4'000'000;
  const Bench bench(4, pair, trace_of({n / 4}));
  const std::string rates =
      R"("compress":{"per_byte":"0.02 ns/B"},"decompress":{"per_byte":"0.03 ns/B"})";
  const auto ps = [](double count) { return Duration::ps(std::llrint(count)); };
  const double others = 0.75;
  for (const int ratio : {2, 4}) {
    const std::string name = ratio == 2 ? "truncate16" : "quantize8";
    const Duration wire = 6 * Duration::us(50) + ps(2 * others * n / ratio * 800);
    const Duration once = wire + ps(others * n * 100) + ps(n * (20. + 30.));
    CHECK(exchange_ms(bench, bench.compressed(R"({"name":")" + name + R"(",)" + rates + "}")) ==
          once.ms());
    const Duration per_hop = wire + ps(others * n * (100. + 20. + 30.)) + ps(others * n * 30);
    CHECK(exchange_ms(bench, bench.compressed(R"({"name":")" + name +
                                              R"(","placement":"per_hop",)" + rates + "}")) ==
          per_hop.ms());
  }
}

TEST_CASE("QSGD: a sign and one of s + 1 magnitudes, a norm per bucket, gathered") {
  // 1000 elements at s = 7: 4 bits each are 500 B; two buckets of 512 have a norm of 4 B each.
  const Bench bench(4, gigabit(), trace_of({1000}));
  const Encoded encoded =
      bench.compressed(R"({"name":"qsgd","levels":7,"bucket":512})").encoded({.size = Bytes(4000)});
  CHECK(encoded.transfers[0].operation == Operation::allgather);
  CHECK(encoded.transfers[0].size == Bytes(4 * (500 + 8)));
  // s = 1 has three values, 2 bits; s = 127 has 255, 8 bits.
  for (const auto& [levels, bits] : {std::pair(1, 2), std::pair(2, 3), std::pair(127, 8)})
    CHECK(
        bench.compressed(R"({"name":"qsgd","bucket":1000,"levels":)" + std::to_string(levels) + "}")
            .encoded({.size = Bytes(4000)})
            .transfers[0]
            .size == Bytes(4 * (1000 * bits / 8 + 4)));
}

TEST_CASE("signs: a bit of each value, a magnitude of the message, gathered") {
  const Bench bench(4, gigabit(), trace_of({1001}));
  const Encoded encoded = bench.compressed(R"({"name":"sign"})").encoded({.size = Bytes(4004)});
  CHECK(encoded.transfers[0].operation == Operation::allgather);
  CHECK(encoded.transfers[0].size == Bytes(4 * (126 + 4)));  // 1001 bits are 126 B
  CHECK(encoded.delivered == 1001);
}

TEST_CASE("random-k: k values without indices, in the experiment's own all-reduce") {
  const Bench bench(4, gigabit(), trace_of({1000}));
  const MessageCost cost = bench.compressed(R"({"name":"randomk","density":0.05})");
  const Encoded encoded = cost.encoded({.size = Bytes(4000)});
  CHECK(encoded.transfers[0].operation == Operation::allreduce);
  CHECK(encoded.transfers[0].size == Bytes(4 * 50));
  CHECK(encoded.sent == 50);
  CHECK(encoded.delivered == 50);  // all workers draw the same ones
  // At least one element of what has any.
  CHECK(cost.encoded({.size = Bytes(4)}).transfers[0].size == Bytes(4));
}

TEST_CASE("PowerSGD: factors of square matrices, vectors as they are") {
  Trace trace = trace_of({1'000'000 + 1000, 100, 40'000});
  trace.layers[0].tensors = {1'000'000, 1000};
  const Bench bench(4, gigabit(), trace);
  const MessageCost cost = bench.compressed(R"({"name":"powersgd","rank":2,"vector":2000})");
  // 1000 x 1000 and 200 x 200 at rank 2; 1000 and 100 elements are vectors.
  const Encoded encoded = cost.encoded({trace.gradient(), 0, 2});
  REQUIRE(encoded.transfer_count == 2);
  CHECK(encoded.transfers[0].size == Bytes(4 * (2000 + 1000 + 100 + 400)));
  CHECK(encoded.transfers[1].size == Bytes(4 * (2000 + 400)));
  // A vector alone needs one all-reduce.
  CHECK(cost.encoded({Bytes(400), 1, 1}).transfer_count == 1);
}

// Density such that the exchange fits: (t - lg P alpha) / (2 (P-1) beta m), beta per element.
TEST_CASE("LAGS: every layer as dense as the next layer's backward hides") {
  Trace trace = trace_of({1000, 100'000, 50'000});
  trace.layers[1].backward = Duration::ms(10);
  trace.layers[0].backward = Duration::us(500);
  const Bench bench(4, gigabit(), trace);
  const MessageCost cost = bench.compressed(R"({"name":"lags","density":0.001})");
  // Beside layer 2 runs the backward of layer 1, 10 ms: (10 - 2 * 0.436) ms / (3 * 8 B * 9 ns/B)
  // = 42,259 entries. Beside layer 1 runs that of layer 0, 0.5 ms, less than two start-ups.
  CHECK(cost.encoded({trace.layers[2].gradient, 2, 2}).sent == 42'259);
  CHECK(cost.encoded({trace.layers[1].gradient, 1, 1}).sent == 100);
  CHECK(cost.encoded({trace.layers[0].gradient, 0, 0}).sent == 1);
  CHECK(cost.encoded({trace.gradient(), 0, 2}).sent == 42'360);
}

TEST_CASE("any compression, any strategy: both fidelities give the same picosecond") {
  Random random(12);
  const std::string time = R"({"start_up":"3 us","per_byte":"0.1 ns/B"})";
  for (int i = 0; i < 25; ++i) {
    std::vector<int64_t> parameters;
    for (std::size_t l = 0; l < 1 + random.below(12); ++l)
      parameters.push_back(static_cast<int64_t>(random.below(200'000)));
    const int workers = 1 + static_cast<int>(random.below(9));
    const Bench bench(workers, {Duration::us(20), PerByte::ps(500), PerByte::ps(70)},
                      trace_of(parameters));
    for (const CompressionKind& kind : compressions()) {
      const std::string name(kind.name);
      const bool sparse = name.ends_with("topk") || name == "topk2" || name == "lags";
      std::string json = R"({"name":")" + name + "\",";
      json += sparse ? R"("selection":)" + time + R"(,"host_copy":)" + time
                     : R"("compress":)" + time + R"(,"decompress":)" + time;
      const MessageCost cost = bench.compressed(json + "}");
      for (const StrategyKind& strategy : strategies()) {
        if (strategy.name == "bsp_lp") continue;
        // Workers leave a tree of 3, 5, ... at different times, which moves Horovod's cycles.
        const bool even_tree = (workers & (workers - 1)) == 0;
        if (strategy.name == "horovod" && name == "gtopk" && !even_tree) continue;
        CAPTURE(name);
        CAPTURE(strategy.name);
        CAPTURE(workers);
        const Strategy chosen = strategy_named(std::string(strategy.name), "");
        const StepResult closed = bench.play(chosen, cost, Fidelity::closed_form);
        const StepResult played = bench.play(chosen, cost, Fidelity::message);
        CHECK(closed.iterations == played.iterations);
        CHECK(closed.mean.compression == played.mean.compression);
        CHECK(closed.mean.exposed == played.mean.exposed);
        CHECK(closed.quality.density == doctest::Approx(played.quality.density));
        const Breakdown& mean = closed.mean;
        CHECK(mean.forward + mean.backward + mean.compression + mean.exposed ==
              closed.iterations.front());
        if (workers == 1 && strategy.name != "horovod")
          CHECK(mean.exposed + mean.compression == Duration());
      }
    }
  }
}

TEST_CASE("selection delays the gradients behind it, and takes longer on a slow worker") {
  // Two layers of 30 us backward; selecting from each takes 5 us, exchanging nothing.
  Bench bench(2, {}, trace_of({1000, 1000}));
  const MessageCost cost = bench.compressed(R"({"name":"topk","selection":{"start_up":"5 us"}})");
  const Strategy wfbp = strategy_named("wfbp", "test");
  CHECK(bench.play(wfbp, cost, Fidelity::message).iterations.front() == Duration::us(20 + 60 + 10));
  WorkerModel slow;
  slow.slowness = {{1, 2}};
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
    CHECK(bench.play(wfbp, cost, fidelity, slow).iterations.front() == Duration::us(180));
}

TEST_CASE("densities by iteration: a warm-up schedule") {
  const Bench bench(4, {Duration(), PerByte::ps(1e6), {}}, trace_of({1000}));
  const MessageCost cost = bench.compressed(
      R"({"name":"gtopk","density":[{"density":0.25,"iterations":2},{"density":0.004,
          "iterations":1},{"density":0.001}]})");
  // 4 hops of 250, 4 and 1 entries of 8 B, 1 us a byte.
  const std::vector<Duration> expected = {Duration::us(40 + 8000), Duration::us(40 + 8000),
                                          Duration::us(40 + 128), Duration::us(40 + 32),
                                          Duration::us(40 + 32)};
  const Strategy wfbp = strategy_named("wfbp", "test");
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
    const StepResult result = bench.play(wfbp, cost, fidelity, {}, 5);
    CHECK(result.iterations == expected);
    CHECK(result.quality.density == doctest::Approx((0.25 * 2 + 0.004 + 0.001 * 2) / 5));
    CHECK(result.mean.exposed == Duration::ns((16'000 + 128 + 64) * 1000 / 5));
  }
}

TEST_CASE("from how many workers on gTop-k is cheaper than top-k: the published powers of two") {
  for (const auto& [parameters, from] :
       {std::pair(25 << 20, 8), std::pair(14'728'266, 16), std::pair(269'722, 256)}) {
    for (int workers = 2; workers <= 512; workers *= 2) {
      const Bench bench(workers, gigabit(), trace_of({parameters}));
      const Bytes size = bench.trace.gradient();
      CHECK((bench.compressed(sparse_gtopk).of(size) < bench.compressed(sparse_topk).of(size)) ==
            (workers >= from));
    }
  }
}

TEST_CASE("compressions: what is refused, and where") {
  const Bench bench(6, gigabit(), trace_of({1000}));
  struct Row {
    std::string json, sentence;
  };
  for (const Row& row : std::vector<Row>{
           {R"({"name":"topkk"})", "test: /name: unknown compression \"topkk\""},
           {R"({"name":"topk","density":0})", "test: /density: expected a density above 0"},
           {R"({"name":"topk","density":1.5})", "test: /density: expected"},
           {R"({"name":"topk","density":[]})", "test: /density: expected at least one density"},
           {R"({"name":"topk","density":[{"density":0.1},{"density":0.2}]})",
            "test: /density/1: the density before it"},
           {R"({"name":"topk","density":[{"density":0.1,"iterations":3}]})",
            "test: /density: the last density holds for the rest"},
           {R"({"name":"topk","levels":3})", "unknown field \"levels\""},
           {R"({"name":"gtopk","variant":"trie"})", "test: /variant: unknown variant \"trie\""},
           {R"({"name":"gtopk","power_of_two":true})", "there are 6 workers"},
           {R"({"name":"topk","entry":"0 B"})", "at least one byte"},
           {R"({"name":"topk","selection":"h100"})", "unknown device \"h100\""},
           {R"({"name":"qsgd","levels":0})", "test: /levels"},
           {R"({"name":"truncate16","placement":"twice"})", "unknown placement \"twice\""},
           {R"({"name":"truncate16","placement":"per_hop","compress":{"start_up":"1 us"}})",
            "per_hop needs"}}) {
    CAPTURE(row.json);
    CHECK_THROWS_WITH_AS(bench.compressed(row.json), doctest::Contains(row.sentence.c_str()),
                         InputError);
  }
}
