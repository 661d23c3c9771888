// What the collectives move, not how long it takes: the right data everywhere, each contribution
// exactly once, and no byte that the algorithm does not need. The oracle plays sets; what each
// operation must achieve, and the bytes that each algorithm takes by its definition, stand here.
#include <algorithm>
#include <bit>
#include <cmath>
#include <doctest/doctest.h>

#include "tests/collective_oracle.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

double popcounts_below(int64_t bound) {
  int64_t sum = 0;
  for (int64_t v = 1; v < bound; ++v) sum += std::popcount(static_cast<uint64_t>(v));
  return static_cast<double>(sum);
}

// A binomial gather takes chunk c over popcount(c) hops.
double gathered(int64_t parts, int64_t n) {
  int64_t sum = 0;
  for (int64_t c = 0; c < parts; ++c)
    sum += std::popcount(static_cast<uint64_t>(c)) * chunk_of({0, n}, parts, c).length();
  return static_cast<double>(sum);
}

struct Moved {
  const CollectiveOptions& options;
  double bytes(std::string_view name, Operation operation, int64_t P, int64_t n) const;

 private:
  double torus(Operation operation, int64_t P, double n) const;
  double hierarchical(Operation operation, int64_t P, int64_t n) const;
};

// The bytes of all messages together, from the definition of each algorithm. r members fold.
double Moved::bytes(std::string_view name, Operation operation, int64_t P, int64_t size) const {
  if (P == 1 || size == 0) return 0;
  const auto n = static_cast<double>(size);
  const auto others = static_cast<double>(P - 1);
  const auto core = static_cast<double>(std::bit_floor(static_cast<uint64_t>(P)));
  const double r = static_cast<double>(P) - core;
  const double slot = options.fractional_chunks ? n / static_cast<double>(P)
                                                : static_cast<double>((size + P - 1) / P);
  const bool twice = operation == Operation::allreduce;
  if (name == "torus_ring") return torus(operation, P, n);
  if (name == "hierarchical") return hierarchical(operation, P, size);
  if (name == "be" && operation == Operation::broadcast)
    return slot * popcounts_below(P) + others * n;  // chunk c is scattered over popcount(c) hops
  if (name == "be" && operation == Operation::reduce)
    return r * n + (core - 1) * n + gathered(static_cast<int64_t>(core), size);
  if ((name == "be" || name == "halving_doubling") && twice) return 2 * (r + core - 1) * n;
  if (name == "recursive_doubling" && twice) return 2 * r * n + core * std::log2(core) * n;
  if (operation == Operation::alltoall && name == "recursive_doubling")
    return static_cast<double>(P) * popcounts_below(P) * slot;
  return (twice ? 2 : 1) * others * n;  // every other member gets the message, chunk by chunk
}

double Moved::torus(Operation operation, int64_t P, double n) const {
  double sum = 0;
  int64_t blocks = P;
  for (const int d : options.of(OptionOf<std::vector<int>>{{"dims", "", ""}}))
    sum += static_cast<double>((blocks /= d) * (d - 1)) * n;
  return sum * (operation == Operation::allreduce ? 2 : 1);
}

double Moved::hierarchical(Operation operation, int64_t P, int64_t n) const {
  const int64_t group = options.of(OptionOf<int>{{"group", "", ""}});
  const int64_t nodes = P / group;
  auto inner = [&](Operation part) {
    return static_cast<double>(nodes) * bytes(part_of(options, "inner"), part, group, n);
  };
  auto shards = [&](Operation part) {
    double sum = 0;
    const bool pipelines =
        part_of(options, "outer") == "lp" || part_of(options, "outer") == "double_binary_tree";
    for (int64_t lane = 0; lane < group; ++lane)  // pipelines of all lanes are cut like the first
      sum += bytes(part_of(options, "outer"), part, nodes,
                   chunk_of({0, n}, group, pipelines ? 0 : lane).length());
    return sum;
  };
  const Algorithm& parts = algorithm_named(part_of(options, "inner"), "");
  const bool sharded = !is_chosen(options, "hierarchical") &&
                       parts.offers(Operation::reduce_scatter) &&
                       parts.offers(Operation::allgather);
  switch (operation) {
    case Operation::reduce_scatter:
    case Operation::allgather:
      return inner(operation) + shards(operation);
    case Operation::allreduce:
      if (sharded)
        return inner(Operation::reduce_scatter) + shards(Operation::allreduce) +
               inner(Operation::allgather);
      return inner(Operation::reduce) + inner(Operation::broadcast) +
             bytes(part_of(options, "outer"), Operation::allreduce, nodes, n);
    default:
      return inner(operation) + bytes(part_of(options, "outer"), operation, nodes, n);
  }
}

bool has_levels(const CollectiveCase& one) {
  return one.algorithm->name == "hierarchical" || one.algorithm->name == "torus_ring";
}

void check_shares(const CollectiveCase& one, Oracle& oracle) {
  const int64_t n = one.size.count();
  for (int w = 0; w < one.ranks(); ++w) {
    const bool gathers = one.operation == Operation::allgather;
    const int64_t share_B = gathers ? oracle.claimed_B(w) : oracle.complete_B(w);
    CHECK(share_B >= n / one.ranks());
    CHECK(share_B <= (n + one.ranks() - 1) / one.ranks());
    if (!has_levels(one)) CHECK(share_B == chunk_of({0, n}, one.ranks(), w).length());
    if (gathers) CHECK(oracle.complete_B(w) == n);
  }
  if (one.operation != Operation::reduce_scatter) return;
  for (std::size_t s = 0; s < oracle.pieces(); ++s) {
    int owners = 0;
    for (int w = 0; w < one.ranks(); ++w) owners += oracle.has_all(w, s) ? 1 : 0;
    CHECK(owners == 1);
  }
}

void check_result(const CollectiveCase& one, Oracle& oracle) {
  const int64_t n = one.size.count();
  switch (one.operation) {
    case Operation::broadcast:
    case Operation::allreduce:
      for (int w = 0; w < one.ranks(); ++w) CHECK(oracle.complete_B(w) == n);
      return;
    case Operation::reduce:
      CHECK(oracle.complete_B(oracle.root()) == n);
      return;
    case Operation::reduce_scatter:
    case Operation::allgather:
      return check_shares(one, oracle);
    case Operation::alltoall:
      return;  // the bytes and, for Bruck's order, the distances are checked
  }
}

// No worker can have what it ends with after fewer bytes than these.
double least_received_B(const CollectiveCase& one, Oracle& oracle, int worker) {
  const int64_t n = one.size.count();
  const int64_t own = chunk_of({0, n}, one.ranks(), worker).length();
  switch (one.operation) {
    case Operation::broadcast:
      return worker == oracle.root() ? 0 : static_cast<double>(n);
    case Operation::reduce:
      return worker == oracle.root() ? static_cast<double>(n) : 0;
    case Operation::allreduce:
      return static_cast<double>(n);
    case Operation::reduce_scatter:
      return static_cast<double>(oracle.complete_B(worker));
    case Operation::allgather:
      return static_cast<double>(n - oracle.claimed_B(worker));
    case Operation::alltoall:
      return static_cast<double>(own * (one.ranks() - 1));
  }
  return 0;
}

void check_case(const CollectiveCase& one) {
  INFO(one.text());
  const Program program = one.program();
  if (one.ranks() == 1 || one.size == Bytes()) {
    CHECK(program.stages.empty());
    return;
  }
  Oracle oracle(one);
  oracle.play(program);
  check_result(one, oracle);
  const Traffic traffic = traffic_of(program, one.ranks());
  CHECK(traffic.messages == oracle.traffic().messages);
  const double tolerance = one.options.fractional_chunks ? 1e-9 * traffic.wire_B : 0;
  CHECK(std::abs(traffic.wire_B - oracle.traffic().wire_B) <= tolerance);
  if (one.options.fractional_chunks) return;  // shares of shares are whole bytes here
  for (int w = 0; w < one.ranks(); ++w)
    CHECK(oracle.received_B(w) >= least_received_B(one, oracle, w));
  const Moved moved{one.options};
  CHECK(traffic.wire_B ==
        moved.bytes(one.algorithm->name, one.operation, one.ranks(), one.size.count()));
}

}  // namespace

TEST_CASE("every algorithm ends with the right data everywhere, each contribution once") {
  Random random(40);
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int ranks = 1; ranks <= 40; ++ranks)
      for (int i = 0; i < rounds(algorithm.name == "hierarchical" ? 8 : 3); ++i) {
        const auto most = static_cast<uint64_t>(i == 0 ? 2 * ranks : 5000);
        const Bytes size(static_cast<int64_t>(random.below(most)));
        const Network network = Network::uniform(ranks, draw_cost(random));
        if (const auto one = draw_choices(random, algorithm, operation, network, size, {}))
          check_case(*one);
      }
  });
}

// Block d must travel d places: in round k it moves 2^k on if bit k of d is set.
TEST_CASE("Bruck's all-to-all moves every block by its distance") {
  for (int ranks = 2; ranks <= 70; ++ranks) {
    CAPTURE(ranks);
    CollectiveCase one;
    one.algorithm = &algorithm_named("recursive_doubling", "");
    one.operation = Operation::alltoall;
    one.size = Bytes(ranks);
    one.network = Network::uniform(ranks, {});
    const Program program = one.program();
    const auto& phase = std::get<Phase>(program.stages.front());
    std::vector<int> moved(static_cast<std::size_t>(ranks), 0);
    for (int round = 0; round < phase.rounds; ++round) {
      int blocks = 0;
      for (int d = 0; d < ranks; ++d) {
        if ((d >> round & 1) == 0) continue;
        moved[static_cast<std::size_t>(d)] += phase.receiver(round, 0);
        ++blocks;
      }
      CHECK(phase.range(round, 0).count == blocks);
    }
    for (int d = 0; d < ranks; ++d) CHECK(moved[static_cast<std::size_t>(d)] == d);
  }
}

// Both directions of a port are busy because nobody but the root passes on in both trees.
TEST_CASE("in double binary trees a worker is inside one tree at most, and ceil(lg P) deep") {
  for (int ranks = 2; ranks <= 200; ++ranks) {
    CAPTURE(ranks);
    CollectiveCase one;
    one.algorithm = &algorithm_named("double_binary_tree", "");
    one.operation = Operation::broadcast;
    one.size = Bytes(100);
    one.block = Bytes(100);
    one.network = Network::uniform(ranks, {});
    const Program program = one.program();
    const auto& pipeline = std::get<TreePipeline>(program.stages.front());
    std::vector<int> trees_inside(static_cast<std::size_t>(ranks), 0);
    for (const TreeFlow& flow : pipeline.flows) {
      std::vector<int> children(static_cast<std::size_t>(ranks), 0);
      for (int v = 1; v < ranks; ++v) {
        ++children[static_cast<std::size_t>(flow.parents[static_cast<std::size_t>(v)])];
        int depth = 0;
        for (int at = v; at != 0; at = flow.parents[static_cast<std::size_t>(at)]) ++depth;
        CHECK(depth <= log2_up(ranks));
      }
      CHECK(children[0] == 1);
      for (std::size_t v = 1; v < children.size(); ++v) {
        CHECK(children[v] <= 2);
        trees_inside[v] += children[v] > 0 ? 1 : 0;
      }
    }
    for (std::size_t v = 1; v < trees_inside.size(); ++v) CHECK(trees_inside[v] <= 1);
  }
}
