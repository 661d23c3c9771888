// Playing a program on a network at message fidelity.
//
// The semantics, which every path gives to the same picosecond. A worker has a clock. In a round it
// starts to send at its clock and is done sending when its port is free again (at rendezvous: when
// the receiver has everything). The receiver takes the message from the later of its arrival and
// the receiver's own clock. The clock after the round is the later of both ends, plus the fold:
//
//   sent  = t_i + out_busy                            (rendezvous: the receiver's `taken`)
//   taken = max(t_sender + flight, t_i) + transit
//   t_i'  = max(sent, taken) + fold
//
// Where ports or wires are shared, or a phase sends all its messages at once, a message is taken as
// it comes, whether or not the receiver is there (play_in_time.h); for the rest, three paths give
// the answer. `rounds` passes once over the arrays of clocks in each round. `events` plays message
// by message in time, each with its ports to itself. `symmetric` lets one worker stand for all when
// all are alike. The caller does not choose, but a test may.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/stopper.h"
#include "sim/net/carrier.h"
#include "sim/play/message_log.h"
#include "sim/play/traffic_in_time.h"
#include "sim/work/program_traffic.h"
#include "sim/work/schedule.h"

namespace sgdsim {

enum class PathChoice : uint8_t { fastest, rounds, events };
enum class PathTaken : uint8_t { none, symmetric, rounds, events };

struct PlayOptions {
  AlphaRule alpha = AlphaRule::port;
  MessageJitter jitter;
  PathChoice path = PathChoice::fastest;
  bool shares_ports = false;       // messages in progress share ports (sim/net/flows.h)
  double send_buffer_B = 0;        // of each message, where they do
  Resources* resources = nullptr;  // messages in progress share these wires
  MakeCarrier carrier = {};        // as this carries them; none: flows
  Meanwhile meanwhile = {};        // and others use them, or they change
  bool last_only = false;          // of all ends only the last one is asked for
  MessageLog* log = nullptr;       // of all messages: then each is played
  Stopper* stopper = nullptr;
};

struct Played {
  std::vector<Time> ends;  // per worker; one entry if the symmetric path was taken
  Traffic traffic;
  PathTaken path = PathTaken::none;
  std::vector<double> carried_B =
      {};  // by each resource, where others use them, a carrier was given, or some stand for all
  Time until = {};           // then
  bool pads_chunks = false;  // to the largest of a collective

  static constexpr char padding_said[] =
      "all chunks of a collective count as large as its largest, which has a byte more than "
      "others, "
      "so that workers are alike (docs/strategies.md says what that moves)";

  Time last_end() const;
  Time end_of(int worker) const {
    return ends.size() == 1 ? ends.front() : ends[static_cast<std::size_t>(worker)];
  }
};

// `starts`: when each worker enters the collective; empty: all at time 0.
Played play(const Program& program, const Network& network, const PlayOptions& options = {},
            std::vector<Time> starts = {});

std::string_view name_of(PathTaken path);

}  // namespace sgdsim
