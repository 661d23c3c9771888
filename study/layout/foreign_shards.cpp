// By each program's names; flags of Megatron-LM have dashes.
#include "study/layout/foreign_shards.h"

#include <vector>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

using ShardNames = std::vector<std::string>;

// The first of these that is there.
std::optional<std::string> named_of(const FlatSettings& settings, const ShardNames& names) {
  for (const std::string& name : names)
    if (settings.find(name)) return name;
  return std::nullopt;
}

bool is_on(const FlatSettings& settings, const ShardNames& names) {
  const auto name = named_of(settings, names);
  return name && settings.flag(*name, *settings.find(*name));
}

int zero_of_strategy(const FlatSettings& settings) {
  const std::string name = "model.fsdp_sharding_strategy";
  const std::string strategy = settings.find(name).value_or("full");
  if (strategy == "full") return 3;
  if (strategy == "grad") return 2;
  if (strategy == "hybrid")
    settings.fail(name,
                  "is hybrid, and how many copies of the shards there are follows from the nodes "
                  "it runs on; say it with --layout \"... zero3 hsdp4\"");
  settings.fail(name, unknown_name("strategy", strategy, {"full", "grad", "hybrid"}));
}

// Modules of Megatron-LM itself: those of mcore always write scores, older ones without a flag.
bool has_local_attention(const FlatSettings& settings) {
  return settings.find("transformer-impl").value_or("") == "local" &&
         (!is_on(settings, {"use-flash-attn"}) || is_on(settings, {"use-mcore-models"}));
}

}  // namespace

std::optional<int> zero_of_torch(const FlatSettings& settings) {
  if (is_on(settings, {"use-torch-fsdp2", "dist.use_torch_fsdp2", "ddp.use_torch_fsdp2",
                       "model.use_torch_fsdp2", "ARGS.use_torch_fsdp2", "use_torch_fsdp2"}))
    return 3;
  if (is_on(settings, {"model.fsdp"})) return zero_of_strategy(settings);
  return std::nullopt;
}

bool keeps_torch_weights(const FlatSettings& settings) {
  if (is_on(settings, {"torch-fsdp2-no-reshard-after-forward"})) return true;
  const std::string name = "torch-fsdp2-reshard-after-forward";
  const std::string when = settings.find(name).value_or("auto");
  if (when != "auto" && when != "true" && when != "false")
    settings.fail(
        name, "is not modelled with groups of ranks; with true, false or auto, the rest can be");
  return when == "false";
}

// "unfused", or AttnBackend.unfused of a recipe.
bool writes_scores(const FlatSettings& settings) {
  const auto name = named_of(settings, {"attention-backend", "model.attention_backend",
                                        "ARGS.attention_backend", "attention_backend"});
  const std::string value = name ? *settings.find(*name) : "auto";
  const std::string backend = value.substr(value.rfind('.') + 1);
  if (backend == "auto") return has_local_attention(settings);
  return backend == "unfused" || backend == "local";
}

}  // namespace sgdsim
