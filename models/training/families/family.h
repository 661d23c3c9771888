// Families of models, by `model_type` of config.json: one row says what its keys are called and
// what is true without being said. What no row can say is a function of the family.
#pragma once

#include <span>
#include <string_view>

#include "models/training/families/keys.h"

namespace sgdsim {

// Which layers have a window, where the file has no list of layers.
enum class Windows : uint8_t {
  none,
  all,
  pattern,  // all but the last of every `sliding_window_pattern`
  upper     // those from `max_window_layers` on
};

struct Family {
  std::string_view name;
  const char* otherwise = "{}";  // keys that a file need not have, with what they then are
  const char* sizes = "{}";      // that a model of several inputs need not say of this one
  bool gated = true;
  Norm norm = Norm::rms;
  int64_t layer_norms = 2;
  bool parallel = false;
  AttentionBias bias = AttentionBias::none;
  const char* bias_key = nullptr;  // says whether there are biases of attention
  int64_t mlp_times = 0;           // times the hidden size is the MLP, where the file does not say
  bool mlp_bias = false;
  const char* mlp_bias_key = nullptr;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  const char* query_key_norm_key = nullptr;
  Windows windows = Windows::none;
  bool attends = true;
  bool has_experts = false;
  bool may_have_experts = false;  // where the file says so
  bool experts_are_mlps = false;  // as wide as the MLP of a dense layer
  bool router_bias = false;
  bool is_latent = false;
  bool values_are_parts = false;  // latent, as wide as heads of the hidden state if not said
  bool learns_positions = false;
  int64_t more_positions = 0;    // learned ones that the file does not count
  int64_t unused_positions = 0;  // that it counts, and that no token has
  void (*read)(const Keys& keys, Transformer& model) = nullptr;  // what is special
};

std::span<const Family> attention_families();  // attention, and a dense MLP
std::span<const Family> early_families();
std::span<const Family> expert_families();
std::span<const Family> linear_families();

// Layers of other kinds than a row can say.
void read_falcon(const Keys& keys, Transformer& model);
void read_neox(const Keys& keys, Transformer& model);
void read_bloom(const Keys& keys, Transformer& model);
void read_opt(const Keys& keys, Transformer& model);
void read_stablelm(const Keys& keys, Transformer& model);
void read_phi(const Keys& keys, Transformer& model);
void read_exaone4(const Keys& keys, Transformer& model);
void read_images(const Keys& keys, Transformer& model);

void read_gemma4(const Keys& keys, Transformer& model);
void read_encoder(const Keys& keys, Transformer& model);
void read_gptj(const Keys& keys, Transformer& model);
void read_bigcode(const Keys& keys, Transformer& model);
void read_mpt(const Keys& keys, Transformer& model);
void read_first_qwen(const Keys& keys, Transformer& model);
void read_apertus(const Keys& keys, Transformer& model);

void read_gpt_oss(const Keys& keys, Transformer& model);
void read_llama4(const Keys& keys, Transformer& model);
void read_qwen2_moe(const Keys& keys, Transformer& model);
void read_phimoe(const Keys& keys, Transformer& model);
void read_hunyuan(const Keys& keys, Transformer& model);
void read_bailing(const Keys& keys, Transformer& model);
void read_afmoe(const Keys& keys, Transformer& model);
void read_arctic(const Keys& keys, Transformer& model);
void read_longcat(const Keys& keys, Transformer& model);
void read_indexer_keys(const Keys& keys, Transformer& model);

void read_qwen3_next(const Keys& keys, Transformer& model);
void read_mamba2(const Keys& keys, Transformer& model);
void read_mamba(const Keys& keys, Transformer& model);
void read_jamba(const Keys& keys, Transformer& model);
void read_granite_hybrid(const Keys& keys, Transformer& model);
void read_bamba(const Keys& keys, Transformer& model);
void read_nemotron_h(const Keys& keys, Transformer& model);
void read_kimi_linear(const Keys& keys, Transformer& model);
void read_minimax(const Keys& keys, Transformer& model);

// Steps that every family takes, where its keys are there.
void read_experts_of(const Keys& keys, const Family& family, Transformer& model);
void read_layer_types(const Keys& keys, const Family& family, Transformer& model);

// The shortest list that repeats to this one.
template <class Kind>
std::vector<Kind> shortest_period(const std::vector<Kind>& list) {
  for (std::size_t period = 1; period < list.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < list.size() && repeats; ++i)
      repeats = list[i] == list[i - period];
    if (repeats) return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(period)};
  }
  return list;
}

}  // namespace sgdsim
