// Three answers: yes, no, and not known.
#include "study/layout/python_values.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace sgdsim {
namespace {

struct Number {
  double value = 0;
  bool is_whole = false;
};

constexpr double largest = 1e15;

std::optional<Number> number_of(const PythonValue& value) {
  if (value.kind != PythonValue::Kind::plain || value.is_quoted) return {};
  if (value.text == "True") return Number{1, true};
  if (value.text == "False") return Number{0, true};
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stopped, problem] = std::from_chars(value.text.data(), end, number);
  if (problem != std::errc() || stopped != end || std::abs(number) > largest) return {};
  return Number{number, value.text.find_first_not_of("-0123456789") == std::string::npos};
}

PythonValue value_of(const Number& number) {
  if (!std::isfinite(number.value) || std::abs(number.value) > largest) return {};
  if (number.is_whole) return plain_value(std::to_string(static_cast<int64_t>(number.value)));
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number.value).ptr;
  std::string written(text.data(), end);
  const bool is_bare = written.find_first_of(".en") == std::string::npos;
  return plain_value(written + (is_bare ? ".0" : ""));
}

PythonValue of_numbers(const std::string& sign, const Number& a, const Number& b) {
  const bool whole = a.is_whole && b.is_whole;
  if (sign == "+") return value_of({a.value + b.value, whole});
  if (sign == "-") return value_of({a.value - b.value, whole});
  if (sign == "*") return value_of({a.value * b.value, whole});
  if (sign == "**") return value_of({std::pow(a.value, b.value), whole && b.value >= 0});
  if (b.value == 0) return {};
  const double floored = std::floor(a.value / b.value);
  if (sign == "/") return value_of({a.value / b.value, false});
  if (sign == "//") return value_of({floored, whole});
  if (sign == "%") return value_of({a.value - floored * b.value, whole});
  return {};
}

bool is_known(const PythonValue& value) {
  return value.kind == PythonValue::Kind::plain && !value.may_differ;
}

bool is_none(const PythonValue& value) {
  return is_known(value) && !value.is_quoted && value.text == "None";
}

// Nothing where it is not known. Numbers are the same however they are written.
Known are_equal(const PythonValue& left, const PythonValue& right) {
  const bool is_something =
      left.kind == PythonValue::Kind::list || (left.object && left.object->is_made);
  if (is_something && !left.may_differ && is_none(right)) return false;
  if (!is_known(left) || !is_known(right)) return {};
  const auto a = number_of(left);
  const auto b = number_of(right);
  if (a && b) return a->value == b->value;
  return left.is_quoted == right.is_quoted && left.text == right.text;
}

Known is_in(const PythonValue& value, const PythonValue& all) {
  if (all.kind != PythonValue::Kind::list || all.may_differ) return {};
  bool is_sure = true;
  for (const PythonValue& item : all.items) {
    const auto same = are_equal(value, item);
    if (same == true) return true;
    is_sure = is_sure && same;
  }
  return is_sure ? std::optional(false) : std::nullopt;
}

}  // namespace

Known compared(const std::string& sign, const PythonValue& left, const PythonValue& right) {
  if (sign == "in") return is_in(left, right);
  if (sign == "==" || sign == "is") return are_equal(left, right);
  if (sign == "!=") return opposite_of(are_equal(left, right));
  if (!is_known(left) || !is_known(right)) return {};
  const auto a = number_of(left);
  const auto b = number_of(right);
  if (!a || !b) return {};
  if (sign == "<") return a->value < b->value;
  if (sign == ">") return a->value > b->value;
  if (sign == "<=") return a->value <= b->value;
  return a->value >= b->value;
}

void PythonValue::add(const PythonValue& item) {
  constexpr std::size_t most = 300;
  weight += item.weight;
  if (weight <= most) items.push_back(item);
  if (weight > most) items.clear();
  if (weight > most) kind = Kind::unknown;
}

PythonValue PythonObjects::make(const std::string& maker, bool is_made) {
  all_.push_back({.home = this, .maker = maker, .is_made = is_made});
  return {.kind = PythonValue::Kind::object, .text = "", .object = &all_.back()};
}

std::map<std::string, PythonValue> PythonObjects::copied(
    const std::map<std::string, PythonValue>& fields, const Count& count, int depth) {
  constexpr int deepest = 15;
  count(fields.size());
  std::map<std::string, PythonValue> all = fields;
  for (auto& [name, value] : all) {
    if (value.object == nullptr || depth >= deepest) continue;
    const PythonObject& old = *value.object;
    PythonObject* const object = make(old.maker, old.is_made).object;
    object->touched = old.touched;
    object->fields = copied(old.fields, count, depth + 1);
    value.object = object;
  }
  return all;
}

void PythonObjects::add_copy(const PythonObject& from, PythonObject& to, const Count& count) {
  to.fields = copied(from.fields, count);
  if (to.is_made) return;
  to.maker = from.maker;
  to.is_made = from.is_made;
  to.touched = from.touched;
}

PythonValue& PythonObject::field(const std::string& name) {
  const auto [found, is_new] = fields.try_emplace(name);
  if (is_new) found->second = home->make();
  return found->second;
}

PythonValue plain_value(const std::string& text, bool is_quoted) {
  return {.kind = PythonValue::Kind::plain, .text = text, .is_quoted = is_quoted};
}

PythonValue truth_value(Known known) {
  return known ? plain_value(*known ? "True" : "False") : PythonValue{};
}

Known truth_of(const PythonValue& value) {
  if (!is_known(value)) return {};
  if (value.is_quoted) return !value.text.empty();
  if (value.text == "None") return false;
  const auto number = number_of(value);
  return number ? std::optional(number->value != 0) : std::nullopt;
}

PythonValue computed(const std::string& sign, const PythonValue& left, const PythonValue& right) {
  const auto a = number_of(left);
  const auto b = number_of(right);
  PythonValue value;
  if (a && b)
    value = of_numbers(sign, *a, *b);
  else if (left.is_quoted && right.is_quoted && sign == "+" && left.text.size() < 1000)
    value = plain_value(left.text + right.text, true);
  value.may_differ = left.may_differ || right.may_differ;
  return value;
}

namespace {

PythonValue in_lower_case(PythonValue value) {
  for (char& c : value.text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return value;
}

PythonValue converted(const std::string& to, PythonValue value) {
  if (!value.is_plain()) return {};
  if (to == "bool") return truth_value(truth_of(value));
  value.is_quoted = to == "str";
  return to == "int" ? computed("//", value, plain_value("1")) : value;
}

// Of "{...}.get("a", 1)".
PythonValue got(const PythonObject& object, const std::vector<PythonValue>& all) {
  const auto found = object.fields.find(all[0].text);
  if (found != object.fields.end()) return found->second;
  return all.size() > 1 ? all[1] : plain_value("None");
}

}  // namespace

std::optional<PythonValue> python_function(const std::string& path, const PythonValue& self,
                                           const std::vector<PythonValue>& all) {
  if (path == "os.getenv" || path == "os.environ.get")
    return all.size() > 1 ? all[1] : PythonValue{};
  if (path.ends_with(".lower") && self.is_quoted) return in_lower_case(self);
  if (all.empty()) return {};
  if (path.ends_with(".get") && self.object != nullptr && self.object->is_made)
    return got(*self.object, all);
  if (path == "int" || path == "str" || path == "bool") return converted(path, all[0]);
  if (all.size() != 2) return {};
  if (path == "isinstance" && all[0].is_plain() && all[1].object != nullptr)
    return truth_value(all[0].is_quoted == (all[1].object->maker == "str"));
  if (path != "max" && path != "min") return {};
  const auto is_first = compared(path == "max" ? ">" : "<", all[0], all[1]);
  return !is_first ? PythonValue{} : *is_first ? all[0] : all[1];
}

PythonValue item_of(const PythonValue& value, const PythonValue& key) {
  if (!key.is_plain()) return {};
  if (key.is_quoted) return member_of(value, key.text);
  const auto place = number_of(key);
  if (value.kind != PythonValue::Kind::list || !place) return {};
  const double from = place->value < 0 ? static_cast<double>(value.items.size()) : 0;
  const double at = place->value + from;
  if (at < 0 || at >= static_cast<double>(value.items.size())) return {};
  return value.items[static_cast<std::size_t>(at)];
}

PythonValue member_of(const PythonValue& value, const std::string& name) {
  if (value.object == nullptr) return {};
  PythonValue found = value.object->field(name);
  found.may_differ = found.may_differ || value.may_differ;
  return found;
}

std::optional<std::vector<PythonValue>> items_of(const PythonValue& value, bool are_pairs) {
  if (value.may_differ) return {};
  if (!are_pairs)
    return value.kind == PythonValue::Kind::list ? std::optional(value.items) : std::nullopt;
  if (value.object == nullptr || value.object->maker != "dict") return {};
  std::vector<PythonValue> all;
  for (const auto& [name, field] : value.object->fields) {
    PythonValue pair{.kind = PythonValue::Kind::list, .text = ""};
    pair.add(plain_value(name, true));
    pair.add(field);
    all.push_back(pair);
  }
  return all;
}

std::optional<std::string> text_of_value(const PythonValue& value) {
  if (value.is_plain()) return value.text;
  if (value.object != nullptr && value.object->is_made) return value.object->maker;
  if (value.kind != PythonValue::Kind::list) return {};
  std::string all;
  for (const PythonValue& item : value.items) {
    const auto text = text_of_value(item);
    if (!text) return {};
    all += (all.empty() ? "" : ", ") + *text;
  }
  return "[" + all + "]";
}

bool is_class_name(const std::string& path) {
  const std::string last = path.substr(path.rfind('.') + 1);
  return !last.empty() && std::isupper(static_cast<unsigned char>(last.front())) != 0;
}

}  // namespace sgdsim
