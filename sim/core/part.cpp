// Options as texts, and schemas of all parts of a kind.
#include "sim/core/part.h"

namespace sgdsim {
namespace {

std::string list_of(const Json& names) {
  std::string list;
  for (const Json& name : names)
    list += (list.empty() ? "" : ", ") + (name.is_string() ? name.get<std::string>() : name.dump());
  return list;
}

std::string values_in(const Json& schema) {
  if (schema.contains("enum")) return list_of(schema["enum"]);
  if (schema.value("type", "") == "boolean") return "true, false";
  if (schema.contains("minimum") && schema.contains("maximum"))
    return schema["minimum"].dump() + " to " + schema["maximum"].dump();
  if (schema.contains("minimum") && schema["minimum"] != 0)
    return "from " + schema["minimum"].dump() + " on";
  return "";
}

// The fields of both.
void add(Json& json, const Json& more) {
  for (const char* list : {"required", "allOf"})
    if (more.contains(list))
      for (const Json& one : more[list]) json[list].push_back(one);
  if (more.contains("properties")) json["properties"].update(more["properties"]);
}

// The schema of an object: that name, general options and the part's own.
Json schema_of(const PartText& part, const char* key, const Json& general) {
  Json json = {{"type", "object"},
               {"required", Json::array({key})},
               {"additionalProperties", false},
               {"properties", {{key, {{"description", part.summary}, {"const", part.name}}}}}};
  add(json, general);
  add(json, part.options.schema);
  return json;
}

}  // namespace

PartOptions options_in(const Fields& fields) {
  PartOptions options;
  options.schema = schema_of(fields);
  for (const Field& field : fields)
    options.texts.push_back({field.name(), field.is_needed() ? "" : field.usual(),
                             values_in(options.schema["properties"][field.name()]), field.says(),
                             field.is_needed()});
  return options;
}

PartOptions operator+(PartOptions some, PartOptions more) {
  some.texts.insert(some.texts.end(), more.texts.begin(), more.texts.end());
  add(some.schema, more.schema);
  return some;
}

Json schema_of_parts_by(const char* key, const std::vector<PartText>& parts, const Json& general) {
  std::vector<std::string> names;
  for (const PartText& part : parts) names.push_back(part.name);
  Json json = {
      {"type", "object"}, {"required", Json::array({key})}, {"additionalProperties", true}};
  json["properties"][key] = {{"description", "which one"}, {"enum", names}};
  for (const PartText& part : parts) {
    const Json is_named = {{"properties", {{key, {{"const", part.name}}}}},
                           {"required", Json::array({key})}};
    json["allOf"].push_back({{"if", is_named}, {"then", schema_of(part, key, general)}});
  }
  return json;
}

Json schema_of_parts(const std::vector<PartText>& parts, const std::vector<std::string>& others,
                     const Json& general) {
  std::vector<std::string> names;
  for (const PartText& part : parts) names.push_back(part.name);
  names.insert(names.end(), others.begin(), others.end());
  return any_of({one_of_schema(std::move(names)), schema_of_parts_by("name", parts, general)});
}

}  // namespace sgdsim
