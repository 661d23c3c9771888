// Messages that share ports: against drawings, against rounds where nothing is shared, and against
// a fluid that is stepped by brute force.
#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <limits>
#include <tuple>
#include <vector>

#include "models/collective/registry.h"
#include "sim/play/play_in_time.h"
#include "sim/play/rounds_at_ports.h"
#include "sim/play/symmetric.h"
#include "tests/collective_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

CollectiveCase case_of(const char* algorithm, Operation operation, const Network& network,
                       Bytes size) {
  CollectiveCase one;
  one.algorithm = &algorithm_named(algorithm, "");
  one.operation = operation;
  one.network = network;
  one.size = size;
  one.options.alpha = AlphaRule::wire;
  one.options.shares_ports = true;
  return one;
}

Duration time_of(const CollectiveCase& one, double send_buffer_B = 0,
                 PathChoice path = PathChoice::events) {
  PlayOptions options{one.options.alpha, one.jitter, path, one.options.shares_ports, send_buffer_B};
  return play(one.program(), one.network, options, one.starts).last_end().since_start();
}

// 1 ns/B and 10 us between any two.
Network uniform(int ranks) {
  return Network::uniform(ranks, {Duration::us(10), PerByte::ps(1000), PerByte::ps(50)});
}

// Single ports have times per byte of their own, the network between them costs nothing more.
Network unlike(const std::vector<double>& ps_per_byte, Duration latency) {
  Network network(static_cast<int>(ps_per_byte.size()), OneClass{}, {{latency, {}, {}}});
  std::vector<Port> ports;
  for (const double rate : ps_per_byte) {
    const PairCost cost{{}, PerByte::ps(rate), {}};
    ports.push_back({cost, cost});
  }
  network.set_ports(std::move(ports));
  return network;
}

}  // namespace

// Chunks of 1 MB take 1 ms and a flight of 10 us; rank 2 comes at 5 ms. Its chunk reaches rank 0 at
// 6.01, which sends to 1 until 7.02; what 1 has sent to 2 meanwhile is there and kept.
TEST_CASE("shared ports: a ring goes on where what comes early is kept") {
  CollectiveCase one = case_of("ring", Operation::allgather, uniform(3), Bytes(3'000'000));
  one.starts = {Time(), Time(), Time::at(Duration::us(5000))};
  const std::vector<Time> ends = {Time::at(Duration::us(7010)), Time::at(Duration::us(7020)),
                                  Time::at(Duration::us(7000))};
  for (const PathChoice path : {PathChoice::events, PathChoice::fastest})
    CHECK(one.played(path).ends == ends);
  CHECK(one.played().path == PathTaken::rounds);
}

// Of a ring no two messages are at a port at once, whatever its ranks and messages are like.
TEST_CASE("shared ports: rings of unlike ranks are simulated in rounds, as their messages are") {
  Random random(20261130);
  int in_rounds = 0;
  constexpr int cases = 600;
  for (int i = 0; i < rounds(cases); ++i) {
    const Operation operation = std::array{Operation::allreduce, Operation::allgather,
                                           Operation::reduce_scatter}[random.below(3)];
    CollectiveCase one =
        draw_case(random, algorithm_named("ring", ""), operation, {.least_ranks = 2});
    one.options.shares_ports = true;
    one.options.alpha = random.below(2) == 0 ? AlphaRule::port : AlphaRule::wire;
    if (random.below(3) > 0) one.starts = draw_starts(random, one.ranks());
    if (random.below(3) == 0) one.jitter = {random.uniform(0.01, 0.8), random.bits()};
    INFO(one.text());
    const Played fastest = one.played();
    const Played events = one.played(PathChoice::events);
    REQUIRE(events.path == PathTaken::events);
    CHECK(fastest.last_end() == events.last_end());
    CHECK(fastest.traffic.messages == events.traffic.messages);
    if (fastest.ends.size() == 1) continue;
    CHECK(fastest.ends == events.ends);
    in_rounds += fastest.path == PathTaken::rounds ? 1 : 0;
  }
  CHECK(in_rounds >= rounds(cases) / 2);
}

// Of rounds only what comes early shares the port of its receiver.
TEST_CASE("shared ports: rounds of unlike ranks that meet at ports, as flows do") {
  Random random(20261201);
  int apart = 0;  // were simulated without flows,
  int met = 0;    // and not as if each had its port to itself
  constexpr int cases = 3000;
  for (int i = 0; i < rounds(cases); ++i) {
    const Algorithm& algorithm = algorithms()[random.below(algorithms().size())];
    const Operation operation = algorithm.operations[random.below(algorithm.operations.size())];
    CollectiveCase one = draw_case(random, algorithm, operation, {.least_ranks = 2});
    one.options.shares_ports = true;
    one.options.alpha = random.below(2) == 0 ? AlphaRule::port : AlphaRule::wire;
    if (random.below(4) > 0) one.starts = draw_starts(random, one.ranks());
    if (random.below(3) == 0) one.jitter = {random.uniform(0.01, 0.8), random.bits()};
    one.starts.resize(static_cast<std::size_t>(one.ranks()));
    INFO(one.text());
    const Program program = one.program();
    const auto ends = play_rounds_at_ports(
        program, {.network = one.network, .alpha = one.options.alpha, .jitter = one.jitter},
        one.starts, nullptr);
    if (!ends) continue;
    const Played events = one.played(PathChoice::events);
    REQUIRE(events.path == PathTaken::events);
    CHECK(*ends == events.ends);
    CHECK(one.played().last_end() == events.last_end());
    ++apart;
    one.options.shares_ports = false;
    met += one.played(PathChoice::events).ends == events.ends ? 0 : 1;
  }
  CHECK(apart >= rounds(cases) / 6);
  CHECK(met >= rounds(cases) / 20);
}

// All send to the root at once: 10 us of flight, three messages of 1 ms through one port, and then
// three folds of 50 us, since all arrive at the same moment.
TEST_CASE("shared ports: an incast ends when the port has carried all of it") {
  CHECK(time_of(case_of("linear", Operation::reduce, uniform(4), Bytes(1'000'000))) ==
        Duration::us(10 + 3000 + 150));
}

// Per phase one flight and three quarters of the message through every port; with alpha at the
// ports three of them. The reduce-scatter folds three chunks.
TEST_CASE("shared ports: direct sends to all at once") {
  for (const auto& [alpha, us] : {std::pair(AlphaRule::wire, 2 * (10 + 3000) + 150),
                                  std::pair(AlphaRule::port, 2 * (30 + 3000) + 150)}) {
    CollectiveCase one = case_of("direct", Operation::allreduce, uniform(4), Bytes(4'000'000));
    one.options.alpha = alpha;
    one.options.shares_ports = false;
    one.set("direct", "at_once");
    CHECK(time_of(one) == Duration::us(us));
    CHECK(time_of(one, 0, PathChoice::fastest) == Duration::us(us));
    CHECK(closed_form_of(*one.algorithm, one.job()) == Duration::us(us));
  }
}

// Eight chunks of T = 50 us through every port and L = 10 us. What a buffer holds comes one by one
// and is folded (F) before the next: L + 8 T + F, or L + T + 8 F where folding is slower. Others
// come together: L + 8 T + 8 F. Both phases of an all-reduce: and L + 8 T.
TEST_CASE("shared ports: direct folds what a buffer holds as it comes, by every path") {
  for (const auto& [fold_us, buffer_B, us] :
       {std::tuple(10, 0, 490), std::tuple(10, 99'999, 490), std::tuple(10, 740'000, 420),
        std::tuple(100, 740'000, 860)}) {
    const PairCost cost{Duration::us(10), PerByte::ps(500), PerByte::ps(10. * fold_us)};
    for (const Operation operation : {Operation::reduce_scatter, Operation::allreduce}) {
      CollectiveCase one = case_of("direct", operation, Network::uniform(9, cost), Bytes(900'000));
      one.set("direct", "at_once");
      one.options.send_buffer = Bytes(buffer_B);
      const Duration right = Duration::us(operation == Operation::allreduce ? us + 410 : us);
      CHECK(time_of(one, buffer_B) == right);
      CHECK(time_of(one, buffer_B, PathChoice::fastest) == right);
      CHECK(closed_form_of(*one.algorithm, one.job()) == right);
    }
  }
}

// 16 ranks: 15 chunks of 101 B at most leave and enter every port, after a flight of 10 us. (In
// rounds each chunk had a flight of its own: 15 of them.)
TEST_CASE("shared ports: direct at once is as long as its largest chunk makes it") {
  CollectiveCase one = case_of("direct", Operation::alltoall, uniform(16), Bytes(1601));
  one.set("direct", "at_once");
  CHECK(time_of(one) == Duration::us(10) + Duration::ns(15 * 101));
  CHECK(one.closed_form() == time_of(one));
  one.following = {Bytes(1600)};
  CHECK(one.closed_form() == Duration::us(20) + Duration::ns(15 * 101 + 15 * 100));
}

// Recursive doubling, port 1 four times slower: T = 1 ms, L = 10 us. 0 -> 1 has port 1 for itself
// until 2 and 3 are done at T + L; then it shares it with 3 -> 1 and ends at 7T - L, so that 1 goes
// on at 7T and its message to 3 takes until 11T + L. In turns 1 would go on at 4T.
TEST_CASE("shared ports: a slow port serves both who sends to it") {
  const Network network = unlike({1000, 4000, 1000, 1000}, Duration::us(10));
  const CollectiveCase one =
      case_of("recursive_doubling", Operation::allreduce, network, Bytes(1'000'000));
  CHECK(time_of(one) == Duration::us(11'010));
  CollectiveCase turns = one;
  turns.options.shares_ports = false;
  CHECK(time_of(turns) == Duration::us(8'020));
  // Handed over whole, the messages to port 1 take it in the order in which they come.
  CHECK(time_of(one, 1e6) == Duration::us(8'020));
}

// A tree over four: 0 -> 2, then 0 -> 1 while 2 -> 3. The first message keeps its sender until its
// last B bytes fit into the buffer; these share the port with the second message and take 2B.
TEST_CASE("shared ports: what the buffer holds shares the port with the next message") {
  const CollectiveCase one = case_of("mst", Operation::broadcast, uniform(4), Bytes(1'000'000));
  CHECK(time_of(one, 0) == Duration::us(2020));
  CHECK(time_of(one, 100'000) == Duration::us(2120));
  CHECK(time_of(one, 500'000) == Duration::us(2520));
  CHECK(time_of(one, 1'000'000) == Duration::us(2020));
}

// Four GPUs behind one card of 1 ns/B, four more behind another. All send 1 MB across: 4 ms.
TEST_CASE("shared ports: a card carries what its GPUs send together") {
  Network network(8, NestedGroups{{4}},
                  {{{}, PerByte::ps(10), {}}, {Duration::us(10), PerByte::ps(1000), {}}});
  network.set_shared_ways({SharedWays{4, 1, {PerByte::ps(1000)}}});
  Phase phase;
  phase.team = {.size = 8, .stride = 1};
  phase.share = {.total = Bytes(1'000'000), .fractional = false, .split = {}};
  phase.talk = Talk::shift;
  phase.distance = 4;
  phase.rounds = 1;
  const Program program = Program().then(phase);
  PlayOptions options{AlphaRule::wire, {}, PathChoice::events, true, 0};
  CHECK(play(program, network, options).last_end().since_start() == Duration::us(4010));
  options.send_buffer_B = 1e9;
  CHECK(play(program, network, options).last_end().since_start() == Duration::us(4010));
}

TEST_CASE("shared ports: where all workers are alike nothing is shared, to the picosecond") {
  Random random(31);
  int cases = 0;
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < 200; ++i) {
      CollectiveCase one = draw_case(random, algorithm, operation, {.uniform_network = true});
      const Program program = one.program();
      const Wires wires(one.network, one.options.alpha);
      const auto expected = play_symmetric(program, wires, Time(), {.shares_ports = true});
      if (!expected || program.stages.empty()) continue;
      INFO(one.text());
      // All at once is what shared ports do of themselves.
      const auto* first = std::get_if<Phase>(&program.stages.front());
      if (operation == Operation::alltoall && first != nullptr && !first->at_once &&
          algorithm.name == "direct")
        set_option(one.options, "direct", "rounds", "");
      one.options.shares_ports = true;
      CHECK(time_of(one) == expected->since_start());
      CHECK(time_of(one, 1e12) == expected->since_start());
      one.options.shares_ports = false;
      if (!std::get<Phase>(program.stages.front()).at_once)
        CHECK(time_of(one) == expected->since_start());
      ++cases;
    }
  });
  CHECK(cases >= 1000);
}

TEST_CASE("shared ports: the blocks of a chain share nothing either") {
  Random random(34);
  for (int i = 0; i < 400; ++i) {
    const int ranks = 2 + static_cast<int>(random.below(20));
    const Operation operation = i % 2 == 0 ? Operation::broadcast : Operation::reduce;
    CollectiveCase one = case_of("lp", operation, Network::uniform(ranks, draw_cost(random)),
                                 Bytes(1 + static_cast<int64_t>(random.below(1'000'000))));
    one.block =
        Bytes(1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(one.size.count()))));
    if (one.size.count() / one.block->count() > 200) one.block = one.size;
    if (i % 3 == 0) one.options.alpha = AlphaRule::port;
    if (i % 5 == 0) one.set("gamma", "overlap");
    if (i % 7 == 0) one.set("duplex", "link");
    one.starts.assign(static_cast<std::size_t>(ranks), Time());
    INFO(one.text());
    const Duration shared = time_of(one);
    one.options.shares_ports = false;
    CHECK(shared == time_of(one));
  }
}

TEST_CASE("shared ports: broadcasts share nothing either") {
  Random random(32);
  for (int i = 0; i < 300; ++i) {
    const int ranks = 2 + static_cast<int>(random.below(60));
    CollectiveCase one = case_of(i % 2 == 0 ? "mst" : "linear", Operation::broadcast,
                                 Network::uniform(ranks, draw_cost(random)),
                                 Bytes(1 + static_cast<int64_t>(random.below(1'000'000))));
    if (i % 3 == 0) one.options.alpha = AlphaRule::port;
    one.starts.assign(static_cast<std::size_t>(ranks), Time());
    const Duration shared = time_of(one);
    one.options.shares_ports = false;
    CHECK(shared == time_of(one));
  }
}

// Everybody sends a chunk to everybody at once, through ports of different speeds: max-min fair
// rates, found by raising all rates together until something is full, again and again.
TEST_CASE("shared ports: an all-to-all over unlike ports is the fluid of brute force") {
  Random random(33);
  for (int i = 0; i < 200; ++i) {
    const int ranks = 2 + static_cast<int>(random.below(6));
    std::vector<double> rates;
    for (int r = 0; r < ranks; ++r)
      rates.push_back(100. * static_cast<double>(1 + random.below(9)));
    const double chunk_B = 1e6;
    struct Flow {
      std::size_t from, to;
      double left_B;
      double rate = 0;  // bytes per ps
      bool open = true;
    };
    std::vector<Flow> flows;
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to)
        if (from != to)
          flows.push_back({static_cast<std::size_t>(from), static_cast<std::size_t>(to), chunk_B});
    double now_ps = 0;
    while (!flows.empty()) {
      for (Flow& flow : flows) {
        flow.rate = 0;
        flow.open = true;
      }
      auto used = [&](std::size_t port, bool out) {
        double sum = 0;
        for (const Flow& flow : flows)
          if ((out ? flow.from : flow.to) == port) sum += flow.rate * rates[port];
        return sum;
      };
      while (std::any_of(flows.begin(), flows.end(), [](const Flow& flow) { return flow.open; })) {
        double raise = std::numeric_limits<double>::infinity();
        for (std::size_t port = 0; port < rates.size(); ++port)
          for (const bool out : {true, false}) {
            const auto open = std::count_if(flows.begin(), flows.end(), [&](const Flow& flow) {
              return flow.open && (out ? flow.from : flow.to) == port;
            });
            if (open > 0)
              raise = std::min(raise,
                               (1 - used(port, out)) / (static_cast<double>(open) * rates[port]));
          }
        for (Flow& flow : flows)
          if (flow.open) flow.rate += raise;
        for (Flow& flow : flows)
          if (used(flow.from, true) > 1 - 1e-9 || used(flow.to, false) > 1 - 1e-9)
            flow.open = false;
      }
      double step_ps = std::numeric_limits<double>::infinity();
      for (const Flow& flow : flows) step_ps = std::min(step_ps, flow.left_B / flow.rate);
      now_ps += step_ps;
      for (Flow& flow : flows) flow.left_B -= flow.rate * step_ps;
      std::erase_if(flows, [](const Flow& flow) { return flow.left_B < 1e-3; });
    }
    CollectiveCase one = case_of("direct", Operation::alltoall, unlike(rates, Duration()),
                                 Bytes(ranks * static_cast<int64_t>(chunk_B)));
    one.set("direct", "at_once");
    CAPTURE(ranks);
    CHECK(static_cast<double>(time_of(one).ps()) == doctest::Approx(now_ps).epsilon(1e-6));
  }
}
