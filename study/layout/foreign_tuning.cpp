// Names differ from program to program: NeMo 1 has model.peft, Megatron-Bridge and AutoModel peft.
#include "study/layout/foreign_tuning.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace sgdsim {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_no_method(const std::string& method) {
  return method == "none" || method == "full" || method == "false";
}

// Where a method has its name and is null, there are none, whatever rank is left there.
bool has_adapters(const FlatSettings& settings, const AdapterNames& names) {
  for (const std::string& name : names.methods) {
    const auto value = settings.find(name);
    if (!value) continue;
    const std::string method = lower(*value);
    if (is_no_method(method)) return false;
    const bool is_lora = method.find("lora") != std::string::npos || method == "true";
    // A function that does not say which, and a rank that does.
    const bool is_call = method.find('(') != std::string::npos && settings.has_any(names.ranks);
    if (method.find("dora") != std::string::npos || (!is_lora && !is_call))
      settings.fail(name, "is not modelled; lora is");
    return true;
  }
  const bool is_null = std::any_of(names.methods.begin(), names.methods.end(),
                                   [&](const auto& name) { return settings.has(name); });
  return names.by_rank && !is_null && settings.has_any(names.ranks);
}

bool has_part(const std::string& module, const std::vector<const char*>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return module.find(part) != std::string::npos; });
}

// Of the matrices with adapters: those of attention, of the MLP, or all. A part of either is none.
void read_products(const FlatSettings& settings, const std::vector<std::string>& names,
                   Lora& lora) {
  for (const std::string& name : names) {
    const auto modules = settings.list(name);
    if (!modules) continue;
    std::array<bool, 4> has{};  // inputs and output of attention, of the MLP
    for (const std::string& module : *modules) {
      for (const char* all : {"all", "*", "*_proj", "all-linear", "moe_language_all"})
        if (module == all) has = {true, true, true, true};
      if (module == "attention_all") has[0] = has[1] = true;
      if (module == "mlp_all") has[2] = has[3] = true;
      if (has_part(module, {"qkv", "q_proj"})) has[0] = true;
      if (has_part(module, {"linear_proj", "attention_dense", "o_proj"})) has[1] = true;
      if (has_part(module, {"fc1", "gate_proj", "up_proj"})) has[2] = true;
      if (has_part(module, {"fc2", "down_proj"})) has[3] = true;
    }
    if (has[0] != has[1] || has[2] != has[3] || !(has[0] || has[2]))
      settings.fail(name,
                    "adapters of some matrices of attention or of the MLP are not modelled; of all "
                    "of either they are (lora=16:attention, lora=16:mlp)");
    if (!has[0]) lora.products = LoraProducts::mlp;
    if (!has[2]) lora.products = LoraProducts::attention;
    return;
  }
}

// QLoRA: how frozen matrices are kept.
void read_frozen(const FlatSettings& settings, const AdapterNames& names, Lora& lora) {
  for (const std::string& name : names.methods)
    if (lower(settings.find(name).value_or("")).find("qlora") != std::string::npos)
      lora.frozen = FrozenFormat::nf4;
  for (const std::string& name : names.bits) {
    const auto value = settings.find(name);
    if (!value || lower(*value) == "false") continue;
    if (*value != "4" && !name.ends_with("4bit"))
      settings.fail(name, "is not modelled: frozen weights of 4 bits are, and of 16");
    lora.frozen = FrozenFormat::nf4;
  }
}

}  // namespace

AdapterNames adapters_of_nemo() {
  return {.methods = {"model.peft.peft_scheme", "peft.peft_scheme", "peft_scheme", "peft._target_",
                      "peft"},
          .ranks = {"peft.dim", "model.peft.dim", "model.peft.lora_tuning.adapter_dim",
                    "peft.lora_tuning.adapter_dim"},
          .targets = {"peft.target_modules", "model.peft.lora_tuning.target_modules",
                      "peft.lora_tuning.target_modules", "model.peft.target_modules"},
          .usual_rank = 32};
}

AdapterNames adapters_of_axolotl() {
  return {.methods = {"adapter"},
          .ranks = {"lora_r"},
          .targets = {"lora_target_modules"},
          .bits = {"load_in_4bit", "load_in_8bit"},
          .by_rank = false};
}

AdapterNames adapters_of_factory() {
  return {.methods = {"finetuning_type"},
          .ranks = {"lora_rank"},
          .targets = {"lora_target"},
          .bits = {"quantization_bit"}};
}

AdapterNames adapters_of_swift() {
  return {.methods = {"train-type", "tuner-type"},
          .ranks = {"lora-rank"},
          .targets = {"target-modules"},
          .by_rank = false};  // "full" where nothing is said, unlike "swift sft"
}

AdapterNames adapters_of_slime() {
  return {.methods = {"use-lora"},
          .ranks = {"lora-rank"},
          .targets = {"lora-target-preset", "target-modules"}};
}

void read_adapters(const FlatSettings& settings, const AdapterNames& names, ForeignLayout& found) {
  if (!has_adapters(settings, names)) return;
  Lora& lora = found.layout.lora;
  lora.rank = names.usual_rank;
  if (const auto rank = settings.find_any(names.ranks)) {
    const auto name = std::find_if(names.ranks.begin(), names.ranks.end(),
                                   [&](const auto& one) { return settings.find(one).has_value(); });
    lora.rank = settings.whole(*name, *rank, 1, most_lora_rank);
  } else {
    found.notes.push_back("the rank of adapters is taken to be " +
                          std::to_string(names.usual_rank) + ", as where nothing is said");
  }
  read_products(settings, names.targets, lora);
  read_frozen(settings, names, lora);
  found.notes.emplace_back(
      "adapters of matrices that lie side by side are counted as one pair for each");
}

void read_offload(const FlatSettings& settings, const Transformer& model, ForeignLayout& found) {
  const auto any = [&](const std::string& name) -> std::optional<std::string> {
    std::string as_flag = name;
    std::replace(as_flag.begin(), as_flag.end(), '_', '-');
    for (const std::string& whole : {"model." + name, name, "optimizer." + name, "ARGS." + name,
                                     "model_parallel." + name, as_flag}) {
      const auto value = settings.find(whole);
      if (value && lower(*value) != "false" && *value != "0") return whole;
    }
    return {};
  };
  if (const auto name = any("cpu_offloading_weights"))
    settings.fail(*name, "weights that the host keeps are not modelled");
  if (const auto name = any("fine_grained_activation_offloading"))
    settings.fail(*name, "outputs of single operations that the host keeps are not modelled");
  Offload& offload = found.layout.offload;
  if (any("optimizer_cpu_offload") || any("cpu_optimizer")) offload.of = OffloadOf::optimizer;
  if (const auto part = any("optimizer_offload_fraction"); part && any("optimizer_cpu_offload") &&
                                                           settings.find(*part) != "1.0" &&
                                                           settings.find(*part) != "1")
    settings.fail(*part, "a part of the optimizer's states on the host is not modelled");
  const auto layers = any("cpu_offloading_num_layers");
  if (!layers) return;
  const int64_t of_stage =
      std::max<int64_t>(1, model.layers / std::max<int64_t>(1, found.layout.pipeline));
  const int64_t moved =
      std::min(of_stage, settings.whole(*layers, *settings.find(*layers), 1, model.layers));
  offload.of = offload.moves_optimizer() ? OffloadOf::both : OffloadOf::activations;
  offload.percent = std::max<int64_t>(1, (100 * moved + of_stage / 2) / of_stage);
}

}  // namespace sgdsim
