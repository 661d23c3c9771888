// What a rank of each stage must hold: states of the parameters, activations in flight, logits.
//
// Published formulas, with bytes of 2 for values and weights, 4 for gradients (2 with
// gradients=bf16) and 12 for Adam. What CUDA, NCCL and fragmentation take, 1 to 3 GiB, is not in
// it. The peak is at the end of the forward pass with which the pipeline is full, or with virtual
// stages of the next one; later passes only take the place of those that end.
#pragma once

#include <limits>
#include <vector>

#include "models/training/activations.h"
#include "models/training/layout.h"

namespace sgdsim {

// Of one rank, as far as they are divided differently.
struct RankParameters {
  double matrices = 0;  // of attention and MLP, divided by tp
  double experts = 0;   // divided by ep
  double small = 0;     // norms, biases, router: every tensor-parallel rank has all
  double ends = 0;      // embedding, positions, last norm, head
  double adapters = 0;  // of lora, outside experts
  double expert_adapters = 0;
  double outside_experts() const { return matrices + small + ends + adapters; }
  double all() const { return outside_experts() + experts + expert_adapters; }
};
// Of these, how many are trained, and the bytes of those that are not: none without lora.
struct TrainedParts {
  double common = 0;  // outside experts
  double experts = 0;
  double common_frozen_B = 0;
  double experts_frozen_B = 0;
  double all() const { return common + experts; }
  double all_frozen_B() const { return common_frozen_B + experts_frozen_B; }
};
TrainedParts trained_parts(const Layout& layout, const RankParameters& parameters);
// With dualpipe, of both stages that a rank holds.
RankParameters rank_parameters(const Transformer& model, const Layout& layout, int64_t stage);
// Of one layer.
RankParameters rank_layer_parameters(const Transformer& model, const Layout& layout,
                                     LayerKind kind);

struct StageMemory {
  int64_t stage = 0;
  RankParameters parameters;
  double weights_B = 0;
  double gradients_B = 0;
  double optimizer_B = 0;
  double placeholders_B = 0;  // what products hand on in place of gradients that they have added
  double gathered_B = 0;      // zero2, zero3: layers that are whole for a moment, or all of them
  double activations_B = 0;   // of layers, all that is in flight
  double recomputed_B = 0;    // of the one layer, or unit, that is computed again
  double ends_B = 0;          // outputs of the embedding; logits
  double host_B = 0;          // in the memory of the host, of this rank: none of the total
  // The moment of the peak: the end of this forward pass.
  int64_t in_flight = 0;    // forward passes of chunks without their backward passes
  int64_t micro_batch = 0;  // from 0
  int64_t chunk = 0;        // virtual stage, from 0

  double states_B() const { return weights_B + gradients_B + optimizer_B + gathered_B; }
  double all_gradients_B() const { return gradients_B + placeholders_B; }
  double total_B() const {
    return states_B() + placeholders_B + activations_B + recomputed_B + ends_B;
  }
};

// The layout must fit the model.
StageMemory stage_memory(const Transformer& model, const Layout& layout, int64_t sequence,
                         int64_t stage);
// The stage that needs most, of equal ones the first; or the first one that needs more than
// `enough_B`.
StageMemory largest_memory(const Transformer& model, const Layout& layout, int64_t sequence,
                           double enough_B = std::numeric_limits<double>::infinity());

// Trained parameters of a rank of this stage, each counted at one of those that hold the same.
double own_parameters(const Transformer& model, const Layout& layout, int64_t stage);
// What a rank of this stage writes when the training is saved: weights and what Adam keeps, each
// once, because ranks that hold the same write a part each.
double saved_B(const Transformer& model, const Layout& layout, int64_t stage);

// Bytes of a parameter: weights, gradient, optimizer.
struct StateBytes {
  double weights = 2;
  double gradients = 4;
  double optimizer = 12;
};
StateBytes state_bytes(const Layout& layout, int64_t shards);

}  // namespace sgdsim
