// Settings that stand as words of a command: "model.tensor_model_parallel_size=8", as programs with
// Hydra take them (NeMo, Megatron-Bridge).
#pragma once

#include <optional>
#include <string>

namespace sgdsim {

struct ShellOverride {
  std::string name;
  std::string value;
};

// Also with "+" or "++" before it; nothing: the word is none.
std::optional<ShellOverride> override_in(const std::string& word);
// Whether it is one of a size of a layout.
bool is_layout_override(const std::string& word);
bool has_layout_overrides(const std::string& text);

}  // namespace sgdsim
