// The words of lora: "16", "16:attention", "none".
#include "models/training/lora.h"

#include "models/training/word_values.h"

namespace sgdsim {

void set_lora(Lora& lora, const std::string& value, const std::string& where) {
  lora = {.frozen = lora.frozen};
  if (value == "none") return;
  const std::size_t colon = value.find(':');
  const std::string word = "lora=";
  lora.rank = number_in(word + value.substr(0, colon), word.size(), 1, most_lora_rank, where);
  if (colon != std::string::npos)
    lora.products = named_in(lora_products, "products of lora", value.substr(colon + 1), where);
}

std::string lora_text(const Lora& lora) {
  if (!lora.is_used()) return "none";
  const bool is_all = lora.products == LoraProducts::all;
  return std::to_string(lora.rank) +
         (is_all ? "" : ":" + std::string(name_in(lora_products, lora.products)));
}

}  // namespace sgdsim
