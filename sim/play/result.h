// What a simulated training step took, and where the time went (ledger.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/net/link_use.h"
#include "sim/net/packet_report.h"
#include "sim/play/ledger.h"
#include "sim/work/graph.h"

namespace sgdsim {

// One message of one iteration. Layers are indices into the trace, first_layer <= last_layer. Times
// count from the start of the iteration, as the worker that stands for all, or the last one, sees
// them.
struct MessageRecord {
  int first_layer = 0;
  int last_layer = 0;
  Bytes size;
  Duration ready;  // all gradients of it, on the last worker
  Duration start;  // on the wire, with everybody there
  Duration end;
};

// What a user weighs against time: how much of the gradients arrives, and how old it is.
struct Quality {
  double density = 1;         // elements that each worker sends, of all
  double delivered = 1;       // elements that the exchanged sums can update, of all, at most
  double staleness_mean = 0;  // updates of the parameters that a gradient does not know
  double staleness_max = 0;
};

// A part of what the time of an iteration is the sum of: things that waited for each other, and no
// others would have let it end sooner. Waiting within them is included.
struct CriticalPart {
  Activity activity = Activity::forward;
  int messages = 0;  // how many, one after another
  int first_layer = 0;
  int last_layer = 0;
  Duration length;

  void add(const CriticalPart& other);  // of the same kind
};

struct StepResult {
  std::vector<Duration> iterations;  // each measured one
  Time end;                          // of the last one; the first one, warm-up or not, begins at 0
  Breakdown mean;
  std::vector<Breakdown> workers;       // per worker; one entry if one stands for all
  std::vector<MessageRecord> messages;  // of the last iteration
  int64_t message_count = 0;  // point-to-point, per iteration; 0 where costs are not played
  double wire_B = 0;          // per iteration
  std::vector<CriticalPart> critical;             // if it was asked for: of the last iterations
  int critical_iterations = 0;                    // that they span
  WireUse wires;                                  // at fidelity flow
  std::shared_ptr<const PacketReport> packets;    // at fidelity packet: of all iterations
  std::shared_ptr<const Resources> packet_wires;  // likewise: where they were
  Quality quality;                                // means over measured iterations
  std::string path;
  std::vector<std::string> warnings;

  Duration total() const;  // of all iterations
  // Fills in `workers` and `mean` from one account per worker, after `iterations`.
  void settle(const std::vector<Account>& accounts);
};

}  // namespace sgdsim
