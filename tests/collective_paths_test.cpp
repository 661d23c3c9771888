// Three ways to play the same rounds must agree to the picosecond: passes over arrays, an event
// queue, and one worker that stands for all. They share the arithmetic of schedule.h and wires.h
// and nothing else, so this finds errors in the order of events, in the runs into which a ring's
// pass is cut, and in the conditions under which a worker may stand for all.
#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <map>

#include "models/collective/simulate.h"
#include "tests/collective_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

// Every other case has something that no symmetry survives.
CollectiveCase draw_disturbed(Random& random, const Algorithm& algorithm, Operation operation,
                              const CaseLimits& limits) {
  CaseLimits these = limits;
  these.uniform_network = random.below(4) == 0;
  CollectiveCase one = draw_case(random, algorithm, operation, these);
  if (random.below(2) == 0) one.starts = draw_starts(random, one.ranks());
  if (random.below(4) == 0) one.jitter = {random.uniform(0.01, 0.8), random.bits()};
  return one;
}

// Which worker ends when, by both paths; true if the symmetric path was taken as well.
bool check_paths(const CollectiveCase& one) {
  const Played rounds = one.played(PathChoice::rounds);
  const Played events = one.played(PathChoice::events);
  const Played fastest = one.played(PathChoice::fastest);
  INFO(one.text());
  CHECK(rounds.ends == events.ends);
  CHECK(rounds.traffic.messages == fastest.traffic.messages);
  CHECK(fastest.last_end() == rounds.last_end());
  if (fastest.ends.size() == 1) return fastest.path == PathTaken::symmetric;
  CHECK(fastest.ends == rounds.ends);
  return false;
}

}  // namespace

TEST_CASE("rounds, events and the symmetric shortcut agree on random collectives") {
  Random random(20240611);
  int cases = 0;
  int symmetric = 0;
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < rounds(110); ++i, ++cases)
      symmetric += check_paths(draw_disturbed(random, algorithm, operation, {})) ? 1 : 0;
    for (int i = 0; i < 6; ++i, ++cases)
      check_paths(draw_disturbed(random, algorithm, operation,
                                 {.least_ranks = 71, .most_ranks = 300, .most_messages = 200'000}));
  });
  CHECK(cases >= rounds(3000));
  CHECK(symmetric >= rounds(50));
}

// So many that the player in time fetches from memory ahead of time what events need.
TEST_CASE("rounds and events agree where there are many workers") {
  Random random(65);
  constexpr std::array<std::pair<const char*, Operation>, 4> with_many = {
      {{"recursive_doubling", Operation::allreduce},
       {"halving_doubling", Operation::allreduce},
       {"mst", Operation::reduce},
       {"mst", Operation::allreduce}}};
  for (const auto& [name, operation] : with_many)
    check_paths(
        draw_disturbed(random, algorithm_named(name, ""), operation,
                       {.least_ranks = 8192, .most_ranks = 9000, .most_messages = 300'000}));
}

// Where all workers are alike the shortcut must be found, and it must be right about its end.
TEST_CASE("the symmetric shortcut agrees on undisturbed collectives") {
  Random random(77);
  std::map<std::string_view, int> symmetric;
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < 40; ++i) {
      CollectiveCase one = draw_case(random, algorithm, operation, {.uniform_network = true});
      const Time start = Time::at(Duration::ps(static_cast<int64_t>(random.below(1000))));
      one.starts.assign(static_cast<std::size_t>(one.ranks()), start);
      if (check_paths(one)) ++symmetric[algorithm.name];
    }
  });
  for (const std::string_view name :
       {"ring", "recursive_doubling", "halving_doubling", "direct", "torus_ring", "hierarchical"}) {
    CAPTURE(std::string(name));
    CHECK(symmetric[name] >= 3);
  }
}

// The ends of every worker, not only the last one, where all workers are alike.
TEST_CASE("where the shortcut is taken with equal chunks every worker ends at once") {
  Random random(3);
  for (const int ranks : {2, 8, 64})
    for (const char* name : {"ring", "recursive_doubling", "halving_doubling", "direct"}) {
      CollectiveCase one;
      one.algorithm = &algorithm_named(name, "");
      one.size = Bytes(ranks * 1000);
      one.network = Network::uniform(ranks, draw_cost(random));
      const Played fastest = one.played();
      INFO(one.text());
      CHECK(fastest.path == PathTaken::symmetric);
      for (const Time end : one.played(PathChoice::rounds).ends) CHECK(end == fastest.last_end());
    }
}

// With a worker per node nothing happens inside the nodes: the outer algorithm is all there is, by
// the same path. Message by message 131,072 workers send 34 thousand million chunks.
TEST_CASE("paths: hierarchical with a worker per node is its outer algorithm") {
  sgdsim::Cluster cluster;
  sgdsim::CollectiveQuestion question;
  question.messages = {sgdsim::Bytes(100'000'000)};
  for (const int workers : {7, 131'072})
    for (const auto operation : {sgdsim::Operation::allreduce, sgdsim::Operation::reduce_scatter,
                                 sgdsim::Operation::allgather}) {
      INFO(workers << " " << std::string(name_of(operation)));
      cluster.network = sgdsim::Network::uniform(
          workers, {sgdsim::Duration::us(2), sgdsim::PerByte::ps(100), sgdsim::PerByte::ps(10)});
      question.operation = operation;
      question.algorithm = "ring";
      const auto ring = simulate_collective(question, cluster, "");
      question.algorithm = "hierarchical";
      const auto hierarchical = simulate_collective(question, cluster, "");
      CHECK(hierarchical.time == ring.time);
      CHECK(hierarchical.path == ring.path);
      CHECK(hierarchical.path == "symmetric");
    }
}
