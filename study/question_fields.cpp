// Texts take any value; the rest is as in files.
#include "study/question_fields.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

// The word that it would be on a command line.
std::string word_of(const Value& value) {
  const Json& json = value.json();
  if (json.is_string()) return value.text();
  if (json.is_null()) value.fail("expected a value, got null");
  return is_list(json) ? unpacked(json).dump() : json.dump();
}

// What a text means as a setting: "5" is no number.
std::string setting_of(const Value& value) {
  std::string word = value.json().is_null() ? "null" : word_of(value);
  const Json read = Json::parse(word, nullptr, false);
  const bool is_other = read.is_number() || read.is_boolean() || read.is_null();
  return value.json().is_string() && is_other ? value.json().dump() : word;
}

// What is read as it is has no content that could stand in its place.
void check_names_file(const Value& value) {
  if (!value.json().is_string())
    value.fail("expected the name of a file: give a file, not what is in it");
}

// {"cluster.nodes": 64} is cluster.nodes=64; where files are asked for, an object is one itself.
std::vector<std::string> words_of(const Value& value, const Field& field) {
  const bool are_files = field.file_words() != FileWords::none;
  std::vector<std::string> words;
  if (field.file_words() == FileWords::only) {
    if (is_list(value.json()))
      value.for_each_item(check_names_file);
    else
      check_names_file(value);
  }
  if (value.json().is_object() && !are_files)
    for (const auto& [path, one] : value.entries())
      words.push_back(path + "=" +
                      (std::string_view(field.name()) == "set" || one.json().is_null()
                           ? setting_of(one)
                           : word_of(one)));
  else if (is_list(value.json()))
    value.for_each_item([&](const Value& one) { words.push_back(word_of(one)); });
  else
    words.push_back(word_of(value));
  return words;
}

void check_word(const Value& value, const std::string& word) {
  if (word.empty()) value.fail("expected a value, got an empty one");
  if (const std::string problem = problem_of_text(word, true); !problem.empty())
    value.fail("has a text that " + problem);
}

void read_field(const Field& field, const Value& value) {
  if (auto* word = field.target<std::string>()) {
    if (field.file_words() == FileWords::only) check_names_file(value);
    *word = word_of(value);
    check_word(value, *word);
    const std::vector<std::string>& known = field.names();
    if (!known.empty() && std::find(known.begin(), known.end(), *word) == known.end())
      value.fail(unknown_name(field.name(), *word, known));
  } else if (auto* words = field.target<std::vector<std::string>>()) {
    *words = words_of(value, field);
    for (const std::string& one : *words) check_word(value, one);
    if (field.is_needed() && words->empty())
      value.fail("expected at least one value, got an empty list");
  } else {
    field.read(value);
  }
}

}  // namespace

void read_words(Object& object, const Fields& fields) {
  for (const Field& field : fields) {
    if (field.is_needed())
      read_field(field, object.at(field.name()));
    else if (const auto value = object.find(field.name()))
      read_field(field, *value);
  }
}

Json schema_of_words(const Fields& fields) {
  const Json any_word = {{"type", Json::array({"string", "number", "boolean", "object", "array"})}};
  const Json file = {{"type", "string"}};
  const Json files = {{"type", Json::array({"string", "array"})}, {"items", file}};
  Json json = schema_of(fields);
  for (const Field& field : fields) {
    const bool is_word = field.target<std::string>() != nullptr && field.names().empty();
    if (is_word || field.target<std::vector<std::string>>() != nullptr) {
      const bool are_names = field.file_words() == FileWords::only;
      json["properties"][field.name()] = !are_names ? any_word : is_word ? file : files;
      json["properties"][field.name()]["description"] = field.says();
      if (field.is_needed() && !is_word) json["properties"][field.name()]["minItems"] = 1;
    }
  }
  return json;
}

}  // namespace sgdsim
