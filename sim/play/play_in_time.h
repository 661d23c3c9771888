// Playing collectives in time, message by message, where they meet at ports: several of them in
// flight at once, or one whose messages share ports (sim/net/flows.h).
//
// A worker enters the collectives one after the other, as each is ready and fewer than `at_once` of
// its own are under way.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "sim/net/carrier.h"
#include "sim/play/message_log.h"
#include "sim/play/play.h"
#include "sim/play/stand_ins.h"

namespace sgdsim {

struct Call {
  const Program* program = nullptr;
  const Network* network = nullptr;  // what folding costs may differ from call to call
  std::vector<Time> ready;           // per worker
  Duration first;                    // what a worker does before its first message
};

struct CallTimes {
  std::vector<Time> starts;  // per worker
  std::vector<Time> ends;
};

struct SharingOptions {
  AlphaRule alpha = AlphaRule::port;
  bool shares_nothing = false;               // messages have their ports to themselves
  Resources* resources = nullptr;            // null: the ports of the workers
  MakeCarrier carrier = {};                  // of messages on them; none: flows
  Meanwhile meanwhile = {};                  // on these wires
  std::vector<double>* carried_B = nullptr;  // filled in: by each resource,
  bool asks_carried = true;                  // else only where workers stand for others
  Time* until = nullptr;                     // and until when
  MessageLog* log = nullptr;                 // of all messages; not with shares_nothing
  MessageJitter jitter = {};
  double send_buffer_B = 0;
  int at_once = std::numeric_limits<int>::max();  // collectives of a worker
  Reduction reduction = Reduction::fitting;
  bool one_answers = false;  // where all workers are alike, times have one entry
  // From so many messages on, workers may stand for others where rates are then added up in another
  // order than where every worker is played (stand_ins.h), which may move the last picoseconds.
  double reduced_from = 200'000;
  // From so many messages on, all chunks of a collective are taken to be as large as the largest,
  // which is a byte larger than others, if workers are alike then. `pads_chunks`: whether they
  // were.
  double padded_chunks_from = std::numeric_limits<double>::infinity();
  bool* pads_chunks = nullptr;
  Stopper* stopper = nullptr;
};

// Whether messages of several rounds are under way together.
bool has_phase_at_once(const Program& program);

std::vector<CallTimes> play_in_time(std::span<const Call> calls, const SharingOptions& options);

}  // namespace sgdsim
