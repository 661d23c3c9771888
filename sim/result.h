// What a simulated training step took, and where the time went.
//
// compute = forward + backward + compression + update; exposed = iteration - compute, what
// communication added to the iteration. Transferring and waiting are kept apart: a worker that is
// ready waits until the last one is, and only then is it the network's time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

// One message of one iteration. Layers are indices into the trace, first_layer <= last_layer. Times
// count from the start of the iteration, as the representative (or the last) worker sees them.
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
  Duration waiting;        // the worker is ready, others are not
  Duration compression;    // encoding and decoding of gradients
  Duration exposed;        // iteration - forward - backward - compression - update
  Duration overlapped;     // communication while the worker computes
  Duration idle;           // neither computing, transferring nor waiting for others

  Breakdown& operator+=(const Breakdown& other);
  Breakdown operator*(int64_t times) const;
  Breakdown operator/(int64_t parts) const;
};

// What a user weighs against time: how much of the gradients arrives, and how old it is.
struct Quality {
  double density = 1;         // elements that each worker sends, of all
  double delivered = 1;       // elements that the exchanged sums can update, of all, at most
  double staleness_mean = 0;  // updates of the parameters that a gradient does not know
  double staleness_max = 0;
};

struct StepResult {
  std::vector<Duration> iterations;  // each measured one
  Breakdown mean;
  std::vector<Breakdown> workers;       // per worker; one entry if one stands for all
  std::vector<MessageRecord> messages;  // of the last iteration
  int64_t message_count = 0;  // point-to-point, per iteration; 0 where costs are not played
  double wire_B = 0;          // per iteration
  Quality quality;            // means over measured iterations
  std::string path;
  std::vector<std::string> warnings;
};

}  // namespace sgdsim
