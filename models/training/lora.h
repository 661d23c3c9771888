// Fine-tuning with frozen weights (LoRA, arXiv 2106.09685): beside each adapted matrix a pair of
// narrow ones is trained, inner x rank and rank x columns; every other weight stays as it is.
//
// Frozen matrices may be kept in fewer bits than they are computed with (QLoRA, arXiv 2305.14314,
// section 3: NF4 with quantized constants has 4.127 bits a weight); embedding, head, norms, biases
// and routers stay in BF16. Adapters are those of PEFT: each of q, k, v, o, gate, up and down has a
// pair, and each expert has its own. Their dropout and masks are not counted.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/named.h"

namespace sgdsim {

// Which matrices have adapters.
enum class LoraProducts : uint8_t { all, attention, mlp };
inline constexpr Named<LoraProducts, 3> lora_products{{{"all", LoraProducts::all},
                                                       {"attention", LoraProducts::attention},
                                                       {"mlp", LoraProducts::mlp}}};

enum class FrozenFormat : uint8_t { bf16, fp8, nf4 };
inline constexpr Named<FrozenFormat, 3> frozen_formats{
    {{"bf16", FrozenFormat::bf16}, {"fp8", FrozenFormat::fp8}, {"nf4", FrozenFormat::nf4}}};
inline const auto& names_of(FrozenFormat) { return frozen_formats; }

// Bytes of a frozen weight of a matrix.
constexpr double frozen_B(FrozenFormat format) {
  switch (format) {
    case FrozenFormat::fp8:
      return 1;
    case FrozenFormat::nf4:  // 4 bits, a byte for 64 of them, and 4 bytes for 256 of these
      return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
    case FrozenFormat::bf16:
      break;
  }
  return 2;
}

struct Lora {
  int64_t rank = 0;  // 0: all weights are trained
  LoraProducts products = LoraProducts::all;
  FrozenFormat frozen = FrozenFormat::bf16;
  bool operator==(const Lora&) const = default;
  bool is_used() const { return rank > 0; }
  bool adapts_attention() const { return is_used() && products != LoraProducts::mlp; }
  bool adapts_mlp() const { return is_used() && products != LoraProducts::attention; }
};
inline constexpr int64_t most_lora_rank = 65'536;

// "16", "16:attention", "none"; the format of frozen weights stays.
void set_lora(Lora& lora, const std::string& value, const std::string& where);
std::string lora_text(const Lora& lora);

}  // namespace sgdsim
