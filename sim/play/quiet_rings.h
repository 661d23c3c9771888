// Rings of a schedule that have their wires to themselves: each is played at once, when all of its
// members are there, in place of message by message.
//
// A group qualifies if all that it does are rings, and the wires of these carry nothing else but,
// perhaps, sends between ranks. Every message then takes what it takes alone (quiet.h), and nobody
// is done before all have come, because what each has goes around: so the ends are known in time.
// Ranks that differ, as behind a slow one, cost a few nanoseconds a member that way, not half a
// microsecond a message.
//
// When a send comes on its wires, or a member enters a call of its group before it has left another
// one, a call goes on message by message from what has happened in it until then (ring_moment.h);
// and at once again when the send has gone.
#pragma once

#include <cstdint>
#include <span>
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
  // By whose wires a send goes.
  std::span<const uint32_t> met_by(uint32_t from, uint32_t to) const;
  // How the members of a group play a program.
  RingPlay ring_play(uint32_t group, uint32_t program) const;

  // Of a group, what each member has sent in quiet calls.
  void carry(uint32_t group, const std::vector<double>& sent_B);
  // What these have put on each resource is added.
  void add_carried(std::vector<double>& carried_B);
  // Messages that are played one by one at least.
  double least_messages() const;

 private:
  struct Doing {
    uint32_t program = 0;
    uint64_t calls = 0;  // by members
  };
  struct Group {
    bool is_alone = false;  // but for sends
    std::vector<Doing> doing = {};
    std::vector<double> sent_B = {};  // by each member, in quiet calls
  };
  struct Way {
    uint32_t to = 0;
    uint64_t sends = 0;
    std::vector<uint32_t> groups = {};  // whose wires it takes
  };

  void find_talk();
  bool is_ring(uint32_t group) const;
  const std::vector<ResourceUse>* route(uint32_t from, uint32_t to);
  bool find_rate(uint32_t group, std::size_t member, double& rate) const;
  bool take_ring(uint32_t group);
  bool take_others(uint32_t group);
  bool has_room(uint32_t group);
  void take_sends();
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
  double others_ = 0;  // messages of collectives that are no rings, looked at
};

}  // namespace sgdsim
