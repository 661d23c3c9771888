// A transformer by its dimensions: how many parameters it has, and what a sequence costs.
//
// Everything here follows from the shapes of its matrices, nothing is measured. Biases, norms,
// learned positions and the router are counted, so that totals are those of the released models.
// FLOP are those of the matrices and of attention; norms and activation functions are left out, as
// every published convention does. There are two conventions for causal attention, and each figure
// says which it has: `halved` counts the half of the scores that the mask leaves, `whole` counts
// all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/named.h"

namespace sgdsim {

enum class FlopConvention : uint8_t { halved, whole };
inline constexpr Named<FlopConvention, 2> flop_conventions{
    {{"halved", FlopConvention::halved}, {"whole", FlopConvention::whole}}};

// Which projections of attention have biases.
enum class AttentionBias : uint8_t { none, qkv, all };
inline constexpr Named<AttentionBias, 3> attention_biases{
    {{"none", AttentionBias::none}, {"qkv", AttentionBias::qkv}, {"all", AttentionBias::all}}};

// Multi-latent attention: queries, and keys with values, pass through narrow vectors.
struct LatentAttention {
  int64_t query_rank = 0;   // 0: queries come directly from the hidden state
  int64_t kv_rank = 0;      // of keys and values together
  int64_t plain_size = 0;   // part of a head's query and key without rotation
  int64_t rotary_size = 0;  // part with rotation; one key for all heads
  int64_t value_size = 0;   // of a head
  bool operator==(const LatentAttention&) const = default;
};

struct Experts {
  int64_t count = 0;
  int64_t per_token = 0;
  int64_t width = 0;        // of one expert
  int64_t shared = 0;       // experts that every token visits, each of the same width
  int64_t first_dense = 0;  // so many layers at the start have no experts
  bool router_bias = false;
  bool operator==(const Experts&) const = default;
};

// Images in place of tokens: square patches become one vector each, and one more stands for all.
struct Patches {
  int64_t side = 0;
  int64_t channels = 0;
  bool operator==(const Patches&) const = default;
};

struct Transformer {
  std::string name;
  std::string description;
  std::string source;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  int64_t mlp_width = 0;
  bool gated = true;        // three matrices in place of two
  int64_t vocabulary = 0;   // or classes of images
  bool tied = false;        // the last matrix is the embedding
  int64_t positions = 0;    // learned ones
  bool layer_norm = false;  // norms have biases, too
  AttentionBias attention_bias = AttentionBias::none;
  bool mlp_bias = false;
  bool dropout = false;  // masks are kept for the backward pass
  bool causal = true;
  int64_t sequence = 0;  // that it is trained on
  std::optional<LatentAttention> latent;
  std::optional<Experts> experts;
  std::optional<Patches> patches;
  std::vector<std::string> notes;  // what an answer must repeat as a warning

  bool operator==(const Transformer&) const = default;

  int64_t mlp_matrices() const { return gated ? 3 : 2; }
  int64_t dense_layers() const {
    return !experts ? layers : experts->first_dense < layers ? experts->first_dense : layers;
  }
  // Of all heads together: queries, keys, values.
  int64_t query_width() const;
  int64_t key_width() const;
  int64_t value_width() const;
  // What attention hands to its last matrix.
  int64_t attention_output_width() const;
};

// Parameters by part, of the whole model.
struct ParameterCount {
  int64_t embedding = 0;  // of tokens or patches
  int64_t positions = 0;
  int64_t attention = 0;  // matrices and biases
  int64_t mlp = 0;        // of dense layers and shared experts
  int64_t router = 0;
  int64_t experts = 0;  // those that are chosen
  int64_t norms = 0;
  int64_t head = 0;  // 0 where it is tied
  int64_t total = 0;
  int64_t active = 0;  // that one token meets
};
ParameterCount parameters_of(const Transformer& model);

// Parameters of one layer, as far as layouts treat them differently.
struct LayerParameters {
  int64_t attention_matrices = 0;
  int64_t mlp_matrices = 0;  // dense or shared
  int64_t router = 0;        // with its bias
  int64_t experts = 0;
  int64_t biases = 0;
  int64_t norms = 0;
};
LayerParameters layer_parameters(const Transformer& model, bool has_experts);

// Products of attention's scores and values, forward, for one sequence and layer.
double attention_core_flop(const Transformer& model, int64_t sequence, FlopConvention convention);
// One training step of one sequence: forward and twice that backward, nothing computed again.
double sequence_flop(const Transformer& model, int64_t sequence, FlopConvention convention);

// InputError unless every dimension is there and they fit each other; `where` is the file.
void check_transformer(const Transformer& model, const std::string& where);

}  // namespace sgdsim
