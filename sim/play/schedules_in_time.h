// Several schedules of ranks on one network, each on ranks of its own: what `sgdsim jobs` plays
// beside training steps.
//
// Two actors of the clockwork (clockwork.h): the ranks of all schedules, and their collectives.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/play/ranks_in_time.h"

namespace sgdsim {

struct Scheduled {
  std::string name;                        // for people
  const RankSchedule* schedule = nullptr;  // which its ranks do `times` times
  std::vector<int> places = {};            // workers of the network, by rank
  Time start = {};
  int times = 1;
};

// What a rank of a schedule did; peers are ranks of it, too.
struct EndedOperation {
  uint32_t rank = 0;
  RankOperation operation = {};
  Time began;
  Time ended;
};

// Ranks wait for what nobody sends.
class ScheduleStuck : public InputError {
 public:
  using InputError::InputError;
};

class SchedulesInTime {
 public:
  // `records`: what ended_of() tells.
  SchedulesInTime(const ActorClock& ranks, const ActorClock& calls, const Network& network,
                  std::span<const Scheduled> schedules, bool records = false);
  SchedulesInTime(const SchedulesInTime&) = delete;
  SchedulesInTime& operator=(const SchedulesInTime&) = delete;

  // Collectives as an actor that asks for nothing ahead of time.
  class Calls {
   public:
    explicit Calls(CallsInTime& calls) : calls_(calls) {}
    void happen(const Event& event, Time now) { calls_.happen(event, now); }
    void hear(const Carrier::Report& report, Time now) { calls_.hear(report, now); }

   private:
    CallsInTime& calls_;
  };
  RanksInTime& ranks() { return ranks_; }
  Calls& calls() { return calls_actor_; }

  void begin() { ranks_.begin(); }
  bool has_ended(std::size_t schedule) const;
  Time end_of(std::size_t schedule) const;
  Time end() const;  // of all that have ended
  // Of one that has ended, by rank.
  std::vector<RankShare> shares_of(std::size_t schedule) const;
  std::vector<EndedOperation> ended_of(std::size_t schedule) const;
  double packets(const Payload& payload) const { return packets_of(all_, payload); }
  double least_delivered() const {
    return std::min(ranks_.least_delivered(), calls_in_time_.least_delivered());
  }
  // Of one that cannot go on, though no message is on its way.
  [[noreturn]] void fail(std::size_t schedule) const;

 private:
  static RankSchedule joined(const Network& network, std::span<const Scheduled> schedules);
  static Replay replay_of(const Network& network, const RankSchedule& all,
                          std::span<const Scheduled> schedules, bool records);

  std::vector<Scheduled> schedules_;
  RankSchedule all_;
  Replay replay_;
  RanksInTime ranks_;
  CallsInTime calls_in_time_;
  Calls calls_actor_;
};

}  // namespace sgdsim
