// Rings whose links differ, in closed form, as their messages take.
#include "models/collective/unlike_ring.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "models/collective/simulate.h"
#include "sim/core/random.h"
#include "tests/cluster_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

using collective::RingLink;

// Step by step, as the rule says.
double by_steps_ps(const std::vector<RingLink>& links, int64_t steps) {
  std::vector<double> clocks(links.size());
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> next(links.size());
    for (std::size_t from = 0; from < links.size(); ++from) {
      const std::size_t to = (from + 1) % links.size();
      const double sent_ps = clocks[from] + links[from].transit_ps;
      next[from] = std::max(next[from], sent_ps);
      next[to] = std::max(next[to], sent_ps + links[from].flight_ps);
    }
    clocks = next;
  }
  return *std::max_element(clocks.begin(), clocks.end());
}

// A message of a ring of so many ranks, of 10 KB from one to the next.
Duration ring_time(const Json& json, int64_t ranks, Fidelity fidelity) {
  const Cluster cluster = cluster_of(json);
  CollectiveQuestion question;
  question.messages = {Bytes(10'000 * ranks)};
  question.fidelity = fidelity;
  return simulate_collective(question, cluster, "").time;
}

Json boxes(int nodes, const char* nic = "25 Gbps") {
  return {{"shape", "nvlink_box"},
          {"nodes", nodes},
          {"gpus_per_node", 8},
          {"network", "nccl"},
          {"gpu_link", {{"latency", "2 us"}, {"bandwidth", "300 GB/s"}}},
          {"nic", {{"latency", "10 us"}, {"bandwidth", nic}}}};
}

}  // namespace

TEST_CASE("unlike ring: the longest way around is what steps make") {
  Random random(5);
  for (int round = 0; round < rounds(3000); ++round) {
    std::vector<RingLink> links(2 + random.below(12));
    const uint64_t flights = 1 + random.below(30);
    for (RingLink& link : links)
      link = {static_cast<double>(random.below(flights)), static_cast<double>(random.below(12))};
    const auto others = static_cast<int64_t>(links.size() - 1);
    CAPTURE(round);
    for (const int64_t steps : {others, 2 * others})
      CHECK(collective::steps_around_ps(links, steps) == by_steps_ps(links, steps));
  }
}

// Of more than sixteen speeds, ways that wait at the slowest ones count: each is one that is taken.
TEST_CASE("unlike ring: of many speeds, no way is longer than the longest") {
  Random random(7);
  for (int round = 0; round < rounds(300); ++round) {
    std::vector<RingLink> links(17 + random.below(40));
    for (RingLink& link : links)
      link = {static_cast<double>(random.below(300)), static_cast<double>(random.below(10'000))};
    const auto steps = static_cast<int64_t>(links.size() - 1);
    double slowest_ps = 0;
    for (const RingLink& link : links) slowest_ps = std::max(slowest_ps, link.transit_ps);
    const double ps = collective::steps_around_ps(links, steps);
    CAPTURE(round);
    CHECK(ps <= by_steps_ps(links, steps));
    CHECK(ps >= static_cast<double>(steps) * slowest_ps);
  }
}

TEST_CASE("unlike ring: ports that change nothing change nothing, and slower ones what they slow") {
  const Json even = boxes(4);
  Json same = even;
  same["ports"] = {{{"node", 3}, {"bandwidth", "25 Gbps"}}};
  Json slower = even;
  slower["ports"] = {{{"node", 3}, {"bandwidth", "24.9 Gbps"}}};
  const Duration time = ring_time(even, 32, Fidelity::closed_form);
  CHECK(ring_time(even, 32, Fidelity::message) == time);
  CHECK(ring_time(same, 32, Fidelity::closed_form) == time);
  const Duration slowed = ring_time(slower, 32, Fidelity::closed_form);
  CHECK(ring_time(slower, 32, Fidelity::message) == slowed);
  CHECK(slowed > time);
  CHECK(slowed.ps() <= doctest::Approx(1.0041 * static_cast<double>(time.ps())));
}

TEST_CASE("unlike ring: clusters of unlike cards, in closed form as in messages") {
  Random random(6);
  for (int round = 0; round < rounds(200); ++round) {
    const auto nodes = static_cast<int>(2 + random.below(5));
    Json cluster = boxes(nodes);
    cluster["network"] = random.below(2) == 0 ? "nccl" : "tcp";
    for (int node = 0; node < nodes; ++node)
      if (random.below(2) == 0)
        cluster["ports"].push_back(
            {{"node", node}, {"bandwidth", std::to_string(1 + random.below(40)) + " Gbps"}});
    CAPTURE(cluster.dump());
    CHECK(ring_time(cluster, nodes * 8, Fidelity::closed_form) ==
          ring_time(cluster, nodes * 8, Fidelity::message));
  }
}
