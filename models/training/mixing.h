// How a layer mixes positions: attention over all earlier ones or a window of them, or a state of
// fixed size that every position updates (linear attention, state-space models).
//
// A layer has one kind of mixing and one kind of MLP; which, says the pattern of the model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/named.h"

namespace sgdsim {

struct Transformer;

// There are two conventions for what causal attention costs: the half of the scores that the mask
// leaves is counted, or all of them.
enum class FlopConvention : uint8_t { halved, whole };
inline constexpr Named<FlopConvention, 2> flop_conventions{
    {{"halved", FlopConvention::halved}, {"whole", FlopConvention::whole}}};

enum class Mixing : uint8_t { full, window, linear, none };
inline constexpr Named<Mixing, 4> mixings{{{"full", Mixing::full},
                                           {"window", Mixing::window},
                                           {"linear", Mixing::linear},
                                           {"none", Mixing::none}}};
enum class Mlp : uint8_t { dense, experts, none };
inline constexpr Named<Mlp, 3> mlps{
    {{"dense", Mlp::dense}, {"experts", Mlp::experts}, {"none", Mlp::none}}};

inline const auto& names_of(Mixing) { return mixings; }
inline const auto& names_of(Mlp) { return mlps; }

struct LayerKind {
  Mixing mixing = Mixing::full;
  Mlp mlp = Mlp::dense;
  bool operator==(const LayerKind&) const = default;

  bool attends() const { return mixing == Mixing::full || mixing == Mixing::window; }
  bool has_experts() const { return mlp == Mlp::experts; }
  std::size_t index() const {
    return static_cast<std::size_t>(mixing) * mlps.size() + static_cast<std::size_t>(mlp);
  }
};
inline constexpr std::size_t most_kinds = mixings.size() * mlps.size();
LayerKind kind_at(std::size_t index);
template <typename Value>
using OfKinds = std::array<Value, most_kinds>;  // by LayerKind::index()

// Multi-latent attention: queries, and keys with values, pass through narrow vectors.
struct LatentAttention {
  int64_t query_rank = 0;   // 0: queries come directly from the hidden state
  int64_t kv_rank = 0;      // of keys and values together
  int64_t plain_size = 0;   // part of a head's query and key without rotation
  int64_t rotary_size = 0;  // part with rotation; one key for all heads
  int64_t value_size = 0;   // of a head
  bool operator==(const LatentAttention&) const = default;
};

// Layers that attend to the last `size` positions, or to those of their block of this size.
struct Window {
  int64_t size = 0;
  bool in_blocks = false;
  int64_t heads = 0;  // 0: as in the other layers; so are those below
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  bool operator==(const Window&) const = default;
};

// Sparse attention (DSA): an indexer of its own heads and one key scores all earlier positions;
// attention is over the best of them. Its queries come from those of latent attention.
struct Indexer {
  int64_t heads = 0;
  int64_t size = 0;
  int64_t top = 0;  // positions
  bool operator==(const Indexer&) const = default;
};

// The gated delta rule; the same with a decay of each number of a key (Kimi's); Mamba-2; Mamba;
// attention without softmax whose decay is fixed (lightning).
enum class LinearKind : uint8_t { delta, kda, mamba2, mamba, lightning };
inline constexpr Named<LinearKind, 5> linear_kinds{{{"delta", LinearKind::delta},
                                                    {"kda", LinearKind::kda},
                                                    {"mamba2", LinearKind::mamba2},
                                                    {"mamba", LinearKind::mamba},
                                                    {"lightning", LinearKind::lightning}}};
inline const auto& names_of(LinearKind) { return linear_kinds; }
struct LinearMixing {
  LinearKind kind = LinearKind::delta;
  int64_t key_heads = 1;  // of Mamba-2: groups
  int64_t key_size = 0;   // of Mamba: states
  int64_t value_heads = 0;
  int64_t value_size = 0;
  int64_t kernel = 0;  // of the convolution before; lightning has none
  int64_t chunk = 64;  // positions that are computed at once
  int64_t rank = 0;    // of the vector that makes time steps (Mamba), decays and gates (kda)
  bool kernel_bias = false;
  bool bias = false;         // of the matrices
  bool norms_parts = false;  // of Mamba: norms of what makes time steps and states
  bool operator==(const LinearMixing&) const = default;

  int64_t keys() const { return key_heads * key_size; }
  int64_t values() const { return value_heads * value_size; }
  int64_t projected() const;  // columns of the matrices that read the hidden state
  int64_t convolved() const;  // of these, what passes through the convolution
  int64_t state() const { return values() * key_size; }  // numbers
};

// Of all heads together; none where a layer does not attend.
struct AttentionWidths {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t values = 0;
  int64_t output = 0;  // what attention hands to its last matrix
};
AttentionWidths attention_widths(const Transformer& model, Mixing mixing);

// Parameters of what mixes, in one layer.
struct MixingParameters {
  int64_t matrices = 0;  // with the convolution, which is one
  int64_t biases = 0;    // and what every head has one of: sinks, time steps, decays
  int64_t norms = 0;
};
MixingParameters mixing_parameters(const Transformer& model, Mixing mixing);

// Products of attention's scores and values, or of linear attention's chunks and states, forward,
// for one sequence and layer.
double attention_core_flop(const Transformer& model, Mixing mixing, int64_t sequence,
                           FlopConvention convention);

}  // namespace sgdsim
