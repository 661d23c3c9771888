// Rings of a schedule that have their wires to themselves: each is played at once, when all of its
// members are there, in place of message by message.
//
// A group qualifies if all that it does are rings, and the wires of these carry nothing else but,
// perhaps, sends between ranks. Every message then takes what it takes alone (quiet.h), and nobody
// is done before all have come, because what each has goes around: so the ends are known in time.
// Ranks that differ, as behind a slow one, cost a few nanoseconds a member that way, not half a
// microsecond a message.
//
// Whether a send is on its way at the same time as messages of a ring on the same wires is seen
// only when both have been played. Then the play is not right: it is to be played anew, with such
// calls message by message (anew()). The same is so where a member enters a call of its group
// before it has left another one.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "sim/net/resources.h"
#include "sim/play/quiet.h"
#include "sim/work/rank_schedule.h"

namespace sgdsim {

class QuietRings {
 public:
  // What it is given must stay.
  QuietRings(const RankSchedule& schedule, const Network& network, Resources& resources,
             AlphaRule alpha, const Stopper* stopper = nullptr);

  bool are_any() const;
  bool may_be_quiet(uint32_t group) const { return groups_[group].is_alone; }
  // Whether a call of the group that begins now is quiet, as far as is known.
  bool begins(uint32_t group, uint32_t number, Time now);
  // From when members have entered it to when each is done.
  void play(uint32_t group, uint32_t number, uint32_t program, std::vector<Time>& clocks);
  void send_begins(uint32_t from, uint32_t to, Time now);
  void send_arrived(uint32_t from, uint32_t to, Time now);
  void meets_itself(uint32_t group) { meeting_.insert(groups_[group].kind); }

  // False if all was quiet that was played so. Else forgets what has been played, and knows better.
  bool anew();

  // What quiet calls have put on each resource is added.
  void add_carried(std::vector<double>& carried_B);
  // Messages that are played one by one at least.
  double least_messages() const;

 private:
  struct Doing {
    uint32_t program = 0;
    uint64_t calls = 0;  // by members
  };
  struct Quiet {
    uint32_t number = 0;
    Time from;
    uint32_t program = 0;
    std::vector<Time> entered = {};  // once all members have
    Time until = Time::last();       // or not known yet
  };
  // On wires that a member of a group sends by.
  struct Send {
    uint32_t member = 0;
    uint32_t from = 0;
    uint32_t to = 0;
    Time begins;
    Time arrives = Time::last();
  };
  using Call = std::pair<uint32_t, uint32_t>;  // kind of group, number
  struct Group {
    bool is_alone = false;          // but for sends
    uint32_t kind = 0;              // groups of a kind do the same
    std::vector<Send> sends = {};   // on its wires, as long as calls may meet them
    std::vector<Quiet> calls = {};  // as long as sends may meet them
    std::vector<Doing> doing = {};
    std::vector<double> sent_B = {};  // by each member, in quiet calls
  };
  struct Way {
    uint32_t to = 0;
    uint64_t sends = 0;
    std::vector<std::pair<uint32_t, uint32_t>> members = {};  // of groups, whose wires it takes
  };

  void find_talk();
  void find_kinds();
  bool is_ring(uint32_t group) const;
  const std::vector<ResourceUse>* route(uint32_t from, uint32_t to);
  double fastest(uint32_t group, std::size_t member) const;
  bool take_ring(uint32_t group);
  bool take_others(uint32_t group);
  bool has_room(uint32_t group);
  void take_sends();
  RingPlay ring_play(uint32_t group, uint32_t program) const;
  void settle(uint32_t group, Time now);
  void check(uint32_t group, const Quiet& call);
  template <class F>
  void for_each_pair(uint32_t group, const F& f) const;

  const RankSchedule& schedule_;
  const Network& network_;
  Resources& resources_;
  AlphaRule alpha_;
  const Stopper* stopper_;  // looks only
  std::vector<Group> groups_;
  std::vector<std::vector<Way>> ways_;  // of sends, by sender
  std::vector<double> capacities_;
  std::vector<uint32_t> owners_;  // of each resource, the group: nobody, or several
  std::vector<double> asked_;     // of each, by the messages of that
  std::vector<ResourceUse> uses_;
  double others_ = 0;           // messages of collectives that are no rings, looked at
  std::set<Call> loud_;         // that go message by message
  std::set<Call> disturbed_;    // that should have gone so
  std::set<uint32_t> meeting_;  // kinds that should have gone so
  int plays_ = 0;
};

}  // namespace sgdsim
