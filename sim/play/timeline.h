// What happened when, for chosen workers and iterations; kept only if somebody wants to look.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/graph.h"

namespace sgdsim {

// `index` is the layer, or the number of the message in its iteration; a broadcast carries the
// parameters of its layer. Slices of one worker, lane and channel never overlap.
struct Slice {
  int worker = 0;
  int iteration = 0;
  Activity activity = Activity::forward;
  int channel = 0;  // messages, broadcasts and waiting
  int index = 0;
  int first_layer = 0;  // messages and broadcasts
  int last_layer = 0;
  Bytes size = {};
  Time start = {};
  Time end = {};
};

struct Timeline {
  std::vector<int> workers;  // wanted
  int first_iteration = 0;   // counted with warm-up
  int last_iteration = 0;
  std::vector<Slice> slices;

  bool wants(int iteration) const {
    return iteration >= first_iteration && iteration <= last_iteration;
  }
  void add(const Slice& slice) {
    if (slice.end > slice.start) slices.push_back(slice);
  }
};

}  // namespace sgdsim
