// Splitting the text, and finding the fields that it means.
#include "study/step/method.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/core/error.h"
#include "study/step/override.h"
#include "study/step/part_names.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_label = 80;
constexpr std::size_t most_methods = 1000;

// The fields of an experiment that say how gradients are exchanged and computed; the trace and the
// cluster are axes of their own.
constexpr std::array<std::string_view, 14> whole_fields = {
    "strategy",     "compression", "synchronization", "collective",  "channels",
    "interference", "alone",       "workers",         "fidelity",    "transport",
    "traffic",      "iterations",  "warm_up",         "accumulation"};

// `lost` and `absent` are of lessons (`sgdsim learn`), not of experiments, which refuse them.
bool is_field(const std::string& step) {
  return step == "lost" || step == "absent" || step == "cluster" || step == "trace" ||
         step == "convergence" ||
         std::find(whole_fields.begin(), whole_fields.end(), step) != whole_fields.end();
}

class MethodReader {
 public:
  MethodReader(std::string label, std::string where) : where_(std::move(where)) {
    method_.label = std::move(label);
    if (method_.label.empty()) throw InputError(where_, "expected a label before the colon");
    if (method_.label.size() > longest_label)
      throw InputError(where_, "a label has at most " + std::to_string(longest_label) + " bytes");
  }

  // A known name without a field.
  void name(const std::string& text) {
    const std::string field = field_of_name(text);
    if (field.empty())
      throw InputError(where_, "\"" + text.substr(0, 60) +
                                   "\" is no name of a strategy, compression, synchronization or "
                                   "collective; write field=value, as in strategy=ddp");
    set(field, text);
  }

  void set(const std::string& field, Json value) {
    std::vector<std::string> steps = steps_of(field, where_);
    std::string path = field;
    if (!is_field(steps.front())) {
      if (part_.empty())
        throw InputError(where_, "\"" + field.substr(0, 60) +
                                     "\" is no field of an experiment; name what it belongs to "
                                     "before it, as in compression=gtopk, density=0.001");
      path = part_ + "." + field;
    } else {
      part_ = steps.front();
    }
    if (path == "trace" || path == "cluster")
      throw InputError(where_, "a method says how gradients are exchanged; another " + path +
                                   " is an axis: --axis " + path + "=...");
    for (const auto& [other, set] : method_.fields)
      if (other == path) throw InputError(where_, path + " is set twice");
    method_.fields.emplace_back(std::move(path), std::move(value));
  }

  Method method() {
    if (method_.fields.empty())
      throw InputError(where_, "sets nothing: expected field=value, as in strategy=ddp");
    if (sets("synchronization") && !sets("strategy"))
      method_.fields.insert(method_.fields.begin(), {"strategy", nullptr});
    return std::move(method_);
  }

 private:
  bool sets(const char* field) const {
    return std::any_of(method_.fields.begin(), method_.fields.end(),
                       [&](const auto& one) { return one.first == field && one.second != "none"; });
  }

  std::string where_;
  std::string part_;  // that was named last
  Method method_;
};

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(' ');
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

// At commas outside of JSON.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false, escaped = false;
  for (const char letter : text) {
    if (letter == ',' && depth <= 0 && !quoted) {
      parts.emplace_back();
      continue;
    }
    parts.back() += letter;
    if (letter == '"' && !escaped) quoted = !quoted;
    escaped = letter == '\\' && !escaped;
    if (quoted) continue;
    if (letter == '{' || letter == '[') ++depth;
    if (letter == '}' || letter == ']') --depth;
  }
  return parts;
}

// Where the label ends: at a colon with a blank behind it, before anything is set.
std::size_t end_of_label(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon != std::string::npos && text.find('=') > colon ? colon : std::string::npos;
}

}  // namespace

Method method_in(const std::string& text, const std::string& option) {
  const std::string where = option + " " + text.substr(0, longest_label);
  const std::size_t colon = end_of_label(text);
  const bool has_label = colon != std::string::npos;
  MethodReader reader(trimmed(has_label ? text.substr(0, colon) : text), where);
  for (const std::string& given : parts_of(has_label ? text.substr(colon + 1) : text)) {
    const std::string part = trimmed(given);
    if (part.empty()) throw InputError(where, "expected field=value between commas");
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      reader.name(part);
    else
      reader.set(trimmed(part.substr(0, equals)),
                 value_in(trimmed(part.substr(equals + 1)), where));
  }
  return reader.method();
}

std::vector<Method> methods_in(const Value& axis) {
  std::vector<Method> methods;
  for (const auto& [label, fields] : axis.entries()) {
    if (fields.json().is_string()) {
      MethodReader reader(label, fields.where());
      reader.name(fields.text());
      methods.push_back(reader.method());
      continue;
    }
    MethodReader reader(label, fields.where());
    for (const auto& [field, value] : fields.entries()) reader.set(field, value.json());
    methods.push_back(reader.method());
  }
  check_distinct(methods, axis.where());
  return methods;
}

void check_distinct(const std::vector<Method>& methods, const std::string& where) {
  if (methods.empty()) throw InputError(where, "expected at least one method");
  if (methods.size() > most_methods)
    throw InputError(where, "expected at most " + std::to_string(most_methods) + " methods");
  for (std::size_t i = 0; i < methods.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (methods[i].label == methods[j].label)
        throw InputError(where, "two methods are called \"" + methods[i].label + "\"");
      if (methods[i].fields == methods[j].fields)
        throw InputError(where, "\"" + methods[i].label + "\" and \"" + methods[j].label +
                                    "\" set the same fields");
    }
}

std::vector<std::string> settings_of(const Method& method) {
  std::vector<std::string> settings;
  for (const auto& [field, value] : method.fields) settings.push_back(field + "=" + value.dump());
  return settings;
}

Json to_json(const std::vector<Method>& methods) {
  Json json = Json::object();
  for (const Method& method : methods)
    for (const auto& [field, value] : method.fields) json[method.label][field] = value;
  return json;
}

}  // namespace sgdsim
