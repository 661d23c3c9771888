// Bytes of what a layer exchanges, on one rank.
#include <algorithm>

#include "models/training/layer_matrices.h"
#include "models/training/layer_times.h"
#include "models/training/modules_again.h"
#include "sim/core/cast.h"

namespace sgdsim {

double tensor_pairs(const TrainingStep& step, LayerKind kind) {
  // Chosen experts take tokens as they lie; attention and shared experts need all of a group.
  const bool has_second =
      kind.mlp == Mlp::dense || (kind.has_experts() && step.model.experts->shared > 0);
  const double pairs = (kind.mixing == Mixing::none ? 0 : 1) + (has_second ? 1 : 0);
  return step.model.parallel ? std::min(pairs, 1.0) : pairs;
}

double keys_and_values_B(const TrainingStep& step, LayerKind kind) {
  const AttentionWidths widths = held_widths(step.model, step.layout, kind.mixing);
  return bytes_per_value * rank_tokens(step) * real(widths.keys + widths.values) /
         real(step.layout.tensor);
}

double queries_B(const TrainingStep& step, LayerKind kind) {
  return bytes_per_value * rank_tokens(step) *
         real(attention_widths(step.model, kind.mixing).queries) / real(step.layout.tensor);
}

double attended_B(const TrainingStep& step, LayerKind kind) {
  return bytes_per_value * rank_tokens(step) *
         real(attention_widths(step.model, kind.mixing).output) / real(step.layout.tensor);
}

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

LayerTraffic layer_traffic(const TrainingStep& step, LayerKind kind, bool is_recomputed) {
  const Layout& layout = step.layout;
  LayerTraffic traffic;
  const double t = real(layout.tensor);
  const double pass = tensor_pairs(step, kind) * 2 * activation_B(step) * (t - 1) / t;
  const double c = real(layout.context);
  const double ring = (c - 1) * keys_and_values_B(step, kind);
  traffic.tensor_forward_B = pass;
  traffic.tensor_backward_B = pass;
  traffic.context_forward_B = ring;
  traffic.context_backward_B = layout.context_by == ContextBy::ring ? 2 * ring : ring;
  if (layout.context_by == ContextBy::ulysses)
    traffic.context_forward_B = traffic.context_backward_B =
        (queries_B(step, kind) + keys_and_values_B(step, kind) + attended_B(step, kind)) * (c - 1) /
        c;
  traffic.tensor_backward_B +=
      exchanges_again(step, kind).tensor_pairs * 2 * activation_B(step) * (t - 1) / t;
  if (is_recomputed) {
    traffic.tensor_backward_B += pass;
    traffic.context_backward_B += traffic.context_forward_B;
  }
  return traffic;
}

}  // namespace sgdsim
