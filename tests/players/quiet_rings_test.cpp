// Rings that are played at once until a send comes on their wires, as where every message is.
#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <vector>

#include "models/collective/rank_writer.h"
#include "models/collective/registry.h"
#include "sim/core/random.h"
#include "sim/play/replay.h"
#include "tests/cluster_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

Cluster some_switch(Random& random, int workers) {
  const auto latency = std::to_string(random.below(3) == 0 ? 0 : random.below(4000)) + " ns";
  const auto per_byte = std::to_string(1 + random.below(300)) + " ps/B";
  return cluster_of({{"shape", "single_switch"},
                     {"nodes", workers},
                     {"nic", {{"latency", latency}, {"per_byte", per_byte}}}});
}

Program ring_of_some(Random& random, const Cluster& cluster, int workers) {
  const std::vector<Operation> operations = {Operation::allreduce, Operation::allgather,
                                             Operation::reduce_scatter};
  CollectiveJob job;
  job.operation = operations[random.below(operations.size())];
  job.team = {.size = workers, .stride = 1};
  job.workers_per_node = cluster.workers_per_node;
  job.network = &cluster.network;
  job.share.total = Bytes(
      static_cast<int64_t>(random.below(4) == 0 ? 1 + random.below(40) : random.below(5'000'000)));
  const Algorithm& ring = *std::find_if(algorithms().begin(), algorithms().end(),
                                        [](const Algorithm& one) { return one.name == "ring"; });
  job.cost = worst_of_job(ring, job);
  Program program;
  if (random.below(3) == 0)
    program.then(Launch{Duration::us(static_cast<int64_t>(1 + random.below(50)))});
  return program.then(schedule_of(ring, job));
}

// Members of a ring call one after the other, or at once, and send to whom they like meanwhile.
struct Chatter {
  int workers;
  Cluster cluster;
  RankSchedule schedule;
  int sends = 0;

  explicit Chatter(Random& random)
      : workers(static_cast<int>(2 + random.below(9))),
        cluster(some_switch(random, workers)),
        schedule(static_cast<uint32_t>(workers)) {
    const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
    std::vector<int> all;
    for (int worker = 0; worker < workers; ++worker) all.push_back(worker);
    const uint32_t group = schedule.add_group(all);
    std::vector<uint32_t> programs;
    for (int64_t calls = 1 + below(3); calls > 0; --calls)
      programs.push_back(
          schedule.add_program(ring_of_some(random, cluster, workers), below(2) == 0));
    struct Send {
      uint32_t from, to, tag;
      int64_t size_B;
      Duration after;
    };
    std::vector<Send> all_sends;
    for (int64_t count = below(6); count > 0; --count) {
      const auto from = static_cast<uint32_t>(below(static_cast<uint64_t>(workers)));
      const auto to = static_cast<uint32_t>(below(static_cast<uint64_t>(workers)));
      if (from == to) continue;
      all_sends.push_back({from, to, static_cast<uint32_t>(all_sends.size()), below(3'000'000),
                           Duration::ps(below(2'000'000'000))});
    }
    sends = static_cast<int>(all_sends.size());
    const bool overlap = below(4) == 0;
    const Duration latest = Duration::ps(1 + below(3'000'000'000));
    for (uint32_t rank = 0; rank < static_cast<uint32_t>(workers); ++rank) {
      RankWork work;
      RankWriter writer(work);
      std::vector<uint32_t> last;
      for (uint32_t number = 0; number < programs.size(); ++number) {
        const Duration first = Duration::ps(below(static_cast<uint64_t>(latest.ps())));
        const uint32_t computed = writer.calc(RankWriter::computes, first);
        if (!overlap) writer.require(computed, last);
        const uint32_t call =
            writer.add(RankOperation::of({group, number, programs[number], rank}));
        writer.require(call, {computed});
        last = {call};
      }
      for (const Send& send : all_sends) {
        if (send.from == rank) {
          const uint32_t waits = writer.calc(2 + send.tag, send.after);
          const uint32_t sent = writer.add({.amount = send.size_B,
                                            .peer = send.to,
                                            .tag = send.tag,
                                            .processor = RankWriter::exchanges,
                                            .verb = RankVerb::send});
          writer.require(sent, {waits});
        }
        if (send.to == rank)
          writer.add({.amount = send.size_B,
                      .peer = send.from,
                      .tag = send.tag,
                      .processor = RankWriter::exchanges,
                      .verb = RankVerb::receive});
      }
      schedule.write(rank, work.operations, work.requirements);
    }
  }

  Replayed played(AlphaRule alpha, bool has_rings, bool* are_quiet = nullptr) const {
    const auto wires = cluster.wires({});
    QuietRings rings(schedule, cluster.network, *wires, alpha);
    if (are_quiet != nullptr) *are_quiet = rings.are_any();
    return play(Replay{.schedule = &schedule,
                       .costs = {},
                       .network = &cluster.network,
                       .alpha = alpha,
                       .resources = wires.get(),
                       .records = true,
                       .rings = has_rings && rings.are_any() ? &rings : nullptr});
  }
};

}  // namespace

// To the picosecond, whoever sends when: at the moment a message leaves, before all have come, into
// the first round and the last; and where a ring is entered again before it has been left.
TEST_CASE("quiet rings: sends that come on their wires change what they would change") {
  Random random(181);
  int at_once = 0;
  int met = 0;
  for (int round = 0; round < rounds(6000); ++round) {
    const Chatter talk(random);
    const AlphaRule alpha = random.below(2) == 0 ? AlphaRule::wire : AlphaRule::port;
    CAPTURE(round);
    CAPTURE(talk.workers);
    CAPTURE(talk.sends);
    bool are_quiet = false;
    const Replayed rings = talk.played(alpha, true, &are_quiet);
    const Replayed every = talk.played(alpha, false);
    REQUIRE(are_quiet);
    REQUIRE(rings.operations == every.operations);
    REQUIRE(rings.ended == every.ended);
    REQUIRE(rings.ends == every.ends);
    CHECK(rings.messages == every.messages);
    CHECK(rings.in_rings <= rings.messages);
    CHECK(rings.until == every.until);
    REQUIRE(rings.carried_B.size() == every.carried_B.size());
    for (std::size_t way = 0; way < every.carried_B.size(); ++way)
      CHECK(rings.carried_B[way] == doctest::Approx(every.carried_B[way]).epsilon(1e-9));
    const uint64_t of_calls = rings.messages - static_cast<uint64_t>(talk.sends);
    at_once += rings.in_rings == of_calls ? 1 : 0;
    met += rings.in_rings > 0 && rings.in_rings < of_calls ? 1 : 0;
  }
  CHECK(at_once > rounds(1000));
  CHECK(met > rounds(1000));
}
