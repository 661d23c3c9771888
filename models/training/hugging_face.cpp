// config.json of Hugging Face: one row per family says what its keys are called and what is true
// without being said.
#include <algorithm>
#include <array>

#include "models/training/transformer_file.h"

namespace sgdsim {
namespace {

struct Family {
  const char* name = nullptr;
  bool gated = true;
  bool layer_norm = false;
  AttentionBias bias = AttentionBias::none;
  bool mlp_bias = false;
  bool reads_biases = false;  // keys `attention_bias` and `mlp_bias`
  bool tied = false;          // where the file does not say
  bool has_experts = false;
  bool is_latent = false;
  bool learns_positions = false;
};

constexpr std::array<Family, 7> families{{
    {.name = "llama", .reads_biases = true},
    {.name = "mistral"},
    {.name = "mixtral", .has_experts = true},
    {.name = "qwen2", .bias = AttentionBias::qkv},
    {.name = "deepseek_v3", .has_experts = true, .is_latent = true},
    {.name = "gpt2",
     .gated = false,
     .layer_norm = true,
     .bias = AttentionBias::all,
     .mlp_bias = true,
     .tied = true,
     .learns_positions = true},
    {.name = "nemotron", .gated = false, .layer_norm = true, .reads_biases = true},
}};

// Keys by which experts and latent attention show; a family that has none must not have them.
constexpr std::array expert_keys = {
    "num_local_experts",     "num_experts",      "n_routed_experts",     "num_experts_per_tok",
    "moe_intermediate_size", "n_shared_experts", "first_k_dense_replace"};
constexpr std::array latent_keys = {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim",
                                    "qk_rope_head_dim", "v_head_dim"};

class Keys {
 public:
  explicit Keys(const Value& value) : value_(value) {}

  // null is how these files say that there is none.
  bool has(const std::string& key) const {
    const auto found = value_.json().find(key);
    return found != value_.json().end() && !found->is_null();
  }
  // The first of these names that is there.
  const std::string* first(const std::vector<std::string>& names) const {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const auto& name) { return has(name); });
    return found == names.end() ? nullptr : &*found;
  }
  int64_t whole(const std::vector<std::string>& names, int64_t least, int64_t most) const {
    const std::string* name = first(names);
    if (name == nullptr)
      value_.fail("lacks \"" + names.front() + "\"" +
                  (names.size() > 1 ? " (or \"" + names[1] + "\")" : "") +
                  ", a whole number from " + std::to_string(least) + " on");
    return value_.child(*name).whole(least, most);
  }
  int64_t whole_or(const std::vector<std::string>& names, int64_t otherwise, int64_t least,
                   int64_t most) const {
    return first(names) == nullptr ? otherwise : whole(names, least, most);
  }
  bool flag_or(const std::string& name, bool otherwise) const {
    return has(name) ? value_.child(name).flag() : otherwise;
  }
  const Value& value() const { return value_; }

 private:
  Value value_;
};

const Family& family_of(const Value& value) {
  const Value type = value.child("model_type");
  for (const Family& family : families)
    if (type.text() == family.name) return family;
  type.fail(unknown_name("family of models", type.text(), hugging_face_families()) +
            "; another one can be written as a file of schema \"" + model_schema + "\"");
}

template <class Names>
void refuse_keys(const Keys& keys, const Names& names, const Family& family, const char* what,
                 const char* fitting) {
  for (const char* name : names)
    if (keys.has(name))
      keys.value().child(name).fail("the family " + std::string(family.name) + " has no " + what +
                                    "; a file with this key would be of the family " + fitting);
}

void read_head_size(const Keys& keys, Transformer& model) {
  if (keys.has("head_dim")) {
    model.head_size = keys.whole({"head_dim"}, 1, most_heads);
    return;
  }
  if (model.hidden % model.heads != 0)
    keys.value().fail("the hidden size " + std::to_string(model.hidden) +
                      " does not divide by num_attention_heads " + std::to_string(model.heads) +
                      "; \"head_dim\" would say how wide a head is");
  model.head_size = model.hidden / model.heads;
}

void read_latent_keys(const Keys& keys, Transformer& model) {
  LatentAttention latent;
  latent.query_rank = keys.whole_or({"q_lora_rank"}, 0, 1, most_width);
  latent.kv_rank = keys.whole({"kv_lora_rank"}, 1, most_width);
  latent.plain_size = keys.whole({"qk_nope_head_dim"}, 1, most_heads);
  latent.rotary_size = keys.whole({"qk_rope_head_dim"}, 0, most_heads);
  latent.value_size = keys.whole({"v_head_dim"}, 1, most_heads);
  model.latent = latent;
  model.head_size = latent.plain_size + latent.rotary_size;
  model.kv_heads = model.heads;
}

void read_expert_keys(const Keys& keys, const Family& family, Transformer& model) {
  Experts experts;
  experts.count =
      keys.whole({"num_local_experts", "num_experts", "n_routed_experts"}, 1, most_experts);
  experts.per_token = keys.whole({"num_experts_per_tok"}, 1, most_experts);
  if (family.is_latent) {
    experts.width = keys.whole({"moe_intermediate_size"}, 1, most_width);
    experts.shared = keys.whole({"n_shared_experts"}, 0, most_experts);
    experts.first_dense = keys.whole({"first_k_dense_replace"}, 0, most_model_layers);
    experts.router_bias = true;  // corrects the choice, to balance the experts
    if (keys.whole_or({"moe_layer_freq"}, 1, 1, most_model_layers) != 1)
      keys.value().child("moe_layer_freq").fail("expected 1: every later layer has experts");
  } else {
    experts.width = model.mlp_width;
  }
  model.experts = experts;
}

void add_notes(const Keys& keys, Transformer& model) {
  if (keys.has("num_nextn_predict_layers") &&
      keys.whole({"num_nextn_predict_layers"}, 0, most_model_layers) > 0)
    model.notes.emplace_back(
        "the layers that predict further tokens (num_nextn_predict_layers) are left out");
  const bool uses_window = keys.flag_or("use_sliding_window", true);
  if (uses_window && keys.has("sliding_window"))
    model.notes.emplace_back("sliding_window is not modelled: attention covers the whole sequence");
}

}  // namespace

const std::vector<std::string>& hugging_face_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Family& family : families) all.emplace_back(family.name);
    return all;
  }();
  return names;
}

Transformer read_hugging_face(const Value& value) {
  const Keys keys(value);
  const Family& family = family_of(value);
  if (!family.has_experts)
    refuse_keys(keys, expert_keys, family, "experts", "mixtral or deepseek_v3");
  if (!family.is_latent)
    refuse_keys(keys, latent_keys, family, "multi-latent attention", "deepseek_v3");
  Transformer model;
  model.name = keys.has("_name_or_path") && value.child("_name_or_path").json().is_string() &&
                       !value.child("_name_or_path").text().empty()
                   ? value.child("_name_or_path").text()
                   : std::string(family.name);
  model.hidden = keys.whole({"hidden_size", "n_embd", "d_model"}, 1, most_width);
  model.layers = keys.whole({"num_hidden_layers", "n_layer"}, 1, most_model_layers);
  model.heads = keys.whole({"num_attention_heads", "n_head"}, 1, most_heads);
  model.kv_heads = keys.whole_or({"num_key_value_heads"}, model.heads, 1, most_heads);
  model.mlp_width =
      family.learns_positions
          ? keys.whole_or({"intermediate_size", "n_inner"}, 4 * model.hidden, 1, most_width)
          : keys.whole({"intermediate_size", "n_inner"}, 1, most_width);
  model.gated = family.gated;
  model.vocabulary = keys.whole({"vocab_size"}, 1, most_vocabulary);
  model.tied = keys.flag_or("tie_word_embeddings", family.tied);
  model.layer_norm = family.layer_norm;
  model.attention_bias = family.bias;
  model.mlp_bias = family.mlp_bias;
  if (family.reads_biases) {
    if (keys.flag_or("attention_bias", false)) model.attention_bias = AttentionBias::all;
    model.mlp_bias = keys.flag_or("mlp_bias", false);
  }
  const std::vector<std::string> lengths = {"max_position_embeddings", "n_positions", "n_ctx"};
  const int64_t longest = keys.whole_or(lengths, 4096, 1, most_sequence);
  if (family.learns_positions) model.positions = keys.whole(lengths, 1, most_sequence);
  model.sequence = std::min<int64_t>(longest, 8192);
  if (family.is_latent)
    read_latent_keys(keys, model);
  else
    read_head_size(keys, model);
  if (family.has_experts) read_expert_keys(keys, family, model);
  add_notes(keys, model);
  check_transformer(model, value.where());
  return model;
}

}  // namespace sgdsim
