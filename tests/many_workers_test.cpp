// Collectives of 100,000 alike workers, which are not played message by message: against all of
// their messages where there are fewer, and against formulas where there are not.
#include <doctest/doctest.h>

#include "models/collective/simulate.h"
#include "sim/play/pipeline_engine.h"
#include "tests/collective_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

CollectiveCase case_of(const char* algorithm, Operation operation, int ranks, const PairCost& cost,
                       int64_t size_B) {
  CollectiveCase one;
  one.algorithm = &algorithm_named(algorithm, "");
  one.operation = operation;
  one.size = Bytes(size_B);
  one.network = Network::uniform(ranks, cost);
  return one;
}

Played last_of(const CollectiveCase& one) {
  PlayOptions options = to_play(one.options);
  options.last_only = true;
  return play(one.program(), one.network, options);
}

PairCost cost_of(int64_t alpha_ns, int64_t beta_ps, int64_t gamma_ps) {
  return {Duration::ns(alpha_ns), PerByte::ps(static_cast<double>(beta_ps)),
          PerByte::ps(static_cast<double>(gamma_ps))};
}

CollectiveQuestion question_of(const char* algorithm, Operation operation, int64_t size_B) {
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = operation;
  question.messages = {Bytes(size_B)};
  return question;
}

}  // namespace

TEST_CASE("many workers: direct ends when all of its messages do, whatever the chunks") {
  Random random(101);
  for (int i = 0; i < rounds(400); ++i) {
    const Operation operations[] = {Operation::alltoall, Operation::reduce_scatter,
                                    Operation::allgather, Operation::allreduce};
    CollectiveCase one =
        case_of("direct", operations[random.below(4)], 2 + static_cast<int>(random.below(80)),
                draw_cost(random), 1 + static_cast<int64_t>(random.below(100'000)));
    CAPTURE(one.text());
    const Played last = last_of(one);
    CHECK(last.path == PathTaken::symmetric);
    CHECK(last.last_end() == one.played(PathChoice::rounds).last_end());
    // With latency in flight, smaller chunks come earlier: that is played.
    one.set("alpha", "wire");
    CHECK(last_of(one).last_end() == one.played(PathChoice::rounds).last_end());
  }
}

TEST_CASE("many workers: blocks of a chain, up, down and both, are those of the list schedule") {
  Random random(103);
  int shortened = 0;
  for (int i = 0; i < rounds(250); ++i) {
    const Operation operations[] = {Operation::broadcast, Operation::reduce, Operation::allreduce,
                                    Operation::allreduce, Operation::allreduce};
    const auto below = [&](uint64_t count) { return static_cast<int64_t>(random.below(count)); };
    CollectiveCase one = case_of("lp", operations[below(5)], 2 + static_cast<int>(below(120)),
                                 cost_of(below(3) * 700, 1 + below(2000), below(3) * below(9000)),
                                 1 + below(60'000));
    one.block = Bytes(1 + std::min(one.size.count() - 1, below(2500)));
    if (one.size.count() / one.block->count() > 200) continue;
    if (below(6) == 0) one.set("lp_root", "first");
    if (below(6) == 0) one.set("duplex", "link");
    if (below(6) == 0) one.set("gamma", "overlap");
    if (below(6) == 0) one.set("alpha", "wire");
    if (below(8) == 0) one.following = {Bytes(1 + below(60'000))};
    CAPTURE(one.text());
    const Played last = last_of(one);
    CHECK(last.last_end() == one.played(PathChoice::events).last_end());
    if (play_long_chain(one.program(), Wires(one.network, one.options.alpha), Time())) ++shortened;
  }
  CHECK(shortened > rounds(20));
}

// With P members, m equal blocks, w a block's transfer and u that and its fold, two blocks or more:
// the last block is at the root's neighbour when (P + m - 3) u have passed; then all go back, the
// last one when it is there.
TEST_CASE("many workers: a linear pipeline of 100,000") {
  constexpr int ranks = 100'000;
  constexpr int64_t block_B = 1024, blocks = 1024;
  CollectiveQuestion question = question_of("lp", Operation::allreduce, block_B * blocks);
  question.block = Bytes(block_B);
  const int64_t w_ps = 5'000'000 + 1000 * block_B, u_ps = w_ps + 100 * block_B;
  Cluster cluster;
  cluster.network = Network::uniform(ranks, cost_of(5000, 1000, 100));
  CHECK(simulate_collective(question, cluster, "").time ==
        Duration::ps((ranks + blocks - 3) * u_ps + (blocks - 1) * w_ps + (ranks - 1) * w_ps));
  question.operation = Operation::broadcast;
  CHECK(simulate_collective(question, cluster, "").time ==
        Duration::ps((ranks - 2 + blocks) * w_ps));
}

TEST_CASE("many workers: direct of 100,000 with chunks that differ by a byte") {
  constexpr int64_t ranks = 100'000, size_B = (1 << 30) + 7;
  constexpr int64_t chunk_B = size_B / ranks + 1;
  Cluster cluster;
  cluster.network = Network::uniform(ranks, cost_of(5000, 1000, 100));
  const int64_t sent_ps = 5'000'000 + 1000 * chunk_B;
  CHECK(
      simulate_collective(question_of("direct", Operation::allreduce, size_B), cluster, "").time ==
      Duration::ps((ranks - 1) * (2 * sent_ps + 100 * chunk_B)));
  // Where that is no answer, what there is to do is said at once.
  CollectiveQuestion wire = question_of("direct", Operation::allreduce, size_B);
  wire.options.alpha = AlphaRule::wire;
  CHECK_THROWS_WITH_AS(simulate_collective(wire, cluster, ""), doctest::Contains("fractional"),
                       std::exception);
}
