// Plays what ranks do in time, message by message.
//
// A message of s bytes costs, by LogGOPS (Hoefler, Schneider and Lumsdaine, LogGOPSim, 2010): the
// sender's processor o + (s - 1) O, its card g + (s - 1) G; the first byte is at the receiver's
// card o + L after the sending has begun, the last one (s - 1) G after the card takes it, and the
// receiver's processor takes o + (s - 1) O, which end o after the last byte at the earliest. Cards
// take one message after the other; a processor is not kept by bytes that are on their way. A
// message that nobody has asked for yet is taken by the card when it comes, and waits in a buffer,
// as in LogGOPSim; or it waits until it is asked for, as in the rounds of our collectives. On a
// cluster, flight and rates are those of its ports, and a sending ends when its port is free.
// Messages of more than S bytes wait for their receiver: they are announced, answered after L, and
// keep the sender until the last byte has left.
//
// Where messages share wires, others may be on them, too, and wires may close: what has no way
// then waits, for ever if none opens again.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/stopper.h"
#include "sim/net/packet_limit.h"
#include "sim/net/resources.h"
#include "sim/net/stuck.h"
#include "sim/play/quiet_rings.h"
#include "sim/play/rank_shares.h"
#include "sim/play/stand_ins.h"
#include "sim/play/traffic_in_time.h"
#include "sim/work/rank_schedule.h"

namespace sgdsim {

struct MessageCosts {
  Duration overhead;                                      // o
  PerByte overhead_per_byte;                              // O
  Duration gap;                                           // g
  Duration flight;                                        // L
  PerByte per_byte;                                       // G
  int64_t eager_B = std::numeric_limits<int64_t>::max();  // S
};

// Messages that come before they are asked for: when the receiver's card takes their bytes.
enum class Unexpected : uint8_t { buffered, asked };

struct Replayed {
  std::vector<Time> ends;         // of the last operation of each rank
  std::vector<RankShare> shares;  // of each, until then; not of those that others stand for
  uint64_t operations = 0;        // that have ended
  uint64_t messages = 0;
  uint64_t in_rings = 0;  // of these, of rings that were played at once
  double wire_B = 0;
  uint64_t events = 0;
  Time until;                     // the last event
  std::vector<double> carried_B;  // until then, by each of the resources, where there are some
  // Messages whose receive names another size, and the first of their sends.
  uint64_t unequal = 0;
  uint32_t unequal_send = 0;
  // If nothing went on any more: receives without a message, sends without a receiver, and how many
  // operations could not begin.
  std::vector<uint32_t> waiting;
  std::vector<uint32_t> not_received;
  uint64_t not_begun = 0;
  std::map<uint32_t, Stranding> stranded;   // sends whose messages never arrive, and why
  std::vector<Stranded> stranded_in_calls;  // messages of collectives
  std::string circle;                       // of ports that wait for each other; empty: none
  double least_delivered = 1;               // of a message, where packets may be lost for good
  std::string stopped_by;                   // which limit, and what was reached; empty: none
  // Of each operation, where asked for: when it began (a receive: when it was asked for), and its
  // end. Time::last(): it never did.
  std::vector<Time> began;
  std::vector<Time> ended;
};

struct TooManyMessages {};

struct Replay {
  const RankSchedule* schedule = nullptr;
  MessageCosts costs;
  const Network* network = nullptr;  // in place of L and G
  AlphaRule alpha = AlphaRule::port;
  bool shares_ports = false;  // messages in progress share them (sim/net/flows.h)
  // Where ports take turns; none: buffered without a network, asked on one.
  std::optional<Unexpected> unexpected = {};
  Resources* resources = nullptr;  // or wires of routes
  MakeCarrier carrier = {};        // of messages on them; none: flows
  Meanwhile meanwhile = {};
  double send_buffer_B = 0;       // what the system takes off a sender's hands
  bool records = false;           // when operations began and ended
  std::vector<Time> starts = {};  // of the ranks; empty: all at 0
  // Those of the schedule that stand for all; the others have nothing to do. Not with records, and
  // only where `resources` are of classes, too (stand_ins.h).
  const AlikeRanks* alike = nullptr;
  // Of this schedule, on these resources, by the rule `alpha`: not with a carrier, a buffer, others
  // on the wires, or ranks that stand for others. Right if they need not be played anew().
  QuietRings* rings = nullptr;
  double most_messages = std::numeric_limits<double>::infinity();  // one by one; TooManyMessages
  Stopper* stopper = nullptr;
};
Replayed play(const Replay& replay);

// What a schedule takes in packets; 0: there are none.
double packets_of(const RankSchedule& schedule, const Payload& payload);

}  // namespace sgdsim
