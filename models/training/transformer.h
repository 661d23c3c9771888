// A transformer by its dimensions: how many parameters it has, and what a sequence costs.
//
// Everything here follows from the shapes of its matrices, nothing is measured. Biases, norms,
// learned positions and the router are counted, so that totals are those of the released models.
// FLOP are those of the matrices and of attention; norms and activation functions are left out, as
// every published convention does.
//
// Layers may be of several kinds: what mixes positions and what follows it each have a pattern that
// repeats over the layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/training/mixing.h"
#include "sim/core/named.h"

namespace sgdsim {

// Which projections of attention have biases.
enum class AttentionBias : uint8_t { none, qkv, all };
inline constexpr Named<AttentionBias, 3> attention_biases{
    {{"none", AttentionBias::none}, {"qkv", AttentionBias::qkv}, {"all", AttentionBias::all}}};

// RMS and `scale` (a LayerNorm without biases) have a weight for each number, `layer` also a bias,
// and `bare` has neither.
enum class Norm : uint8_t { rms, layer, scale, bare };
inline constexpr Named<Norm, 4> norms{
    {{"rms", Norm::rms}, {"layer", Norm::layer}, {"scale", Norm::scale}, {"bare", Norm::bare}}};

// Norms of queries and keys: the same for every head, or over all of them.
enum class QueryKeyNorm : uint8_t { none, head, all };
inline constexpr Named<QueryKeyNorm, 3> query_key_norms{
    {{"none", QueryKeyNorm::none}, {"head", QueryKeyNorm::head}, {"all", QueryKeyNorm::all}}};

inline const auto& names_of(AttentionBias) { return attention_biases; }
inline const auto& names_of(Norm) { return norms; }
inline const auto& names_of(QueryKeyNorm) { return query_key_norms; }

struct Experts {
  int64_t count = 0;
  int64_t per_token = 0;
  int64_t width = 0;         // of one expert
  int64_t shared = 0;        // experts that every token visits
  int64_t shared_width = 0;  // of each; 0: the same width
  bool shared_gate = false;  // a weight for the shared ones, of each token
  int64_t first_dense = 0;   // so many layers at the start have no experts
  int64_t empty = 0;         // choices of the router behind which nothing is
  int64_t groups = 1;        // of which the router takes experts of
  int64_t groups_taken = 1;  // so many; with one group, of all
  int64_t input = 0;         // width of what experts get, made by one matrix; 0: the hidden state
  bool router_bias = false;
  bool bias = false;     // of the experts' matrices
  bool limited = false;  // what goes into the activation is cut off
  bool operator==(const Experts&) const = default;

  int64_t all_shared_width() const { return shared * (shared_width > 0 ? shared_width : width); }
  int64_t choices() const { return count + empty; }
};

// Images in place of tokens: square patches become one vector each, and one more stands for all.
struct Patches {
  int64_t side = 0;
  int64_t channels = 0;
  bool operator==(const Patches&) const = default;
};

inline constexpr int64_t most_predictions = 16;

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
  bool gated = true;       // three matrices in place of two
  int64_t vocabulary = 0;  // or classes of images
  bool tied = false;       // the last matrix is the embedding
  int64_t positions = 0;   // learned ones
  Norm norm = Norm::rms;
  int64_t layer_norms = 2;       // of a layer that mixes and has an MLP; 4: behind each, too
  bool keys_are_values = false;  // in layers of full attention, which have no matrix for values
  bool embedding_norm = false;
  bool parallel = false;  // attention and MLP side by side, from the same hidden state
  AttentionBias attention_bias = AttentionBias::none;
  bool mlp_bias = false;
  bool head_bias = false;
  bool head_matrix = false;  // one of hidden x hidden, with a bias, before the last matrix
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  bool output_gate = false;  // a matrix of its own makes a factor for what attention hands on
  bool sinks = false;        // a score of each head that no position has
  bool dropout = false;      // masks are kept for the backward pass
  bool causal = true;
  int64_t longest = 0;   // sequence that its positions are made for; 0: not said
  int64_t sequence = 0;  // that it is trained on
  std::optional<LatentAttention> latent;
  std::optional<Indexer> indexer;
  std::optional<Window> window;
  std::optional<LinearMixing> linear;
  std::optional<Experts> experts;
  std::optional<Patches> patches;
  // Modules that predict further tokens: a layer as the last one each, with two norms, a matrix of
  // 2 hidden x hidden, a last norm, and embedding and head of the model. They are trained beside
  // it, and are none of its layers.
  int64_t predictions = 0;
  // Layer i has entry i modulo the length; empty: full attention, and experts wherever there are
  // some. The first dense layers are dense in any case.
  std::vector<Mixing> mixing_pattern;
  std::vector<Mlp> mlp_pattern;
  std::vector<std::string> notes;  // of the reader; notes_on() has all

  bool operator==(const Transformer&) const = default;

  int64_t mlp_matrices() const { return gated ? 3 : 2; }
  LayerKind layer(int64_t number) const;
  // Layers of each kind, of all or of those from..to-1.
  OfKinds<int64_t> kinds(int64_t from, int64_t to) const;
  OfKinds<int64_t> kinds() const { return kinds(0, layers); }
  bool mixes(Mixing mixing) const;  // whether any layer does so
  int64_t norm_parameters() const;  // of one norm of the hidden state
  // Norms of a layer beside the first one of each of its parts.
  double more_norms(LayerKind kind) const;
  // Norms before attention and before what follows it; one where both have the same input.
  double norms_before(LayerKind kind) const {
    if (kind.mixing == Mixing::none || kind.mlp == Mlp::none) return 1;
    return parallel && layer_norms == 1 ? 1 : 2;
  }
  int64_t expert_input() const { return experts && experts->input > 0 ? experts->input : hidden; }
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
// Only those of the embedding, the positions and the head; the rest, totals too, stay 0.
ParameterCount end_parameters(const Transformer& model);

// Parameters of one layer, as far as layouts treat them differently.
struct LayerParameters {
  MixingParameters mixing;
  int64_t mlp_matrices = 0;  // dense or shared
  int64_t router = 0;        // with its bias, the gate of shared experts, and what makes inputs
  int64_t experts = 0;       // matrices
  int64_t expert_biases = 0;
  int64_t mlp_biases = 0;
  int64_t norms = 0;  // without those of what mixes
};
LayerParameters layer_parameters(const Transformer& model, LayerKind kind);

// Of one module that predicts a further token; what it shares with the model is not counted.
int64_t prediction_parameters(const Transformer& model);

// One training step of one sequence: forward and twice that backward, nothing computed again.
double sequence_flop(const Transformer& model, int64_t sequence, FlopConvention convention);
// Of it, what products of matrices cost forward; and what one module that predicts a further token
// costs, in the same way.
double sequence_product_flop(const Transformer& model, int64_t sequence);
double prediction_flop(const Transformer& model, int64_t sequence, FlopConvention convention);
double prediction_product_flop(const Transformer& model, int64_t sequence);

// What an answer about such a sequence must repeat as a warning.
std::vector<std::string> notes_on(const Transformer& model, int64_t sequence);

// InputError unless every dimension is there and they fit each other; `where` is the file.
void check_transformer(const Transformer& model, const std::string& where);

}  // namespace sgdsim
