// Form only: what values mean together is checked by who uses them.
#include "sim/core/fields.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgdsim {

Field Field::needed() && {
  is_needed_ = true;
  return std::move(*this);
}

Field Field::if_any() && {
  is_needed_ = false;
  if_any_ = true;
  return std::move(*this);
}

Field Field::or_null() && {
  is_needed_ = or_null_ = true;
  return std::move(*this);
}

Field Field::at_least(double least) && {
  has_limits_ = true;
  least_ = whole_limit(least);
  least_number_ = least;
  return std::move(*this);
}

int64_t Field::whole_limit(double limit) {
  constexpr auto beyond = static_cast<double>(INT64_MAX);  // rounded up: one more
  if (limit >= beyond) return INT64_MAX;
  return limit <= -beyond ? INT64_MIN : static_cast<int64_t>(limit);
}

Field Field::one_of(std::vector<std::string> names) && {
  names_ = std::move(names);
  return std::move(*this);
}

Field Field::constant(const char* text) && {
  constant_ = text;
  return std::move(*this);
}

Field Field::called(const char* noun) && {
  noun_ = noun;
  return std::move(*this);
}

Field Field::filled(const char* entry) && { return std::move(*this).entries(1, INT64_MAX, entry); }

Field Field::entries(int64_t least, int64_t most, const char* noun) && {
  least_entries_ = least;
  most_entries_ = most;
  entry_ = noun;
  return std::move(*this);
}

Field Field::or_one() && {
  takes_one_ = true;
  return std::move(*this);
}

Field Field::otherwise(const char* words) && {
  otherwise_ = words;
  return std::move(*this);
}

Field Field::also(void (*check)(const Value&)) && {
  check_ = check;
  return std::move(*this);
}

Field Field::like(Json (*own)()) && {
  schema_ = own;
  return std::move(*this);
}

Field Field::option(const char* words) && {
  option_ = words;
  return std::move(*this);
}

Field Field::files(FileWords form) && {
  files_ = form;
  return std::move(*this);
}

Field Field::or_not() && {
  has_no_ = true;
  return std::move(*this);
}

void Field::read(const Value& value) const {
  form_->read(*this, value, target_);
  if (check_ != nullptr) check_(value);
}

void Field::check_entries(const Value& list, std::size_t count) const {
  const auto entries = static_cast<int64_t>(count);
  if (entries >= least_entries_ && entries <= most_entries_) return;
  if (most_entries_ == INT64_MAX) list.fail("expected at least one " + std::string(entry_));
  const std::string least =
      least_entries_ < most_entries_ ? std::to_string(least_entries_) + " to " : "";
  list.fail("expected " + least + std::to_string(most_entries_) + " " + entry_ + ", got " +
            std::to_string(count));
}

Json Field::schema() const {
  Json json = {{"description", says_}};
  json.update(schema_ != nullptr ? schema_() : form_->schema(*this, target_));
  if (if_any_ && json.value("type", "") == "boolean")
    json = {{"description", says_}, {"const", true}};
  if (or_null_) json["type"] = Json::array({json["type"], "null"});
  return json;
}

Json Field::write() const {
  if (constant_ != nullptr) return constant_;
  Json json = form_->write(*this, target_);
  const bool is_empty = (target<std::string>() != nullptr && json == "") ||
                        (if_any_ && (json.empty() || json == false));
  return is_empty && !is_needed_ ? Json() : json;
}

std::string Field::usual() const {
  if (otherwise_ != nullptr) return otherwise_;
  const Json json = write();
  if (json.is_null() || (json.is_array() && json.empty())) return "";
  return json.is_string() ? json.get<std::string>() : json.dump();
}

Fields Fields::at_most_one(std::vector<const char*> names, const char* sentence) && {
  choices_.push_back({std::move(names), sentence});
  return std::move(*this);
}

Fields Fields::exactly_one(std::vector<const char*> names, const char* sentence,
                           const char* if_none) && {
  choices_.push_back({std::move(names), sentence, if_none != nullptr ? if_none : sentence});
  return std::move(*this);
}

Fields Fields::also(Json (*rule)()) && {
  rules_.push_back(rule);
  return std::move(*this);
}

Fields Fields::operator+(Fields more) && {
  fields_.insert(fields_.end(), std::make_move_iterator(more.fields_.begin()),
                 std::make_move_iterator(more.fields_.end()));
  choices_.insert(choices_.end(), more.choices_.begin(), more.choices_.end());
  rules_.insert(rules_.end(), more.rules_.begin(), more.rules_.end());
  return std::move(*this);
}

Fields head_fields(FileHead& head, const char* kind) {
  return {Field("schema", head.schema, "kind and version of this file").constant(kind),
          {"name", head.name, "name in results"},
          {"description", head.description, "what it shows"},
          {"source", head.source, "where its figures come from"}};
}

Field answer_kind(const char* kind) {
  return Field("schema", std::string(kind), "kind and version of this object").constant(kind);
}

void read_fields(Object& object, const Fields& fields) {
  for (const Field& field : fields) {
    if (field.is_needed())
      field.read(object.at(field.name()));
    else if (const auto value = object.find(field.name()))
      field.read(*value);
  }
  for (const Fields::Choice& choice : fields.choices()) {
    const auto given = std::count_if(choice.names.begin(), choice.names.end(),
                                     [&](const char* name) { return object.has(name); });
    if (given > 1) object.value().fail(choice.sentence);
    if (given == 0 && choice.if_none != nullptr) object.value().fail(choice.if_none);
  }
}

namespace {

Json schema_of(const Fields::Choice& choice) {
  Json one = Json::array();
  for (const char* name : choice.names) one.push_back({{"required", Json::array({name})}});
  if (choice.if_none != nullptr) return {{"oneOf", std::move(one)}};
  Json two = Json::array();
  for (std::size_t i = 0; i < choice.names.size(); ++i)
    for (std::size_t j = i + 1; j < choice.names.size(); ++j)
      two.push_back({{"required", {choice.names[i], choice.names[j]}}});
  return {{"not", two.size() == 1 ? two.front() : Json{{"anyOf", two}}}};
}

}  // namespace

Json schema_of(const Fields& fields) {
  Json json = Json::object();
  for (const Field& field : fields)
    if (field.is_needed()) json["required"].push_back(field.name());
  json["properties"] = Json::object();
  for (const Field& field : fields) json["properties"][field.name()] = field.schema();
  for (const Fields::Choice& choice : fields.choices()) json["allOf"].push_back(schema_of(choice));
  for (Json (*rule)() : fields.rules()) json["allOf"].push_back(rule());
  return json;
}

Json record_schema(const Fields& fields) {
  Json json = {{"type", "object"}, {"additionalProperties", false}};
  json.update(schema_of(fields));
  return json;
}

Json written(const Fields& fields) {
  Json json = Json::object();
  for (const Field& field : fields)
    if (Json value = field.write(); !value.is_null() || field.is_written_if_null())
      json[field.name()] = std::move(value);
  return json;
}

Json any_of(std::vector<Json> schemas) { return {{"anyOf", std::move(schemas)}}; }

Json list_schema(Json items, int64_t least, int64_t most) {
  Json json = {{"type", "array"}};
  if (least > 0) json["minItems"] = least;
  if (most < INT64_MAX) json["maxItems"] = most;
  if (!items.empty()) json["items"] = std::move(items);
  return json;
}

Json text_schema() { return {{"type", "string"}}; }
Json one_of_schema(std::vector<std::string> names) { return {{"enum", std::move(names)}}; }
Json reference(const std::string& to) { return {{"$ref", to}}; }
Json any_object_schema() { return {{"type", "object"}, {"additionalProperties", true}}; }

// ---- forms

void FormOf<bool>::read(const Field& field, const Value& value, bool& to) {
  if (field.names().empty()) {
    to = value.flag();
    return;
  }
  const std::string name = value.text();
  to = name == field.names().back();
  if (!to && name != field.names().front())
    value.fail(unknown_name(field.noun(), name, field.names()));
}

Json FormOf<bool>::schema(const Field& field, const bool&) {
  return field.names().empty() ? Json{{"type", "boolean"}} : one_of_schema(field.names());
}

Json FormOf<bool>::write(const Field& field, const bool& from) {
  return field.names().empty() ? Json(from) : Json(field.names()[from ? 1 : 0]);
}

void read_number(const Field& field, const Value& value, double& to) {
  to = value.number(field.least_number(), field.most_number());
}

int64_t read_whole_number(const Field& field, const Value& value, int64_t most) {
  return value.whole(field.least(), std::min(field.most(), most));
}

Json whole_number_schema(const Field& field) {
  Json json = {{"type", "integer"}, {"minimum", field.least()}};
  if (field.most() < INT64_MAX) json["maximum"] = field.most();
  return json;
}

Json number_schema(const Field& field) {
  Json json = {{"type", "number"}};
  if (field.has_limits()) {
    json["minimum"] = field.least_number();
    if (field.most_number() < std::numeric_limits<double>::max())
      json["maximum"] = field.most_number();
  }
  return json;
}

void FormOf<std::string>::read(const Field& field, const Value& value, std::string& to) {
  to = value.text();
  if (field.constant() != nullptr && to != field.constant())
    value.fail("expected \"" + std::string(field.constant()) + "\", got \"" + to + "\"");
  const auto& known = field.names();
  if (!known.empty() && std::find(known.begin(), known.end(), to) == known.end())
    value.fail(unknown_name(field.noun(), to, known));
  if (to.empty() && field.least_entries() > 0)
    value.fail("expected some text, got an empty string");
}

Json FormOf<std::string>::schema(const Field& field, const std::string&) {
  if (field.constant() != nullptr) return {{"const", field.constant()}};
  if (!field.names().empty()) return one_of_schema(field.names());
  Json json = text_schema();
  if (field.least_entries() > 0) json["minLength"] = field.least_entries();
  return json;
}

template <>
void QuantityForm<Duration>::read(const Field&, const Value& value, Duration& to) {
  to = value.duration();
}
template <>
void QuantityForm<Bytes>::read(const Field&, const Value& value, Bytes& to) {
  to = value.bytes();
}
template <>
void QuantityForm<Bandwidth>::read(const Field&, const Value& value, Bandwidth& to) {
  to = value.bandwidth();
}
template <>
void QuantityForm<PerByte>::read(const Field&, const Value& value, PerByte& to) {
  to = value.per_byte();
}

template <>
Json QuantityForm<Duration>::schema(const Field&, const Duration&) {
  return {{"type", "string"}, {"pattern", pattern_of_durations()}};
}
template <>
Json QuantityForm<Bytes>::schema(const Field&, const Bytes&) {
  return {{"type", "string"}, {"pattern", pattern_of_bytes()}};
}
template <>
Json QuantityForm<Bandwidth>::schema(const Field&, const Bandwidth&) {
  return {{"type", "string"}, {"pattern", pattern_of_bandwidths()}};
}
template <>
Json QuantityForm<PerByte>::schema(const Field&, const PerByte&) {
  return {{"type", "string"}, {"pattern", pattern_of_per_byte()}};
}

}  // namespace sgdsim
