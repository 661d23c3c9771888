// Flows that come and go on the wires of a switch, whose rates change, against steps from change to
// change with rates that are filled from scratch.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>

#include "sim/core/random.h"
#include "sim/play/play_flows.h"
#include "tests/cluster_cases.h"
#include "tests/filled_from_scratch.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

constexpr double B_per_s = 1e9;

struct Change {
  double at_s = 0;
  int host = 0;
  double factor = 1;  // of what it takes in
};

// When flows end that start together or later, in seconds, without latencies.
std::vector<double> ends_by_steps(const std::vector<PlainFlow>& flows, int hosts,
                                  const std::vector<Change>& changes) {
  PlainNetwork network;
  network.capacities.assign(2 * static_cast<std::size_t>(hosts), B_per_s);
  std::vector<double> left_B, ends(flows.size(), -1);
  for (const PlainFlow& flow : flows) left_B.push_back(static_cast<double>(flow.size.count()));
  std::size_t begun = 0, changed = 0;
  double now = 0;
  while (begun < flows.size() || !network.flows.empty()) {
    const std::map<uint32_t, double> rates = filled_from_scratch(network);
    double next = std::numeric_limits<double>::infinity();
    if (begun < flows.size()) next = std::min(next, flows[begun].start.since_start().s());
    if (changed < changes.size()) next = std::min(next, changes[changed].at_s);
    for (const auto& [number, rate] : rates)
      if (rate > 0) next = std::min(next, now + left_B[number] / rate);
    for (const auto& [number, rate] : rates) {
      left_B[number] -= rate * (next - now);
      if (left_B[number] > 1e-3) continue;
      ends[number] = next;
      network.flows.erase(number);
    }
    now = next;
    for (; changed < changes.size() && changes[changed].at_s <= now; ++changed)
      network.capacities[2 * static_cast<std::size_t>(changes[changed].host) + 1] =
          B_per_s * changes[changed].factor;
    for (; begun < flows.size() && flows[begun].start.since_start().s() <= now; ++begun)
      network.flows[static_cast<uint32_t>(begun)] = {
          {{2 * static_cast<uint32_t>(flows[begun].from), 1},
           {2 * static_cast<uint32_t>(flows[begun].to) + 1, 1}}};
  }
  return ends;
}

// The wire into a host.
uint32_t wire_into(Resources& wires, int host) {
  std::vector<ResourceUse> uses;
  Parcel parcel{.from = host == 0 ? 1 : 0, .to = host, .size_B = 1};
  REQUIRE(wires.find(parcel, Resources::Part::whole, uses));
  return uses.back().resource;
}

}  // namespace

TEST_CASE("flows: many that meet, come and go, and wires whose rates change") {
  Random random(5);
  for (int round = 0; round < rounds(150); ++round) {
    const int hosts = 3 + static_cast<int>(random.below(6));
    const Cluster cluster = cluster_of({{"shape", "single_switch"},
                                        {"nodes", hosts},
                                        {"nic", {{"latency", "0 us"}, {"bandwidth", "1 GBps"}}}});
    const auto wires = cluster.wires({});
    std::vector<PlainFlow> flows;
    const bool come_together = round % 5 == 0;
    for (int i = 0; i < 60; ++i) {
      const auto from = static_cast<int>(random.below(static_cast<uint64_t>(hosts)));
      const auto step = 1 + static_cast<int>(random.below(static_cast<uint64_t>(hosts - 1)));
      flows.push_back(
          {Time() +
               Duration::us(come_together ? 0 : 1000 * static_cast<int64_t>(random.below(300))),
           Bytes(static_cast<int64_t>(1'000'000 * (1 + random.below(60)))), from,
           (from + step) % hosts});
    }
    sort_by_start(flows);
    std::vector<Change> changes;
    std::vector<WireChange> of_wires;
    for (int i = 0; round % 2 == 1 && i < 4; ++i) {
      const auto host = static_cast<int>(random.below(static_cast<uint64_t>(hosts)));
      changes.push_back({0.05 * (i + 1) + 0.013, host, random.uniform(0.2, 1)});
    }
    for (const Change& change : changes)
      of_wires.push_back({Time() + Duration::nearest_ps(1e12 * change.at_s),
                          {wire_into(*wires, change.host)},
                          change.factor});
    FlowsQuestion question;
    question.flows = flows;
    question.network = &cluster.network;
    question.resources = wires.get();
    question.changes = of_wires;
    const FlowsPlayed played = play_flows(question);
    const std::vector<double> expected = ends_by_steps(flows, hosts, changes);
    CAPTURE(round);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      CAPTURE(i);
      // Steps leave up to a thousandth of a byte, and rates count as equal within 10^-9.
      REQUIRE(played.ends[i].since_start().s() == doctest::Approx(expected[i]).epsilon(1e-7));
    }
  }
}
