// One iteration of training on one worker, as measured: the layers in forward order, what their
// gradients weigh, and how long they compute.
//
// The unit of scheduling is whatever the trace lists: layers, or single tensors. Backward runs from
// the last entry to the first. Where a trace says when each gradient became ready, those moments
// hold, gaps included; else a gradient is ready when its layer's backward ends.
#pragma once

#include <string>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

struct Layer {
  std::string name;
  int64_t parameters = 0;
  Bytes gradient;
  Duration forward;
  Duration backward;
  // Since the start of the iteration; only meaningful if the trace has_ready.
  Duration ready;
  // Parameter counts of the tensors in registration order; empty: the layer is one tensor.
  std::vector<int64_t> tensors;

  bool operator==(const Layer&) const = default;
};

struct Trace {
  std::string name;
  std::string model;
  std::string framework;
  std::string device;
  std::string date;
  std::string source;    // where the figures come from, what was measured and what was derived
  bool derived = false;  // times were distributed over layers, not measured layer by layer
  int64_t batch = 0;     // samples per worker and iteration; 0: not stated
  Duration load;         // reading and copying the next batch; overlaps with the iteration before
  Duration update;       // the optimizer's step
  bool has_ready = false;
  bool beside_exchanges = false;   // the times hold what exchanges slow computing down by
  std::vector<Layer> layers;       // forward order
  std::vector<std::string> notes;  // what a result must repeat as a warning

  Duration forward() const;
  Duration backward() const;
  Bytes gradient() const;
  int64_t parameters() const;

  bool operator==(const Trace&) const = default;
};

// When gradient l is ready, for every layer, counted from the start of the iteration.
std::vector<Duration> ready_times(const Trace& trace);

}  // namespace sgdsim
