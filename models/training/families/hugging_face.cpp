// config.json of Hugging Face: which family it is of, and the steps that all families take.
#include <algorithm>
#include <array>

#include "models/training/families/family.h"

namespace sgdsim {
namespace {

constexpr int64_t usual_sequence = 8192;  // of training, where positions allow more

// The same layers under another name, and what a file need not say there.
struct Alias {
  std::string_view name;
  std::string_view family;
  const char* otherwise = "{}";
};
constexpr char eight_groups[] = R"({"num_key_value_heads": 8})";
constexpr char sixteen_groups[] = R"({"num_key_value_heads": 16, "head_dim": null})";
constexpr char two_groups[] = R"({"num_key_value_heads": 2})";
constexpr char all_have_experts[] = R"({"n_shared_experts": null, "first_k_dense_replace": 0})";
constexpr char one_is_dense[] = R"({"first_k_dense_replace": 1, "n_group": 1, "topk_group": 1})";
constexpr std::array aliases = {
    Alias{"Yi", "llama"},
    Alias{"yi", "llama"},
    Alias{"xverse", "llama"},
    Alias{"internlm2", "llama"},
    Alias{"internlm3", "llama", two_groups},
    Alias{"helium", "llama", R"({"num_key_value_heads": 20, "head_dim": 128})"},
    Alias{"llava", "llama"},
    Alias{"llava_next", "llama"},
    Alias{"idefics3", "llama"},
    Alias{"smolvlm", "llama"},
    Alias{"ministral3", "ministral", R"({"head_dim": 128, "sliding_window": null})"},
    Alias{"mistral3", "mistral"},
    Alias{"qwen2_vl", "qwen2", eight_groups},
    Alias{"qwen2_vl_text", "qwen2", eight_groups},
    Alias{"qwen2_5_vl", "qwen2", eight_groups},
    Alias{"qwen2_5_vl_text", "qwen2", eight_groups},
    Alias{"qwen2_5_omni_text", "qwen2", R"({"num_key_value_heads": 4})"},
    Alias{"mimo", "qwen2"},
    Alias{"qwen3_vl", "qwen3"},
    Alias{"qwen3_vl_text", "qwen3"},
    Alias{"qwen3_vl_moe", "qwen3_moe", sixteen_groups},
    Alias{"qwen3_vl_moe_text", "qwen3_moe", sixteen_groups},
    Alias{"qwen3_omni_moe_text", "qwen3_moe"},
    Alias{"qwen3_5_text", "qwen3_5"},
    Alias{"qwen3_5_moe", "qwen3_next"},
    Alias{"qwen3_5_moe_text", "qwen3_next"},
    Alias{"gemma3", "gemma3_text"},
    Alias{"gemma4", "gemma4_text"},
    Alias{"gemma4_unified", "gemma4_text"},
    Alias{"gemma4_unified_text", "gemma4_text"},
    Alias{"paligemma", "gemma"},
    Alias{"xlm-roberta", "roberta"},
    Alias{"camembert", "roberta"},
    Alias{"codegen", "gptj"},
    Alias{"bailing_moe_v2", "bailing_moe"},
    Alias{"llama4", "llama4_text"},
    Alias{"glm4v", "glm4", R"({"head_dim": null})"},
    Alias{"glm4v_text", "glm4", R"({"head_dim": null})"},
    Alias{"glm4v_moe", "glm4_moe", R"({"attention_bias": true})"},
    Alias{"solar_open", "glm4_moe", R"({"head_dim": 128, "first_k_dense_replace": 0})"},
    Alias{"glm4v_moe_text", "glm4_moe", R"({"attention_bias": true})"},
    Alias{"kimi_k2", "deepseek_v3", all_have_experts},
    Alias{"kimi_k25", "deepseek_v3", all_have_experts},
    Alias{"kimi_vl", "deepseek_v3", all_have_experts},
    Alias{"deepseek_vl_v2", "deepseek_v2", all_have_experts},
    Alias{"glm4_moe_lite", "deepseek_v3", one_is_dense},
    Alias{"glm_moe_dsa", "deepseek_v32"},
    Alias{"ernie4_5_vl_moe_text", "ernie4_5_moe"},
    Alias{"ernie4_5_moe_vl", "ernie4_5_moe"},
    Alias{"ernie4_5_vl", "ernie4_5_moe"},
    Alias{"minimax_m1", "minimax"},
    Alias{"minimax_text_01", "minimax"},
    Alias{"MiniMaxText01", "minimax"},
    Alias{"MiniMaxM1", "minimax"},
    Alias{"hunyuan", "hunyuan_v1_moe"},
    Alias{"RefinedWeb", "falcon", R"({"new_decoder_architecture": true})"},
    Alias{"RefinedWebModel", "falcon", R"({"new_decoder_architecture": false})"},
};

// What the arithmetic of a layer cannot say.
struct Refusal {
  std::string_view name;
  const char* reason;
};
constexpr const char* two_stacks = "a decoder that also attends to an encoder is not modelled";
constexpr const char* other_states = "states that are updated in other ways are not modelled";
constexpr const char* two_towers = "two models side by side, of images and texts, are not modelled";
constexpr const char* pooled = "a head that attends to all patches is not modelled";
constexpr const char* relative =
    "positions relative to each other, with matrices of their own, are not modelled";
constexpr std::array refusals = {
    Refusal{"t5", two_stacks},
    Refusal{"mt5", two_stacks},
    Refusal{"umt5", two_stacks},
    Refusal{"bart", two_stacks},
    Refusal{"mbart", two_stacks},
    Refusal{"pegasus", two_stacks},
    Refusal{"m2m_100", two_stacks},
    Refusal{"marian", two_stacks},
    Refusal{"whisper", two_stacks},
    Refusal{"t5gemma", two_stacks},
    Refusal{"mllama", "layers that attend to images are not modelled"},
    Refusal{"mllama_text_model", "layers that attend to images are not modelled"},
    Refusal{"openelm", "every layer has other widths, which are not modelled"},
    Refusal{"deci", "every layer has other widths, which are not modelled"},
    Refusal{"nemotron-nas", "every layer has other widths, which are not modelled"},
    Refusal{"gemma3n", "embeddings of every layer and shared keys are not modelled"},
    Refusal{"gemma3n_text", "embeddings of every layer and shared keys are not modelled"},
    Refusal{"falcon_h1", "attention and states side by side in one layer are not modelled"},
    Refusal{"hymba", "attention and states side by side in one layer are not modelled"},
    Refusal{"zamba", "layers that share their weights are not modelled"},
    Refusal{"zamba2", "layers that share their weights are not modelled"},
    Refusal{"albert", "layers that share their weights are not modelled"},
    Refusal{"deepseek_v4",
            "attention to compressed positions, and several hidden states side by side, are not "
            "modelled"},
    Refusal{"glm5_next", "several hidden states side by side are not modelled"},
    Refusal{"glm5_next_text", "several hidden states side by side are not modelled"},
    Refusal{"modernbert", "windows on both sides of a position are not modelled"},
    Refusal{"deberta", relative},
    Refusal{"deberta-v2", relative},
    Refusal{"xlnet", relative},
    Refusal{"siglip", two_towers},
    Refusal{"siglip2", two_towers},
    Refusal{"clip", two_towers},
    Refusal{"siglip_vision_model", pooled},
    Refusal{"siglip2_vision_model", pooled},
    Refusal{"clip_vision_model", "a norm before the first layer is not modelled"},
    Refusal{"dinov2", "factors of every layer (LayerScale) are not modelled"},
    Refusal{"swin", "stages of other widths are not modelled"},
    Refusal{"rwkv", other_states},
    Refusal{"rwkv7", other_states},
    Refusal{"recurrent_gemma", other_states},
    Refusal{"xlstm", other_states},
    Refusal{"gpt_neo", "biases of the last matrix of attention alone are not modelled"},
    Refusal{"mimo_v2_flash", "heads whose values are narrower than their keys are not modelled"},
    Refusal{"step3", "queries of all heads from one narrow vector are not modelled"},
    Refusal{"diffllama", "differences of two attentions are not modelled"},
    Refusal{"lfm2", "layers that mix by a convolution alone are not modelled"},
    Refusal{"lfm2_moe", "layers that mix by a convolution alone are not modelled"},
};

// Keys by which experts and latent attention show; a family that has none must not have them.
const Names expert_keys = {"num_local_experts",    "num_experts",           "n_routed_experts",
                           "num_experts_per_tok",  "moe_intermediate_size", "n_shared_experts",
                           "first_k_dense_replace"};
const Names latent_keys = {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
                           "v_head_dim"};
// Where a model of several inputs keeps its language model.
const Names wrapper_keys = {"text_config", "llm_config", "language_config", "thinker_config"};

const std::array<std::span<const Family>, 4>& all_families() {
  static const std::array<std::span<const Family>, 4> all = {attention_families(), early_families(),
                                                             expert_families(), linear_families()};
  return all;
}

const Family* find_family(std::string_view name) {
  for (const std::span<const Family>& some : all_families())
    for (const Family& family : some)
      if (family.name == name) return &family;
  return nullptr;
}

struct FoundFamily {
  const Family& family;
  const char* otherwise = "{}";  // of the alias
};

// A near name is another architecture, so that none is offered.
FoundFamily family_of(const Value& type) {
  const std::string name = type.text();
  for (const Refusal& refusal : refusals)
    if (refusal.name == name)
      type.fail("models of the family " + name + " are not read: " + refusal.reason);
  if (const Family* family = find_family(name)) return {*family};
  for (const Alias& alias : aliases)
    if (alias.name == name) return {*find_family(alias.family), alias.otherwise};
  std::string known;
  for (const std::string& one : hugging_face_families()) known += (known.empty() ? "" : ", ") + one;
  type.fail("unknown family of models \"" + printable(name) + "\"; known: " + known +
            "; another one can be written as a file of schema \"" + model_schema + "\"");
}

// A number above 1: one expert, say, is none.
bool says_something(const Keys& keys, const std::string& key) {
  if (!keys.has(key)) return false;
  const Json& json = keys.value().child(key).json();
  return json.is_number() ? json.get<double>() > 1 : json.is_array() && !json.empty();
}

void refuse_keys(const Keys& keys, const Names& names, const Family& family, const char* what) {
  for (const std::string& name : names)
    if (says_something(keys, name))
      keys.value().child(name).fail("the family " + std::string(family.name) + " has no " + what +
                                    "; a file with this key would be of another family");
}

void read_head_size(const Keys& keys, Transformer& model) {
  const Names names = {"head_dim", "attention_head_dim"};
  if (keys.first(names) != nullptr) {
    model.head_size = keys.whole(names, 1, most_heads);
    return;
  }
  if (model.hidden % model.heads != 0)
    keys.value().fail("the hidden size " + std::to_string(model.hidden) +
                      " does not divide by num_attention_heads " + std::to_string(model.heads) +
                      "; \"head_dim\" would say how wide a head is");
  model.head_size = model.hidden / model.heads;
}

void read_latent_keys(const Keys& keys, const Family& family, Transformer& model) {
  LatentAttention latent;
  latent.query_rank = keys.whole_or({"q_lora_rank"}, 0, 1, most_width);
  latent.kv_rank = keys.whole({"kv_lora_rank"}, 1, most_width);
  latent.plain_size = keys.whole({"qk_nope_head_dim"}, 1, most_heads);
  latent.rotary_size = keys.whole({"qk_rope_head_dim"}, 0, most_heads);
  latent.value_size = family.values_are_parts && !keys.has("v_head_dim")
                          ? model.hidden / model.heads
                          : keys.whole({"v_head_dim"}, 1, most_heads);
  model.latent = latent;
  model.head_size = latent.plain_size + latent.rotary_size;
  model.kv_heads = model.heads;
}

void read_attention(const Keys& keys, const Family& family, Transformer& model) {
  model.heads =
      keys.whole({"num_attention_heads", "n_head", "n_heads", "num_heads"}, 1, most_heads);
  model.kv_heads = keys.whole_or({"num_key_value_heads", "kv_n_heads", "multi_query_group_num"},
                                 model.heads, 1, most_heads);
  if (family.is_latent && keys.flag_or({"use_mla"}, true))
    read_latent_keys(keys, family, model);
  else
    read_head_size(keys, model);
  const bool has_bias = family.bias_key == nullptr || keys.flag_or({family.bias_key}, false);
  if (has_bias) model.attention_bias = family.bias;
  const bool has_norms =
      family.query_key_norm_key == nullptr || keys.flag_or({family.query_key_norm_key}, false);
  if (has_norms) model.query_key_norm = family.query_key_norm;
  read_layer_types(keys, family, model);
}

bool has_experts(const Keys& keys) {
  return std::any_of(expert_keys.begin(), expert_keys.begin() + 3,
                     [&](const std::string& key) { return says_something(keys, key); });
}

void read_mlp(const Keys& keys, const Family& family, Transformer& model) {
  const Names widths = {"intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"};
  // Where all layers have experts, files may not say how wide the others are.
  const bool may_lack = family.mlp_times > 0 || (family.has_experts && !family.experts_are_mlps);
  model.mlp_width = may_lack ? keys.whole_or(widths, family.mlp_times * model.hidden, 1, most_width)
                             : keys.whole(widths, 1, most_width);
  model.gated = family.gated;
  model.mlp_bias =
      family.mlp_bias_key == nullptr ? family.mlp_bias : keys.flag_or({family.mlp_bias_key}, false);
  const bool says_experts = family.may_have_experts && has_experts(keys);
  if (family.has_experts || says_experts) read_experts_of(keys, family, model);
}

void read_positions(const Keys& keys, const Family& family, Transformer& model) {
  const Names lengths = {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
                         "max_sequence_length",     "seq_length"};
  model.longest = keys.whole_or(lengths, 0, 1 + family.unused_positions, most_sequence);
  if (model.longest > 0) model.longest -= family.unused_positions;
  if (family.learns_positions)
    model.positions = keys.whole(lengths, 1, most_sequence) + family.more_positions;
  model.sequence = std::min(model.longest == 0 ? 4096 : model.longest, usual_sequence);
}

// They are trained beside the model, and are not part of what is released as its size.
void read_predictions(const Keys& keys, Transformer& model) {
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}) {
    const int64_t count = keys.whole_or({key}, 0, 0, most_predictions);
    if (count == 0) continue;
    const LayerKind last = model.layer(model.layers - 1);
    if (last.mixing == Mixing::none || last.mlp == Mlp::none) {
      model.notes.emplace_back("modules that predict further tokens (" + std::string(key) +
                               ") are of several layers each, and left out");
      continue;
    }
    model.predictions = count;
    model.notes.emplace_back("modules that predict further tokens (" + std::string(key) +
                             ") are trained with the model and not counted in its parameters; "
                             "mtp=0 in a layout leaves them out");
  }
}

// A list of all of them counts them, too.
int64_t layers_of(const Keys& keys) {
  const Names names = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
  const std::string list = "layers_block_type";
  if (keys.first(names) != nullptr || !keys.has(list))
    return keys.whole(names, 1, most_model_layers);
  const Value all = keys.value().child(list);
  const auto count = static_cast<int64_t>(all.size());
  if (count < 1 || count > most_model_layers)
    all.fail("expected from 1 to " + std::to_string(most_model_layers) + " layers, got " +
             std::to_string(count));
  return count;
}

Transformer read_family(const Value& value, const FoundFamily& found) {
  const Family& family = found.family;
  const Keys keys(value, family.otherwise, found.otherwise);
  if (!family.has_experts && !family.may_have_experts)
    refuse_keys(keys, expert_keys, family, "experts");
  if (!family.is_latent) refuse_keys(keys, latent_keys, family, "multi-latent attention");
  Transformer model;
  model.name = keys.text_or("_name_or_path", "");
  if (model.name.empty()) model.name = family.name;
  model.hidden = keys.whole({"hidden_size", "n_embd", "d_model", "n_embed"}, 1, most_width);
  model.layers = layers_of(keys);
  model.vocabulary = keys.whole({"vocab_size", "padded_vocab_size"}, 1, most_vocabulary);
  model.tied = keys.flag_or({"tie_word_embeddings"}, false);
  model.norm = family.norm;
  model.layer_norms = family.layer_norms;
  model.parallel = family.parallel;
  read_positions(keys, family, model);
  if (family.attends) {
    read_attention(keys, family, model);
    read_mlp(keys, family, model);
  }
  if (family.read != nullptr) family.read(keys, model);
  read_predictions(keys, model);
  check_transformer(model, value.where());
  return model;
}

// The language model of several inputs, as a file of its own.
std::optional<std::string> wrapper_of(const Json& json) {
  for (const std::string& name : wrapper_keys)
    if (const auto found = json.find(name); found != json.end() && found->is_object()) return name;
  return {};
}

// Files of models of several inputs leave out what the family has by itself. Says what was added.
std::string add_sizes(Json& inner) {
  const auto type = inner.find("model_type");
  const Family* family =
      type != inner.end() && type->is_string() ? find_family(type->get<std::string>()) : nullptr;
  std::string added;
  if (family == nullptr) return added;
  const Json sizes = Json::parse(family->sizes);
  for (const auto& [key, size] : sizes.items()) {
    if (inner.contains(key)) continue;
    inner[key] = size;
    added += (added.empty() ? "" : ", ") + key + " " + size.dump();
  }
  return added;
}

Transformer read_wrapped(const Value& value, const std::string& name) {
  Json inner = value.json().at(name);
  const Json& outer = value.json();
  const std::string added = add_sizes(inner);
  for (const char* key : {"model_type", "tie_word_embeddings", "_name_or_path"})
    if (!inner.contains(key) && outer.contains(key)) inner[key] = outer.at(key);
  Transformer model = read_hugging_face(Value(inner, value.file(), value.path() + "/" + name));
  std::string rest;
  for (const char* key : {"vision_config", "audio_config", "speech_config"})
    if (outer.contains(key)) rest += (rest.empty() ? "" : ", ") + std::string(key);
  if (!added.empty())
    model.notes.push_back(name + " leaves out sizes, which are then those of its family: " + added);
  if (!rest.empty())
    model.notes.push_back("only the language model is read; " + rest + " is left out");
  return model;
}

// ERNIE's models of texts and images have experts for each, in pairs of numbers.
Transformer read_text_part(const Value& value, const FoundFamily& found) {
  Json json = value.json();
  bool is_pair = false;
  for (auto& [name, one] : json.items())
    if (name.starts_with("moe_") && one.is_array() && one.size() == 2) {
      one = Json(one.front());
      is_pair = true;
    }
  Transformer model = read_family(Value(json, value.file(), value.path()), found);
  model.notes.emplace_back(is_pair ? "only the language model is read; experts of images, and what "
                                     "makes vectors of images, are left out"
                                   : "only the language model is read");
  return model;
}

}  // namespace

const std::vector<std::string>& hugging_face_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const std::span<const Family>& some : all_families())
      for (const Family& family : some) all.emplace_back(family.name);
    for (const Alias& alias : aliases) all.emplace_back(alias.name);
    std::sort(all.begin(), all.end());
    return all;
  }();
  return names;
}

Transformer read_hugging_face(const Value& value) {
  if (const auto name = wrapper_of(value.json())) return read_wrapped(value, *name);
  const FoundFamily found = family_of(value.child("model_type"));
  if (value.child("model_type").text().find("_vl") != std::string::npos &&
      found.family.name == "ernie4_5_moe")
    return read_text_part(value, found);
  return read_family(value, found);
}

}  // namespace sgdsim
