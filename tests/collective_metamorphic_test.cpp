// How answers must change when the question changes, over the whole registry. No formula of an
// algorithm is needed to know that a faster link does not slow it down, or that n bytes do not
// cross a port in less than n beta.
//
// Two limits are inherent. Blocks have a given size here: the best size is chosen for the worst
// pair and rounded to bytes, so that a better rate may move it to a slightly worse one. And where
// flows of a pipeline compete for ports, the schedule is a greedy list schedule, which has Graham's
// anomalies (SIAM J. Appl. Math. 17(2), 1969): an earlier start or a faster fold can change who
// comes first at a port, and end later. collective_pipeline_test.cpp shows one, by a second
// implementation too. Growth is not promised there, but all the rest is.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

#include "models/collective/simulate.h"
#include "sim/play/pipeline_engine.h"
#include "tests/collective_cases.h"

using namespace sgdsim;

namespace {

// Flows of one pipeline meet at a port, or at a reduce engine.
bool competes(const Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
    const auto* pipeline = std::get_if<TreePipeline>(&stage);
    return pipeline != nullptr && (!pipeline->link_duplex || pipeline->reduce_overlaps) &&
           !is_plain_chain(*pipeline);
  });
}

Duration times(Duration length, double factor) {
  return Duration::ps(std::llrint(static_cast<double>(length.ps()) * factor));
}

struct Growth {
  const char* what;
  CostChange change;  // for `less` in [0, 1)
};

// The same question, asked twice: of a network, and of one that is better somehow.
class Pair {
 public:
  Pair(Random& random, const Algorithm& algorithm, Operation operation)
      : draws_(random.stream(random.bits())),
        ranks_(1 + static_cast<int>(random.below(64))),
        uniform_(random.below(3) == 0) {
    const Bytes size(static_cast<int64_t>(random.below(5000)));
    const Network network = network_with([](PairCost cost) { return cost; });
    base = draw_choices(random, algorithm, operation, network, size, {.automatic_blocks = false});
    if (base && random.below(2) == 0) base->starts = draw_starts(random, ranks_);
  }

  CollectiveCase with(const CostChange& change) const {
    CollectiveCase other = *base;
    other.network = network_with(change);
    return other;
  }

  std::optional<CollectiveCase> base;

 private:
  Network network_with(const CostChange& change) const {
    Random same = draws_;
    return uniform_ ? Network::uniform(ranks_, change(draw_cost(same)))
                    : draw_network(same, ranks_, change);
  }

  Random draws_;
  int ranks_;
  bool uniform_;
};

// In rounds every worker ends no later. In a pipeline a sender waits until its block's first byte
// can be taken, and a shorter flight makes it wait longer; the last end is no later all the same.
void check_not_slower(const char* what, const CollectiveCase& better, const CollectiveCase& base) {
  INFO(what);
  INFO(base.text());
  const Played fast = better.played();
  const Played slow = base.played();
  CHECK(fast.last_end() <= slow.last_end());
  if (!has_pipelines(base.program()) && fast.ends.size() == slow.ends.size())
    for (std::size_t w = 0; w < slow.ends.size(); ++w) CHECK(fast.ends[w] <= slow.ends[w]);
  const auto fast_form = better.closed_form();
  const auto slow_form = base.closed_form();
  if (fast_form && slow_form) CHECK(*fast_form <= *slow_form);
}

void check_growth(Random& random, const Pair& pair) {
  const CollectiveCase& base = *pair.base;
  const double less = random.uniform();
  const std::vector<Growth> growths = {
      {"bandwidth",
       [&](PairCost c) {
         return PairCost{c.latency, c.per_byte * less, c.reduce};
       }},
      {"latency",
       [&](PairCost c) {
         return PairCost{times(c.latency, less), c.per_byte, c.reduce};
       }},
      {"gamma", [&](PairCost c) {
         return PairCost{c.latency, c.per_byte, c.reduce * less};
       }}};
  for (const Growth& growth : growths)
    check_not_slower(growth.what, pair.with(growth.change), base);
  CollectiveCase other = base;
  other.size = Bytes(static_cast<int64_t>(static_cast<double>(base.size.count()) * less));
  check_not_slower("size", other, base);
  if (base.starts.empty()) return;
  other = base;
  for (Time& start : other.starts)
    if (random.below(2) == 0) start = Time::at(times(start.since_start(), less));
  check_not_slower("starts", other, base);
}

// Bytes that must cross the busiest port. With duplex=link a worker has several: at most two, the
// halves of double_binary_tree, carry different parts of the message at once.
double least_port_B(const CollectiveCase& one) {
  const auto n = static_cast<double>(one.size.count());
  const double P = one.ranks();
  if (one.options.of(duplex_of_links)) return n / 2 * (P - 1) / P;
  return n * bus_factor(one.operation, one.ranks());
}

// Who knows something can tell one other per alpha, and both can go on telling. In flight alphas
// overlap, and links of a worker's own can be used at once; then one alpha is certain.
Duration least_latency(const CollectiveCase& one) {
  const Duration alpha = one.network.worst().latency;
  const bool one_at_a_time =
      one.options.alpha == AlphaRule::port && !one.options.of(duplex_of_links);
  return alpha * (one_at_a_time ? log2_up(one.ranks()) : 1);
}

Cluster cluster_of(const CollectiveCase& one) {
  return {.name = "", .network = one.network, .workers_per_node = 1, .grid = {}, .notes = {}};
}

CollectiveQuestion question_of(const CollectiveCase& one) {
  CollectiveQuestion question;
  question.algorithm = one.algorithm->name;
  question.operation = one.operation;
  question.messages = {one.size};
  question.block = one.block;
  question.root = one.root;
  question.options = one.options;
  return question;
}

void check_bounds(const CollectiveCase& one) {
  INFO(one.text());
  const CollectiveAnswer answer = simulate_collective(question_of(one), cluster_of(one), "");
  CHECK(answer.time == one.time());
  const double beta_ps = one.network.worst().per_byte.ps();
  // Each message is rounded to the nearest picosecond.
  const double rounding_ps = 0.5 * static_cast<double>(answer.traffic.messages);
  CHECK(static_cast<double>(answer.time.ps()) + rounding_ps >= least_port_B(one) * beta_ps);
  CHECK(answer.time >= least_latency(one));
  if (beta_ps == 0 || one.options.of(duplex_of_links)) return;
  const double longest_ps = static_cast<double>(answer.time.ps()) + rounding_ps;
  const double rounded_up =
      longest_ps / static_cast<double>(std::max<int64_t>(1, answer.time.ps()));
  CHECK(answer.busbw_GBps <= 1e3 / beta_ps * rounded_up * (1 + 1e-9));
}

PairCost whole_cost(Random& random) {
  auto draw = [&](uint64_t most) { return static_cast<double>(random.below(most)); };
  return {Duration::ps(static_cast<int64_t>(random.below(4'000'000))), PerByte::ps(draw(200)),
          PerByte::ps(draw(80))};
}

}  // namespace

TEST_CASE(
    "faster links, shorter latencies, smaller messages and earlier starts slow nothing down") {
  Random random(21);
  int checked = 0;
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < 70; ++i) {
      const Pair pair(random, algorithm, operation);
      if (!pair.base || competes(pair.base->program())) continue;
      check_growth(random, pair);
      ++checked;
    }
  });
  CHECK(checked >= 1500);
}

TEST_CASE("no collective beats its port, or the latency of telling everybody") {
  Random random(22);
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < 60; ++i) {
      const CollectiveCase one =
          draw_case(random, algorithm, operation, {.least_ranks = 2, .uniform_network = true});
      if (one.size > Bytes()) check_bounds(one);
    }
  });
}

TEST_CASE("one worker, or no bytes, cost nothing") {
  Random random(23);
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (const int ranks : {1, 2, 16}) {
      const Network network = Network::uniform(ranks, draw_cost(random));
      const Bytes size(ranks == 1 ? 1000 : 0);
      const auto one = draw_choices(random, algorithm, operation, network, size, {});
      if (!one) continue;
      INFO(one->text());
      CollectiveQuestion question = question_of(*one);
      for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
        question.fidelity = fidelity;
        const CollectiveAnswer answer = simulate_collective(question, cluster_of(*one), "");
        CHECK(answer.time == Duration());
        CHECK(answer.traffic.messages == 0);
      }
    }
  });
}

// Whole picoseconds per byte and whole chunks need no rounding, so the factor is exact.
TEST_CASE("k times the costs take k times as long") {
  Random random(24);
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < 40; ++i) {
      const int ranks = 1 + static_cast<int>(random.below(64));
      const PairCost cost = whole_cost(random);
      const Bytes size(static_cast<int64_t>(random.below(5000)));
      const auto base =
          draw_choices(random, algorithm, operation, Network::uniform(ranks, cost), size, {});
      if (!base || base->options.fractional_chunks) continue;
      INFO(base->text());
      for (const int64_t k : {2, 3, 8}) {
        const auto factor = static_cast<double>(k);
        CollectiveCase other = *base;
        other.network = Network::uniform(
            ranks, {cost.latency * k, cost.per_byte * factor, cost.reduce * factor});
        CHECK(other.time() == base->time() * k);
      }
    }
  });
}

TEST_CASE("asked twice, answered twice the same") {
  Random random(25);
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < 10; ++i) {
      CollectiveCase one = draw_case(random, algorithm, operation, {});
      one.starts = draw_starts(random, one.ranks());
      one.jitter = {0.3, random.bits()};
      const CollectiveCase copy = one;
      INFO(one.text());
      CHECK(one.played().ends == copy.played().ends);
      CHECK(one.played(PathChoice::events).ends == copy.played(PathChoice::events).ends);
    }
  });
}
