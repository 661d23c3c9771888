// A training step of a layout on the wires of a cluster: every GPU plays its own operations, and
// all messages share links, max-min fairly (sim/net/flows.h) or as packets (sim/net/packets.h); or
// the ports of GPUs, nodes and racks, beside others.
#pragma once

#include "models/collective/simulate.h"
#include "models/training/gpu_schedule.h"
#include "models/training/hybrid_step.h"
#include "models/training/played_step.h"
#include "sim/core/error.h"
#include "sim/net/link_use.h"
#include "sim/play/stand_ins.h"
#include "sim/play/traffic_in_time.h"

namespace sgdsim {

// How messages go, and what they meet.
struct StepWires {
  Fidelity fidelity = Fidelity::flow;  // message: ports
  RouteChoice routes = {};
  MakeCarrier carrier = {};  // none: flows
  Payload payload = {};      // of its packets
  Meanwhile meanwhile = {};
  bool wants_slices = false;
  Reduction reduction = Reduction::fitting;
};

// What a GPU did when.
struct GpuSlice {
  int64_t gpu = 0;
  GpuPart part;
  Time start;
  Time end;
};

struct StepOnWires {
  HybridStep step;        // the mean; parts are those of the GPU that ends last
  StepParts first_parts;  // and those of GPU 0
  Duration fastest;
  Duration slowest;
  // Of the last iteration.
  uint64_t messages = 0;
  uint64_t in_rings = 0;    // of these, of rings that were played at once (quiet_rings.h)
  std::size_t classes = 0;  // of GPUs, if one of each was played for all; else 0
  // GPUs that do what others do until replicas first exchange gradients (step_apart.h), for which
  // so many stand until then.
  std::size_t followers = 0;
  std::size_t followed = 0;
  bool equal_chunks = false;  // they are alike but for a byte of some chunks (gpu_stand_ins.h)
  double wire_B = 0;
  int64_t last_gpu = 0;
  WireUse wires;
  std::vector<GpuSlice> slices;  // GPU by GPU, if wanted
  double least_delivered = 1;    // of a message, of all iterations
  double effort = 0;             // of all iterations; 1: as much as one may take
};

// Messages that never arrive, by their names.
class StuckStep : public InputError {
 public:
  using InputError::InputError;
};

// StuckStep where wires that are closed, or packets that are lost, let a step wait for ever.
StepOnWires play_on_wires(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                          const StepWires& how, const LayoutPlay& options = {});

}  // namespace sgdsim
