// Modules of a layer that a backward pass computes again by themselves, by the names of
// Megatron-LM (--recompute-modules), whose outputs are then not kept.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/named.h"

namespace sgdsim {

enum class RecomputedModule : uint8_t {
  core_attn,       // scores of attention
  layernorm,       // norms before attention and before what follows it
  mla_up_proj,     // of latent attention: queries, keys and values from the narrow vectors
  mlp,             // of a dense layer
  moe,             // all of a layer's experts, with their exchanges
  moe_act,         // their activation function
  shared_experts,  // those that every token visits
};
inline constexpr Named<RecomputedModule, 7> recomputed_modules{
    {{"core_attn", RecomputedModule::core_attn},
     {"layernorm", RecomputedModule::layernorm},
     {"mla_up_proj", RecomputedModule::mla_up_proj},
     {"mlp", RecomputedModule::mlp},
     {"moe", RecomputedModule::moe},
     {"moe_act", RecomputedModule::moe_act},
     {"shared_experts", RecomputedModule::shared_experts}}};

class RecomputedModules {
 public:
  bool has(RecomputedModule module) const { return (bits_ & bit(module)) != 0; }
  void set(RecomputedModule module, bool is_in = true) {
    bits_ = static_cast<uint8_t>(is_in ? bits_ | bit(module) : bits_ & ~bit(module));
  }
  bool are_none() const { return bits_ == 0; }
  bool operator==(const RecomputedModules&) const = default;

 private:
  static uint8_t bit(RecomputedModule module) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(module));
  }
  uint8_t bits_ = 0;
};

// "moe_act+mla_up_proj".
RecomputedModules parse_modules(const std::string& text, const std::string& where);
std::string to_text(const RecomputedModules& modules);

}  // namespace sgdsim
