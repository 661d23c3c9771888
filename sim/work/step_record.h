// Recorded training steps: which operation ran when, on which stage of which replica.
//
// Times are whole nanoseconds of the clock of the record. Ranks that share every exchange inside of
// layers (tensor parallel) count as one worker: the record has one of them. A worker is a stage of
// a replica, numbered replica * stages + stage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgdsim {

enum class Recorded : uint8_t {
  forward,
  backward,
  forward_send,
  forward_receive,
  backward_send,
  backward_receive,
  gather,      // of weights, by the replicas of a stage
  reduce,      // of gradients, likewise
  separate,    // of gradients that are not in the buckets, likewise
  layer_norm,  // of gradients, within the ranks that count as one
  embedding,   // of gradients, by the first and the last stage of a replica
  clip,        // of gradients, by everybody
  optimizer,
  collection,  // of garbage
  weights      // the half of a backward pass that nobody waits for
};
inline constexpr std::size_t recorded_kinds = 15;

// As Megatron's timers call them.
inline constexpr std::array<std::string_view, recorded_kinds> recorded_names = {
    "forward-compute",
    "backward-compute",
    "forward-send",
    "forward-recv",
    "backward-send",
    "backward-recv",
    "params-all-gather",
    "grads-reduce-scatter",
    "separate-grads-all-reduce",
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    "optimizer-clip-main-grad",
    "optimizer",
    "gc",
    "backward-wgrad-compute"};

constexpr std::string_view name_of(Recorded kind) {
  return recorded_names[static_cast<std::size_t>(kind)];
}
constexpr bool is_pass(Recorded kind) {
  return kind == Recorded::forward || kind == Recorded::backward || kind == Recorded::weights;
}
constexpr bool is_between_stages(Recorded kind) {
  return kind >= Recorded::forward_send && kind <= Recorded::backward_receive;
}
constexpr bool is_communication(Recorded kind) {
  return kind >= Recorded::forward_send && kind <= Recorded::clip;
}

struct RecordedOperation {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t step = 0;  // index among the steps of the record
  int32_t replica = 0;
  int32_t stage = 0;
  int32_t chunk = 0;         // virtual stage of the stage; of overlapped gradients: bucket
  int32_t micro_batch = -1;  // -1: not said
  int32_t sequence = 0;      // among those of its kind that start at the same moment
  Recorded kind = Recorded::forward;
};

struct StepRecord {
  std::string file;
  std::string format;  // what it is, for people
  std::vector<int64_t> steps;
  int replicas = 1;
  int stages = 1;
  int chunks = 1;
  // Replicas exchange gradients while they compute, each chunk once its last backward pass is done.
  bool overlaps = false;
  // Operations of one kind are alike chunk by chunk only, as the buckets of a backward pass.
  bool chunks_differ = false;
  // Who receives is always ready, so that a send never waits for the pass before.
  bool is_buffered = false;
  // Who sends begins no pass before the send has ended.
  bool sends_keep_worker = false;
  std::vector<RecordedOperation> operations;
  std::vector<std::string> workers;  // their names, e.g. of hosts; empty: not said
  std::vector<std::string> notes;    // what it lacks, and what was left out

  int worker_of(const RecordedOperation& one) const { return one.replica * stages + one.stage; }
};

}  // namespace sgdsim
