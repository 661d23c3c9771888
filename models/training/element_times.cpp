// Kernels read and write values of 2 bytes, at a part of the memory's rate, and each has a start.
#include "models/training/element_times.h"

#include "models/training/layer_matrices.h"
#include "models/training/memory.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr int kernels_of_layer = 6;  // two norms, two residuals, activation, rotation
constexpr int kernels_of_eager_layer = 25;
constexpr int kernels_of_complex_rotation = 4;
constexpr double complex_rotation_B = 20;  // to 4 bytes (6), product (8), to 2 bytes (6)
constexpr int kernels_of_experts = 6;      // routing, sorting and merging tokens

// In fewer bits than BF16, what goes into a product is cast before it: read for its largest value,
// read, and written by rows and by columns. Values of a token, in a forward and a backward pass.
constexpr double cast_value_B = 6;
struct CastValues {
  double forward = 0;
  double backward = 0;
};
CastValues cast_values(const Transformer& model, const Layout& layout, LayerKind kind) {
  const double h = real(model.hidden);
  CastValues cast;
  if (kind.mixing == Mixing::linear) {
    cast.forward += h + real(model.linear->values());
    cast.backward += h + real(model.linear->projected());
  } else if (kind.attends()) {
    const AttentionWidths widths = held_widths(model, layout, kind.mixing);
    cast.forward += h + real(widths.output);
    cast.backward += h + real(widths.queries + widths.keys + widths.values);
    if (model.latent) {  // keys and values share what is made for all heads
      const double narrow = real(model.latent->query_rank + model.latent->kv_rank);
      cast.forward += narrow;
      cast.backward += narrow + real(model.latent->rotary_size * (1 - model.heads));
    }
  }
  const double inner = real(model.mlp_matrices() - 1);
  const auto add_mlp = [&](double tokens, double input, double width) {
    if (width <= 0) return;
    cast.forward += tokens * (input + width);
    cast.backward += tokens * (input + inner * width);
  };
  if (kind.mlp == Mlp::dense) add_mlp(1, h, real(model.mlp_width));
  if (kind.has_experts()) {
    add_mlp(real(model.experts->per_token), real(model.expert_input()), real(model.experts->width));
    add_mlp(1, h, real(model.experts->all_shared_width()));
    if (model.experts->input > 0) {  // the matrices before and behind the experts
      cast.forward += h + real(model.experts->input);
      cast.backward += h + real(model.experts->input);
    }
  }
  return cast;
}

void add_casts(const TrainingStep& step, LayerKind kind, LayerTimes& times) {
  if (step.precision == Precision::bf16) return;
  const CastValues cast = cast_values(step.model, step.layout, kind);
  const double tokens = rank_tokens(step) / real(step.layout.tensor);
  times.forward.element_wise += step.gpu.bytes_s(cast_value_B * tokens * cast.forward);
  times.backward.element_wise += step.gpu.bytes_s(cast_value_B * tokens * cast.backward);
}

// What the kernels of a token read and write where each operation is one, as in PyTorch.
struct EagerBytes {
  double norms;  // and sums with residuals
  double rest;   // what tensor parallelism divides
};
EagerBytes eager_bytes(const Transformer& model, const Layout& layout, LayerKind kind) {
  const AttentionWidths widths = held_widths(model, layout, kind.mixing);
  const double queries = real(widths.queries);
  const double keys = real(widths.keys);
  const double values = real(widths.values);
  // RMS: to 4 bytes (6), square (8), mean (4), scale (8), to 2 bytes (6), weight (4). LayerNorm is
  // one kernel (4). Each sum (6), and the dropout before it (5).
  const double norm = model.norm == Norm::rms ? 36 : 4;
  const double ends = 2 * (6 + (model.dropout ? 5 : 0));
  EagerBytes bytes{(real(model.layer_norms) * norm + ends) * real(model.hidden), 0};
  if (model.query_key_norm != QueryKeyNorm::none) bytes.rest += norm * (queries + keys);
  if (model.output_gate) bytes.rest += 10 * real(widths.output);  // sigmoid, and its product
  if (model.positions == 0) bytes.rest += complex_rotation_B * (queries + keys);
  if (widths.kv_heads < widths.heads) bytes.rest += 2 * (keys + values) + 4 * queries;  // repeated
  bytes.rest += 4 * real(widths.output);  // heads are put beside each other
  bytes.rest += (model.gated ? 10 : 4) * real(model.mlp_width);
  return bytes;
}

// Of a layer and pass, those that nothing hides.
double exchanges(const TrainingStep& step, LayerKind kind) {
  const Layout& layout = step.layout;
  double count = layout.tensor > 1 ? 2 * tensor_pairs(step, kind) : 0;
  if (layout.context > 1 && kind.attends()) {
    if (layout.context_by == ContextBy::gather) count += 1;
    if (layout.context_by == ContextBy::ulysses) count += 4;
  }
  if (!kind.has_experts() || layout.expert_ranks() == 1) return count;
  if (layout.dispatch == Dispatch::node) return count + 2;
  if (layout.expert > 1) count += 2;
  if (layout.expert_tensor > 1) count += 2;
  return count;
}

// What neither kernels nor links take, of each pass.
double gaps_s(const TrainingStep& step, LayerKind kind) {
  return step.gpu.layer.s() + exchanges(step, kind) * step.gpu.exchange.s();
}

void add_eager(const TrainingStep& step, LayerTimes& times, LayerKind kind) {
  const double t = real(step.layout.tensor);
  const EagerBytes of_token = eager_bytes(step.model, step.layout, kind);
  const double norms = of_token.norms / (step.layout.sequence_parallel ? t : 1);
  const double bytes = rank_tokens(step) * (norms + of_token.rest / t);
  const double starts = kernels_of_eager_layer * step.gpu.kernel.s() + gaps_s(step, kind);
  times.forward.element_wise += step.gpu.bytes_s(bytes) + starts;
  times.backward.element_wise += step.gpu.bytes_s(2 * bytes) + starts;
}

// What PyTorch's compiler leaves as it is in a Llama of torchtitan: it makes no kernels for complex
// numbers, in which queries and keys are rotated; and attention takes repeated keys and values,
// which are written. Kernels of a fused layer have read and written each of them once already.
void add_left_by_compiler(const TrainingStep& step, LayerTimes& times, LayerKind kind) {
  if (!kind.attends()) return;
  const Transformer& model = step.model;
  const AttentionWidths widths = held_widths(model, step.layout, kind.mixing);
  const double queries = real(widths.queries);
  const double keys = real(widths.keys);
  const double values = real(widths.values);
  double rotated = model.positions == 0 ? queries + keys : 0;
  if (model.positions == 0 && model.latent)
    rotated = real((model.heads + 1) * model.latent->rotary_size);
  const double repeated =
      widths.kv_heads < widths.heads && !model.latent ? 2 * queries - keys - values : 0;
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

// Values that the fused kernels of a token read and write.
struct TouchedValues {
  double norms = 0;
  double mlp = 0;
  double mixing = 0;
};
TouchedValues touched_values(const Transformer& model, const Layout& layout, LayerKind kind) {
  const double h = real(model.hidden);
  const bool is_single = kind.mixing == Mixing::none || kind.mlp == Mlp::none;
  TouchedValues touched;
  touched.norms = (is_single ? 5 : 10) * h;  // a norm reads and writes, a sum with a residual, too
  if (model.parallel) touched.norms -= (model.layer_norms == 1 ? 5 : 3) * h;  // one sum of three
  touched.norms += 2 * model.more_norms(kind) * h;
  if (kind.mlp == Mlp::dense) touched.mlp = real(model.mlp_matrices()) * real(model.mlp_width);
  if (kind.has_experts()) {
    const Experts& experts = *model.experts;
    touched.mlp = real(model.mlp_matrices()) *
                  real(experts.per_token * experts.width + experts.all_shared_width());
    touched.mlp +=
        4 * real(experts.per_token) * real(model.expert_input());  // sorted by expert, and merged
  }
  const AttentionWidths widths = held_widths(model, layout, kind.mixing);
  touched.mixing = 2 * real(widths.queries + widths.keys + widths.values);
  if (kind.attends() && model.query_key_norm != QueryKeyNorm::none)
    touched.mixing += 2 * real(widths.queries + widths.keys);
  if (kind.attends() && model.output_gate) touched.mixing += 3 * real(widths.output);
  if (kind.mixing == Mixing::linear)  // the convolution, and the norm with its gate
    touched.mixing = real(2 * model.linear->convolved() + 3 * model.linear->values());
  return touched;
}

// What Megatron-LM does beside its fused kernels for experts. Where an activation's inputs are
// limited, each half of them is cut off (4 bytes of a value), and both are put beside each other
// again (4); backward there are masks (3 for one limit, 9 for two) and choices (5), and the halves
// are put beside each other (4): fused_bias_geglu.py. Biases behind the last matrix are weighed
// (2), added (6) and put beside each other (4), expert by expert; backward the gradients of bias
// and weight are products (4 each) and sums (2 each), and parts are put beside each other (4):
// experts.py.
constexpr double limits_forward_B = 8;
constexpr double limits_backward_B = 15;
constexpr double biases_forward_B = 12;
constexpr double biases_backward_B = 16;
constexpr double kernels_of_limits_forward = 3;
constexpr double kernels_of_limits_backward = 7;
struct Unfused {
  double limits_B = 0;  // forward; again, where activations are made again
  double forward_B = 0;
  double backward_B = 0;
  double limits_kernels = 0;
  double forward_kernels = 0;
  double backward_kernels = 0;
};
Unfused unfused_of_experts(const TrainingStep& step, LayerKind kind) {
  Unfused beside;
  if (!kind.has_experts() || step.layout.kernels != Kernels::fused) return beside;
  const Experts& experts = *step.model.experts;
  const double visits = rank_tokens(step) / real(step.layout.tensor) * real(experts.per_token);
  if (experts.limited) {
    const double values = visits * real((step.model.mlp_matrices() - 1) * experts.width);
    beside.limits_B = limits_forward_B * values;
    beside.backward_B += limits_backward_B * values;
    beside.limits_kernels = kernels_of_limits_forward;
    beside.backward_kernels += kernels_of_limits_backward;
  }
  beside.forward_B = beside.limits_B;
  beside.forward_kernels = beside.limits_kernels;
  if (experts.bias) {
    const double values = visits * real(step.model.expert_input());
    const double own = real(experts.count) / real(step.layout.expert);
    beside.forward_B += biases_forward_B * values;
    beside.backward_B += biases_backward_B * values;
    beside.forward_kernels += 2 * own + 1;
    beside.backward_kernels += 4 * own + 1;
  }
  return beside;
}

double kernels_of(const TrainingStep& step, LayerKind kind) {
  if (step.layout.kernels == Kernels::eager) return kernels_of_eager_layer;
  return kernels_of_layer + (kind.has_experts() ? kernels_of_experts : 0);
}

}  // namespace

double element_kernels(const TrainingStep& step, LayerKind kind) {
  const bool rotates_complex = step.layout.kernels == Kernels::compiled && kind.attends();
  const Unfused beside = unfused_of_experts(step, kind);
  return kernels_of(step, kind) + (rotates_complex ? kernels_of_complex_rotation - 1 : 0) +
         (beside.forward_kernels + beside.backward_kernels) / 2 + exchanges(step, kind);
}

void add_element_wise(const TrainingStep& step, LayerKind kind, LayerTimes& times) {
  add_casts(step, kind, times);
  if (step.layout.kernels == Kernels::eager) return add_eager(step, times, kind);
  const double t = real(step.layout.tensor);
  const TouchedValues touched = touched_values(step.model, step.layout, kind);
  const double kernels = kernels_of(step, kind);
  const double norms = touched.norms / (step.layout.sequence_parallel ? t : 1);
  const double bytes =
      bytes_per_value * rank_tokens(step) * (norms + touched.mlp / t + touched.mixing / t);
  const double starts = kernels * step.gpu.kernel.s() + gaps_s(step, kind);
  const Unfused beside = unfused_of_experts(step, kind);
  times.forward.element_wise += step.gpu.bytes_s(bytes + beside.forward_B) +
                                beside.forward_kernels * step.gpu.kernel.s() + starts;
  times.backward.element_wise += step.gpu.bytes_s(2 * bytes + beside.backward_B) +
                                 beside.backward_kernels * step.gpu.kernel.s() + starts;
  if (step.layout.kernels == Kernels::compiled) add_left_by_compiler(step, times, kind);
}

ElementsAgain elements_again(const TrainingStep& step, LayerKind kind) {
  const Transformer& model = step.model;
  const Layout& layout = step.layout;
  const auto recomputes = [&](RecomputedModule module) { return layout.recomputes(module); };
  const double t = real(layout.tensor);
  const double h = real(model.hidden);
  const double matrices = real(model.mlp_matrices());
  double touched = 0;  // values of a token
  double cast = 0;
  ElementsAgain again;
  double beside_B = 0;
  if (recomputes(RecomputedModule::layernorm)) {
    const double norms = model.norms_before(kind);
    touched += 2 * norms * h * (layout.sequence_parallel ? 1 : t);  // each rank all, but with sp
    again.kernels += norms;
  }
  if (recomputes(RecomputedModule::mla_up_proj) && kind.attends()) {
    touched += touched_values(model, layout, kind).mixing;
    cast += real(model.latent->query_rank > 0 ? model.latent->query_rank : model.hidden) +
            real(model.latent->kv_rank);
    again.kernels += 1;
  }
  const auto add_mlp = [&](double tokens, double input, double width) {
    if (width <= 0) return;
    touched += tokens * matrices * width;
    cast += tokens * (input + width);
    again.kernels += 1;
  };
  if (kind.mlp == Mlp::dense && recomputes(RecomputedModule::mlp))
    add_mlp(1, h, real(model.mlp_width));
  if (kind.has_experts()) {
    const Experts& experts = *model.experts;
    const double visits = real(experts.per_token);
    const bool all = recomputes(RecomputedModule::moe);
    if (all) {
      touched += 4 * visits * real(model.expert_input());  // sorted by expert, and merged
      add_mlp(visits, real(model.expert_input()), real(experts.width));
      if (experts.input > 0) cast += h + real(experts.input);
      const Unfused beside = unfused_of_experts(step, kind);
      beside_B += beside.forward_B;
      again.kernels += kernels_of_experts + beside.forward_kernels;
    }
    if (all || recomputes(RecomputedModule::shared_experts))
      add_mlp(1, h, real(experts.all_shared_width()));
    if (recomputes(RecomputedModule::moe_act)) {
      touched += visits * matrices * real(experts.width);
      const Unfused beside = unfused_of_experts(step, kind);
      beside_B += beside.limits_B;
      again.kernels += 1 + beside.limits_kernels;
    }
  }
  if (step.precision == Precision::bf16) cast = 0;
  const double bytes = rank_tokens(step) / t * (bytes_per_value * touched + cast_value_B * cast);
  again.seconds = step.gpu.bytes_s(bytes + beside_B) + again.kernels * step.gpu.kernel.s();
  return again;
}

}  // namespace sgdsim
