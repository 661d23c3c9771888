// Packets on several equal ways: flows that keep theirs meet by chance, sprayed ones hardly wait.
#include <cmath>
#include <numeric>

#include "sim/core/random.h"
#include "tests/packet_cases.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

namespace {

// Two racks, one full of senders and one full of receivers, with so many ways between them.
Cluster two_racks(int nodes, int ways, const std::string& bandwidth) {
  Json json = leaf_spine(2 * nodes, nodes, ways);
  json["uplink"]["bandwidth"] = bandwidth;
  for (const char* link : {"nic", "uplink"}) json[link]["latency"] = "0 us";
  return cluster_of(json);
}
// One flow from each sender to the receiver opposite, all at once.
std::vector<PlainFlow> across(int nodes, int64_t size_B) {
  std::vector<PlainFlow> flows;
  for (int i = 0; i < nodes; ++i) flows.push_back(flow({}, i, nodes + i, size_B));
  return flows;
}

// Of each road from the senders' switch upwards.
struct Uplink {
  double carried_B = 0;
  QueueUse queue;
};
std::vector<Uplink> uplinks_of(const Cluster& cluster, const FlowsPlayed& flows) {
  const auto wires = cluster.wires({});
  std::vector<Uplink> uplinks;
  for (uint32_t way = 0; way < flows.carried_B.size(); ++way) {
    const ResourceName name = wires->name_of(way);
    if (name.from != "leaf0" || !name.to.starts_with("spine")) continue;
    uplinks.push_back({flows.carried_B[way], {}});
    for (const QueueUse& queue : flows.packets->queues)
      if (queue.resource == way) uplinks.back().queue = queue;
  }
  return uplinks;
}
uint64_t longest_B(const std::vector<Uplink>& uplinks) {
  uint64_t most_B = 0;
  for (const Uplink& uplink : uplinks) most_B = std::max(most_B, uplink.queue.most_B);
  return most_B;
}

// The chance that n flows on m ways leave none with more than `most`: n! / m^n times the
// coefficient of x^n in (sum over j <= most of x^j / j!)^m.
double chance_of_at_most(int most, int n, int m) {
  std::vector<double> all(static_cast<std::size_t>(n) + 1);
  all[0] = 1;
  for (int way = 0; way < m; ++way)
    for (int total = n; total >= 0; --total) {
      double sum = 0;
      for (int j = 0; j <= std::min(most, total); ++j)
        sum += all[static_cast<std::size_t>(total - j)] / std::tgamma(j + 1);
      all[static_cast<std::size_t>(total)] = sum;
    }
  return all[static_cast<std::size_t>(n)] * std::tgamma(n + 1) / std::pow(m, n);
}
double mean_of_most(int n, int m) {
  double mean = 0;  // the sum of the chances that it is more than 0, 1, 2, ...
  for (int most = 0; most < n; ++most) mean += 1 - chance_of_at_most(most, n, m);
  return mean;
}

// A mean of draws, and how far it may be from the one of all draws: four of its deviations.
class Draws {
 public:
  void add(double value) { values_.push_back(value); }
  double mean() const { return std::accumulate(values_.begin(), values_.end(), 0.0) / size(); }
  double allowance() const {
    double squares = 0;
    for (const double value : values_) squares += (value - mean()) * (value - mean());
    return 4 * std::sqrt(squares) / size();
  }

 private:
  double size() const { return static_cast<double>(values_.size()); }
  std::vector<double> values_;
};

}  // namespace

// How many of n flows that keep their ways are on the fullest of m, and how often no two meet.
TEST_CASE("packets: flows that keep their ways fall on them as balls into urns") {
  struct Row {
    int flows;
    int ways;
    double most;   // to four digits
    double apart;  // m! / ((m - n)! m^n)
  };
  for (const Row& row : std::vector<Row>{{2, 4, 1.25, 0.75},
                                         {3, 4, 1.6875, 0.375},
                                         {4, 4, 2.125, 0.09375},
                                         {8, 4, 3.538, 0},
                                         {16, 4, 6.139, 0},
                                         {16, 16, 3.078, 1.13423e-6},
                                         {16, 2, 9.571, 0}}) {
    CAPTURE(row.flows);
    CAPTURE(row.ways);
    CHECK(mean_of_most(row.flows, row.ways) == doctest::Approx(row.most).epsilon(2e-4));
    CHECK(chance_of_at_most(1, row.flows, row.ways) == doctest::Approx(row.apart));
    const Cluster racks = two_racks(row.flows, row.ways, "100 Gbps");
    const std::vector<PlainFlow> flows = across(row.flows, 1000);
    Draws most;
    Draws apart;
    for (uint64_t seed = 1; seed <= 1500; ++seed) {
      double fullest = 0;
      for (const Uplink& uplink :
           uplinks_of(racks, played(racks, flows, "ideal packet=1000B spray=per_flow", {}, seed)))
        fullest = std::max(fullest, uplink.carried_B / 1000);
      most.add(fullest);
      apart.add(fullest == 1 ? 1 : 0);
    }
    CHECK(std::abs(most.mean() - row.most) <= most.allowance() + 5e-4);
    CHECK(std::abs(apart.mean() - row.apart) <= apart.allowance() + 1e-5);
  }
}

// Flows on one way share it, so that m flows on m ways of their own rate get as much on average as
// the part of the ways that are used, 1 - (1 - 1/m)^m. Of 16 flows on four ways, each four times as
// fast as a flow, the ways carry the mean of min(load, 4) / 4. Sprayed flows get all.
TEST_CASE("packets: what flows lose that keep their ways") {
  struct Row {
    int flows;
    int ways;
    const char* bandwidth;
    double share;
  };
  constexpr int packets = 400;
  for (const Row& row : std::vector<Row>{{4, 4, "100 Gbps", 0.6836},
                                         {8, 8, "100 Gbps", 0.6564},
                                         {16, 16, "100 Gbps", 0.6439},
                                         {16, 4, "400 Gbps", 0.8311}}) {
    CAPTURE(row.flows);
    CAPTURE(row.ways);
    const Cluster racks = two_racks(row.flows, row.ways, row.bandwidth);
    const std::vector<PlainFlow> flows = across(row.flows, 4000 * packets);
    const Duration alone =
        took(played(racks, {flows[0]}, "ideal packet=4000B spray=per_flow"), flows, 0);
    const auto share_of = [&](const std::string& transport, uint64_t seed) {
      const FlowsPlayed all = played(racks, flows, transport, {}, seed);
      double share = 0;
      for (std::size_t i = 0; i < flows.size(); ++i) share += alone / took(all, flows, i);
      return share / static_cast<double>(flows.size());
    };
    Draws kept;
    for (uint64_t seed = 1; seed <= 200; ++seed)
      kept.add(share_of("ideal packet=4000B spray=per_flow", seed));
    // L flows of one way take turns, and end with its last L of 400 L packets; three more packets
    // are the switches'. That is 1 %.
    CHECK(std::abs(kept.mean() - row.share) <= kept.allowance() + 0.01);
    // Each sender gives each way one packet in turn, so that a packet waits for one of each other
    // sender, at the three ports behind each other.
    CHECK(share_of("ideal packet=4000B", 1) >= 1 - 3.0 * row.flows / packets);
  }
}

// A sender at the rate of four ways together gives each of them one packet in each turn of four:
// the way sends it before the one of the turn after the next comes, so that one waits at most. Who
// draws gives some of them several in a row.
TEST_CASE("packets: one sender that takes all ways in turn hardly queues") {
  const Cluster racks = two_racks(2, 4, "25 Gbps");
  const std::vector<PlainFlow> flows = {flow({}, 0, 2, 40'000'000)};
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const auto longest_of = [&](const std::string& spray) {
      return longest_B(
          uplinks_of(racks, played(racks, flows, "ideal packet=4000B spray=" + spray, {}, seed)));
    };
    CHECK(longest_of("permuted") <= 4000);
    // A random walk of 10,000 steps on each way, whose deviation is sqrt(10,000 * 3) / 4 = 43.
    CHECK(longest_of("random") > 10 * 4000);
  }
}

// Single packets that come by chance to four ways and draw one are four queues M/D/1, at which
// rho^2 / (2 (1 - rho)) wait on average. Senders that take all ways in turn send more evenly.
TEST_CASE("packets: sprayed packets wait as in M/D/1 or less") {
  const double load = 0.8;
  const double expected_B = 1000 * load * load / (2 * (1 - load));
  const auto mean_B = [](const std::vector<Uplink>& uplinks) {
    double sum_B = 0;
    for (const Uplink& uplink : uplinks) sum_B += uplink.queue.mean_B;
    return sum_B / static_cast<double>(uplinks.size());
  };
  constexpr int senders = 64;
  const Cluster by_chance = two_racks(senders, 4, "100 Gbps");
  Random random(23);
  std::vector<PlainFlow> packets;
  double now_us = 0;
  for (int i = 0; i < 200'000; ++i) {
    now_us += random.exponential(0.08 / (4 * load));
    packets.push_back(flow(Duration::nearest_ps(now_us * 1e6), static_cast<int>(random.below(64)),
                           senders + static_cast<int>(random.below(64)), 1000));
  }
  const FlowsPlayed drawn = played(by_chance, packets, "ideal packet=1000B spray=random");
  // As many waits that hang together leave 3 %, as at one port.
  CHECK(mean_B(uplinks_of(by_chance, drawn)) == doctest::Approx(expected_B).epsilon(0.03));
  // Eight senders at full rate, which begin within the time of a packet, on four ways of 250
  // Gbit/s.
  const Cluster full = two_racks(8, 4, "250 Gbps");
  std::vector<PlainFlow> flows = across(8, 20'000'000);
  for (std::size_t i = 0; i < flows.size(); ++i)
    flows[i].start = Time() + Duration::ns(10) * static_cast<int64_t>(i);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const FlowsPlayed turns = played(full, flows, "ideal packet=1000B", {}, seed);
    CHECK(mean_B(uplinks_of(full, turns)) <= expected_B);
  }
}

// Flows that keep their ways, on four ways of two and a half flows each: where L > 2.5 of them
// meet, (L - 2.5) / 2.5 of what has gone waits when the last of them ends, and more the longer it
// takes.
TEST_CASE("packets: a way that too many flows keep queues without end") {
  const Cluster racks = two_racks(8, 4, "250 Gbps");
  int overloaded = 0;
  for (const int64_t size_B : {int64_t{4'000'000}, int64_t{16'000'000}})
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(size_B);
      CAPTURE(seed);
      const FlowsPlayed kept =
          played(racks, across(8, size_B), "ideal packet=4000B spray=per_flow", {}, seed);
      for (const Uplink& uplink : uplinks_of(racks, kept)) {
        const double flows = uplink.carried_B / static_cast<double>(size_B);
        if (flows < 2.5) continue;
        ++overloaded;
        // A packet is being sent, and each flow's comes whole: so many are in doubt.
        const double expected_B = (flows - 2.5) * static_cast<double>(size_B);
        CHECK(std::abs(static_cast<double>(uplink.queue.most_B) - expected_B) <= 4000 * flows);
      }
    }
  CHECK(overloaded >= 10);
}
