// How far a ring has come at a moment: what is needed to go on with it message by message, or,
// where it has its wires to itself from then on, at once.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/net/carrier.h"
#include "sim/play/quiet.h"

namespace sgdsim {

struct RingMoment {
  // Stages are those of the program, rounds those of the stage.
  struct Member {
    enum class Is : uint8_t { away, before, in_round, done };
    Is is = Is::away;
    int stage = 0;
    int round = 0;
    Time clock;             // when the round begins, or the end: no earlier than now; or it began
    bool has_sent = false;  // in this round
    bool has_got = false;
    Duration fold = {};  // of what it has got
  };
  // On its way: it is there later than now.
  struct Message {
    std::size_t from = 0;
    std::size_t to = 0;
    int stage = 0;
    int round = 0;
    Duration fold;
    Carrier::Underway how;
  };
  // Of a round that its receiver has not come to.
  struct Early {
    std::size_t to = 0;
    int stage = 0;
    int round = 0;
    Duration fold;
  };
  Time at;
  std::vector<Member> members;
  std::vector<Message> messages;
  std::vector<Early> early;
  double sent = 0;             // messages that have left
  std::vector<double> sent_B;  // by each member, where it has had its wires to itself
};

// Of a program that is a ring, from when members have come; Time::last(): they have not. `since`:
// how far it had come when it has had its wires to itself from then on; null: always. Of members
// that were there, nothing else counts.
RingMoment ring_moment(const Program& program, const RingPlay& how,
                       const std::vector<Time>& entered, Time now,
                       const RingMoment* since = nullptr);

}  // namespace sgdsim
