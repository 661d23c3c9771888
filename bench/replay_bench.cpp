// Speed of replaying schedules: a ring among many ranks, by LogGOPS and over ports that messages
// share. The answer is checked against the formula before it is timed.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <stdexcept>

#include "sim/play/replay.h"

namespace {

using namespace sgdsim;

constexpr int64_t chunk_B = 100'000;

// Reduce-scatter and all-gather without folding: 2 (P - 1) rounds.
RankSchedule ring_of(uint32_t ranks) {
  RankSchedule schedule(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<RankOperation> operations;
    std::vector<RankSchedule::Requirement> requirements;
    for (uint32_t round = 0; round < 2 * (ranks - 1); ++round) {
      const uint32_t sends = 2 * round;
      const uint32_t receives = sends + 1;
      operations.push_back(
          {.amount = chunk_B, .peer = (rank + 1) % ranks, .tag = round, .verb = RankVerb::send});
      operations.push_back({.amount = chunk_B,
                            .peer = (rank + ranks - 1) % ranks,
                            .tag = round,
                            .verb = RankVerb::receive});
      if (round == 0) continue;
      for (const uint32_t next : {sends, receives})
        for (const uint32_t before : {sends - 2, sends - 1})
          requirements.push_back({before, next, false});
    }
    schedule.write(rank, operations, requirements);
  }
  return schedule;
}

void ring(benchmark::State& state, bool shares_ports) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  const RankSchedule schedule = ring_of(ranks);
  const PairCost pair{Duration::us(10), PerByte::ps(80), {}};
  const Network network = Network::uniform(static_cast<int>(ranks), pair);
  Replay replay;
  replay.schedule = &schedule;
  replay.network = &network;
  replay.shares_ports = shares_ports;
  const Duration round = Duration::us(10) + Duration::ps(80 * chunk_B);
  const std::vector<Time> ends = play(replay).ends;
  if (*std::min_element(ends.begin(), ends.end()) != Time() + round * (2 * (int64_t{ranks} - 1)))
    throw std::logic_error("wrong answer");
  int64_t messages = 0;
  for (auto _ : state) messages += static_cast<int64_t>(play(replay).messages);
  state.SetItemsProcessed(messages);
}

void ring_turns(benchmark::State& state) { ring(state, false); }
void ring_shared(benchmark::State& state) { ring(state, true); }

BENCHMARK(ring_turns)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_shared)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
