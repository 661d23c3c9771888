// What one layer costs a rank: products of matrices, attention, element-wise kernels, and the
// collectives inside it, for one micro-batch.
#pragma once

#include <vector>

#include "models/training/gpu.h"
#include "models/training/group_times.h"
#include "models/training/layout.h"
#include "models/training/packed_documents.h"

namespace sgdsim {

inline constexpr double bytes_per_value = 2;  // in BF16

struct Sites;

// One question to the closed form. All are references to what outlives it.
struct TrainingStep {
  const Transformer& model;
  const Layout& layout;
  int64_t sequence;
  const Gpu& gpu;
  Precision precision;
  const PackedDocuments* documents = nullptr;  // null: each sequence is one
  const Sites* sites = nullptr;                // null: all GPUs are at one
};

// Seconds by what takes them. Communication is what nothing hides.
struct PassTimes {
  double products = 0;
  double attention = 0;
  double element_wise = 0;
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double weight_products = 0;  // those of `products` that make gradients of weights
  double hidden_context = 0;   // what attention hides of the ring of context parallelism
  double offload = 0;          // what a pass waits for copies of activations to or from the host
  double hidden_offload = 0;   // and what of them lies under it
  double host = 0;             // what it waits for the host to launch its kernels
  double hidden_expert = 0;    // what shared experts hide of exchanges of experts
  // Of products, those that exchanges of experts may lie under, on their way out and back.
  double under_out = 0;
  double under_back = 0;

  double compute() const { return products + attention + element_wise; }
  double waits() const { return offload + host; }
  double all() const { return compute() + tensor + context + expert + offload + host; }
  PassTimes& operator+=(const PassTimes& other);
};
PassTimes operator*(double factor, const PassTimes& times);

struct LayerTimes {
  PassTimes forward;
  PassTimes backward;
};

// Bytes that a rank sends on behalf of one layer and micro-batch; expert_exchanges() has those for
// experts.
struct LayerTraffic {
  double tensor_forward_B = 0;
  double tensor_backward_B = 0;
  double context_forward_B = 0;
  double context_backward_B = 0;
};
LayerTraffic layer_traffic(const TrainingStep& step, LayerKind kind, bool is_recomputed);

// A matrix product of the forward pass of one layer and micro-batch on a rank: `rows` x `inner`
// times `inner` x `columns`, `groups` of them at once. Even where tokens are spread over experts,
// as a mean.
struct LayerProduct {
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double groups = 1;
  bool operator==(const LayerProduct&) const = default;
};
std::vector<LayerProduct> layer_products(const TrainingStep& step, LayerKind kind);
LayerProduct head_product(const TrainingStep& step);

// Scores and values of a sequence, forward: of its documents, where there are several.
double core_flop(const TrainingStep& step, Mixing mixing, FlopConvention convention);

// Without computing the layer again.
LayerTimes layer_times(const TrainingStep& step, GroupTimes& groups, LayerKind kind);
LayerTimes recomputed(LayerTimes times);
// The last norm, logits and loss; of modules that predict further tokens these once more each, and
// what makes the input of their layer.
LayerTimes head_times(const TrainingStep& step);

// Kernels that the host launches for a layer, in either pass, and for the head.
struct LayerKernels {
  double forward = 0;
  double backward = 0;
};
LayerKernels layer_kernels(const TrainingStep& step, LayerKind kind);
LayerKernels head_kernels(const TrainingStep& step);

// What one layer and micro-batch exchanges: pairs of a gather and a scatter (or all-reduces) of
// activation_B in a pass, and keys and values of a rank.
double tensor_pairs(const TrainingStep& step, LayerKind kind);
double keys_and_values_B(const TrainingStep& step, LayerKind kind);
// What ulysses exchanges before and behind attention.
double queries_B(const TrainingStep& step, LayerKind kind);
double attended_B(const TrainingStep& step, LayerKind kind);

// Tokens of a micro-batch on one rank; bytes of one activation of them.
double rank_tokens(const TrainingStep& step);
double activation_B(const TrainingStep& step);
// What a stage hands to the next one.
double boundary_B(const TrainingStep& step);

}  // namespace sgdsim
