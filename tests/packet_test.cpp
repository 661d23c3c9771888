// Packets: what formulas and drawings say of stores, queues and ways.
#include <array>
#include <cmath>

#include "models/collective/simulate.h"
#include "sim/core/random.h"
#include "tests/packet_cases.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

// n packets of s bytes over h roads with rate C and latency d: ns/C + (h-1)s/C + hd.
TEST_CASE("packets: store and forward, to the picosecond") {
  const Cluster six = cluster_of(row_of(6, "10 Gbps", "1 us"));
  // The published run: 30 packets of 9,064 B, 259.792 us; one at a time 1668.125 us.
  const std::vector<PlainFlow> one = {flow({}, 0, 1, 270'000)};
  CHECK(last_of(played(six, one, "ideal packet=9064B header=64B")) == Duration::ns(259'792));
  CHECK(last_of(played(six, one, "ndp first_window=23")) == Duration::ns(259'792));
  CHECK(last_of(played(six, one, "ndp first_window=1")) == Duration::ps(1'668'124'800));
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const auto roads = 2 + static_cast<int>(random.below(6));
    const auto packet_B = 100 + static_cast<int64_t>(random.below(9000));
    const auto count = 1 + static_cast<int64_t>(random.below(50));
    const auto latency_ns = static_cast<int64_t>(random.below(3000));
    CAPTURE(roads);
    CAPTURE(packet_B);
    CAPTURE(count);
    const Cluster row = cluster_of(row_of(roads, "100 Gbps", std::to_string(latency_ns) + " ns"));
    const Duration expected =
        Duration::ps(80 * packet_B) * (count + roads - 1) + Duration::ns(latency_ns) * roads;
    const std::vector<PlainFlow> flows = {flow(Duration::us(5), 0, 1, packet_B * count)};
    const std::string size = " packet=" + std::to_string(packet_B) + "B header=0B";
    CHECK(took(played(row, flows, "ideal" + size), flows, 0) == expected);
    CHECK(took(played(row, flows, "mlt loss_bound=0" + size), flows, 0) == expected);
    CHECK(took(played(row, flows, "roce_dcqcn" + size), flows, 0) == expected);
    CHECK(took(played(row, flows, "ndp first_window=60" + size), flows, 0) == expected);
  }
}

// Poisson arrivals of one size at a port: the mean wait is rho S / (2 (1 - rho)). Many senders at
// one switch, so that the queue is where they meet; a wait is what a packet takes beyond the wires.
TEST_CASE("packets: the wait in a queue is that of M/D/1") {
  const Cluster rack = cluster_of(rack_of(65));
  const double service_us = 0.08;  // 1,000 B at 100 Gbps
  for (const double load : {0.5, 0.8}) {
    CAPTURE(load);
    Random random(11);
    std::vector<PlainFlow> flows;
    double now_us = 0;
    constexpr int packets = 200'000;
    for (int i = 0; i < packets; ++i) {
      now_us += random.exponential(service_us / load);
      flows.push_back(flow(Duration::nearest_ps(now_us * 1e6),
                           1 + static_cast<int>(random.below(64)), 0, 1000));
    }
    const FlowsPlayed all = played(rack, flows, "ideal packet=1000B");
    double wait_us = 0;
    for (std::size_t i = 0; i < flows.size(); ++i)
      wait_us += took(all, flows, i).us() - 2 * service_us - 2;
    const double expected = load * service_us / (2 * (1 - load));
    // 64 senders are nearly a Poisson process, and 200,000 waits that hang together leave 3 %.
    CHECK(wait_us / packets == doctest::Approx(expected).epsilon(0.03));
    // By Little's law the queue has as many bytes as come in a wait.
    for (const QueueUse& queue : all.packets->queues)
      if (rack.wires({})->name_of(queue.resource).to == "node0")
        CHECK(queue.mean_B == doctest::Approx(1000 * load * expected / service_us).epsilon(0.03));
  }
}

// Two classes of Poisson arrivals of one size at one port, each at a load of 0.3. Strict priority
// without interruption makes them wait W_k = W_0 / ((1 - s_{k-1}) (1 - s_k)), with W_0 = 0.3 S and
// s_k the load of the classes up to k: 0.4286 and 1.0714 times the time S of a packet (Cobham).
TEST_CASE("packets: waits of two classes under strict priority") {
  PacketPool pool;
  PacketPorts ports({}, pool, 1);
  ports.add({});
  PacketPort& port = ports[0];
  PacketCounts counts;
  const Duration service = Duration::ns(80);
  Random random(5);
  constexpr int packets = 400'000;
  std::array<double, 3> wait = {};
  std::array<int, 3> count = {};
  Time now;
  Time free;
  const auto serve = [&](const Packet& packet, Time start) {
    wait[packet.queue] += (start - packet.sent) / service;
    ++count[packet.queue];
    free = start + service;
  };
  for (int i = 0; i < packets; ++i) {
    now = now + Duration::nearest_ps(random.exponential(80e3 / 0.6));
    while (free <= now && port.filled != 0) {
      const uint32_t first = ports.take(port, ports.next_queue(port), free);
      serve(pool[first], free);
      pool.remove(first);
    }
    Packet packet;
    packet.queue = static_cast<uint8_t>(1 + random.below(2));
    packet.size_B = 1000;
    packet.sent = now;
    if (free <= now) {
      serve(packet, now);
      continue;
    }
    uint32_t victim = Packet::none;
    REQUIRE(ports.admit(port, pool.add(packet), now, victim, counts) == Admission::queued);
  }
  // As many waits that hang together leave 2 %.
  CHECK(wait[1] / count[1] == doctest::Approx(0.3 / 0.7).epsilon(0.02));
  CHECK(wait[2] / count[2] == doctest::Approx(0.3 / (0.7 * 0.4)).epsilon(0.02));
}

// The flow that was sent to first: N packets of each sender, all at line rate. The receiver's link
// is never idle, so the last byte comes as if there were one sender.
TEST_CASE("packets: an incast takes what the receiver's link takes") {
  for (const int senders : {2, 5, 20}) {
    const Cluster rack = cluster_of(rack_of(senders + 1, "10 Gbps"));
    const std::vector<PlainFlow> flows = incast(senders, 270'000);
    CAPTURE(senders);
    // 30 packets of 9,064 B each: 7.2512 us for one.
    const Duration link = Duration::ps(7'251'200) * (30 * senders);
    const Duration least = link + Duration::us(2) + Duration::ps(7'251'200);
    CHECK(last_of(played(rack, flows, "ideal packet=9064B header=64B")) == least);
    const FlowsPlayed ndp = played(rack, flows, "ndp first_window=23");
    // Headers take 51.2 ns each, and the first pulls of all come together.
    CHECK(last_of(ndp) >= least);
    CHECK(last_of(ndp) / least < 1.035);
    check_conserved(ndp);
    for (const std::string& name : reliable) {
      CAPTURE(name);
      const FlowsPlayed all = played(rack, flows, name);
      CHECK(last_of(all) > Duration::ps(800) * (270'000 * senders));
      CHECK(all.packets->counts.delivered ==
            all.packets->counts.sent - all.packets->counts.sent_again);
      check_conserved(all);
    }
  }
}

// A burst of W packets from each of N senders at once. When the last of them come, the port has
// sent one, and is about to end the W-th: of NW packets W are gone or going, and one more waits
// because it comes just before: (N - 1)W + 1 have to fit, or N - 1 if W is 1.
TEST_CASE("packets: a burst is dropped where the buffer ends") {
  const auto drops = [](int senders, int packets) {
    const Cluster rack = cluster_of(rack_of(senders + 1));
    const std::vector<PlainFlow> flows = incast(senders, 1460 * packets);
    return played(rack, flows, "dctcp packet=1500B header=40B buffer=150000B mark_above=1000000")
        .packets->counts.dropped;
  };
  // 100 packets fit.
  CHECK(drops(10, 10) == 0);
  CHECK(drops(11, 10) == 1);
  CHECK(drops(101, 1) == 0);
  CHECK(drops(102, 1) == 1);
}

// Poisson arrivals of packets of one size, and room for `room` of them behind the one that is sent:
// the share that is lost is that of M/D/1/K with K = room + 1, from the chain of what departing
// packets leave behind.
TEST_CASE("packets: a finite buffer loses what M/D/1/K loses") {
  const auto loss_of = [](double load, int most) {
    // pi of the chain of 0 .. most - 1 left behind, one after the other: pi_0 = 1.
    std::vector<double> arrive = {std::exp(-load)};
    for (int j = 1; j <= most; ++j) arrive.push_back(arrive.back() * load / j);
    std::vector<double> pi = {1.0};
    for (std::size_t k = 0; k + 1 < static_cast<std::size_t>(most); ++k) {
      double next = pi[k] - pi[0] * arrive[k];
      for (std::size_t i = 1; i <= k; ++i) next -= pi[i] * arrive[k - i + 1];
      pi.push_back(next / arrive[0]);
    }
    double sum = 0;
    for (const double one : pi) sum += one;
    return 1 - 1 / (pi[0] / sum + load);
  };
  // K = 1: nobody waits; a packet is lost if one is being sent, rho / (1 + rho) of the time.
  CHECK(loss_of(0.5, 1) == doctest::Approx(1.0 / 3));
  const Cluster rack = cluster_of(rack_of(65));
  const double service_us = 0.08;
  for (const auto& queue : {std::pair(0.9, 4), std::pair(0.5, 1), std::pair(1.2, 9)}) {
    const double load = queue.first;
    const int room = queue.second;
    CAPTURE(load);
    CAPTURE(room);
    Random random(17);
    std::vector<PlainFlow> flows;
    double now_us = 0;
    for (int i = 0; i < 200'000; ++i) {
      now_us += random.exponential(service_us / load);
      flows.push_back(flow(Duration::nearest_ps(now_us * 1e6),
                           1 + static_cast<int>(random.below(64)), 0, 1000));
    }
    // Each packet is a connection: what is lost comes 100 s later.
    const FlowsPlayed all = played(
        rack, flows,
        "dctcp connections=0 packet=1000B header=0B least_timeout=100s mark_above=1000000 buffer=" +
            std::to_string(1000 * room) + "B");
    double lost = 0;
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (took(all, flows, i) > Duration::s(1)) ++lost;
    const double expected = loss_of(load, room + 1);
    // Binomial with about 1,000 losses at least, and losses come in clusters.
    CHECK(lost / static_cast<double>(flows.size()) == doctest::Approx(expected).epsilon(0.06));
  }
}

// The simulations of NDP's authors (10 Gbit/s, packets of 9,064 B), as their files print them.
TEST_CASE("packets: NDP and DCTCP as their authors' simulator has them") {
  const Cluster tree = cluster_of(fat_tree(12, "10 Gbps"));
  const std::string ndp = "ndp packet=9064B header=64B queue=8 first_window=23";
  for (const auto& printed : {std::pair(10, 0.002251), std::pair(100, 0.021871)}) {
    const int senders = printed.first;
    CAPTURE(senders);
    // Which roads the headers take differs, and with ten senders the first window is all there is.
    const FlowsPlayed all = played(tree, incast(senders, 270'000), ndp);
    CHECK(last_of(all).s() == doctest::Approx(printed.second).epsilon(0.02));
    CHECK(all.packets->counts.dropped == 0);  // headers without room go back
    check_conserved(all);
  }
  // A permutation among 432: 9.249 Gbit/s in the mean with NDP, 4.478 in the median with DCTCP
  // whose flows keep their ways. Ours end, theirs do not, and it is another permutation.
  Random random(2);
  std::vector<int> to(432);
  for (int i = 0; i < 432; ++i) to[static_cast<std::size_t>(i)] = i;
  for (std::size_t i = 431; i > 0; --i) std::swap(to[i], to[random.below(i)]);  // one cycle
  const int64_t size_B = 4'500'000;
  std::vector<PlainFlow> flows;
  for (int i = 0; i < 432; ++i)
    flows.push_back(flow({}, i, to[static_cast<std::size_t>(i)], size_B));
  const auto rates_of = [&](const std::string& transport) {
    const FlowsPlayed all = played(tree, flows, transport);
    std::vector<double> rates;
    for (std::size_t i = 0; i < flows.size(); ++i)
      rates.push_back(8e-9 * static_cast<double>(size_B) / took(all, flows, i).s());
    std::sort(rates.begin(), rates.end());
    return rates;
  };
  const std::vector<double> pulled = rates_of(ndp);
  double mean = 0;
  for (const double rate : pulled) mean += rate / 432;
  CHECK(mean == doctest::Approx(9.249).epsilon(0.04));
  CHECK(pulled.front() > 8.849 * 0.96);
  const std::vector<double> windows =
      rates_of("dctcp packet=9064B header=64B mark_above=15 queue_buffer=1758416B");
  CHECK(windows[216] == doctest::Approx(4.478).epsilon(0.1));
  CHECK(windows.front() < 0.5 * pulled.front());
}

// Two flows on two equal ways fall on one of them half of the time: the chance that n flows on m
// ways do not meet is m! / ((m - n)! m^n).
TEST_CASE("packets: flows that keep their ways meet by chance, sprayed ones do not") {
  const Cluster tree = cluster_of(leaf_spine(8, 4, 4));
  int apart = 0;
  constexpr int rounds = 400;
  const std::vector<PlainFlow> flows = {flow({}, 0, 4, 400'000), flow({}, 1, 5, 400'000),
                                        flow({}, 2, 6, 400'000), flow({}, 3, 7, 400'000)};
  const Duration alone = last_of(played(tree, {flows[0]}, "ideal spray=per_flow packet=4000B"));
  for (uint64_t seed = 1; seed <= rounds; ++seed)
    apart += last_of(played(tree, flows, "ideal spray=per_flow packet=4000B", {}, seed)) == alone
                 ? 1
                 : 0;
  // 0.09375 of 400, with a deviation of 5.8.
  CHECK(std::abs(apart - 37.5) < 3 * 5.8);
  const FlowsPlayed sprayed = played(tree, flows, "ideal packet=4000B");
  // Each uplink gets a quarter of each flow; packets that meet there wait for each other.
  CHECK(last_of(sprayed) < alone + Duration::ns(320) * 8);
}

TEST_CASE("packets: the same seed gives the same picoseconds, another one does not") {
  const Cluster tree = cluster_of(fat_tree(4));
  std::vector<PlainFlow> flows = incast(15, 500'000);
  for (const char* name : {"ndp", "mlt", "roce_dcqcn", "pfabric"}) {
    CAPTURE(name);
    const FlowsPlayed one = played(tree, flows, name, {}, 5);
    CHECK(one.ends == played(tree, flows, name, {}, 5).ends);
    CHECK(one.ends != played(tree, flows, name, {}, 6).ends);
  }
}

TEST_CASE("packets: links that fail lead packets elsewhere, or make them wait") {
  const Cluster tree = cluster_of(leaf_spine(8, 4, 2));
  const auto wires = tree.wires({});
  const auto ways_at = [&](const std::string& vertex) {
    std::vector<uint32_t> ways;
    for (uint32_t way = 0; way < wires->capacities().size(); ++way)
      if (wires->name_of(way).from == vertex || wires->name_of(way).to == vertex)
        ways.push_back(way);
    return ways;
  };
  const std::vector<PlainFlow> flows = {flow({}, 0, 4, 3'000'000)};
  for (const std::string& name : reliable) {
    CAPTURE(name);
    // One spine fails at 100 us: the other one carries the rest.
    const FlowsPlayed around =
        played(tree, flows, name, {{Time() + Duration::us(100), ways_at("spine0"), 0}});
    CHECK(last_of(around) > Duration::us(240));
    check_conserved(around);
    // The receiver is away from 50 us to 200 us.
    const FlowsPlayed back = played(tree, flows, name,
                                    {{Time() + Duration::us(50), ways_at("node4"), 0},
                                     {Time() + Duration::us(200), ways_at("node4"), 1}});
    CHECK(last_of(back) > Duration::us(350));
    check_conserved(back);
  }
  // For ever: senders give up, and it is said who waits.
  const FlowsPlayed gone =
      played(tree, flows, "dctcp", {{Time() + Duration::us(50), ways_at("node4"), 0}});
  CHECK(gone.stranded == std::vector<std::size_t>{0});
}

// Nothing is known of a route that is not there: such messages begin when one opens.
TEST_CASE("packets: messages that begin while nothing is open are as if they began later") {
  const Cluster tree = cluster_of(fat_tree(4, "10 Gbps"));
  const auto wires = tree.wires({});
  std::vector<uint32_t> uplinks;
  for (uint32_t way = 0; way < wires->capacities().size(); ++way)
    if (wires->name_of(way).kind == "uplink") uplinks.push_back(way);
  std::vector<PlainFlow> early;
  std::vector<PlainFlow> late;
  for (int i = 4; i < 16; ++i) {
    early.push_back(flow(Duration::us(10), i, 0, 200'000));
    late.push_back(flow(Duration::us(100), i, 0, 200'000));
  }
  const std::vector<WireChange> closed = {{Time() + Duration::us(1), uplinks, 0},
                                          {Time() + Duration::us(100), uplinks, 1}};
  for (const std::string& name : all_transports()) {
    CAPTURE(name);
    CHECK(played(tree, early, name, closed).ends == played(tree, late, name).ends);
  }
}

TEST_CASE("packets: queues of more than 4 GiB are counted") {
  const Cluster rack = cluster_of(rack_of(9, "100 Gbps", "0 us"));
  // Eight times 800 MB come while one eighth of it leaves.
  const FlowsPlayed all = played(rack, incast(8, 800'000'000), "ideal packet=1MB");
  const QueueUse& queue = all.packets->queues.front();
  CHECK(static_cast<double>(queue.most_B) == doctest::Approx(7.0 * 800e6).epsilon(0.01));
}

// Two senders fill the queue at the rate of one link for 800 us, and it drains for as long: in
// quarters of that 2.5, 7.5, 7.5 and 2.5 MB wait on average.
TEST_CASE("packets: queues over time") {
  const Cluster rack = cluster_of(rack_of(3));
  const std::vector<PlainFlow> flows = incast(2, 10'000'000);
  const auto wires = rack.wires({});
  const Json ideal = transport_in("ideal packet=1000B");
  FlowsQuestion question;
  question.flows = flows;
  question.network = &rack.network;
  question.resources = wires.get();
  question.carrier = carrier_of(Value(ideal, "test", ""), {}, 1);
  for (uint32_t way = 0; way < wires->capacities().size(); ++way) {
    question.watched.push_back(way);
    question.watched_queues.push_back(way);
  }
  question.interval = Duration::us(400);
  question.intervals = 5;
  const FlowsPlayed all = play_flows(question);
  REQUIRE(all.packets->queues.size() == 1);
  for (uint32_t way = 0; way < wires->capacities().size(); ++way) {
    const std::vector<double>& waiting_B = all.waiting_B[way];
    if (way != all.packets->queues[0].resource) {
      CHECK(waiting_B.empty());
      continue;
    }
    const std::vector<double> expected_B = {2.5e6, 7.5e6, 7.5e6, 2.5e6};
    REQUIRE(waiting_B.size() == 5);  // the last 1.08 us come later
    double sum_B = waiting_B[4];
    for (std::size_t i = 0; i < 4; ++i) {
      // All of it comes 1.08 us later, at 12.5 kB/us, and in packets.
      CHECK(std::abs(waiting_B[i] - expected_B[i]) <= 1.08 * 12'500 + 2000);
      sum_B += waiting_B[i];
    }
    CHECK(sum_B * 400 / last_of(all).us() == doctest::Approx(all.packets->queues[0].mean_B));
  }
}

// Nothing in the way: packets take what messages take, but that the first one has to be stored in
// every switch.
TEST_CASE("packets: collectives without contention are messages, within their packets") {
  const Json ideal = "ideal";
  int compared = 0;
  for (const auto& json : {rack_of(8), leaf_spine(8, 2, 4), fat_tree(4)}) {
    const Cluster cluster = cluster_of(json);
    for (const char* algorithm : {"ring", "recursive_doubling", "halving_doubling", "mst"})
      for (const int64_t size_B : {int64_t{1000}, int64_t{1} << 22}) {
        CollectiveQuestion question;
        question.algorithm = algorithm;
        question.messages = {Bytes(size_B)};
        question.options.alpha = AlphaRule::wire;
        question.fidelity = Fidelity::flow;
        const Duration flows = simulate_collective(question, cluster, "test").time;
        question.fidelity = Fidelity::packet;
        question.carrier = carrier_of(Value(ideal, "test", ""), {}, 1);
        const CollectiveAnswer packets = simulate_collective(question, cluster, "test");
        CAPTURE(cluster.name);
        CAPTURE(algorithm);
        CAPTURE(size_B);
        // Six roads at most: five times a packet of 4,096 B at 100 Gbps for each round, and what
        // sprayed packets wait for each other.
        const double rounds = 2.0 * cluster.network.workers();
        CHECK(packets.time >= flows);  // headers, and whole packets at each switch
        if (std::string(algorithm) == "ring")
          CHECK(packets.time.us() <= flows.us() + rounds * 12 * 0.328);
        ++compared;
      }
  }
  CHECK(compared == 24);
}

// A ring on a fat tree sends one message out of each edge switch, which has two ways up.
TEST_CASE("packets: the use of links is that of the ways that packets took") {
  const Cluster cluster = cluster_of(fat_tree(4));
  const auto answer_of = [&](const std::string& transport) {
    const Json json = transport_in(transport);
    CollectiveQuestion question;
    question.algorithm = "ring";
    question.messages = {Bytes(int64_t{16} << 20)};
    question.options.alpha = AlphaRule::wire;
    question.fidelity = Fidelity::packet;
    question.carrier = carrier_of(Value(json, "test", ""), {}, 1);
    return simulate_collective(question, cluster, "test");
  };
  const auto up = [](const CollectiveAnswer& answer) {
    for (const KindUse& kind : answer.wires.kinds)
      if (kind.kind == "uplink") return kind;
    FAIL("no uplinks");
    return KindUse();
  };
  const auto bytes_up = [](const CollectiveAnswer& answer, const KindUse& kind) {
    return kind.mean * static_cast<double>(kind.ways) * 12.5e9 * answer.time.us() * 1e-6;
  };
  const CollectiveAnswer sprayed = answer_of("ideal spray=random header=0B");
  const CollectiveAnswer kept = answer_of("ideal spray=per_flow header=0B");
  CHECK(bytes_up(sprayed, up(sprayed)) == doctest::Approx(bytes_up(kept, up(kept))).epsilon(1e-9));
  // 8 messages leave an edge in each of 30 rounds, and 4 of these a pod: two roads, or four.
  const double expected_B = 30.0 * (4 * 2 + 4 * 4) * (int64_t{1} << 20);
  CHECK(bytes_up(kept, up(kept)) == doctest::Approx(expected_B).epsilon(1e-9));
  CHECK(sprayed.wires.busiest.front().carried_B > 0);
  const double share = up(sprayed).most * sprayed.time.us() / (up(kept).most * kept.time.us());
  CHECK(share > 0.5 - 1e-9);
  CHECK(share < 0.55);
}
