// The words of offload: "activations", "both:40", "optimizer".
#include "models/training/offload.h"

#include "models/training/word_values.h"

namespace sgdsim {

void set_offload(Offload& offload, const std::string& value, const std::string& where) {
  const std::size_t colon = value.find(':');
  offload = {named_in(offload_names, "offload", value.substr(0, colon), where)};
  if (colon == std::string::npos) return;
  if (!offload.moves_activations())
    throw InputError(where, "offload=" + value.substr(0, colon) +
                                " takes no number; activations:40 and both:40 are 40 percent of "
                                "the activations");
  const std::string word = "offload=";
  offload.percent = number_in(word + value, word.size() + colon + 1, 1, 100, where);
}

std::string offload_text(const Offload& offload) {
  std::string text(name_in(offload_names, offload.of));
  if (offload.moves_activations() && offload.percent < 100)
    text += ":" + std::to_string(offload.percent);
  return text;
}

}  // namespace sgdsim
