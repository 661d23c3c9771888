// One value after the other into the column of its path.
#include "study/typed_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "sim/core/cases.h"

namespace sgdsim {
namespace {

using Column = TypedColumns::Column;
using Type = TypedColumns::Type;

constexpr int64_t most_exact = int64_t{1} << 53;  // of whole numbers among others

Type type_of(const FigureValue& value) {
  return std::visit(
      Cases{[](std::monostate) { return Type::nothing; }, [](bool) { return Type::flag; },
            [](int64_t) { return Type::whole; },
            // JSON has no word for what is not a number, and neither have the columns.
            [](double one) { return std::isfinite(one) ? Type::number : Type::nothing; },
            [](const std::string&) { return Type::text; }},
      value);
}

bool is_exact(int64_t whole) { return whole >= -most_exact && whole <= most_exact; }

bool bit_of(const std::vector<uint8_t>& bits, int64_t row) {
  return ((bits[static_cast<std::size_t>(row / 8)] >> (row % 8)) & 1U) != 0;
}

void add_bit(std::vector<uint8_t>& bits, int64_t row, bool value) {
  if (row % 8 == 0) bits.push_back(0);
  if (value) bits.back() = static_cast<uint8_t>(bits.back() | (1U << (row % 8)));
}

int32_t place_in(Column& column, const std::string& text) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int32_t>::max());
  // Runs of one text are common: the place of the row before first. Without any text yet, the rows
  // before have none.
  if (!column.place_of.empty() && !column.places.empty()) {
    const int32_t last = column.places.back();
    const auto at = static_cast<std::size_t>(last);
    const auto begin = static_cast<std::size_t>(column.ends[at]);
    const auto end = static_cast<std::size_t>(column.ends[at + 1]);
    if (std::string_view(column.letters).substr(begin, end - begin) == text) return last;
  }
  if (column.place_of.size() == most)
    throw std::runtime_error("a column cannot hold more than 2^31 - 1 different texts");
  const auto [found, is_new] =
      column.place_of.try_emplace(text, static_cast<int32_t>(column.place_of.size()));
  if (is_new) {
    column.letters += text;
    column.ends.push_back(static_cast<int64_t>(column.letters.size()));
  }
  return found->second;
}

FigureValue value_at(const Column& column, int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  if (!bit_of(column.is_there, row)) return {};
  if (column.type == Type::flag) return bit_of(column.flags, row);
  if (column.type == Type::whole) return column.wholes[at];
  return column.numbers[at];
}

// Behind all that the column has: a value of its own type, as nearly all are; false: it is of
// another.
bool push_own(Column& column, const FigureValue& value) {
  switch (column.type) {
    case Type::whole:
      if (const auto* one = std::get_if<int64_t>(&value)) {
        column.wholes.push_back(*one);
        break;
      }
      return false;
    case Type::number:
      if (const auto* one = std::get_if<double>(&value); one != nullptr && std::isfinite(*one)) {
        column.numbers.push_back(*one);
        break;
      }
      return false;
    case Type::text:
      if (const auto* one = std::get_if<std::string>(&value)) {
        column.places.push_back(place_in(column, *one));
        break;
      }
      return false;
    case Type::nothing:
    case Type::flag:
      return false;
  }
  add_bit(column.is_there, column.rows++, true);
  return true;
}

// Any value that the column's type can hold.
void push(Column& column, const FigureValue& value) {
  const int64_t row = column.rows++;
  const bool is_there = type_of(value) != Type::nothing;
  add_bit(column.is_there, row, is_there);
  if (!is_there) ++column.missing;
  switch (column.type) {
    case Type::nothing:
      break;
    case Type::flag:
      add_bit(column.flags, row, is_there && std::get<bool>(value));
      break;
    case Type::whole:
      column.wholes.push_back(is_there ? std::get<int64_t>(value) : 0);
      break;
    case Type::number:
      if (const auto* whole = std::get_if<int64_t>(&value))
        column.numbers.push_back(static_cast<double>(*whole));
      else
        column.numbers.push_back(is_there ? std::get<double>(value) : 0);
      break;
    case Type::text:
      if (const auto* text = std::get_if<std::string>(&value))
        column.places.push_back(place_in(column, *text));
      else
        column.places.push_back(is_there ? place_in(column, json_of(value).dump()) : 0);
      break;
  }
}

// The type of a column that shall take this value, too.
Type type_with(const Column& column, const FigureValue& value) {
  const Type type = type_of(value);
  if (type == Type::nothing || column.type == type) return column.type;
  if (column.type == Type::nothing) return type;
  if (column.type == Type::number && type == Type::whole)
    return is_exact(std::get<int64_t>(value)) ? Type::number : Type::text;
  if (column.type == Type::whole && type == Type::number)
    return std::all_of(column.wholes.begin(), column.wholes.end(), is_exact) ? Type::number
                                                                             : Type::text;
  return Type::text;
}

void change_type(Column& column, Type type) {
  Column changed;
  changed.name = column.name;
  changed.type = type;
  for (int64_t row = 0; row < column.rows; ++row) push(changed, value_at(column, row));
  column = std::move(changed);
}

}  // namespace

TypedColumns::Column& TypedColumns::column_of(std::string_view path) {
  if (next_ >= columns_.size() || columns_[next_].name != path) {
    auto found = by_name_.find(path);
    if (found == by_name_.end()) {
      found = by_name_.emplace(path, columns_.size()).first;
      columns_.emplace_back();
      columns_.back().name = path;
      while (columns_.back().rows < rows_) push(columns_.back(), {});
    }
    next_ = found->second;
  }
  return columns_[next_++];
}

void TypedColumns::add(const Figures& row) {
  next_ = 0;
  for (const NamedFigure& figure : row) {
    Column& column = column_of(figure.path.text());
    if (push_own(column, figure.value)) continue;
    const Type type = type_with(column, figure.value);
    if (type != column.type) change_type(column, type);
    push(column, figure.value);
  }
  ++rows_;
  if (row.size() == columns_.size()) return;
  for (Column& column : columns_)
    if (column.rows < rows_) push(column, {});
}

TypedColumns columns_of(const Json& answer) {
  TypedColumns columns;
  const auto add = [&](const Json& row) {
    Figures figures;
    add_figures(figures, "", row);
    columns.add(figures);
  };
  const auto add_each = [&](const Json& rows) {
    for (const Json& row : rows) add(row);
    return std::move(columns);
  };
  if (answer.is_array()) return add_each(answer);  // of points along an axis
  constexpr std::array<const char*, 10> lists{"points", "plans",   "layouts", "jobs",    "flows",
                                              "groups", "methods", "lines",   "account", "suites"};
  for (const char* name : lists) {
    const auto found = answer.find(name);
    if (found == answer.end() || !found->is_array() || found->empty()) continue;
    return add_each(*found);
  }
  add(answer);
  return columns;
}

namespace {

// How names end that have a unit, the longer first.
struct Unit {
  std::string_view ending;
  std::string_view said;
};
constexpr std::array<Unit, 15> units{{{"tokens_per_s_per_gpu", "tokens/s"},
                                      {"samples_per_s", "samples/s"},
                                      {"tokens_per_s", "tokens/s"},
                                      {"B_per_s", "B/s"},
                                      {"percent", "%"},
                                      {"hours", "h"},
                                      {"days", "days"},
                                      {"GBps", "GB/s"},
                                      {"GiB", "GiB"},
                                      {"ps", "ps"},
                                      {"ns", "ns"},
                                      {"us", "us"},
                                      {"ms", "ms"},
                                      {"s", "s"},
                                      {"B", "B"}}};

std::string_view unit_in(std::string_view step) {
  if (step == "h" || step.ends_with("_h")) return "h";
  for (const Unit& unit : units) {
    if (!step.ends_with(unit.ending)) continue;
    const std::size_t before = step.size() - unit.ending.size();
    const bool is_whole = before == 0 && unit.ending.size() > 1;
    if (is_whole || (before > 1 && step[before - 1] == '_')) return unit.said;
  }
  return "";
}

// What has the unit of the object that it is of; a count of values has not.
bool is_statistic(std::string_view step) {
  constexpr std::array<std::string_view, 6> names{"mean", "median", "min", "max", "low", "high"};
  if (std::find(names.begin(), names.end(), step) != names.end()) return true;
  return step.size() > 1 && step[0] == 'p' &&
         step.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

std::string unit_of(const std::string& column) {
  // The last step of the path, or that before it: metrics.iteration_us.mean.
  for (std::size_t end = column.size(); end != 0;) {
    const std::size_t dot = column.rfind('.', end - 1);
    const std::size_t begin = dot == std::string::npos ? 0 : dot + 1;
    const std::string_view step = std::string_view(column).substr(begin, end - begin);
    const std::string_view unit = unit_in(step);
    if (!unit.empty()) return std::string(unit);
    if (!is_statistic(step) || dot == std::string::npos) return "";
    end = dot;
  }
  return "";
}

}  // namespace sgdsim
