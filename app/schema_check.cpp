// One function per keyword, in a table.
#include "app/schema_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>

#include "app/schemas.h"

namespace sgdsim {
namespace {

using Faults = std::vector<std::string>;

// "../collective/1" seen from "sgdsim/collective-sweep/1" is "sgdsim/collective/1".
std::string resolved(const std::string& reference, const std::string& base) {
  std::string folder = base.substr(0, base.rfind('/'));
  std::string rest = reference;
  while (rest.starts_with("../")) {
    rest = rest.substr(3);
    const std::size_t slash = folder.rfind('/');
    folder = slash == std::string::npos ? "" : folder.substr(0, slash);
  }
  return folder.empty() ? rest : folder + "/" + rest;
}

// A schema and the file it stands in.
struct Place {
  const SchemaShelf& shelf;
  const std::string& id;
  const Json& schema;

  Place at(const Json& other) const { return {shelf, id, other}; }
  // What "$ref" names, or nothing.
  const Json* find(const std::string& reference, const std::string*& file) const {
    const std::size_t hash = reference.find('#');
    const std::string other = reference.substr(0, hash);
    const auto found = shelf.find(other.empty() ? id : resolved(other, id));
    if (found == shelf.end()) return nullptr;
    file = &found->first;
    if (hash == std::string::npos) return &found->second;
    const Json::json_pointer pointer(reference.substr(hash + 1));
    return found->second.contains(pointer) ? &found->second.at(pointer) : nullptr;
  }
};

Faults faults(const Place& place, const Json& value, const std::string& path);

bool fits(const Place& place, const Json& value) { return faults(place, value, "").empty(); }

void add(Faults& all, const Faults& more) { all.insert(all.end(), more.begin(), more.end()); }

std::size_t fitting(const Place& place, const Json& list, const Json& value) {
  std::size_t count = 0;
  for (const Json& one : list) count += fits(place.at(one), value) ? 1U : 0U;
  return count;
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  return type == "integer" && (value.is_number_integer() ||
                               (value.is_number() && value == std::floor(value.get<double>())));
}

std::size_t letters(const Json& text) {  // UTF-8: bytes that do not continue a letter
  std::size_t count = 0;
  for (const char c : text.get<std::string>())
    count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
  return count;
}

Faults check_reference(const Place& place, const Json& rule, const Json& value,
                       const std::string& path) {
  const std::string* file = nullptr;
  const Json* target = place.find(rule, file);
  if (target == nullptr) return {path + ": refers to nothing: " + rule.dump()};
  return faults({place.shelf, *file, *target}, value, path);
}

Faults check_required(const Place&, const Json& rule, const Json& value, const std::string& path) {
  Faults all;
  if (value.is_object())
    for (const std::string name : rule)
      if (!value.contains(name)) all.push_back(path + ": lacks " + name);
  return all;
}

Faults check_properties(const Place& place, const Json& rule, const Json& value,
                        const std::string& path) {
  Faults all;
  if (value.is_object())
    for (const auto& [name, schema] : rule.items())
      if (value.contains(name)) add(all, faults(place.at(schema), value[name], path + "/" + name));
  return all;
}

Faults check_additional(const Place& place, const Json& rule, const Json& value,
                        const std::string& path) {
  Faults all;
  if (!value.is_object()) return all;
  for (const auto& [name, member] : value.items()) {
    if (place.schema.contains("properties") && place.schema["properties"].contains(name)) continue;
    if (rule == false)
      all.push_back(path + ": has the unknown field " + name);
    else
      add(all, faults(place.at(rule), member, path + "/" + name));
  }
  return all;
}

Faults check_names(const Place& place, const Json& rule, const Json& value,
                   const std::string& path) {
  Faults all;
  if (value.is_object())
    for (const auto& [name, member] : value.items())
      if (!fits(place.at(rule), name)) all.push_back(path + ": may not have " + name);
  return all;
}

Faults check_items(const Place& place, const Json& rule, const Json& value,
                   const std::string& path) {
  Faults all;
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      add(all, faults(place.at(rule), value[i], path + "/" + std::to_string(i)));
  return all;
}

Faults check_contains(const Place& place, const Json& rule, const Json& value,
                      const std::string& path) {
  if (!value.is_array()) return {};
  std::size_t count = 0;
  for (const Json& item : value) count += fits(place.at(rule), item) ? 1U : 0U;
  if (count >= 1 && count <= place.schema.value("maxContains", value.size())) return {};
  return {path + ": contains " + std::to_string(count)};
}

Faults check_condition(const Place& place, const Json& rule, const Json& value,
                       const std::string& path) {
  const std::string branch = fits(place.at(rule), value) ? "then" : "else";
  if (!place.schema.contains(branch)) return {};
  return faults(place.at(place.schema[branch]), value, path);
}

// The rest is a yes or no.
using Test = std::function<bool(const Place&, const Json& rule, const Json& value)>;

bool in_order(const Json& low, const Json& high) {
  return !low.is_number() || !high.is_number() || low.get<double>() <= high.get<double>();
}

const std::map<std::string, Test>& tests() {
  static const std::map<std::string, Test> table = {
      {"type",
       [](const Place&, const Json& rule, const Json& v) {
         if (rule.is_string()) return has_type(v, rule);
         return std::any_of(rule.begin(), rule.end(),
                            [&](const Json& type) { return has_type(v, type); });
       }},
      {"const", [](const Place&, const Json& rule, const Json& v) { return v == rule; }},
      {"enum", [](const Place&, const Json& rule,
                  const Json& v) { return std::find(rule.begin(), rule.end(), v) != rule.end(); }},
      {"minimum", [](const Place&, const Json& rule, const Json& v) { return in_order(rule, v); }},
      {"maximum", [](const Place&, const Json& rule, const Json& v) { return in_order(v, rule); }},
      {"multipleOf",
       [](const Place&, const Json& rule, const Json& v) {
         return !v.is_number() || std::remainder(v.get<double>(), rule.get<double>()) == 0;
       }},
      {"minLength", [](const Place&, const Json& rule,
                       const Json& v) { return !v.is_string() || letters(v) >= rule; }},
      {"maxLength", [](const Place&, const Json& rule,
                       const Json& v) { return !v.is_string() || letters(v) <= rule; }},
      {"pattern",
       [](const Place&, const Json& rule, const Json& v) {
         return !v.is_string() ||
                std::regex_search(v.get<std::string>(), std::regex(rule.get<std::string>()));
       }},
      {"minItems", [](const Place&, const Json& rule,
                      const Json& v) { return !v.is_array() || v.size() >= rule; }},
      {"maxItems", [](const Place&, const Json& rule,
                      const Json& v) { return !v.is_array() || v.size() <= rule; }},
      {"minProperties", [](const Place&, const Json& rule,
                           const Json& v) { return !v.is_object() || v.size() >= rule; }},
      {"anyOf", [](const Place& place, const Json& rule,
                   const Json& v) { return fitting(place, rule, v) > 0; }},
      {"oneOf", [](const Place& place, const Json& rule,
                   const Json& v) { return fitting(place, rule, v) == 1; }},
      {"not", [](const Place& place, const Json& rule,
                 const Json& v) { return !fits(place.at(rule), v); }},
  };
  return table;
}

using Check = Faults (*)(const Place&, const Json& rule, const Json& value, const std::string&);

const std::map<std::string, Check>& checks() {
  static const std::map<std::string, Check> table = {
      {"$ref", check_reference},
      {"required", check_required},
      {"properties", check_properties},
      {"additionalProperties", check_additional},
      {"propertyNames", check_names},
      {"items", check_items},
      {"contains", check_contains},
      {"if", check_condition},
      {"allOf",
       [](const Place& place, const Json& rule, const Json& value, const std::string& path) {
         Faults all;
         for (const Json& one : rule) add(all, faults(place.at(one), value, path));
         return all;
       }},
  };
  return table;
}

Faults faults(const Place& place, const Json& value, const std::string& path) {
  Faults all;
  for (const auto& [keyword, rule] : place.schema.items()) {
    if (const auto check = checks().find(keyword); check != checks().end())
      add(all, check->second(place, rule, value, path));
    else if (const auto test = tests().find(keyword); test != tests().end())
      if (!test->second(place, rule, value))
        all.push_back(path + ": " + value.dump().substr(0, 80) + " breaks " + keyword + " " +
                      rule.dump().substr(0, 200));
  }
  return all;
}

// ---- schemas themselves

const std::vector<std::string> notes = {"$schema",     "$id",  "$defs", "title",
                                        "description", "then", "else",  "maxContains"};

bool is_known(const std::string& keyword) {
  return checks().contains(keyword) || tests().contains(keyword) ||
         std::find(notes.begin(), notes.end(), keyword) != notes.end();
}

// Calls f(schema, path) for every schema directly inside this one.
template <class F>
void for_each_inside(const Json& schema, const std::string& path, const F& f) {
  for (const std::string key : {"properties", "$defs"})
    if (schema.contains(key))
      for (const auto& [name, one] : schema[key].items()) f(one, path + "/" + key + "/" + name);
  for (const std::string key :
       {"additionalProperties", "propertyNames", "items", "contains", "if", "then", "else", "not"})
    if (schema.contains(key) && schema[key].is_object()) f(schema[key], path + "/" + key);
  for (const std::string key : {"allOf", "anyOf", "oneOf"})
    if (schema.contains(key))
      for (std::size_t i = 0; i < schema[key].size(); ++i)
        f(schema[key][i], path + "/" + key + "/" + std::to_string(i));
}

void check_schema(const Place& place, const std::string& path, Faults& all) {
  const Json& schema = place.schema;
  for (const auto& [keyword, rule] : schema.items())
    if (!is_known(keyword)) all.push_back(path + ": unknown keyword " + keyword);
  const std::string* file = nullptr;
  if (schema.contains("$ref") && place.find(schema["$ref"], file) == nullptr)
    all.push_back(path + ": refers to nothing: " + schema["$ref"].dump());
  // A schema with a type describes fields; one without only adds conditions.
  if (schema.contains("type") && schema["type"] == "object") {
    if (!schema.contains("additionalProperties"))
      all.push_back(path + ": does not say whether other fields are allowed");
    if (schema.contains("properties"))
      for (const auto& [name, field] : schema["properties"].items())
        if (field.value("description", "").size() < 5)
          all.push_back(path + ": " + name + " has no description");
  }
  for_each_inside(schema, path, [&](const Json& inner, const std::string& inner_path) {
    check_schema(place.at(inner), inner_path, all);
  });
}

}  // namespace

SchemaShelf embedded_shelf() {
  SchemaShelf shelf;
  for (Schema& schema : all_schemas()) {
    const std::string id = schema.json.value("$id", schema.name);
    shelf[id] = std::move(schema.json);
  }
  return shelf;
}

Faults faults_of_schema(const SchemaShelf& shelf, const std::string& id) {
  Faults all;
  const Json& schema = shelf.at(id);
  for (const char* key : {"$schema", "$id", "title", "description", "type"})
    if (!schema.contains(key)) all.push_back("/: lacks " + std::string(key));
  check_schema({shelf, id, schema}, "", all);
  return all;
}

Faults faults_of_value(const SchemaShelf& shelf, const std::string& id, const Json& value) {
  const auto found = shelf.find(id);
  if (found == shelf.end()) return {"/: there is no schema " + id};
  return faults({shelf, id, found->second}, value, "");
}

}  // namespace sgdsim
