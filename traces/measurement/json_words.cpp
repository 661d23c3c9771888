// Numbers and texts of benchmarks.
#include "traces/measurement/json_words.h"

#include <string>

#include "traces/json_members.h"
#include "traces/measurement/words.h"

namespace sgdsim {

std::optional<double> number_of(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name)) return std::nullopt;
  const Json& value = json[name];
  if (value.is_number()) return number_member(json, name);
  if (value.is_string()) return number_word(value.get_ref<const std::string&>());
  return std::nullopt;
}

std::string_view text_of(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name) || !json[name].is_string()) return {};
  return json[name].get_ref<const std::string&>();
}

}  // namespace sgdsim
