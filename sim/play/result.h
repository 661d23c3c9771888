// What a simulated training step took, and where the time went.
//
// compute = forward + backward + compression + update; exposed = iteration - compute, what
// communication added to the iteration. Transferring and waiting are kept apart: a worker that is
// ready waits until the last one is, and only then is it the network's time. So
//
//   exposed = (communication that no computation of the worker hides) + waiting + idle
//
// for every worker and every engine: engines report an Account, and Account::settled is the only
// place where exposed and idle come from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/net/link_use.h"
#include "sim/net/packet_report.h"
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

// Means over workers and measured iterations.
struct Breakdown {
  Duration forward;
  Duration backward;
  Duration update;
  Duration communication;  // while a message of the worker is being transferred
  Duration waiting;        // the worker is ready and computes nothing, others are not
  Duration compression;    // encoding and decoding of gradients
  Duration exposed;        // iteration - forward - backward - compression - update
  Duration overlapped;     // communication while the worker computes
  Duration idle;           // neither computing, transferring nor waiting for others

  Breakdown& operator+=(const Breakdown& other);
  Breakdown operator*(int64_t times) const;
  Breakdown operator/(int64_t parts) const;
};

// What an engine saw of a worker, summed over iterations.
struct Account {
  Breakdown parts;   // all but exposed and idle
  Duration carried;  // communication that no computation of the worker hides

  Account& operator+=(const Account& other);
  // The mean of `count` iterations that took `total` together. A worker may have computed for
  // longer than they took, because it began before the slowest one had ended what came before: its
  // computation is then cut to their length, each part in proportion. Waiting and carried
  // communication end where exposed does.
  Breakdown settled(int64_t count, Duration total) const;
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
