// By the name before the sign, which has a dot in it: a variable of a shell has none.
#include "study/layout/shell_overrides.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

// NeMo's launcher has the settings of a training in a table of their own.
std::string without_launcher(const std::string& name) {
  constexpr std::string_view table = "training.";
  const std::string rest = name.substr(name.starts_with(table) ? table.size() : 0);
  return rest.starts_with("model.") || rest.starts_with("trainer.") ? rest : name;
}

bool is_dotted_name(const std::string& text) {
  return is_setting_name(text) && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         text.find('.') != std::string::npos;
}

}  // namespace

std::optional<ShellOverride> override_in(const std::string& word) {
  const std::string bare = unquoted(word);
  const std::size_t from = std::min(bare.find_first_not_of('+'), bare.size());
  const std::size_t sign = bare.find('=', from);
  if (from > 2 || sign == std::string::npos) return {};
  const std::string name = bare.substr(from, sign - from);
  if (!is_dotted_name(name)) return {};
  return ShellOverride{without_launcher(name), unquoted(bare.substr(sign + 1))};
}

bool is_layout_override(const std::string& word) {
  const auto one = override_in(word);
  if (!one) return false;
  const std::string last = one->name.substr(one->name.rfind('.') + 1);
  const std::initializer_list<const char*> sizes = {
      "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
      "expert_model_parallel_size", "expert_tensor_parallel_size",  "micro_batch_size",
      "global_batch_size"};
  return std::find(sizes.begin(), sizes.end(), last) != sizes.end();
}

bool has_layout_overrides(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (is_layout_override(word)) return true;
  return false;
}

}  // namespace sgdsim
