// Max-min fair rates: against cases from textbooks, and against filling from scratch. Both ways to
// find them, by changes and with knots of a few flows, pass the same tests.
#include "sim/net/max_min.h"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <map>
#include <utility>

#include "sim/core/random.h"
#include "sim/net/fair_rates.h"
#include "tests/filled_from_scratch.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

constexpr double no_cap = 1e30;

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(a, b) + 1e-300; }

template <class Rates>
std::vector<double> rates_of(const std::vector<double>& capacities,
                             const std::vector<std::vector<uint32_t>>& routes) {
  Rates network(capacities);
  for (uint32_t f = 0; f < routes.size(); ++f) {
    std::vector<ResourceUse> uses;
    for (const uint32_t resource : routes[f]) uses.push_back({resource, 1});
    network.add(f, uses, no_cap);
  }
  std::vector<double> rates(routes.size());
  network.settle([&](uint32_t flow, double rate) { rates[flow] = rate; });
  return rates;
}

}  // namespace

// Bertsekas and Gallager, figure 6.9 in kind: one long flow over three links, one short on each.
TEST_CASE_TEMPLATE("max-min: the parking lot", TestType, MaxMin, FairRates) {
  CHECK(rates_of<TestType>({1, 1, 1}, {{0, 1, 2}, {0}, {1}, {2}}) ==
        std::vector{0.5, 0.5, 0.5, 0.5});
  // The middle link has three times as much: its own flow takes what the long one leaves.
  CHECK(rates_of<TestType>({1, 3, 1}, {{0, 1, 2}, {0}, {1}, {2}}) ==
        std::vector{0.5, 0.5, 2.5, 0.5});
}

TEST_CASE_TEMPLATE("max-min: one bottleneck, and two that have nothing to do with each other",
                   TestType, MaxMin, FairRates) {
  CHECK(rates_of<TestType>({6}, {{0}, {0}, {0}}) == std::vector{2.0, 2.0, 2.0});
  CHECK(rates_of<TestType>({6, 1}, {{0}, {0}, {0}, {1}, {1}}) ==
        std::vector{2.0, 2.0, 2.0, 0.5, 0.5});
  // Held up at 1 there, a flow leaves 5 of 6 to the other one here.
  CHECK(rates_of<TestType>({6, 1}, {{0, 1}, {0}}) == std::vector{1.0, 5.0});
}

namespace {

// Flows come and go, resources give more or less or nothing; after each change all rates are those
// of filling from scratch, no resource gives more than it has, and what did not change is not told.
template <class Rates>
void change_at_random(Random& random, uint64_t most_resources, int steps, uint64_t one_in = 3) {
  PlainNetwork plain;
  const auto resources = 1 + random.below(most_resources);
  const bool alike = random.below(3) == 0;  // ties
  for (uint64_t r = 0; r < resources; ++r)
    plain.capacities.push_back(alike ? 1.0 : random.uniform(0.1, 10));
  Rates network(plain.capacities);
  std::map<uint32_t, double> told;
  for (int step = 0; step < steps; ++step) {
    const uint64_t changes = 1 + random.below(3);
    for (uint64_t c = 0; c < changes; ++c) {
      const uint64_t what = random.below(10);
      if (what < 6 || plain.flows.empty()) {
        uint32_t number = 0;
        while (plain.flows.contains(number)) ++number;
        PlainNetwork::PlainFlow flow;
        for (uint32_t r = 0; r < resources; ++r)
          if (random.below(one_in) == 0)
            flow.uses.push_back({r, alike || random.below(2) == 0 ? 1.0 : random.uniform()});
        if (flow.uses.empty()) flow.uses.push_back({0, 1});
        if (random.below(3) == 0) flow.cap = alike ? 0.5 : random.uniform(0.01, 3);
        network.add(number, flow.uses, flow.cap);
        plain.flows[number] = std::move(flow);
        told[number] = 0;
      } else if (what < 9) {
        auto gone = plain.flows.begin();
        std::advance(gone, static_cast<std::ptrdiff_t>(random.below(plain.flows.size())));
        network.remove(gone->first);
        told.erase(gone->first);
        plain.flows.erase(gone);
      } else {
        const auto resource = static_cast<uint32_t>(random.below(resources));
        plain.capacities[resource] = random.below(4) == 0 ? 0 : random.uniform(0.1, 10);
        network.set_capacity(resource, plain.capacities[resource]);
      }
    }
    network.settle([&](uint32_t flow, double rate) { told[flow] = rate; });
    const std::map<uint32_t, double> expected = filled_from_scratch(plain);
    CAPTURE(step);
    for (const auto& [number, rate] : expected) {
      REQUIRE(is_near(network.rate(number), rate));
      REQUIRE(is_near(told[number], rate));
    }
    for (uint32_t r = 0; r < resources; ++r)
      REQUIRE(network.used(r) <= plain.capacities[r] * (1 + 1e-9));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("max-min: random changes of random networks, against filling from scratch",
                   TestType, MaxMin, FairRates) {
  Random random(17);
  for (int round = 0; round < rounds(1'500); ++round) {
    CAPTURE(round);
    change_at_random<TestType>(random, 12, 20);
  }
  for (int round = 0; round < rounds(100); ++round) {
    CAPTURE(round);
    change_at_random<TestType>(random, 40, 60);
  }
  // Flows that meet few others, or nobody, with four at one resource and more.
  for (int round = 0; round < rounds(200); ++round) {
    CAPTURE(round);
    change_at_random<TestType>(random, 60, 80, 25);
  }
}

TEST_CASE_TEMPLATE(
    "max-min: what a group and a new flow use up is not theirs if another one has more", TestType,
    MaxMin, FairRates) {
  // x and z are held up elsewhere; y and w share what is left of resource 1.
  TestType network({0.125, 1, 0.5, 10});
  const std::vector<ResourceUse> x = {{0, 1}, {1, 1}};
  const std::vector<ResourceUse> y = {{1, 1}};
  const std::vector<ResourceUse> z = {{1, 1}, {2, 1}, {3, 1}};
  const std::vector<ResourceUse> v = {{2, 1}};
  const std::vector<ResourceUse> u = {{3, 1}};
  network.add(0, x, no_cap);
  network.add(1, y, no_cap);
  network.add(2, z, no_cap);
  network.add(3, v, no_cap);
  network.add(4, y, no_cap);
  const auto ignored = [](uint32_t, double) {};
  network.settle(ignored);
  REQUIRE(network.rate(1) == 0.3125);
  // x may have more than y has, and what z could have then is just what y has: but x has to give.
  network.remove(3);
  network.remove(4);
  network.set_capacity(0, 0.375);
  network.add(5, u, no_cap);
  network.settle(ignored);
  for (const uint32_t flow : {0U, 1U, 2U}) CHECK(is_near(network.rate(flow), 1.0 / 3));
}

TEST_CASE_TEMPLATE("max-min: thousands of resources at one level, and levels beyond any network's",
                   TestType, MaxMin, FairRates) {
  // All links of 3,000 pairs fill up at once; then one flow leaves each, and the others have all.
  constexpr uint32_t pairs = 3000;
  for (const double capacity : {1.0, 1e-30, 1e30}) {
    TestType network(std::vector<double>(pairs, capacity));
    for (uint32_t flow = 0; flow < 2 * pairs; ++flow) {
      const std::vector<ResourceUse> uses = {{flow / 2, 1}};
      network.add(flow, uses, no_cap * capacity);
    }
    const auto ignored = [](uint32_t, double) {};
    network.settle(ignored);
    for (uint32_t flow = 0; flow < 2 * pairs; ++flow)
      REQUIRE(is_near(network.rate(flow), capacity / 2));
    for (uint32_t flow = 0; flow < 2 * pairs; flow += 2) network.remove(flow);
    network.settle(ignored);
    for (uint32_t flow = 1; flow < 2 * pairs; flow += 2)
      REQUIRE(is_near(network.rate(flow), capacity));
  }
}

TEST_CASE_TEMPLATE(
    "max-min: links in a row, of which the narrowest is followed, until one has more flows",
    TestType, MaxMin, FairRates) {
  TestType network({1, 2, 2});
  const std::vector<ResourceUse> all = {{0, 1}, {1, 1}, {2, 1}};
  const std::vector<ResourceUse> last = {{2, 1}};
  const auto ignored = [](uint32_t, double) {};
  const auto rates_are = [&](const std::vector<double>& rates) {
    network.settle(ignored);
    for (uint32_t flow = 0; flow < rates.size(); ++flow)
      CHECK(is_near(network.rate(flow), rates[flow]));
  };
  network.add(0, all, no_cap);
  network.add(1, all, no_cap);
  rates_are({0.5, 0.5});
  network.add(2, last, no_cap);
  rates_are({0.5, 0.5, 1});
  network.add(3, last, no_cap);
  rates_are({0.5, 0.5, 0.5, 0.5});
  network.set_capacity(0, 4);
  network.remove(3);
  rates_are({2.0 / 3, 2.0 / 3, 2.0 / 3});
  network.set_capacity(1, 1);
  rates_are({0.5, 0.5, 1});
  for (const uint32_t flow : {0U, 1U, 2U}) network.remove(flow);
  network.add(0, all, no_cap);
  network.add(1, all, 0.25);
  rates_are({0.75, 0.25});
  CHECK(is_near(network.used(2), 1));
  network.add(2, last, no_cap);
  rates_are({0.75, 0.25, 1});
  network.set_capacity(2, 0.9);
  rates_are({0.325, 0.25, 0.325});
}

// A link may be full after a change because what one flow gives another one has taken. If that one
// has more than the link's group, the group rises. Such networks were found by chance; many flows
// have equal rates there.
TEST_CASE_TEMPLATE("max-min: a link that is full by coincidence is not fair to those who have less",
                   TestType, MaxMin, FairRates) {
  struct Case {
    std::vector<double> capacities;
    std::vector<std::vector<ResourceUse>> flows;
    std::vector<std::pair<uint32_t, double>> other_capacities;
    std::vector<uint32_t> gone;
  };
  const std::vector<Case> cases{
      {{1, 1, 1, 1, 1},
       {{{0, 1}, {1, 1}, {2, 1}},
        {{3, 1}},
        {{0, 1}, {4, 1}},
        {{0, 1}, {2, 1}, {3, 1}, {4, 1}},
        {{3, 1}},
        {{1, 1}, {3, 1}, {4, 1}},
        {{0, 1}, {1, 1}, {2, 1}, {3, 1}},
        {{1, 1}, {2, 1}},
        {{1, 1}, {2, 1}, {4, 1}},
        {{2, 1}, {3, 1}},
        {{1, 1}, {4, 1}},
        {{0, 1}, {1, 1}},
        {{0, 1}, {2, 1}, {3, 1}, {4, 1}},
        {{0, 1}, {3, 1}},
        {{0, 1}, {2, 1}, {3, 1}, {4, 1}}},
       {},
       {0}},
      {{1, 3, 1, 1},
       {{{2, 1.5}, {3, 0.5}},
        {{3, 1.5}},
        {{0, 1}},
        {{0, 1.5}, {1, 1}, {3, 1.5}},
        {{2, 1}},
        {{0, 1}, {2, 0.5}},
        {{0, 1}, {2, 1}},
        {{0, 0.5}},
        {{1, 1}, {3, 0.5}},
        {{2, 1}, {3, 1.5}},
        {{0, 1}, {2, 1}},
        {{0, 1}, {1, 1}},
        {{3, 1}}},
       {{1, 0}},
       {10, 0, 7}},
  };
  for (const Case& one : cases) {
    PlainNetwork plain{one.capacities, {}};
    TestType network(one.capacities);
    const auto ignored = [](uint32_t, double) {};
    for (uint32_t flow = 0; flow < one.flows.size(); ++flow) {
      network.add(flow, one.flows[flow], no_cap);
      plain.flows[flow] = {one.flows[flow]};
    }
    network.settle(ignored);
    for (const auto& [resource, capacity] : one.other_capacities) {
      network.set_capacity(resource, capacity);
      plain.capacities[resource] = capacity;
    }
    for (const uint32_t flow : one.gone) {
      network.remove(flow);
      plain.flows.erase(flow);
    }
    network.settle(ignored);
    for (const auto& [flow, rate] : filled_from_scratch(plain))
      CHECK(is_near(network.rate(flow), rate));
  }
}

// Each link is used by two flows, and each flow by two links: all of them meet, one after the
// other.
TEST_CASE_TEMPLATE("max-min: a chain of hundreds of thousands of flows", TestType, MaxMin,
                   FairRates) {
  constexpr uint32_t flows = 300'000;
  TestType network(std::vector<double>(flows + 1, 1.0));
  for (const uint32_t parity : {0U, 1U})
    for (uint32_t flow = parity; flow < flows; flow += 2) {
      const std::vector<ResourceUse> uses = {{flow, 1}, {flow + 1, 1}};
      network.add(flow, uses, no_cap);
    }
  network.settle([](uint32_t, double) {});
  for (uint32_t flow = 0; flow < flows; ++flow) REQUIRE(is_near(network.rate(flow), 0.5));
}

TEST_CASE("max-min: levels leave their queue in order, equal ones by their numbers") {
  Random random(3);
  for (int round = 0; round < rounds(100); ++round) {
    LevelQueue queue;
    std::vector<double> levels(200, LevelQueue::none);
    const auto level_of = [&](uint32_t number) { return levels[number]; };
    const auto least_of_all = [&] { return std::min_element(levels.begin(), levels.end()); };
    double least = 0;
    const double spread = std::pow(10, random.uniform(-12, 12));
    LevelQueue::Entry taken;
    for (int step = 0; step < 600; ++step) {
      if (random.below(5) < 3) {
        const double level = random.below(4) == 0 ? least : least + spread * random.uniform();
        const auto number = static_cast<uint32_t>(random.below(levels.size()));
        const bool is_served = queue.serves(levels[number], level);
        if (!is_served && level >= levels[number]) continue;
        levels[number] = level;
        if (!is_served) queue.push(level, number);
      } else if (const auto expected = least_of_all(); *expected < LevelQueue::none) {
        REQUIRE(queue.take(taken, level_of));
        REQUIRE(taken.level == *expected);
        REQUIRE(taken.number == expected - levels.begin());
        least = std::exchange(levels[taken.number], LevelQueue::none);
      } else {
        REQUIRE_FALSE(queue.take(taken, level_of));
        queue.restart();
        least = 0;
      }
    }
  }
}
