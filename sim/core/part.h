// Parts that files name: a strategy, a transport, a shape of clusters. Each is one file and one
// line in the registry of its kind, and describes its options once (sim/core/fields.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/fields.h"

namespace sgdsim {

// An option of a part, for people.
struct OptionText {
  std::string name;
  std::string usual;   // what holds if it is not given; empty: nothing, or it is needed
  std::string values;  // "on, off", "1 to 1024", "a time"
  std::string says;
  bool is_needed = false;
};

struct PartOptions {
  std::vector<OptionText> texts;
  Json schema = Json::object();  // properties, and what is required
};
PartOptions options_in(const Fields& fields);
PartOptions operator+(PartOptions some, PartOptions more);
template <Record T>
PartOptions options_of() {
  T usual;
  return options_in(fields_of(usual));
}
inline PartOptions no_options() { return options_in({}); }

// A part without what is special about its kind.
struct PartText {
  std::string name;
  std::string summary;
  PartOptions options;
};
template <class Kinds>
std::vector<PartText> texts_of(const Kinds& kinds) {
  std::vector<PartText> texts;
  for (const auto& kind : kinds)
    texts.push_back({std::string(kind.name), std::string(kind.summary), kind.options()});
  return texts;
}

// A name, or an object with a `name` and the part's own options, and `general` ones of all.
// `others`: names that stand for no part, as "none".
Json schema_of_parts(const std::vector<PartText>& parts,
                     const std::vector<std::string>& others = {},
                     const Json& general = Json::object());
// Objects alone, whose parts are named by this field.
Json schema_of_parts_by(const char* key, const std::vector<PartText>& parts,
                        const Json& general = Json::object());

template <class Kinds>
const auto& part_named(const Kinds& kinds, const char* what, const std::string& name,
                       const std::string& where) {
  std::vector<std::string> known;
  for (const auto& kind : kinds) {
    if (kind.name == name) return kind;
    known.emplace_back(kind.name);
  }
  throw InputError(where, unknown_name(what, name, known));
}

// "ssp", or {"name": "ssp", "staleness": 3}: what `read` makes of the kind and its fields.
template <class Kinds, class Read>
auto read_part(const Value& value, const Kinds& kinds, const char* what, const Read& read) {
  const Json named = {{"name", value.json()}};
  Object fields(value.json().is_string() ? Value(named, value.file(), value.path()) : value);
  const Value name = fields.at("name");
  auto part = read(part_named(kinds, what, name.text(), name.where()), fields);
  fields.done();
  return part;
}

}  // namespace sgdsim
