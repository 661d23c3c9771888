// Parameter servers: steady state, hashed partitions, unequal ports; closed form against messages.
#include "models/server/parameter_server.h"

#include <algorithm>
#include <doctest/doctest.h>

#include "models/step/step.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "tests/server_cases.h"
#include "tests/step_cases.h"

using namespace sgdsim;

namespace {

// Of messages of one size, each entered where the one before was left.
Duration period(const ParameterServers& group, const Network& network, Bytes size) {
  constexpr int before = 48;
  constexpr int measured = 48;
  std::vector<Time> clocks(static_cast<std::size_t>(network.workers()));
  Time begin;
  for (int i = 0; i < before + measured; ++i) {
    if (i == before) begin = *std::max_element(clocks.begin(), clocks.end());
    clocks = play_push_pull(group, network, size, {}, clocks).ends;
  }
  return Duration::ps((*std::max_element(clocks.begin(), clocks.end()) - begin).ps() / measured);
}

Network with_slow_ports(int workers, int slow, double per_byte_ps, double slow_ps) {
  Network network = Network::uniform(workers, {Duration::us(5), PerByte::ps(1), {}});
  std::vector<Port> ports(static_cast<std::size_t>(workers),
                          {{{}, PerByte::ps(per_byte_ps), {}}, {{}, PerByte::ps(per_byte_ps), {}}});
  for (int i = 0; i < slow; ++i)
    ports[static_cast<std::size_t>(i)].out.per_byte =
        ports[static_cast<std::size_t>(i)].in.per_byte = PerByte::ps(slow_ps);
  network.set_ports(std::move(ports));
  return network;
}

struct Lab {
  Trace trace;
  Cluster cluster;
  MessageCost cost;
  Strategy strategy = strategy_named("wfbp", "test");
  std::optional<Synchronization> synchronization;

  Lab(const std::string& json, const Network& network, const std::vector<int64_t>& sizes) {
    for (const int64_t size : sizes) {
      Layer layer;
      layer.name = "layer";
      layer.parameters = size / 4;
      layer.gradient = Bytes(size);
      layer.backward = Duration::us(100);
      trace.layers.push_back(layer);
    }
    cluster.network = network;
    cost = MessageCost::of_servers(read_servers(json, network));
  }
  double mean_us(Fidelity fidelity) const {
    StepQuestion question;
    question.trace = &trace;
    question.cluster = &cluster;
    question.strategy = &strategy;
    const Strategy all_at_once = strategy_named("sync_easgd", "test");
    if (synchronization) {  // asynchronous
      question.synchronization = &*synchronization;
      question.strategy = &all_at_once;
    }
    question.cost = cost;
    question.fidelity = fidelity;
    question.iterations = 40;
    question.warm_up = 10;
    Duration sum;
    for (const Duration one : simulate_step(question).iterations) sum += one;
    return sum.us() / 40;
  }
};

}  // namespace

// One server: the first of the next pushes comes beside the last pulls, (P+1) b + (P-1) n gamma.
TEST_CASE("servers: the steady state of messages of one size is that of the formula") {
  const PairCost cost{Duration::us(10), PerByte::ps(800), PerByte::ps(300)};
  const Bytes size(1'200'000);
  for (const AlphaRule alpha : {AlphaRule::port, AlphaRule::wire})
    for (const int workers : {2, 3, 4, 6, 8, 12}) {
      const Network network = Network::uniform(workers, cost);
      for (int count = 1; count <= 2 * workers; ++count)
        for (const bool dedicated : {true, false}) {
          if (!dedicated && (count > workers || workers % count != 0)) continue;
          CAPTURE(workers);
          CAPTURE(count);
          CAPTURE(dedicated);
          ParameterServers group =
              read_servers(servers(count, dedicated ? "" : co_located), network);
          group.alpha = alpha;
          const double part_B = 1'200'000. / count;
          const int P = workers;
          const int S = count;
          int turns = std::min(2 * P, P + 2 * S - 1);
          if (S > P) turns = std::min(2 * S, S + 2 * P - 1);
          if (!dedicated) turns = S == 1 ? P : 2 * (P - 1) - (P / S - 1);
          const Duration expected = turns * group.busy(part_B) + 2 * group.flight(part_B) +
                                    (P - 1) * cost.reduce.of(part_B);
          CHECK(push_pull_time(group, size, {}).steady() == expected);
          // With more servers than workers pulls of several messages interleave.
          const double epsilon = S > P ? 0.07 : 1e-6;
          CHECK(period(group, network, size).us() ==
                doctest::Approx(expected.us()).epsilon(epsilon));
        }
    }
}

// From max(P b + (P-1) f, (P-1) b' + b + f) + P b - (P-1) b', b' being that of the one before.
TEST_CASE("servers: steps of messages of different sizes, closed form and messages alike") {
  Random random(5);
  const PairCost cost{Duration::us(3), PerByte::ps(800), PerByte::ps(300)};
  for (int i = 0; i < 20; ++i) {
    std::vector<int64_t> sizes;
    for (int l = 0; l < 6; ++l)
      sizes.push_back(4 * (250 + static_cast<int64_t>(random.below(500'000))));
    for (const int count : {1, 2, 4, 8})
      for (const std::string& where : {std::string(), co_located}) {
        const Lab lab(servers(count, where), Network::uniform(8, cost), sizes);
        CAPTURE(count);
        CAPTURE(where);
        const double epsilon = count == 1 && where.empty() ? 0.01 : 0.06;
        CHECK(lab.mean_us(Fidelity::closed_form) ==
              doctest::Approx(lab.mean_us(Fidelity::message)).epsilon(epsilon));
      }
  }
}

TEST_CASE(
    "servers: a piece goes where the hash of its own number says, not to its layer's server") {
  const Network network = Network::uniform(4, {{}, PerByte::ps(1), {}});
  const ParameterServers group = read_servers(servers(8, byteps), network);
  std::vector<bool> used(8);
  for (int piece = 0; piece < 100; ++piece) {
    const auto parts = parts_of(group, Bytes(4'000'000), {13, piece, Bytes(4'000'000)});
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].server == djb2_server(65536 * 13 + piece, 8));
    used[static_cast<std::size_t>(parts[0].server)] = true;
  }
  CHECK(std::count(used.begin(), used.end(), true) == 8);
  // Pieces of more than a partition are cut further, and their numbers do not collide.
  const auto parts = parts_of(group, Bytes(10'000'000), {2, 3, Bytes(10'000'000)});
  REQUIRE(parts.size() == 3);
  for (int i = 0; i < 3; ++i)
    CHECK(parts[static_cast<std::size_t>(i)].server == djb2_server(2 * 65536 + 3 * 3 + i, 8));
}

TEST_CASE("servers: more of them are never slower; hashed ones never slower than one") {
  const PairCost cost{Duration::us(2), PerByte::ps(320), PerByte::ps(50)};
  const std::vector<int64_t> sizes = {40'000, 20'000'000, 4'000'000, 90'000'000};
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
    for (const char* strategy : {"wfbp", "naive", "bytescheduler"})
      for (const std::string& more : {std::string(), co_located, byteps, byteps + co_located}) {
        CAPTURE(strategy);
        CAPTURE(more);
        const bool hashed = more.starts_with(byteps);
        double before = 0;
        for (const int count : {1, 2, 4, 8}) {
          Lab lab(servers(count, more), Network::uniform(8, cost), sizes);
          lab.strategy = strategy_named(strategy, "test");
          const double now = lab.mean_us(fidelity);
          CAPTURE(count);
          if (count > 1) CHECK(now <= before * (1 + 1e-9));
          if (count == 1 || !hashed) before = now;
          // What is spread over eight servers is far from what one of them takes.
          if (count == 8 && hashed) CHECK(now < 0.8 * before);
        }
      }
}

TEST_CASE("servers: partitions beyond BytePS's numbers are refused before they are made") {
  const Network network = Network::uniform(4, {{}, PerByte::ps(1), {}});
  const ParameterServers small =
      read_servers(servers(2, byteps + R"(,"partition":"200 B")"), network);
  CHECK(parts_of(small, Bytes(200 * 65536), {}).size() == 65536);
  CHECK_THROWS_WITH_AS(parts_of(small, Bytes(200 * 65536 + 1), {}),
                       doctest::Contains("at most 65,536 partitions"), InputError);
  CHECK_NOTHROW(MessageCost::of_servers(small));  // its line asks for no message of 16 GiB
}

// Its server is another machine, so that all it has goes there and comes back: one after the other,
// 2 b; with two servers the first answers while it pushes to the second, 3 b of half the size.
TEST_CASE("servers: a lone worker pays for what travels") {
  struct Row {
    const char* servers;
    int64_t us;
  };
  for (const Row& row : {Row{R"({"servers": 1, "placement": "dedicated"})", 2 * (10 + 1000)},
                         Row{R"({"servers": 2, "placement": "dedicated"})", 3 * (10 + 500)},
                         Row{R"({"servers": 1, "placement": "co_located"})", 0}}) {
    CAPTURE(row.servers);
    StepCase one;
    one.trace.layers.emplace_back().gradient = Bytes(1'000'000);
    one.cluster = cluster_of({{"shape", "single_switch"},
                              {"nodes", 1},
                              {"nic", {{"latency", "5 us"}, {"bandwidth", "8 Gbps"}}}});
    one.cost = MessageCost::of_servers(read_servers(row.servers, one.cluster.network));
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
      CHECK(one.play("wfbp", fidelity).iterations.front() == Duration::us(row.us));
  }
  // As on wires.
  std::vector<double> times_us;
  for (const char* fidelity : {"closed_form", "message", "flow", "packet"}) {
    const Ran ran =
        call_sgdsim({"run", "resnet50_v100", "-c", "25gbe_16", "--format", "json", "--fidelity",
                     fidelity, "--set", "cluster.nodes=1", "--set", "strategy=sync_easgd", "--set",
                     "cluster.network=paper", "--set",
                     R"(collective={"parameter_server":{"servers":1,"placement":"dedicated"}})"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    times_us.push_back(Json::parse(ran.out)["metrics"]["iteration_us"]["mean"]);
    CHECK(times_us.back() == doctest::Approx(times_us.front()).epsilon(0.001));
  }
}

// Four workers, server 0 on worker 0 and server 1 on worker 2.
TEST_CASE("co-located servers: ports serve in order of arrival, answers among pushes") {
  // Worker 3 starts late. The answers of part 1 reach worker 0 beside its push of part 0.
  const PairCost cost{{}, PerByte::ps(1'000'000), {}};  // 1 us a byte
  const Network network = Network::uniform(4, cost);
  ParameterServers group = read_servers(servers(2, co_located), network);
  const Time late = Time() + Duration::us(100);
  const Played played =
      play_push_pull(group, network, Bytes(20), {}, {Time(), Time(), Time(), late});
  // Part 1: worker 3 sends 100..110, summed at 110. Its answers leave worker 2 at 110, 120, 130 for
  // workers 3, 0 and 1. Part 0: worker 3 sends 110..120, summed at 120, answers to 1, 2, 3 at 120,
  // 130, 140. Worker 0 ends at 130, 1 at 140, 2 at 140, 3 at 150.
  CHECK(played.ends == std::vector<Time>{Time() + Duration::us(130), Time() + Duration::us(140),
                                         Time() + Duration::us(140), Time() + Duration::us(150)});
}

// Under alpha = port with one server: sum b + max b, b being that of each worker.
TEST_CASE("dedicated servers: each worker pays its own port") {
  const Bytes size(1'000'000);
  struct Row {
    std::string reason;
    int slow;
    double us_per_byte_sum, us_per_byte_most;  // of (5 us + n beta)
  };
  for (const Row& row : std::vector<Row>{{"none", 0, 8 * 105, 105},
                                         {"one", 1, 7 * 105 + 1005, 1005},
                                         {"all", 8, 8 * 1005, 1005}}) {
    CAPTURE(row.reason);
    const Network network = with_slow_ports(8, row.slow, 100, 1000);
    const ParameterServers group = read_servers(servers(1), network);
    CHECK(push_pull_time(group, size, {}).together.us() ==
          doctest::Approx(2 * row.us_per_byte_sum));
    const double expected_us = row.us_per_byte_sum + row.us_per_byte_most;
    CHECK(push_pull_time(group, size, {}).steady().us() == doctest::Approx(expected_us));
    CHECK(period(group, network, size).us() == doctest::Approx(expected_us));
    // Asynchronous, with nothing to compute: the server's port decides.
    Lab lab(servers(1), network, {1'000'000});
    for (const char* name : {"async_ps", "ssp"}) {
      const Json json = name;
      lab.synchronization = read_synchronization(Value(json, "test", ""));
      CAPTURE(name);
      // Free of queues a worker's own cycle is 100 + 2 b.
      const double own = 100 + 2 * row.us_per_byte_most;
      const bool bounded = lab.synchronization->name == "ssp";
      const double least = bounded ? std::max(row.us_per_byte_sum, own) : row.us_per_byte_sum;
      CHECK(lab.mean_us(Fidelity::closed_form) == doctest::Approx(least).epsilon(1e-6));
      // Without a bound the formula is the limit; behind the slow worker's messages others wait.
      const double played = lab.mean_us(Fidelity::message);
      CHECK(played > 0.99 * least);
      CHECK(played < 1.01 * std::max(least, own));
    }
  }
}

// One worker cannot stand for all of them; each port would be charged as the slowest.
TEST_CASE("servers: no closed form where ports differ, but behind one port") {
  const Network network = with_slow_ports(8, 1, 100, 1000);
  for (const char* name : {"none", "async_ps"}) {
    CAPTURE(name);
    for (const std::string& refused :
         {servers(2), servers(1, co_located), servers(8, co_located)}) {
      Lab lab(refused, network, {1'000'000});
      const Json json = name;
      if (json != "none") lab.synchronization = read_synchronization(Value(json, "test", ""));
      CHECK_THROWS_WITH_AS(lab.mean_us(Fidelity::closed_form),
                           doctest::Contains("no closed form is known"), InputError);
      CHECK(lab.mean_us(Fidelity::message) > 0);
    }
  }
}

// Latency in flight, 1 us a byte at the slow port of worker 3, 0.1 us at the others, one co-located
// server on worker 0. The pushes of workers 1, 2 and 3 reach the server's port at once: it takes
// those of 10 bytes in 1 us each, and what comes from worker 3 in the 10 us that its port needs.
// That keeps the server's port for 1 us only, so that it does not hold up the others.
TEST_CASE("servers: a fast port is not kept by a slow one at the other end") {
  const PairCost pair{{}, PerByte::ps(100'000), {}};
  for (const int slow : {1, 3}) {
    CAPTURE(slow);
    Network network = Network::uniform(4, pair);
    std::vector<Port> ports(4);
    for (Port& port : ports) port.out.per_byte = port.in.per_byte = PerByte::ps(100'000);
    ports[static_cast<std::size_t>(slow)].out.per_byte = PerByte::ps(1'000'000);
    network.set_ports(std::move(ports));
    const ParameterServers group =
        read_servers(servers(1, co_located + R"(,"alpha":"wire")"), network);
    const Played played =
        play_push_pull(group, network, Bytes(10), {}, std::vector<Time>(4, Time()));
    // The last byte of the slow one: it goes first and ends at 10, or third, from 2 to 12.
    const int64_t sum_us = slow == 1 ? 10 : 12;
    CHECK(played.ends[0] == Time() + Duration::us(sum_us));
    CHECK(played.ends[1] == Time() + Duration::us(sum_us + 1));
    CHECK(played.ends[3] == Time() + Duration::us(sum_us + 3));
  }
}
