// The backward pass of a product is two products of the same FLOP, one of which makes the gradient
// of the weights; that of attention without stored scores is five products against two.
#include "models/training/layer_times.h"

#include <algorithm>

#include "models/training/memory.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double bytes_per_value = 2;
constexpr double flash_backward = 2.5;
constexpr int kernels_of_layer = 6;  // two norms, two residuals, activation, rotation
constexpr int kernels_of_eager_layer = 25;
constexpr int kernels_of_complex_rotation = 4;
constexpr double complex_rotation_B = 20;      // to 4 bytes (6), product (8), to 2 bytes (6)
constexpr int kernels_of_experts = 6;          // routing, sorting and merging tokens
constexpr double fp8_token_B = 1 + 4.0 / 128;  // a value, and a scale for 128 of them

// Adds rows x inner times inner x columns, forward and backward.
class Products {
 public:
  Products(const TrainingStep& step, LayerTimes& times) : step_(step), times_(times) {}

  void add(double rows, double columns, double inner, Precision precision, double count = 1) {
    if (rows <= 0 || columns <= 0 || inner <= 0) return;
    const double flop = 2 * rows * columns * inner * count;
    const double width = precision == Precision::fp8 ? 1 : bytes_per_value;
    const double bytes =
        count * (width * (rows * inner + inner * columns) + bytes_per_value * rows * columns);
    const double seconds = step_.gpu.product_s(flop, bytes, precision);
    times_.forward.products += seconds;
    times_.backward.products += 2 * seconds;
    times_.backward.weight_products += seconds;
  }
  void add(double rows, double columns, double inner) {
    add(rows, columns, inner, step_.precision);
  }

 private:
  const TrainingStep& step_;
  LayerTimes& times_;
};

void add_attention_products(const TrainingStep& step, Products& products) {
  const Transformer& model = step.model;
  const double t = real(step.layout.tensor);
  const double tokens = rank_tokens(step);
  const double h = real(model.hidden);
  const double queries = real(model.query_width());
  if (const auto& latent = model.latent) {
    const double own = tokens / t;  // narrow vectors are made by one rank for all
    if (latent->query_rank > 0) {
      products.add(own, real(latent->query_rank), h);
      products.add(tokens, queries / t, real(latent->query_rank));
    } else {
      products.add(tokens, queries / t, h);
    }
    products.add(own, real(latent->kv_rank + latent->rotary_size), h);
    products.add(tokens, real(model.heads * (latent->plain_size + latent->value_size)) / t,
                 real(latent->kv_rank));
  } else {
    products.add(tokens, (queries + real(model.key_width() + model.value_width())) / t, h);
  }
  products.add(tokens, h, real(model.attention_output_width()) / t);
}

void add_mlp(Products& products, const Transformer& model, double tokens, double width) {
  if (width <= 0) return;
  products.add(tokens, real(model.mlp_matrices() - 1) * width, real(model.hidden));
  products.add(tokens, real(model.hidden), width);
}

void add_experts(const TrainingStep& step, Products& products) {
  const Transformer& model = step.model;
  const Experts& experts = *model.experts;
  const double t = real(step.layout.tensor);
  const double tokens = rank_tokens(step);
  const double h = real(model.hidden);
  products.add(tokens / t, real(experts.count), h, Precision::bf16);
  add_mlp(products, model, tokens, real(experts.shared * experts.width) / t);
  // All of a rank's experts are one grouped kernel; tokens are spread evenly.
  const double own = real(experts.count) / real(step.layout.expert);
  const double rows = tokens / t * real(experts.per_token) / own;
  const double width = real(experts.width);
  products.add(rows, real(model.mlp_matrices() - 1) * width, h, step.precision, own);
  products.add(rows, h, width, step.precision, own);
}

// Scores and values. Not fused, scores are written and read by every kernel that touches them.
void add_attention_core(const TrainingStep& step, LayerTimes& times) {
  const Layout& layout = step.layout;
  const Gpu& gpu = step.gpu;
  const double part = real(layout.micro_batch) / real(layout.tensor * layout.context);
  const double peak = gpu.peak(Precision::bf16);
  if (!layout.keeps_scores) {
    const double flop =
        part * attention_core_flop(step.model, step.sequence, FlopConvention::halved);
    times.forward.attention += flop / (peak * gpu.attention_forward);
    times.backward.attention += flash_backward * flop / (peak * gpu.attention_backward);
    return;
  }
  const double flop = part * attention_core_flop(step.model, step.sequence, FlopConvention::whole);
  const double scores = part * real(step.model.heads) * real(step.sequence) * real(step.sequence);
  const double dropout = step.model.dropout ? 1 : 0;
  // Forward: products write and read (4), softmax (4), dropout with its mask (5).
  const double forward_B = scores * (8 + 5 * dropout);
  // Backward: four products (8), softmax (6), dropout (5).
  const double backward_B = scores * (14 + 5 * dropout);
  times.forward.attention +=
      2 * gpu.product_s(flop / 2, 0, Precision::bf16) + gpu.bytes_s(forward_B);
  times.backward.attention +=
      4 * gpu.product_s(flop / 2, 0, Precision::bf16) + gpu.bytes_s(backward_B);
}

// What the kernels of a token read and write where each operation is one, as in PyTorch.
struct EagerBytes {
  double norms;  // and sums with residuals
  double rest;   // what tensor parallelism divides
};
EagerBytes eager_bytes(const Transformer& model) {
  const double queries = real(model.query_width());
  const double keys = real(model.key_width());
  const double values = real(model.value_width());
  // RMS: to 4 bytes (6), square (8), mean (4), scale (8), to 2 bytes (6), weight (4). LayerNorm is
  // one kernel (4). Each sum (6), and the dropout before it (5).
  const double norm = model.layer_norm ? 4 : 36;
  EagerBytes bytes{2 * (norm + 6 + (model.dropout ? 5 : 0)) * real(model.hidden), 0};
  if (model.positions == 0) bytes.rest += complex_rotation_B * (queries + keys);
  if (model.kv_heads < model.heads) bytes.rest += 2 * (keys + values) + 4 * queries;  // repeated
  bytes.rest += 4 * real(model.attention_output_width());  // heads are put beside each other
  bytes.rest += (model.gated ? 10 : 4) * real(model.mlp_width);
  return bytes;
}

void add_eager(const TrainingStep& step, LayerTimes& times) {
  const double t = real(step.layout.tensor);
  const EagerBytes of_token = eager_bytes(step.model);
  const double norms = of_token.norms / (step.layout.sequence_parallel ? t : 1);
  const double bytes = rank_tokens(step) * (norms + of_token.rest / t);
  const double starts = kernels_of_eager_layer * step.gpu.kernel.s() + step.gpu.layer.s();
  times.forward.element_wise += step.gpu.bytes_s(bytes) + starts;
  times.backward.element_wise += step.gpu.bytes_s(2 * bytes) + starts;
}

// Of the products in order, q k v o gate up down, the second, fourth and sixth; attention stays.
void add_operations_again(const TrainingStep& step, LayerTimes& times) {
  const Transformer& model = step.model;
  const double tokens = rank_tokens(step);
  const double h = real(model.hidden);
  LayerTimes again;
  Products products(step, again);
  products.add(tokens, real(model.key_width()), h);
  products.add(tokens, h, real(model.attention_output_width()));
  products.add(tokens, real(model.mlp_width), h);  // up, or without a gate down
  times.backward.products += again.forward.products;
  times.backward.element_wise += times.forward.element_wise;
}

// What PyTorch's compiler leaves as it is in a Llama of torchtitan: it makes no kernels for complex
// numbers, in which queries and keys are rotated; and attention takes repeated keys and values,
// which are written. Kernels of a fused layer have read and written each of them once already.
void add_left_by_compiler(const TrainingStep& step, LayerTimes& times) {
  const Transformer& model = step.model;
  const double queries = real(model.query_width());
  const double keys = real(model.key_width());
  const double values = real(model.value_width());
  double rotated = model.positions == 0 ? queries + keys : 0;
  if (model.positions == 0 && model.latent)
    rotated = real((model.heads + 1) * model.latent->rotary_size);
  const double repeated =
      model.kv_heads < model.heads && !model.latent ? 2 * queries - keys - values : 0;
  const double fused_B = 2 * bytes_per_value;
  const double tokens = rank_tokens(step) / real(step.layout.tensor);
  // The gradient of a rotation is one rotation, and that of copies is their sum.
  const double written_B = bytes_per_value * repeated;
  const double starts = rotated > 0 ? (kernels_of_complex_rotation - 1) * step.gpu.kernel.s() : 0;
  times.forward.element_wise +=
      step.gpu.bytes_s(tokens * ((complex_rotation_B - fused_B) * rotated + written_B)) + starts;
  times.backward.element_wise +=
      step.gpu.bytes_s(tokens * ((complex_rotation_B - 2 * fused_B) * rotated + written_B)) +
      starts;
}

void add_element_wise(const TrainingStep& step, bool has_experts, LayerTimes& times) {
  if (step.layout.kernels == Kernels::eager) return add_eager(step, times);
  const Transformer& model = step.model;
  const double t = real(step.layout.tensor);
  const double tokens = rank_tokens(step);
  const double h = real(model.hidden);
  double width = real(model.mlp_matrices()) * real(model.mlp_width) / t;
  double kernels = kernels_of_layer;
  if (has_experts) {
    const Experts& experts = *model.experts;
    const double visits = real(experts.per_token + experts.shared);
    width = visits * real(model.mlp_matrices() * experts.width) / t;
    width += 4 * real(experts.per_token) * h / t;  // sorted by expert, and merged: read and written
    kernels += kernels_of_experts;
  }
  const double norms = 10 * h / (step.layout.sequence_parallel ? t : 1);
  const double heads = 2 * real(model.query_width() + model.key_width() + model.value_width()) / t;
  const double bytes = bytes_per_value * tokens * (norms + width + heads);
  const double starts = kernels * step.gpu.kernel.s() + step.gpu.layer.s();
  times.forward.element_wise += step.gpu.bytes_s(bytes) + starts;
  times.backward.element_wise += step.gpu.bytes_s(2 * bytes) + starts;
  if (step.layout.kernels == Kernels::compiled) add_left_by_compiler(step, times);
}

// Kernels of their own read a new gradient of each parameter, and the one that is kept, and write
// the sum. Fused, the product adds to what is kept while it computes.
double adding_s(const TrainingStep& step, double parameters) {
  if (!step.layout.adds_apart) return 0;
  return step.gpu.bytes_s(parameters * (bytes_per_value + 2 * step.layout.gradient_B()));
}

double visits_B(const TrainingStep& step, double value_B) {
  return rank_tokens(step) / real(step.layout.tensor) * real(step.model.experts->per_token) *
         real(step.model.hidden) * value_B;
}

void add_context(const TrainingStep& step, GroupTimes& groups, LayerTimes& times) {
  const Layout& layout = step.layout;
  const RankGroup ring{layout.tensor, layout.context};
  const double bytes = keys_and_values_B(step);
  const double blocks = real(layout.context);
  switch (layout.context_by) {
    case ContextBy::ring: {
      const double steps = real(layout.context - 1);
      times.forward.context +=
          steps * std::max(0.0, groups.send_s(ring, bytes) - times.forward.attention / blocks);
      times.backward.context +=
          steps * std::max(0.0, groups.send_s(ring, 2 * bytes) - times.backward.attention / blocks);
      return;
    }
    case ContextBy::gather: {  // and the gradients are scattered
      const double gather = groups.all_gather_s(ring, blocks * bytes);
      times.forward.context += gather;
      times.backward.context += gather;
      return;
    }
    case ContextBy::ulysses: {
      const double all = groups.all_to_all_s(ring, queries_B(step)) +
                         2 * groups.all_to_all_s(ring, bytes / 2) +
                         groups.all_to_all_s(ring, attended_B(step));
      times.forward.context += all;
      times.backward.context += all;
      return;
    }
  }
}

void add_communication(const TrainingStep& step, GroupTimes& groups, bool has_experts,
                       LayerTimes& times) {
  const Layout& layout = step.layout;
  const RankGroup tensor{1, layout.tensor};
  const double activation = activation_B(step);
  const double both = layout.sequence_parallel ? groups.reduce_scatter_s(tensor, activation) +
                                                     groups.all_gather_s(tensor, activation)
                                               : groups.all_reduce_s(tensor, activation);
  const double pass = tensor_pairs(step, has_experts) * both;
  times.forward.tensor += pass;
  times.backward.tensor += pass;
  if (layout.context > 1) add_context(step, groups, times);
  if (has_experts && layout.expert > 1) {
    const RankGroup expert{1, layout.expert};
    const double both = groups.all_to_all_s(expert, dispatched_B(step)) +
                        groups.all_to_all_s(expert, combined_B(step));
    times.forward.expert += both;
    times.backward.expert += both;
  }
}

}  // namespace

PassTimes& PassTimes::operator+=(const PassTimes& other) {
  products += other.products;
  attention += other.attention;
  element_wise += other.element_wise;
  tensor += other.tensor;
  context += other.context;
  expert += other.expert;
  weight_products += other.weight_products;
  return *this;
}

PassTimes operator*(double factor, const PassTimes& times) {
  return {factor * times.products,       factor * times.attention, factor * times.element_wise,
          factor * times.tensor,         factor * times.context,   factor * times.expert,
          factor * times.weight_products};
}

double tensor_pairs(const TrainingStep& step, bool has_experts) {
  // Chosen experts take tokens as they lie; attention and shared experts need all of a group.
  return has_experts && step.model.experts->shared == 0 ? 1 : 2;
}

double keys_and_values_B(const TrainingStep& step) {
  const double width = real(step.model.key_width() + step.model.value_width());
  return bytes_per_value * rank_tokens(step) * width / real(step.layout.tensor);
}

double queries_B(const TrainingStep& step) {
  return bytes_per_value * rank_tokens(step) * real(step.model.query_width()) /
         real(step.layout.tensor);
}

double attended_B(const TrainingStep& step) {
  return bytes_per_value * rank_tokens(step) * real(step.model.attention_output_width()) /
         real(step.layout.tensor);
}

double dispatched_B(const TrainingStep& step) {
  return visits_B(step, step.precision == Precision::fp8 ? fp8_token_B : bytes_per_value);
}

double combined_B(const TrainingStep& step) { return visits_B(step, bytes_per_value); }

double rank_tokens(const TrainingStep& step) {
  return real(step.layout.micro_batch) * real(step.sequence) / real(step.layout.context);
}

double activation_B(const TrainingStep& step) {
  return bytes_per_value * rank_tokens(step) * real(step.model.hidden);
}

double boundary_B(const TrainingStep& step) {
  const bool is_split = step.layout.sequence_parallel || step.layout.splits_sends;
  return activation_B(step) / (is_split ? real(step.layout.tensor) : 1);
}

LayerTraffic layer_traffic(const TrainingStep& step, bool has_experts, bool is_recomputed) {
  const Layout& layout = step.layout;
  LayerTraffic traffic;
  const double t = real(layout.tensor);
  const double pass = tensor_pairs(step, has_experts) * 2 * activation_B(step) * (t - 1) / t;
  const double c = real(layout.context);
  const double ring = (c - 1) * keys_and_values_B(step);
  traffic.tensor_forward_B = pass;
  traffic.tensor_backward_B = pass;
  traffic.context_forward_B = ring;
  traffic.context_backward_B = layout.context_by == ContextBy::ring ? 2 * ring : ring;
  if (layout.context_by == ContextBy::ulysses)
    traffic.context_forward_B = traffic.context_backward_B =
        (queries_B(step) + keys_and_values_B(step) + attended_B(step)) * (c - 1) / c;
  if (has_experts) {
    const double e = real(layout.expert);
    const double both = (dispatched_B(step) + combined_B(step)) * (e - 1) / e;
    traffic.expert_forward_B = both;
    traffic.expert_backward_B = both;
  }
  if (is_recomputed) {
    traffic.tensor_backward_B += pass;
    traffic.context_backward_B += traffic.context_forward_B;
    traffic.expert_backward_B += traffic.expert_forward_B;
  }
  return traffic;
}

LayerTimes layer_times(const TrainingStep& step, GroupTimes& groups, bool has_experts) {
  LayerTimes times;
  Products products(step, times);
  add_attention_products(step, products);
  if (has_experts)
    add_experts(step, products);
  else
    add_mlp(products, step.model, rank_tokens(step),
            real(step.model.mlp_width) / real(step.layout.tensor));
  add_attention_core(step, times);
  add_element_wise(step, has_experts, times);
  times.backward.element_wise +=
      adding_s(step, rank_layer_parameters(step.model, step.layout, has_experts).all());
  add_communication(step, groups, has_experts, times);
  if (step.layout.recompute == Recompute::selective)
    times.backward.attention += times.forward.attention;
  if (step.layout.recompute == Recompute::operations) add_operations_again(step, times);
  return times;
}

LayerTimes recomputed(LayerTimes times) {
  times.backward += times.forward;
  return times;
}

LayerTimes head_times(const TrainingStep& step) {
  LayerTimes times;
  const double t = real(step.layout.tensor);
  const double rows = step.model.patches ? real(step.layout.micro_batch) : rank_tokens(step);
  const double vocabulary = real(step.model.vocabulary);
  Products products(step, times);
  products.add(rows, vocabulary / t, real(step.model.hidden), Precision::bf16);
  const double logits = rows * vocabulary / t;
  const double starts = 4 * step.gpu.kernel.s();
  // In kernels of their own: to 4 bytes (6), softmax (16: rows that do not fit on a multiprocessor
  // are read for their maximum, their sum, and to write); gradients of the loss (4) and of softmax
  // (16: read for the sum, and to write), to 2 bytes (6).
  const bool is_apart = step.layout.kernels != Kernels::fused;
  times.forward.element_wise += step.gpu.bytes_s((is_apart ? 22 : 10) * logits) + starts;
  times.backward.element_wise += step.gpu.bytes_s((is_apart ? 26 : 6) * logits) + starts +
                                 adding_s(step, vocabulary / t * real(step.model.hidden));
  return times;
}

}  // namespace sgdsim
