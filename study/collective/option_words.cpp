// Splitting at the first =.
#include "study/collective/option_words.h"

#include <algorithm>

namespace sgdsim {

std::string option_key(const std::string& option) { return option.substr(0, option.find('=')); }

std::string option_value(const std::string& option) {
  return option.substr(std::min(option.size(), option.find('=') + 1));
}

std::vector<std::string> names_of(const std::vector<OptionKey>& keys) {
  std::vector<std::string> names;
  for (const OptionKey& key : keys) names.emplace_back(key.name);
  return names;
}

}  // namespace sgdsim
