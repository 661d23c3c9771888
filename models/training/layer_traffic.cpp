// Bytes of what a layer exchanges, on one rank.
#include <algorithm>

#include "models/training/layer_times.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double fp8_token_B = 1 + 4.0 / 128;  // a value, and a scale for 128 of them

double visits_B(const TrainingStep& step, double value_B) {
  return rank_tokens(step) / real(step.layout.tensor) * real(step.model.experts->per_token) *
         real(step.model.expert_input()) * value_B;
}

}  // namespace

double tensor_pairs(const TrainingStep& step, LayerKind kind) {
  // Chosen experts take tokens as they lie; attention and shared experts need all of a group.
  const bool has_second =
      kind.mlp == Mlp::dense || (kind.has_experts() && step.model.experts->shared > 0);
  const double pairs = (kind.mixing == Mixing::none ? 0 : 1) + (has_second ? 1 : 0);
  return step.model.parallel ? std::min(pairs, 1.0) : pairs;
}

double keys_and_values_B(const TrainingStep& step, LayerKind kind) {
  const AttentionWidths widths = attention_widths(step.model, kind.mixing);
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
  if (kind.has_experts()) {
    const double e = real(layout.expert);
    const double both = (dispatched_B(step) + combined_B(step)) * (e - 1) / e;
    traffic.expert_forward_B = both;
    traffic.expert_backward_B = both;
    const double parts = (dispatched_B(step) + combined_B(step)) * real(layout.expert_tensor - 1);
    traffic.expert_parts_forward_B = traffic.expert_parts_backward_B = parts;
  }
  if (is_recomputed) {
    traffic.tensor_backward_B += pass;
    traffic.context_backward_B += traffic.context_forward_B;
    traffic.expert_backward_B += traffic.expert_forward_B;
    traffic.expert_parts_backward_B += traffic.expert_parts_forward_B;
  }
  return traffic;
}

}  // namespace sgdsim
