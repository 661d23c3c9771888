// What ranks do, in time: they compute, send and receive, by the rules of replay.h, and take part
// in collectives, whose messages are others' (calls_in_time.h).
//
// An actor of the clockwork (clockwork.h), beside the calls that it uses. Who has both of them says
// which calls have ended for whom.
#pragma once

#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "sim/play/calls_in_time.h"
#include "sim/play/matching.h"
#include "sim/play/message_legs.h"
#include "sim/play/rank_shares.h"
#include "sim/play/replay.h"

namespace sgdsim {

class RanksInTime {
 public:
  // Of `replay`, which must stay, it uses the schedule, what messages cost and how they are taken.
  RanksInTime(const ActorClock& clock, CallsInTime& calls, const Replay& replay);

  void begin();
  void happen(const Event& event, Time now);
  void hear(const Carrier::Report& report, Time now);
  bool moment_over(Time now);
  void end_call(uint32_t call, int member, Time now) {
    clock_.plan(ended, calls_under_way_[call].entered[static_cast<std::size_t>(member)], now);
    leave_call(call);
  }
  // All operations of a rank, and when the last one of them did.
  bool has_ended(int rank) const { return left_[static_cast<std::size_t>(rank)] == 0; }
  Time end_of(int rank) const { return result_.ends[static_cast<std::size_t>(rank)]; }
  uint32_t left_of(int rank) const { return left_[static_cast<std::size_t>(rank)]; }
  double least_delivered() const { return result_.least_delivered; }
  const RankShare& share_of(int rank) const { return shares_.of(static_cast<uint32_t>(rank)); }
  bool has_ended() const { return result_.operations == waits_.size() && on_the_way_count_ == 0; }

  // Once nothing happens any more. `stranded`: messages that never arrive, of all that use the
  // network.
  void name_what_waits(const std::vector<Stranded>& stranded);
  // What has been done.
  Replayed take_result();
  const Replayed& result() const { return result_; }  // so far

 private:
  enum Kind : uint8_t { ended, look, comes, announced, answered, handed, starts, goes_around };
  static constexpr uint32_t over = UINT32_MAX;  // what an operation that has ended waits for

  struct Task {
    Time ready;
    uint32_t operation = 0;
    bool operator>(const Task& other) const {
      return ready != other.ready ? ready > other.ready : operation > other.operation;
    }
  };
  using Tasks = std::priority_queue<Task, std::vector<Task>, std::greater<>>;
  struct Processor {
    Time free;
    Time looks = Time::last();  // the earliest look that is planned
    Tasks work;                 // computing and receiving
    Tasks sends;                // which need the card as well
  };
  // When the first and the last byte of a message are with the receiver.
  struct BytesThere {
    Time first;
    Time last;
  };
  struct Message {
    uint32_t send = 0;
    uint32_t receive = RankOperation::any;
    bool is_eager = true;
    std::optional<BytesThere> taken = {};  // by the receiver's card, before it was asked for
  };
  struct Sent {
    uint32_t message = 0;
    uint32_t send = 0;
    Time processor_free;  // of the sender
    bool has_arrived = true;
  };
  struct CallUnderWay {
    uint32_t group = 0;             // or class of groups
    uint32_t number = 0;            // among the calls of the group
    uint32_t left = 0;              // members that have not ended it
    uint32_t missing = 0;           // members that have not entered it
    std::vector<uint32_t> entered;  // operations, by member
    uint32_t program = 0;
    int returns = 0;  // to being quiet
  };

  // A call that is played when all members are there (quiet_rings.h).
  struct QuietCall {
    uint32_t number = 0;  // among the calls of the group
    uint32_t program = 0;
    std::size_t missing = 0;           // members that have not entered it
    std::size_t left = 0;              // that have not ended it
    std::vector<uint32_t> operations;  // by member
    std::vector<Time> entered;         // Time::last(): it has not
    std::vector<Time> ends = {};       // once all are there
    std::vector<double> sent_B = {};   // likewise
    double sent = 0;                   // likewise: messages, in all
    // How far it had come when what was in its way had gone.
    std::optional<RingMoment> since = std::nullopt;
    int returns = 0;
  };
  // A group whose rings may be quiet.
  struct QuietGroup {
    std::vector<QuietCall> calls = {};    // now
    std::vector<uint32_t> in_calls = {};  // members: in how many they are
    uint32_t sends = 0;                   // under way on its wires
  };

  const RankOperation& operation(uint32_t place) const { return schedule_.operations()[place]; }
  bool has_ended(uint32_t place) const { return waits_[place] == over; }
  void plan(Kind kind, uint32_t subject, Time when) { clock_.plan(kind, subject, when); }
  void note_begin(uint32_t place, Time now) {
    shares_.begin(schedule_.rank_of(place), operation(place).verb, now);
    if (replay_.records) result_.began[place] = now;
  }
  // A message to oneself meets no port.
  bool meets_ports(uint32_t from, uint32_t to) const {
    return clock_.carrier() != nullptr && from != to;
  }
  // Ports of cards: most ranks have one.
  Time& card(uint32_t rank, uint16_t number, bool out) {
    if (number == 0) return first_cards_[2 * std::size_t{rank} + (out ? 1 : 0)];
    return cards_[(uint64_t{rank} << 17U) | (uint64_t{number} << 1U) | (out ? 1U : 0U)];
  }

  // What an operation waits for, and its processor.
  void release(uint32_t place, bool at_start, Time now);
  void become_ready(uint32_t place, Time now);
  void end(uint32_t place, Time now);
  void look_later(uint32_t number, Time when);
  void look_at(uint32_t number, Time now);
  void begin(uint32_t place, Processor& processor, Time now);

  // Who is played in place of a rank.
  uint32_t stand_in(uint32_t rank) const {
    if (replay_.alike == nullptr || rank == RankOperation::any) return rank;
    const StandIns& all = replay_.alike->stand_ins;
    return static_cast<uint32_t>(all.workers[all.number_of[rank]]);
  }

  // Collectives (rank_calls.cpp).
  void enter_call(uint32_t place, Time now);
  uint32_t call_under_way(const RankCall& what);
  uint32_t begin_call(const RankCall& what);
  CallUnderWay& under_way(uint32_t call, const RankCall& what, std::size_t seats);
  void leave_call(uint32_t call);
  void count_messages(const RankCall& what, double groups);

  // Rings that may be quiet (quiet_calls.cpp).
  bool enter_quietly(const RankCall& what, uint32_t place, Time now);
  QuietCall* quiet_call(const RankCall& what);
  void go_around(QuietCall& call, uint32_t group);
  void end_quietly(uint32_t place, Time now);
  void leave_ring(const RankCall& what);
  void go_on_loudly(uint32_t group, Time now);
  void make_loud(QuietCall& call, uint32_t group, Time now);
  void meet_rings(uint32_t send, Time now);
  void leave_rings(uint32_t send);
  void go_on_quietly(uint32_t group, Time now);

  // Messages, from the sender to the receiver.
  bool send(uint32_t place, Time processor_free, Time now);
  void send_over_ports(uint32_t number, const Leg& leg, Time processor_free, Time now);
  void hand_over(uint32_t number, Time now);
  void announce(uint32_t number, Time now);
  void send_announced(uint32_t number, Time now);
  void take(uint32_t number, Time now);
  void ask(uint32_t place, Time now);
  void meet(uint32_t number, Time now);
  BytesThere pass_card(const RankOperation& send, uint32_t from, uint16_t number, Time now);
  void receive(uint32_t number, Time now);
  ActorClock clock_;
  CallsInTime& calls_;
  const Replay& replay_;
  const RankSchedule& schedule_;
  const MessageCosts& costs_;
  const bool buffers_;  // what comes before it is asked for
  MessageLegs legs_;
  std::vector<Sent> sent_;  // by the carrier's numbers
  std::size_t on_the_way_count_ = 0;
  Time leaves_;  // the card, of the last message sent at once
  std::vector<uint32_t> waits_;
  std::vector<Processor> processors_;
  std::vector<Time> first_cards_;   // of each rank, in and out
  std::map<uint64_t, Time> cards_;  // the others
  std::vector<Message> messages_;
  std::vector<uint32_t> unused_;
  Matching arrived_;                             // messages that nobody has asked for, by receiver
  Matching asked_;                               // receives without a message
  std::vector<uint32_t> left_;                   // operations of each rank
  std::vector<CallUnderWay> calls_under_way_;    // by their numbers
  std::vector<Traffic> traffic_of_;              // the programs of calls
  std::vector<std::vector<uint32_t>> of_group_;  // calls under way
  std::vector<QuietGroup> quiet_groups_;         // none: no ring is quiet
  std::vector<uint32_t> left_alone_;             // groups whose wires no send has at this moment
  double one_by_one_ = 0;                        // messages of calls
  RankShares shares_;
  Replayed result_;
};

}  // namespace sgdsim
