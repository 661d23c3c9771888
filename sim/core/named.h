// Values that have names in files and on command lines.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {

template <typename Value, std::size_t count>
using Named = std::array<std::pair<std::string_view, Value>, count>;

template <typename Value, std::size_t count>
std::string_view name_in(const Named<Value, count>& all, Value value) {
  for (const auto& [name, one] : all)
    if (one == value) return name;
  return "";
}

template <typename Value, std::size_t count>
std::vector<std::string> names_in(const Named<Value, count>& all) {
  std::vector<std::string> names;
  for (const auto& [name, value] : all) names.emplace_back(name);
  return names;
}

// InputError if there is none; `kind`: what the values are, for people.
template <typename Value, std::size_t count>
Value named_in(const Named<Value, count>& all, const std::string& kind, const std::string& name,
               const std::string& where) {
  for (const auto& [text, value] : all)
    if (text == name) return value;
  throw InputError(where, unknown_name(kind, name, names_in(all)));
}

}  // namespace sgdsim
