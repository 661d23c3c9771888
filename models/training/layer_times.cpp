// The backward pass of a product is two products of the same FLOP, one of which makes the gradient
// of the weights; that of attention without stored scores is five products against two.
#include "models/training/layer_times.h"

#include <algorithm>

#include "models/training/element_times.h"
#include "models/training/memory.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double flash_backward = 2.5;

// Adds rows x inner times inner x columns, forward and backward.
class Products {
 public:
  // `list`: if not null, each of them goes there, and costs nothing.
  Products(const TrainingStep& step, LayerTimes& times, std::vector<LayerProduct>* list = nullptr)
      : step_(step), times_(times), list_(list) {}

  void add(double rows, double columns, double inner, Precision precision) {
    if (rows <= 0 || columns <= 0 || inner <= 0) return;
    if (list_ != nullptr) return list_->push_back({rows, columns, inner});
    const Costs costs = costs_of(rows, columns, inner, precision);
    add_seconds(step_.gpu.product_s(costs.flop, costs.bytes, precision),
                step_.gpu.weight_product_s(costs.flop, costs.weight_bytes, precision));
  }
  // `count` products of one size, one after the other in the tiles of one kernel. What each needs
  // of its matrices it loads, and adds to its gradients, while no other one computes.
  void add_grouped(double rows, double columns, double inner, double count) {
    if (rows <= 0 || columns <= 0 || inner <= 0) return;
    if (list_ != nullptr) return list_->push_back({rows, columns, inner, count});
    const Precision precision = step_.precision;
    const Costs costs = costs_of(rows, columns, inner, precision);
    const double bytes_s = step_.gpu.bytes_s(count * costs.bytes);
    const double weight_bytes_s = step_.gpu.bytes_s(count * costs.weight_bytes);
    add_seconds(step_.gpu.product_s(count * costs.flop, 0, precision) + bytes_s,
                step_.gpu.weight_product_s(count * costs.flop, 0, precision) + weight_bytes_s);
  }
  void add(double rows, double columns, double inner) {
    add(rows, columns, inner, step_.precision);
  }

 private:
  struct Costs {
    double flop = 0;
    double bytes = 0;
    double weight_bytes = 0;  // of the product that makes gradients of weights
  };
  Costs costs_of(double rows, double columns, double inner, Precision precision) const {
    const double width = value_B(precision);
    // Fused, gradients are read and written where they are kept.
    const double of_gradient =
        step_.layout.adds_apart ? bytes_per_value : 2 * step_.layout.gradient_B();
    return {.flop = 2 * rows * columns * inner,
            .bytes = width * (rows * inner + inner * columns) + bytes_per_value * rows * columns,
            .weight_bytes = width * rows * (inner + columns) + of_gradient * inner * columns};
  }
  void add_seconds(double seconds, double of_weights) {
    times_.forward.products += seconds;
    times_.backward.products += seconds + of_weights;
    times_.backward.weight_products += of_weights;
  }

  const TrainingStep& step_;
  LayerTimes& times_;
  std::vector<LayerProduct>* list_;
};

void add_linear_products(const TrainingStep& step, Products& products) {
  const LinearMixing& linear = *step.model.linear;
  const double t = real(step.layout.tensor);
  const double tokens = rank_tokens(step);
  const double h = real(step.model.hidden);
  const double values = real(linear.values()) / t;
  products.add(tokens, real(linear.projected()) / t, h);
  if (linear.kind == LinearKind::mamba) {
    products.add(tokens, real(linear.rank + 2 * linear.key_size), values);
    products.add(tokens, values, real(linear.rank));
  }
  products.add(tokens, h, values);
}

void add_attention_products(const TrainingStep& step, Products& products, LayerKind kind) {
  if (kind.mixing == Mixing::none) return;
  if (kind.mixing == Mixing::linear) return add_linear_products(step, products);
  const Transformer& model = step.model;
  const AttentionWidths widths = attention_widths(model, kind.mixing);
  const double t = real(step.layout.tensor);
  const double tokens = rank_tokens(step);
  const double own = tokens / t;  // narrow vectors are made by one rank for all
  const double h = real(model.hidden);
  const double queries = real(widths.queries);
  if (const auto& latent = model.latent) {
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
    products.add(tokens, (queries + real(widths.keys + widths.values)) / t, h);
  }
  if (model.output_gate) products.add(tokens, real(widths.output) / t, h);
  if (const auto& indexer = model.indexer; indexer && kind.mixing == Mixing::full) {
    const bool is_narrow = model.latent && model.latent->query_rank > 0;
    products.add(own, real(indexer->heads * indexer->size),
                 is_narrow ? real(model.latent->query_rank) : h);
    products.add(own, real(indexer->size + indexer->heads), h);
  }
  products.add(tokens, h, real(widths.output) / t);
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
  products.add(tokens / t, real(experts.count + (experts.shared_gate ? 1 : 0)), h, Precision::bf16);
  add_mlp(products, model, tokens, real(experts.all_shared_width()) / t);
  // All of a rank's experts are one grouped kernel; tokens are spread evenly.
  const double own = real(experts.count) / real(step.layout.expert);
  const double rows = tokens / t * real(experts.per_token) / own;
  const double width = real(experts.width);
  products.add_grouped(rows, real(model.mlp_matrices() - 1) * width, h, own);
  products.add_grouped(rows, h, width, own);
}

// Of Mamba, whose states are no products of matrices: what its one kernel reads and writes, its
// input, time steps, gate and output. It is the least that it takes.
void add_scan(const TrainingStep& step, LayerTimes& times) {
  const double values =
      rank_tokens(step) * real(step.model.linear->values()) / real(step.layout.tensor);
  const double seconds = step.gpu.bytes_s(4 * bytes_per_value * values);
  times.forward.attention += seconds;
  times.backward.attention += 2 * seconds;
}

// Scores and values. Not fused, scores are written and read by every kernel that touches them, and
// a window is a mask over all of them.
void add_attention_core(const TrainingStep& step, LayerTimes& times, LayerKind kind) {
  if (kind.mixing == Mixing::none) return;
  if (kind.mixing == Mixing::linear && step.model.linear->kind == LinearKind::mamba)
    return add_scan(step, times);
  const Layout& layout = step.layout;
  const Gpu& gpu = step.gpu;
  const double part = real(layout.micro_batch) / real(layout.tensor * layout.context);
  const double peak = gpu.peak(Precision::bf16);
  const AttentionWidths widths = attention_widths(step.model, kind.mixing);
  if (!layout.keeps_scores || !kind.attends()) {
    const double flop =
        part * attention_core_flop(step.model, kind.mixing, step.sequence, FlopConvention::halved);
    const AttentionParts reached =
        gpu.attention(widths.heads > 0 ? widths.queries / widths.heads : 1);
    const double start = gpu.attention_start.s();
    times.forward.attention += flop / (peak * reached.forward) + start;
    times.backward.attention += flash_backward * flop / (peak * reached.backward) + start;
    return;
  }
  const double pairs = real(step.sequence) * real(step.sequence);
  const double flop = part * (2 * pairs * real(widths.queries + widths.output));
  const double scores = part * real(widths.heads) * real(step.sequence) * real(step.sequence);
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

// Of the products in order, q k v o gate up down, the second, fourth and sixth; attention stays.
void add_operations_again(const TrainingStep& step, LayerTimes& times, LayerKind kind) {
  const Transformer& model = step.model;
  const AttentionWidths widths = attention_widths(model, kind.mixing);
  const double tokens = rank_tokens(step);
  const double h = real(model.hidden);
  LayerTimes again;
  Products products(step, again);
  products.add(tokens, real(widths.keys), h);
  products.add(tokens, h, real(widths.output));
  products.add(tokens, real(model.mlp_width), h);  // up, or without a gate down
  times.backward.products += again.forward.products;
  times.backward.element_wise += times.forward.element_wise;
}

// Kernels of their own read a new gradient of each parameter, and the one that is kept, and write
// the sum. Fused, the product adds to what is kept while it computes.
double adding_s(const TrainingStep& step, double parameters) {
  if (!step.layout.adds_apart) return 0;
  return step.gpu.bytes_s(parameters * (bytes_per_value + 2 * step.layout.gradient_B()));
}

void add_context(const TrainingStep& step, GroupTimes& groups, LayerKind kind, LayerTimes& times) {
  const Layout& layout = step.layout;
  const RankGroup ring{layout.tensor, layout.context};
  const double bytes = keys_and_values_B(step, kind);
  const double blocks = real(layout.context);
  switch (layout.context_by) {
    case ContextBy::ring: {
      const double steps = real(layout.context - 1);
      const auto add = [&](PassTimes& pass, double bytes_of_send) {
        const double send = groups.send_s(ring, bytes_of_send);
        const double exposed = std::max(0.0, send - pass.attention / blocks);
        pass.context += steps * exposed;
        pass.hidden_context += steps * (send - exposed);
      };
      add(times.forward, bytes);
      add(times.backward, 2 * bytes);
      return;
    }
    case ContextBy::gather: {  // and the gradients are scattered
      const double gather = groups.all_gather_s(ring, blocks * bytes);
      times.forward.context += gather;
      times.backward.context += gather;
      return;
    }
    case ContextBy::ulysses: {
      const double all = groups.all_to_all_s(ring, queries_B(step, kind)) +
                         2 * groups.all_to_all_s(ring, bytes / 2) +
                         groups.all_to_all_s(ring, attended_B(step, kind));
      times.forward.context += all;
      times.backward.context += all;
      return;
    }
  }
}

void add_communication(const TrainingStep& step, GroupTimes& groups, LayerKind kind,
                       LayerTimes& times) {
  const Layout& layout = step.layout;
  const RankGroup tensor{1, layout.tensor};
  const double activation = activation_B(step);
  const double both = layout.sequence_parallel ? groups.reduce_scatter_s(tensor, activation) +
                                                     groups.all_gather_s(tensor, activation)
                                               : groups.all_reduce_s(tensor, activation);
  const double pass = tensor_pairs(step, kind) * both;
  times.forward.tensor += pass;
  times.backward.tensor += pass;
  if (layout.context > 1 && kind.attends()) add_context(step, groups, kind, times);
  if (kind.has_experts() && layout.expert > 1) {
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
  hidden_context += other.hidden_context;
  return *this;
}

PassTimes operator*(double factor, const PassTimes& times) {
  return {factor * times.products,        factor * times.attention,     factor * times.element_wise,
          factor * times.tensor,          factor * times.context,       factor * times.expert,
          factor * times.weight_products, factor * times.hidden_context};
}

namespace {

void add_products(const TrainingStep& step, Products& products, LayerKind kind) {
  add_attention_products(step, products, kind);
  if (kind.has_experts()) add_experts(step, products);
  if (kind.mlp == Mlp::dense)
    add_mlp(products, step.model, rank_tokens(step),
            real(step.model.mlp_width) / real(step.layout.tensor));
}

double head_rows(const TrainingStep& step) {
  return step.model.patches ? real(step.layout.micro_batch) : rank_tokens(step);
}

}  // namespace

std::vector<LayerProduct> layer_products(const TrainingStep& step, LayerKind kind) {
  LayerTimes times;
  std::vector<LayerProduct> list;
  Products products(step, times, &list);
  add_products(step, products, kind);
  return list;
}

LayerProduct head_product(const TrainingStep& step) {
  return {head_rows(step), real(step.model.vocabulary) / real(step.layout.tensor),
          real(step.model.hidden)};
}

LayerTimes layer_times(const TrainingStep& step, GroupTimes& groups, LayerKind kind) {
  LayerTimes times;
  Products products(step, times);
  add_products(step, products, kind);
  add_attention_core(step, times, kind);
  add_element_wise(step, kind, times);
  times.backward.element_wise +=
      adding_s(step, rank_layer_parameters(step.model, step.layout, kind).all());
  add_communication(step, groups, kind, times);
  if (step.layout.recompute == Recompute::selective)
    times.backward.attention += times.forward.attention;
  if (step.layout.recompute == Recompute::operations) add_operations_again(step, times, kind);
  return times;
}

LayerTimes recomputed(LayerTimes times) {
  times.backward += times.forward;
  return times;
}

LayerTimes head_times(const TrainingStep& step) {
  LayerTimes times;
  const double t = real(step.layout.tensor);
  const double rows = head_rows(step);
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
