// Plays the passes of a pipeline: every rank does its passes in its order, each as soon as what it
// waits for is there.
//
// A forward pass waits for the output of the stage before, a backward pass for the gradient of the
// stage behind; both travel one after the other on each way out of a rank, beside its passes or
// before the next one. Replicas exchange gradients and weights in pieces, which follow one another
// on a stream of their own: what of it lies under passes is hidden. Nothing depends on the order of
// events, so that no queue is needed: a rank goes on as far as it can, then those that wait for it.
//
// Of zero2 and zero3 the pieces are layers: a layer's weights are fetched while the layer before
// is computed, and a layer is not computed before the gradients of the last but one are gone.
#pragma once

#include <functional>
#include <vector>

#include "models/training/pass_order.h"
#include "sim/core/stopper.h"
#include "sim/core/units.h"

namespace sgdsim {

// Slow GPUs are slow in what they compute.
struct PassWork {
  Duration compute;
  Duration rest;    // exchanges inside of layers
  Duration expert;  // of these, what computing can hide in a pass of two micro-batches
};

struct ChunkWork {
  PassWork forward;
  PassWork inputs;  // of the backward pass, without ...
  PassWork weights;
};

// Of one chunk of a rank, with its replicas.
struct ChunkExchange {
  int64_t pieces = 1;
  Duration reduce;  // of one piece: gradients
  Duration gather;  // weights
};

struct PipelineWork {
  Layout layout;
  std::vector<ChunkWork> chunks;         // of every rank, rank by rank
  std::vector<ChunkExchange> exchanges;  // of every rank; its chunks are alike
  std::vector<Duration> optimizer;       // of every rank
  std::vector<Duration> copies;          // with dualpipe, until both copies of a stage agree
  Duration tied;                         // first and last rank agree on the embedding
  std::vector<Duration> sends;           // between ranks, as StageSends has them
  bool sends_keep_rank = false;          // it begins no pass while it sends
  int64_t replicas = 1;                  // that are unlike each other
  // How many times as long a rank of a replica computes its next pass; null: all as given.
  std::function<double(int64_t rank, int64_t replica)> slowness = {};
};

struct PassSlice {
  enum class Kind : uint8_t { pass, send, gather, reduce, optimizer };
  Kind kind = Kind::pass;
  Pass pass = Pass::forward;
  int64_t rank = 0;
  int64_t replica = 0;
  int64_t chunk = 0;
  int64_t micro_batch = 0;
  Time start;
  Time end;
};

// The replica whose passes ended last. busy + waiting + exchange + optimizer is the whole step.
struct RankPlayed {
  Duration busy;      // with passes
  Duration waiting;   // for other ranks of the pipeline, and at the end for the slowest one
  Duration exchange;  // for replicas
  Duration optimizer;
  int64_t most_in_flight = 0;  // forward passes of chunks whose backward pass has not ended
  Time passes_end;
  Time end;
};

struct PipelinePlayed {
  Duration time;
  std::vector<RankPlayed> ranks;
  uint64_t passes = 0;
};

// Passes over all ranks and replicas that are played at most, and where all of them are shown.
inline constexpr int64_t most_passes = 40'000'000;
inline constexpr int64_t most_shown_passes = 2'000'000;

// InputError beyond `most_passes`, or with slices beyond `most_shown_passes`. `slices`: if not
// null, all that happened.
PipelinePlayed play(const PipelineWork& work, std::vector<PassSlice>* slices = nullptr,
                    Stopper* stopper = nullptr);

}  // namespace sgdsim
