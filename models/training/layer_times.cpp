// The backward pass of attention without stored scores is five products against two.
#include "models/training/layer_times.h"

#include <algorithm>

#include "models/training/element_times.h"
#include "models/training/expert_exchanges.h"
#include "models/training/layer_matrices.h"
#include "models/training/memory.h"
#include "models/training/modules_again.h"
#include "models/training/product_times.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double flash_backward = 2.5;
constexpr double prediction_kernels = 3;  // two norms, and putting both beside each other

// Of Mamba, whose states are no products of matrices: what its one kernel reads and writes, its
// input, time steps, gate and output. It is the least that it takes.
void add_scan(const TrainingStep& step, LayerTimes& times) {
  const double values =
      rank_tokens(step) * real(step.model.linear->values()) / real(step.layout.tensor);
  const double seconds = step.gpu.bytes_s(4 * bytes_per_value * values);
  times.forward.attention += seconds;
  times.backward.attention += 2 * seconds;
}

// Of a sequence, on the replica that has most of it.
double slowest_core_flop(const TrainingStep& step, Mixing mixing) {
  const double mean = core_flop(step, mixing, FlopConvention::halved);
  return step.documents ? step.documents->slowest(step.layout.replicas) * mean : mean;
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
    const double flop = part * slowest_core_flop(step, kind.mixing);
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
  const auto add = [&](double columns, double inner) {
    products.add({tokens, columns, inner}, false, step.precision, true);
  };
  add(real(widths.keys), h);
  add(h, real(widths.output));
  add(real(model.mlp_width), h);  // up, or without a gate down
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
        const std::vector<double> sends = groups.sends_s(ring, bytes_of_send, true);
        const double send = sends.empty() ? 0 : *std::max_element(sends.begin(), sends.end());
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

struct OutAndBack {
  double out_s = 0;
  double back_s = 0;
};
OutAndBack expert_exchange_s(const TrainingStep& step, GroupTimes& groups) {
  const ExpertExchanges exchanges = expert_exchanges(step, groups.per_node());
  const auto [first, second] = exchanges.all;
  const auto take = [&](double one_s, double other_s) {
    return exchanges.at_once ? std::max(one_s, other_s) : one_s + other_s;
  };
  return {take(groups.seconds(first.out, first.group, first.out_B),
               groups.seconds(second.out, second.group, second.out_B)),
          take(groups.seconds(second.back, second.group, second.back_B),
               groups.seconds(first.back, first.group, first.back_B))};
}

// The backward pass begins with what came back. Where gradients of weights are made later, only
// the other products are there to lie under.
void add_under(const TrainingStep& step, LayerKind kind, LayerTimes& times) {
  if (step.layout.experts != ExpertsUnder::shared || !kind.has_experts()) return;
  const bool makes_weights_later = step.layout.schedule == PipelineSchedule::zb1p ||
                                   step.layout.schedule == PipelineSchedule::zbv;
  std::array<LayerTimes, 2> of_shared;  // the first matrices, and the last one
  std::size_t number = 0;
  for (const RankMatrix& matrix : RankMatrices(step.model, step.layout, kind)) {
    if (matrix.of != MatrixOf::mlp || number == of_shared.size()) continue;
    Products products(step, of_shared[number++]);
    products.add(matrix);
  }
  const auto backward_s = [&](const LayerTimes& one) {
    return one.backward.products - (makes_weights_later ? one.backward.weight_products : 0);
  };
  times.forward.under_out = of_shared[0].forward.products;
  times.forward.under_back = of_shared[1].forward.products;
  times.backward.under_out = backward_s(of_shared[1]);
  times.backward.under_back = backward_s(of_shared[0]);
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
  const ExchangesAgain again = exchanges_again(step, kind);
  times.forward.tensor += pass;
  times.backward.tensor += pass + again.tensor_pairs * both;
  if (layout.context > 1 && kind.attends()) add_context(step, groups, kind, times);
  if (!kind.has_experts()) return;
  add_under(step, kind, times);
  const OutAndBack expert = expert_exchange_s(step, groups);
  const double both_s = expert.out_s + expert.back_s;
  for (PassTimes* pass : {&times.forward, &times.backward}) {
    const double hidden =
        std::min(expert.out_s, pass->under_out) + std::min(expert.back_s, pass->under_back);
    pass->expert += both_s - hidden;
    pass->hidden_expert += hidden;
  }
  if (again.visits_experts) times.backward.expert += both_s;
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
  offload += other.offload;
  hidden_offload += other.hidden_offload;
  host += other.host;
  hidden_expert += other.hidden_expert;
  under_out += other.under_out;
  under_back += other.under_back;
  return *this;
}

PassTimes operator*(double factor, const PassTimes& times) {
  return {
      factor * times.products,        factor * times.attention,      factor * times.element_wise,
      factor * times.tensor,          factor * times.context,        factor * times.expert,
      factor * times.weight_products, factor * times.hidden_context, factor * times.offload,
      factor * times.hidden_offload,  factor * times.host,           factor * times.hidden_expert,
      factor * times.under_out,       factor * times.under_back};
}

namespace {

void add_products(const TrainingStep& step, Products& products, LayerKind kind) {
  for (const RankMatrix& matrix : RankMatrices(step.model, step.layout, kind)) products.add(matrix);
}

double head_rows(const TrainingStep& step) {
  return step.model.patches ? real(step.layout.micro_batch) : rank_tokens(step);
}

// With lora, of the products of a layer those whose second matrix gets gradients.
double trained_products(const TrainingStep& step, LayerKind kind) {
  double count = 0;
  for (const RankMatrix& matrix : RankMatrices(step.model, step.layout, kind))
    if (is_adapted(step.layout, matrix)) count += 2 * matrix.beside;
  return count;
}

}  // namespace

double core_flop(const TrainingStep& step, Mixing mixing, FlopConvention convention) {
  if (step.documents) return step.documents->core_flop(mixing, convention);
  return attention_core_flop(step.model, mixing, step.sequence, convention);
}

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
  times.backward.element_wise += adding_s(
      step, trained_parts(step.layout, rank_layer_parameters(step.model, step.layout, kind)).all());
  add_communication(step, groups, kind, times);
  if (step.layout.recompute == Recompute::selective ||
      step.layout.recomputes(RecomputedModule::core_attn))
    times.backward.attention += times.forward.attention;
  if (step.layout.recompute == Recompute::modules) add_modules_again(step, kind, times.backward);
  if (step.layout.recompute == Recompute::operations) add_operations_again(step, times, kind);
  return times;
}

LayerTimes recomputed(LayerTimes times) {
  times.backward += times.forward;
  return times;
}

namespace {

LayerTimes one_head_times(const TrainingStep& step) {
  LayerTimes times;
  const double t = real(step.layout.tensor);
  const double rows = head_rows(step);
  const double vocabulary = real(step.model.vocabulary);
  Products products(step, times);
  const bool is_trained = !step.layout.lora.is_used();
  products.add(head_product(step), false, Precision::bf16, is_trained);
  if (const double h = real(step.model.hidden); step.model.head_matrix)
    products.add({rows, h / t, h}, false, Precision::bf16, is_trained);
  const double logits = rows * vocabulary / t;
  const double starts = 4 * step.gpu.kernel.s();
  // In kernels of their own: to 4 bytes (6), softmax (16: rows that do not fit on a multiprocessor
  // are read for their maximum, their sum, and to write); gradients of the loss (4) and of softmax
  // (16: read for the sum, and to write), to 2 bytes (6).
  const bool is_apart = step.layout.kernels != Kernels::fused;
  const double trained = is_trained ? vocabulary / t * real(step.model.hidden) : 0;
  times.forward.element_wise += step.gpu.bytes_s((is_apart ? 22 : 10) * logits) + starts;
  times.backward.element_wise +=
      step.gpu.bytes_s((is_apart ? 26 : 6) * logits) + starts + adding_s(step, trained);
  return times;
}

// Norms of the last hidden state and of the embedding of the next token, both side by side, and
// the matrix that makes one of them (arXiv 2412.19437, section 2.2).
LayerTimes prediction_times(const TrainingStep& step) {
  LayerTimes times;
  const double t = real(step.layout.tensor);
  const double h = real(step.model.hidden);
  Products products(step, times);
  products.add({rank_tokens(step), h / t, 2 * h}, false, step.precision, true);
  const double bytes =
      8 * bytes_per_value * rank_tokens(step) * h / (step.layout.sequence_parallel ? t : 1);
  const double starts = prediction_kernels * step.gpu.kernel.s();
  times.forward.element_wise += step.gpu.bytes_s(bytes) + starts;
  times.backward.element_wise +=
      step.gpu.bytes_s(2 * bytes) + starts + adding_s(step, 2 * h * h / t);
  return times;
}

}  // namespace

LayerTimes head_times(const TrainingStep& step) {
  LayerTimes times = one_head_times(step);
  const double predictions = real(predictions_of(step.model, step.layout));
  if (predictions == 0) return times;
  const LayerTimes head = times;
  const LayerTimes before = prediction_times(step);
  for (const LayerTimes& more : {head, before}) {
    times.forward += predictions * more.forward;
    times.backward += predictions * more.backward;
  }
  return times;
}

LayerKernels layer_kernels(const TrainingStep& step, LayerKind kind) {
  const double products = real(static_cast<int64_t>(layer_products(step, kind).size()));
  // Casts of both factors; the backward pass has as many of gradients.
  const double casts = step.precision == Precision::bf16 ? 0 : 2 * products;
  const double others = element_kernels(step, kind);
  const double attention = kind.mixing == Mixing::none ? 0 : 1;
  const double trained = step.layout.lora.is_used() ? trained_products(step, kind) : products;
  return {products + casts + others + attention,
          products + trained + casts + others + 3 * attention + kernels_again(step, kind)};
}

LayerKernels head_kernels(const TrainingStep& step) {
  const double heads = real(1 + predictions_of(step.model, step.layout));
  const double before = (heads - 1) * (prediction_kernels + 1);
  return {heads * 5 + before, heads * 6 + before + (heads - 1)};
}

}  // namespace sgdsim
