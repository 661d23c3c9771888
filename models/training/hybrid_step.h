// A training step of a layout in closed form: no message is played, every part is a formula.
//
//   step = micro-batches x slowest stage (forward + backward) + bubble + what data parallelism does
//          not hide + optimizer
//
// It is wrong where other stages than the slowest hold it up, where collectives and kernels slow
// each other down (NCCL's kernels take some of the GPU), and by what nobody counts:
// gaps between kernels, the host, stragglers. docs/layouts.md compares it with published steps.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/training/exchanges_beside.h"

namespace sgdsim {

// Seconds of the whole step; they add up to it. Communication is what nothing hides.
struct StepParts {
  double products = 0;
  double attention = 0;
  double element_wise = 0;
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double sends = 0;
  double bubble = 0;
  double data = 0;
  double optimizer = 0;
  double offload = 0;        // copies of activations to the host and back
  double host = 0;           // waiting for the host to launch kernels
  double sites = 0;          // exchanges between sites
  double communication = 0;  // on wires: all that nothing hides, and waiting; else: link_load.h
  double all() const {
    return products + attention + element_wise + tensor + context + expert + sends + bubble + data +
           optimizer + offload + host + sites + communication;
  }
};

// Names for people and for JSON, in this order.
struct NamedPart {
  const char* name;  // "matrix products"
  const char* key;   // "products_us"
  const char* says;
  double StepParts::*member;
  bool is_rare = false;  // told only where there is some
};
const std::vector<NamedPart>& step_parts();

// Seconds of exchanges that lie under something else and cost nothing.
struct HiddenParts {
  double context = 0;
  double expert = 0;
  double sends = 0;
  double data = 0;
  double offload = 0;
  double sites = 0;
};

struct HybridStep {
  StepParts parts;
  HiddenParts hidden;  // of the closed form
  Duration time;
  double mfu = 0;     // FLOP of the model, causal attention halved, of the peak of all GPUs
  std::string limit;  // the largest part
  int64_t slowest_stage = 0;
  double forward_s = 0;  // of the slowest stage, one micro-batch
  double backward_s = 0;
  double weight_s = 0;  // that part of the backward pass which makes gradients of weights
  double send_s = 0;    // from a stage to the next, where that takes longest
  // How many times as long passes compute because of the exchanges that lie under them.
  double slowness = 1;
};

// MFU and the largest part, from time and parts.
void set_quality(const TrainingStep& step, double seconds, HybridStep& result);

// The layout must fit the model; `groups` has as many GPUs as it.
HybridStep hybrid_step(const TrainingStep& step, GroupTimes& groups);
// Its slowness alone.
double slowness_of_passes(const TrainingStep& step, GroupTimes& groups);

// Seconds in which nothing but filling and draining happens, for equal stages.
double bubble_s(const Layout& layout, const PassSeconds& times);

// Bytes that a rank of a stage sends in a step so that replicas agree: among those that share, and
// with those that hold the same shard.
struct DataTraffic {
  Replicas replicas;
  double shared_B = 0;
  double copied_B = 0;
};
std::array<DataTraffic, 2> data_traffic(const TrainingStep& step, int64_t stage);
double data_traffic_B(const TrainingStep& step, int64_t stage);

}  // namespace sgdsim
