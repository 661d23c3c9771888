// By the last part of their names, which programs have in common.
#include <algorithm>
#include <array>
#include <cctype>

#include "study/layout/foreign_reader.h"

namespace sgdsim {
namespace {

struct Unpriced {
  const char* name;
  const char* value;  // a part of it; empty: any but no
  const char* sentence;
};

constexpr const char* numbers = "is not taken over; --precision fp8 or nvfp4 prices products so";
constexpr const char* alone =
    "is not priced: exchanges of experts wait for no other micro-batch, and hide under none";
constexpr const char* unshared =
    "is not priced: exchanges of experts do not hide under shared experts";
constexpr const char* exposed_tensor =
    "is not priced: exchanges of tensor parallelism lie under nothing";
constexpr const char* quantized = "is not priced: what is exchanged keeps its bytes";
constexpr const char* states =
    "is not taken over: states of the optimizer are taken to be those of Adam in float32";
constexpr const char* stored =
    "is not taken over: each rank of tp is taken to keep all inputs of layers that are computed "
    "again, and memory is shown too high";

constexpr std::array<Unpriced, 31> unpriced = {{
    {"use_tp_pp_dp_mapping", "", "is not modelled: replicas lie nearer to each other than stages"},
    {"overlap_moe_expert_parallel_comm", "", alone},
    {"moe_a2a_overlap", "", alone},
    {"moe_shared_expert_overlap", "", unshared},
    {"tp_comm_overlap", "", exposed_tensor},
    {"ub_tp_comm_overlap", "", exposed_tensor},
    {"zero_quantized_weights", "", quantized},
    {"zero_quantized_gradients", "", quantized},
    {"fp8", "", numbers},
    {"fp8_format", "", numbers},
    {"fp4", "", numbers},
    {"fp4_format", "", numbers},
    {"mixed_precision", "fp8", numbers},
    {"mixed_precision", "fp4", numbers},
    {"converters", "fp8", numbers},
    {"enable_float8_linear", "", numbers},
    {"fp8_linear", "", numbers},
    {"distribute_saved_activations", "", stored},
    {"partition_activations", "", stored},
    {"use_precision_aware_optimizer", "", states},
    {"exp_avg_dtype", "", states},
    {"exp_avg_sq_dtype", "", states},
    {"optimizer", "sgd", states},
    {"optimizer", "muon", states},
    {"optimizer", "lion", states},
    {"optimizer", "adafactor", states},
    {"optimizer", "adagrad", states},
    {"optimizer", "8bit", states},
    {"optimizer", "4bit", states},
    {"hybrid_context_parallel", "",
     "is not modelled: all sequences are taken to be split alike, whatever their length"},
    {"early_step_in_backward", "",
     "is not modelled: gradients are kept until the end of the step, when the optimizer runs"},
}};

std::string in_lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Variables of scripts have the same names in capitals. DeepSpeed and torchtitan have a table for
// the optimizer, with its `type` or `name`.
std::string last_of(const std::string& name) {
  std::string last = in_lower(last_part(name));
  std::replace(last.begin(), last.end(), '-', '_');
  const std::string table = name.substr(0, std::min(name.size(), name.size() - last.size() - 1));
  const bool is_name = last == "type" || last == "name";
  return is_name && (last_part(table) == "optimizer" || last_part(table) == "optim") ? "optimizer"
                                                                                     : last;
}

bool is_no(const std::string& value) {
  for (const char* no :
       {"", "false", "0", "null", "~", "none", "no", "off", "fp32", "float32", "torch.float32"})
    if (in_lower(value) == no) return true;
  return false;
}

// float8 of torchtitan is fp8, too.
std::string plainly(const std::string& text) {
  std::string value = in_lower(text);
  const std::size_t place = value.find("float8");
  return place == std::string::npos ? value : value.replace(place, 6, "fp8");
}

// Nothing where the setting changes no step.
const char* sentence_on(const std::string& name, const std::string& value) {
  const auto is_it = [&](const Unpriced& one) {
    return last_of(name) == one.name && plainly(value).find(one.value) != std::string::npos;
  };
  const auto one =
      is_no(value) ? unpriced.end() : std::find_if(unpriced.begin(), unpriced.end(), is_it);
  return one == unpriced.end() ? nullptr : one->sentence;
}

// Whether the layout that was read has what the sentence says is missing.
bool is_met(const char* sentence, const Layout& layout) {
  if (sentence == alone) return layout.pairs_passes();
  if (sentence == unshared) return layout.experts == ExpertsUnder::shared;
  return sentence == stored && (layout.tensor == 1 || layout.sequence_parallel);
}

// A size of the model as the file has it, which a layout does not say.
void note_size(const FlatSettings& settings, std::initializer_list<const char*> names, int64_t size,
               ForeignLayout& found) {
  for (const char* name : names) {
    const auto value = settings.values().find(name);
    if (value == settings.values().end() || value->second == std::to_string(size)) continue;
    const std::string& text = value->second;
    const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    if (is_number)
      found.notes.push_back(std::string(name) + " is " + text +
                            ", but the model that is priced has " + std::to_string(size) +
                            ", which counts");
  }
}

}  // namespace

const char* const float32_note =
    "precision is that of float32, or not said, which is not priced: weights are taken to have 2 "
    "bytes, and products to be in BF16";

void note_unpriced(const FlatSettings& settings, const Transformer& model, ForeignLayout& found) {
  for (const auto& setting : settings.values())
    if (const char* sentence = sentence_on(setting.first, setting.second);
        sentence != nullptr && !is_met(sentence, found.layout))
      found.notes.push_back(setting.first + " " + sentence);
  note_size(settings,
            {"num-layers", "num_layers", "model.num_layers", "language_model.num_layers",
             "model.n_layer", "model.model_config.num_hidden_layers", "model.config.num_layers"},
            model.layers, found);
  note_size(settings,
            {"hidden-size", "hidden_size", "model.hidden_size", "language_model.hidden_size",
             "model.n_embd", "model.model_config.hidden_size", "model.config.hidden_size"},
            model.hidden, found);
  note_size(settings, {"num-attention-heads", "num_attention_heads", "model.num_attention_heads"},
            model.heads, found);
  note_size(settings, {"num-query-groups", "num_query_groups", "model.num_query_groups"},
            model.kv_heads, found);
  if (model.experts)
    note_size(settings, {"num-experts", "num_moe_experts", "model.num_moe_experts"},
              model.experts->count, found);
  if (model.mlp_width > 0 && !model.experts)
    note_size(settings, {"ffn-hidden-size", "ffn_hidden_size", "model.ffn_hidden_size"},
              model.mlp_width, found);
}

}  // namespace sgdsim
