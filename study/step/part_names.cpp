// The names are those of the registries.
#include "study/step/part_names.h"

#include <algorithm>
#include <array>

#include "models/compression/registry.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "sim/core/foreign_json.h"
#include "study/step/collective_field.h"

namespace sgdsim {
namespace {

template <class Kinds>
bool has(const Kinds& kinds, const std::string& name) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const auto& one) { return one.name == name; });
}

struct NamedPart {
  const char* field;
  bool (*knows)(const std::string& name);
};

constexpr std::array<NamedPart, 4> parts_by_name{{
    {"strategy", [](const std::string& name) { return has(strategies(), name); }},
    {"compression", [](const std::string& name) { return has(compressions(), name); }},
    {"synchronization", [](const std::string& name) { return has(synchronizations(), name); }},
    {"collective", [](const std::string& name) { return named_collective(name).is_object(); }},
}};

const NamedPart* part_of(const std::string& name) {
  const auto* found = std::find_if(parts_by_name.begin(), parts_by_name.end(),
                                   [&](const NamedPart& part) { return part.knows(name); });
  return found == parts_by_name.end() ? nullptr : found;
}

}  // namespace

std::string field_of_name(const std::string& name) {
  const NamedPart* part = part_of(name);
  return part == nullptr ? "" : part->field;
}

std::string name_in_part(const std::string& field, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return text_member(value, field == "collective" ? "algorithm" : "name");
}

void check_name(const Value& value, const std::string& field) {
  const std::string name = name_in_part(field, value.json());
  for (const NamedPart& part : parts_by_name)
    if (part.field == field && (name == "none" || part.knows(name))) return;
  const NamedPart* right = part_of(name);
  if (right == nullptr) return;  // of nothing: the part's own reader says so
  const std::string found = right->field;
  value.fail(name + " is a " + found + ", not a " + field + ": write " + found + "=" + name);
}

void check_names(const Value& experiment) {
  if (!experiment.json().is_object()) return;
  for (const NamedPart& part : parts_by_name)
    if (experiment.json().contains(part.field))
      check_name(experiment.child(part.field), part.field);
}

}  // namespace sgdsim
