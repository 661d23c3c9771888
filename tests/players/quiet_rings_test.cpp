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

Program ring_of(Operation operation, const Cluster& cluster, int workers, int64_t total_B) {
  CollectiveJob job;
  job.operation = operation;
  job.team = {.size = workers, .stride = 1};
  job.workers_per_node = cluster.workers_per_node;
  job.network = &cluster.network;
  job.share.total = Bytes(total_B);
  const Algorithm& ring = *std::find_if(algorithms().begin(), algorithms().end(),
                                        [](const Algorithm& one) { return one.name == "ring"; });
  job.cost = worst_of_job(ring, job);
  return schedule_of(ring, job);
}

Program ring_of_some(Random& random, const Cluster& cluster, int workers) {
  const std::vector<Operation> operations = {Operation::allreduce, Operation::allgather,
                                             Operation::reduce_scatter};
  const Operation operation = operations[random.below(operations.size())];
  const uint64_t total_B = random.below(4) == 0 ? 1 + random.below(40) : random.below(5'000'000);
  Program ring = ring_of(operation, cluster, workers, static_cast<int64_t>(total_B));
  Program program;
  if (random.below(3) == 0)
    program.then(Launch{Duration::us(static_cast<int64_t>(1 + random.below(50)))});
  return program.then(std::move(ring));
}

RankOperation message(RankVerb verb, uint32_t peer, int64_t size_B, uint32_t tag = 0) {
  return {
      .amount = size_B, .peer = peer, .tag = tag, .processor = RankWriter::exchanges, .verb = verb};
}

Replayed played_on(const Cluster& cluster, const RankSchedule& schedule, AlphaRule alpha,
                   bool has_rings, bool* are_quiet = nullptr) {
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
    // Sometimes more than a ring returns from.
    for (int64_t count = below(below(5) == 0 ? 40 : 6); count > 0; --count) {
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
          const uint32_t sent = writer.add(message(RankVerb::send, send.to, send.size_B, send.tag));
          writer.require(sent, {waits});
        }
        if (send.to == rank)
          writer.add(message(RankVerb::receive, send.from, send.size_B, send.tag));
      }
      schedule.write(rank, work.operations, work.requirements);
    }
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
    const Replayed rings = played_on(talk.cluster, talk.schedule, alpha, true, &are_quiet);
    const Replayed every = played_on(talk.cluster, talk.schedule, alpha, false);
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

// Eight members gather 12.5 MB from each other at 12.5 GB/s: seven rounds of 1 ms. From 2.2 ms to
// 2.4 a send of 1.25 MB shares the wire from member 0 to 1 at half rate, so that their message is
// there at 3.1 ms in place of 3; each later round takes that one member further. No message of the
// ring leaves meanwhile: all of them are played at once, those after the send as well.
TEST_CASE("quiet rings: at once again when a send has gone") {
  constexpr uint32_t workers = 8;
  const Cluster cluster = one_switch(workers, "100 Gbps", "0 s");
  RankSchedule schedule(workers);
  const uint32_t group = schedule.add_group({0, 1, 2, 3, 4, 5, 6, 7});
  const uint32_t program =
      schedule.add_program(ring_of(Operation::allgather, cluster, workers, 100'000'000), false);
  for (uint32_t rank = 0; rank < workers; ++rank) {
    RankWork work;
    RankWriter writer(work);
    writer.add(RankOperation::of({group, 0, program, rank}));
    if (rank == 0) {
      const uint32_t waits = writer.calc(RankWriter::computes, Duration::us(2200));
      writer.require(writer.add(message(RankVerb::send, 1, 1'250'000)), {waits});
    }
    if (rank == 1) writer.add(message(RankVerb::receive, 0, 1'250'000));
    schedule.write(rank, work.operations, work.requirements);
  }
  const Replayed played = played_on(cluster, schedule, AlphaRule::wire, true);
  CHECK(played.in_rings == 56);
  CHECK(played.messages == 57);
  for (uint32_t rank = 0; rank < workers; ++rank)
    CHECK(played.ends[rank] == Time() + Duration::us(rank <= 5 ? 7100 : 7000));
}
