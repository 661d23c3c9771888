// Pipe-SGD's recurrence and totals, local SGD, parameter servers, asynchronous training.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>

#include "models/server/parameter_server.h"
#include "models/step/step.h"
#include "models/synchronization/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/json_of_run.h"

using namespace sgdsim;

namespace {

Synchronization synchronization_of(const std::string& json) {
  const Json parsed = Json::parse(json);
  return read_synchronization(Value(parsed, "test", ""));
}

// One layer that computes for `compute` and whose gradient takes `message` to exchange.
struct OneLayer {
  Trace trace;
  Cluster cluster;
  MessageCost cost;
  WorkerModel workers;
  Strategy strategy = strategy_named("wfbp", "test");
  Strategy all_at_once = strategy_named("sync_easgd", "test");  // of most synchronizations
  int iterations = 1;
  int warm_up = 0;
  uint64_t seed = 1;

  OneLayer(Duration compute, Duration message, int count = 4) {
    Layer layer;
    layer.name = "only";
    layer.parameters = 250;
    layer.gradient = Bytes(1000);
    layer.backward = compute;
    trace.layers = {layer};
    cluster.network = Network::uniform(count, {});
    cost = MessageCost::of_lines({{static_cast<double>(message.ps()), 0}});
  }
  StepResult play(const std::string& json, Fidelity fidelity) const {
    const bool none = json == "\"none\"";
    const Synchronization synchronization = none ? Synchronization() : synchronization_of(json);
    StepQuestion question;
    question.trace = &trace;
    question.cluster = &cluster;
    question.strategy = none || synchronization.plays_strategy() ? &strategy : &all_at_once;
    question.synchronization = none ? nullptr : &synchronization;
    question.cost = cost;
    question.workers = workers;
    question.fidelity = fidelity;
    question.iterations = iterations;
    question.warm_up = warm_up;
    question.seed = seed;
    return simulate_step(question);
  }
  Duration total(const std::string& json, Fidelity fidelity) const {
    Duration sum;
    for (const Duration one : play(json, fidelity).iterations) sum += one;
    return sum;
  }
};

std::string pipe(int width, const std::string& more = "") {
  return R"({"name":"pipe_sgd","width":)" + std::to_string(width) + more + "}";
}

ParameterServers servers_of(int workers, int servers, bool dedicated, const PairCost& cost) {
  ParameterServers group;
  group.workers = workers;
  group.servers = servers;
  group.dedicated = dedicated;
  group.cost = cost;
  return group;
}

}  // namespace

TEST_CASE("Pipe-SGD: T max(l_c, l_m) + min(l_c, l_m) for every K >= 2, T (l_c + l_m) for K = 1") {
  for (const auto& [compute, message, iterations] : std::vector<std::array<int64_t, 3>>{
           {3, 5, 50}, {5, 3, 50}, {4, 4, 7}, {1, 9, 1}, {9, 1, 2}}) {
    OneLayer lab(Duration::us(compute), Duration::us(message));
    lab.iterations = static_cast<int>(iterations);
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
      CHECK(lab.total(pipe(1), fidelity) == Duration::us(iterations * (compute + message)));
      for (const int width : {2, 3, 5})
        CHECK(lab.total(pipe(width), fidelity) ==
              Duration::us(iterations * std::max(compute, message) + std::min(compute, message)));
    }
  }
  OneLayer published(Duration::us(3), Duration::us(5));  // D-Sync 400, Pipe-SGD 253
  published.iterations = 50;
  CHECK(published.total(pipe(1), Fidelity::message) == Duration::us(400));
  CHECK(published.total(pipe(2), Fidelity::message) == Duration::us(253));
}

TEST_CASE("Pipe-SGD over a grid, and what it cannot gain") {
  Random random(21);
  for (int i = 0; i < 200; ++i) {
    const auto compute = static_cast<int64_t>(1 + random.below(1000));
    const auto message = static_cast<int64_t>(1 + random.below(1000));
    OneLayer lab(Duration::ns(compute), Duration::ns(message));
    lab.iterations = 1 + static_cast<int>(random.below(60));
    lab.trace.update = Duration::ns(static_cast<int64_t>(random.below(50)));
    const Duration l_c = lab.trace.backward() + lab.trace.update;
    const Duration l_m = Duration::ns(message);
    for (const int width : {1, 2, 3, 5}) {
      const Duration expected = width == 1
                                    ? (l_c + l_m) * lab.iterations
                                    : std::max(l_c, l_m) * lab.iterations + std::min(l_c, l_m);
      for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
        CHECK(lab.total(pipe(width), fidelity) == expected);
      CHECK(lab.total(pipe(1), Fidelity::message).ps() <= 2 * expected.ps());
    }
    CHECK(lab.total(pipe(1), Fidelity::message) == lab.total("\"none\"", Fidelity::message));
  }
}

// 1 + ratio at zero overhead: computation and the compressed exchange both hidden.
TEST_CASE("Pipe-SGD with codes of 1/ratio gains at most 1 + ratio over D-Sync") {
  Random random(22);
  for (int i = 0; i < 100; ++i) {
    const double compute_us = random.uniform(1, 1000);
    OneLayer lab(Duration::ps(std::llrint(compute_us * 1e6)), Duration());
    const double rate_ps = random.uniform(1, 1e6);
    lab.cost = MessageCost::of_lines({{0, rate_ps}});
    const double dense = (lab.total(pipe(1), Fidelity::closed_form)).us();
    for (const int ratio : {2, 4}) {
      const Json json = {{"name", ratio == 2 ? "truncate16" : "quantize8"}};
      Object fields(Value(json, "test", ""));
      OneLayer coded = lab;
      coded.warm_up = 3;
      coded.cost =
          MessageCost::compressed(lab.cost, read_compression(fields, {lab.trace, 4, PairCost()}));
      const double pipelined = coded.total(pipe(2), Fidelity::closed_form).us();
      CHECK(dense / pipelined <= 1 + ratio + 1e-6);
    }
  }
}

TEST_CASE("Pipe-SGD: jitter makes a wider pipeline faster, and staleness is reported") {
  OneLayer lab(Duration::us(100), Duration::us(100), 8);
  lab.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.5}};
  lab.iterations = 200;
  const Duration two = lab.total(pipe(2), Fidelity::message);
  const Duration three = lab.total(pipe(3), Fidelity::message);
  CHECK(three < two);
  lab.warm_up = 10;
  const Quality quality = lab.play(pipe(3), Fidelity::message).quality;
  CHECK(quality.staleness_mean == 2);
  CHECK(quality.staleness_max == 2);
  // The first iterations may be synchronous, and have nothing stale.
  lab.warm_up = 0;
  lab.iterations = 10;
  CHECK(lab.play(pipe(2, R"(,"synchronous_iterations":5)"), Fidelity::message)
            .quality.staleness_mean == doctest::Approx(0.5));
}

TEST_CASE("Pipe-SGD layer by layer: the exchange thread is busy for the sum of all messages") {
  OneLayer lab(Duration::us(100), Duration::us(30));
  for (int l = 0; l < 3; ++l) lab.trace.layers.push_back(lab.trace.layers[0]);
  lab.iterations = 100;
  lab.warm_up = 10;
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
    // 4 x 100 us of computation hide 4 x 30 us; one message hides 30 us.
    CHECK(lab.total(pipe(2, R"(,"communication":"layerwise")"), fidelity) == Duration::ms(40));
    CHECK(lab.total(pipe(2), fidelity) == Duration::ms(40));
    // K = 1 layer by layer is WFBP: only the last message is exposed.
    CHECK(lab.total(pipe(1, R"(,"communication":"layerwise")"), fidelity) ==
          lab.total("\"none\"", fidelity));
  }
  for (Layer& layer : lab.trace.layers) layer.backward = Duration::us(10);
  // max(40, 4 x 30) and max(40, 30).
  CHECK(lab.total(pipe(2, R"(,"communication":"layerwise")"), Fidelity::closed_form) ==
        Duration::ms(12));
  CHECK(lab.total(pipe(2), Fidelity::closed_form) == Duration::ms(4));
}

TEST_CASE("local SGD: H computations and one exchange") {
  OneLayer lab(Duration::us(7), Duration::us(20));
  lab.iterations = 12;
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
    CHECK(lab.total(R"({"name":"local_sgd","steps":4})", fidelity) ==
          Duration::us(12 * 7 + 3 * 20));
    CHECK(lab.total(R"({"name":"local_sgd","steps":1})", fidelity) ==
          lab.total("\"none\"", fidelity));
  }
  const Quality quality = lab.play(R"({"name":"local_sgd","steps":4})", Fidelity::message).quality;
  CHECK(quality.staleness_mean == 1.5);
  CHECK(quality.staleness_max == 3);
}

// T (l_c + e/H) + T/H l_m: every worker encodes what it sends, which is every H-th time.
TEST_CASE("local SGD: changes are compressed when they are exchanged") {
  const auto ps_of = [](const char* synchronization, const char* fidelity) {
    return json_of_run({"run", "app/experiments/alexnet_gtopk_1gbe.json", "--set",
                        "strategy=sync_easgd", "--set",
                        std::string("synchronization=") + synchronization, "--fidelity", fidelity,
                        "--format", "json"})["metrics"]["iteration_us"]["mean"]
        .get<double>();
  };
  const double computing_us =
      85735 + 171470;  // forward and backward of traces/data/alexnet_p102.json
  for (const char* fidelity : {"closed_form", "message"}) {
    const double each = ps_of("none", fidelity);
    CHECK(ps_of(R"({"name":"local_sgd","steps":1})", fidelity) == doctest::Approx(each));
    CHECK(ps_of(R"({"name":"local_sgd","steps":5})", fidelity) ==
          doctest::Approx(computing_us + (each - computing_us) / 5));
  }
}

// Dedicated: 2 P (alpha + n/S beta) + (P-1) n/S gamma. On workers: 2 (P-1) (alpha + n/S beta) +
// (P-1) n/S gamma, with one server and with P of them.
TEST_CASE("parameter servers: the formulas, message by message") {
  const PairCost cost{Duration::us(10), PerByte::ps(800), PerByte::ps(300)};
  const auto n = static_cast<double>(1'000'000);
  for (const int workers : {2, 3, 4, 5, 8, 13}) {
    const Network network = Network::uniform(workers, cost);
    auto check = [&](int servers, bool dedicated, int turns) {
      CAPTURE(workers);
      CAPTURE(servers);
      CAPTURE(dedicated);
      const ParameterServers group = servers_of(workers, servers, dedicated, cost);
      const double part_B = n / servers;
      const Duration expected = 2 * turns * (cost.latency + cost.per_byte.of(part_B)) +
                                (workers - 1) * cost.reduce.of(part_B);
      CHECK(push_pull_time(group, Bytes(1'000'000), {}).together == expected);
      const Played played = play_push_pull(group, network, Bytes(1'000'000), {},
                                           std::vector<Time>(static_cast<std::size_t>(workers)));
      CHECK(played.last_end().since_start() == expected);
      const int pairs = servers * (dedicated ? workers : workers - 1);
      CHECK(played.traffic.messages == 2 * pairs);
      CHECK(played.traffic.wire_B == doctest::Approx(2 * pairs * part_B));
    };
    for (int servers = 1; servers <= workers; ++servers) check(servers, true, workers);
    check(1, false, workers - 1);
    check(workers, false, workers - 1);
  }
}

TEST_CASE("parameter servers: published values at p = 4, 10 Gb/s, 50 us") {
  const PairCost cost{Duration::us(50), PerByte::ps(800), {}};
  const ParameterServers one = servers_of(4, 1, true, cost);
  CHECK(std::abs(push_pull_time(one, Bytes(243'860'896), {}).together.ms() - 1561.11) <= 0.005);
  CHECK(std::abs(push_pull_time(one, Bytes(46'758'048), {}).together.ms() - 299.652) <= 0.0005);
  // Long messages: p^2 / (p-1) times as long as a ring.
  const Bytes long_message(int64_t{1} << 36);
  const double ring_ps = 2 * 0.75 * static_cast<double>(long_message.count()) * 800;
  CHECK(static_cast<double>(push_pull_time(one, long_message, {}).together.ps()) / ring_ps ==
        doctest::Approx(16. / 3).epsilon(1e-4));
  // Workers to servers 3 : 1, ResNet-50, 100 Gb/s: 24.5 ms in each direction.
  const PairCost fast{{}, PerByte::ps(80), {}};
  CHECK(
      std::abs(
          push_pull_time(servers_of(36, 12, true, fast), Bytes(102'200'000), {}).together.ms() / 2 -
          24.5) <= 0.05);
}

TEST_CASE("incast: a server's port takes one message after the other, first come first served") {
  const PairCost cost{Duration::us(5), PerByte::ps(1000), {}};
  const Network network = Network::uniform(6, cost);
  const ParameterServers group = servers_of(6, 1, true, cost);
  Random random(23);
  for (int i = 0; i < 50; ++i) {
    std::vector<Time> starts;
    for (int w = 0; w < 6; ++w)
      starts.push_back(Time() + Duration::us(static_cast<int64_t>(random.below(400))));
    const Duration one = Duration::us(5 + 50);
    std::vector<Time> sorted = starts;
    std::sort(sorted.begin(), sorted.end());
    Time port;
    for (const Time start : sorted) port = std::max(port, start) + one;
    const Played played = play_push_pull(group, network, Bytes(50'000), {}, starts);
    std::vector<Time> ends = played.ends;
    std::sort(ends.begin(), ends.end());
    for (std::size_t w = 0; w < 6; ++w) CHECK(ends[w] == port + one * static_cast<int64_t>(w + 1));
    CHECK(played.traffic.wire_B == 2 * 6 * 50'000);
  }
}

// h = 5381, then 33 h + c over the decimal digits of the key.
TEST_CASE("BytePS's hash puts partitions on servers") {
  CHECK(djb2_server(0, 1000) == (5381 * 33 + '0') % 1000);
  CHECK(djb2_server(10, 1000) == ((5381 * 33 + '1') * 33 + '0') % 1000);
  const ParameterServers group = [] {
    ParameterServers hashed = servers_of(4, 3, true, {{}, PerByte::ps(1), {}});
    hashed.hashed = true;
    return hashed;
  }();
  const auto parts = parts_of(group, Bytes(10'000'000), {2, 0, {}});
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].size_B == 4'096'000);
  CHECK(parts[2].size_B == 10'000'000 - 2 * 4'096'000);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(parts[i].server == djb2_server(131'072 + static_cast<int64_t>(i), 3));
  // On one server, four workers: what all push, and while they still do the first parts are pulled.
  ParameterServers single = group;
  single.servers = 1;
  const Duration expected = Duration::ps(4 * (10'000'000 + 4'096'000));
  CHECK(push_pull_time(single, Bytes(10'000'000), {2, 0, {}}).together == expected);
  const Network network = Network::uniform(4, {{}, PerByte::ps(1), {}});
  CHECK(play_push_pull(single, network, Bytes(10'000'000), {2, 0, {}}, std::vector<Time>(4))
            .last_end()
            .since_start() == expected);
}

// min( P / (l_comp + b + max(b, n gamma) + l_up), 1 / b, 1 / (l_up + n gamma) ), b = alpha + n
// beta.
TEST_CASE("asynchronous: the three limits within 2 %, staleness P - 1") {
  struct Row {
    int64_t compute_us, update_us;
    double gamma_ps;
  };
  for (const Row& row : std::vector<Row>{
           {5000, 10, 10}, {100, 10, 10}, {100, 400, 10}, {100, 10, 5000}, {2000, 200, 900}}) {
    for (const int workers : {1, 2, 4, 16}) {
      CAPTURE(row.compute_us);
      CAPTURE(workers);
      const PairCost cost{Duration::us(20), PerByte::ps(1000), PerByte::ps(row.gamma_ps)};
      OneLayer lab(Duration::us(row.compute_us), Duration(), workers);
      lab.cluster.network = Network::uniform(workers, cost);
      lab.trace.layers[0].gradient = Bytes(100'000);
      lab.trace.update = Duration::us(row.update_us);
      lab.cost = MessageCost::of_servers(servers_of(workers, 1, true, cost));
      lab.iterations = 200;
      lab.warm_up = 20;
      const double message_us = 20 + 100;
      const double fold_us = 0.1 * row.gamma_ps;
      const double rate =
          std::min({workers / (static_cast<double>(row.compute_us) + message_us +
                               std::max(message_us, fold_us) + static_cast<double>(row.update_us)),
                    1 / message_us, 1 / (static_cast<double>(row.update_us) + fold_us)});
      const StepResult closed = lab.play("\"async_ps\"", Fidelity::closed_form);
      CHECK(closed.iterations[0].us() == doctest::Approx(workers / rate).epsilon(1e-6));
      const StepResult played = lab.play("\"async_ps\"", Fidelity::message);
      Duration total;
      for (const Duration one : played.iterations) total += one;
      CHECK(total.us() / 200 == doctest::Approx(workers / rate).epsilon(0.02));
      CHECK(played.quality.staleness_mean == doctest::Approx(workers - 1).epsilon(0.02));
    }
  }
}

// A server that nobody else uses: what it folds and updates is in the worker's way.
TEST_CASE("asynchronous: one worker pays its server") {
  struct Row {
    bool dedicated;
    double gamma_ps;
    double cycle_us;
  };
  // 1 ms of computation, 1 MB in 0.8 ms and 10 us, 3 ms of update.
  for (const Row& row : std::vector<Row>{{false, 5000, 1000 + 5000 + 3000},
                                         {false, 0, 1000 + 3000},
                                         {true, 100, 1000 + 810 + 810 + 3000},
                                         {true, 5000, 1000 + 5000 + 810 + 3000}})
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
      CAPTURE(row.dedicated);
      CAPTURE(row.gamma_ps);
      const PairCost cost{Duration::us(10), PerByte::ps(800), PerByte::ps(row.gamma_ps)};
      OneLayer lab(Duration::ms(1), Duration(), 1);
      lab.cluster.network = Network::uniform(1, cost);
      lab.trace.layers[0].gradient = Bytes(1'000'000);
      lab.trace.update = Duration::ms(3);
      lab.cost = MessageCost::of_servers(servers_of(1, 1, row.dedicated, cost));
      lab.iterations = 5;
      lab.warm_up = 1;
      CHECK(lab.play("\"async_ps\"", fidelity).iterations[0].us() ==
            doctest::Approx(row.cycle_us).epsilon(1e-9));
    }
}

TEST_CASE("bounded staleness: at the pace of the slowest; without a bound the others go on") {
  const PairCost cost{Duration::us(1), PerByte::ps(10), {}};
  OneLayer lab(Duration::us(100), Duration(), 4);
  lab.cluster.network = Network::uniform(4, cost);
  lab.cost = MessageCost::of_servers(servers_of(4, 1, true, cost));
  lab.workers.slowness = {{2, 2}};
  lab.iterations = 300;
  lab.warm_up = 30;
  // A cycle takes 102.02 us, the slow worker's 202.02 us.
  const double slow_us = 200 + 2 * 1.01;
  const double fast_us = 100 + 2 * 1.01;
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
    CHECK(lab.total(R"({"name":"ssp","staleness":2})", fidelity).us() / 300 ==
          doctest::Approx(slow_us).epsilon(0.02));
    CHECK(lab.total("\"async_ps\"", fidelity).us() / 300 ==
          doctest::Approx(4 / (3 / fast_us + 1 / slow_us)).epsilon(0.02));
  }
  // Nobody computes with parameters that lack more than the bound allows: (bound + 1) iterations of
  // each of the three others, and what arrives meanwhile.
  const StepResult bounded = lab.play(R"({"name":"ssp","staleness":2})", Fidelity::message);
  CHECK(bounded.quality.staleness_max <= 3 * (2 * 2 + 2));
}

TEST_CASE("synchronizations: what is refused, and where") {
  OneLayer lab(Duration::us(1), Duration::us(1));
  struct Row {
    std::string json, sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"\"pipe\"", "test: /name: unknown synchronization \"pipe\""},
           {R"({"name":"pipe_sgd","width":0})", "test: /width: expected"},
           {R"({"name":"pipe_sgd","steps":2})", "unknown field \"steps\""},
           {R"({"name":"pipe_sgd","communication":"all"})", "unknown communication \"all\""},
           {"\"async_ps\"", "needs parameter servers"}}) {
    CAPTURE(row.json);
    CHECK_THROWS_WITH_AS(lab.play(row.json, Fidelity::message),
                         doctest::Contains(row.sentence.c_str()), InputError);
  }
}
