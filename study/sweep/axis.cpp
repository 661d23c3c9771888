// Reading lists and ranges of values.
#include "study/sweep/axis.h"

#include <cmath>
#include <set>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "study/step/override.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_list = 1'000'000;
constexpr double most_values = 0x1p53;
constexpr int64_t most_figures = 10'000;  // that are made before they are asked for

enum class Spacing : uint8_t { linear, log };
constexpr Named<Spacing, 2> spacings{{{"linear", Spacing::linear}, {"log", Spacing::log}}};
const auto& names_of(Spacing) { return spacings; }

// As a file has it. An end is a number or a quantity.
struct Range {
  std::optional<Value> from, to, step;
  std::optional<double> factor;
  std::optional<int64_t> count;
  std::optional<Spacing> spacing;
};

Json schema_of_amount() { return {{"type", {"number", "string"}}}; }

Fields fields_of(Range& o) {
  return Fields{
      Field("from", o.from, "first value: a number or a quantity").needed().like(schema_of_amount),
      Field("to", o.to, "last value, or what it must not exceed").needed().like(schema_of_amount),
      Field("step", o.step, "difference from one value to the next").like(schema_of_amount),
      Field("factor", o.factor, "ratio of one value to the one before").from(1 + 1e-9, 1e9),
      Field("count", o.count, "number of values").from(1, int64_t{1} << 53),
      Field("spacing", o.spacing, "of a count: evenly in the values, or in their logarithms")
          .otherwise("linear")}
      .exactly_one({"step", "factor", "count"},
                   "a range needs one of \"step\", \"factor\" and \"count\"");
}

Amount amount_at(const Value& value) {
  const auto amount = amount_of(value.json());
  if (!amount)
    value.fail("expected a number or a quantity with a unit, got " + value.json().dump());
  const bool is_whole = amount->kind == Amount::Kind::whole || amount->kind == Amount::Kind::size;
  if (is_whole && std::abs(amount->value) > most_values)
    value.fail("expected at most 2^53, got " + value.json().dump());
  return *amount;
}

void check_kind(const Value& value, const Amount& amount, const Amount& from) {
  if (!amount.comparable(from))
    value.fail("expected " + std::string(name_of(from.kind)) + " as in `from`, got " +
               std::string(name_of(amount.kind)));
}

// A number of values that is not absurd.
int64_t count_of(double count, const Value& range) {
  if (!(count <= most_values)) range.fail("more than 2^53 values");
  return static_cast<int64_t>(count);
}

// From `from` to `to`, each `factor` times the one before, rounded as files write them, each once.
std::vector<Json> geometric(const Amount& from, double to, double factor, int64_t count,
                            const Value& range) {
  if (count > static_cast<int64_t>(longest_list))
    range.fail("expected at most " + std::to_string(longest_list) + " values, got " +
               std::to_string(count));
  std::vector<Json> values;
  for (int64_t i = 0; i < count; ++i) {
    const bool is_last = i > 0 && i + 1 == count;
    const double exact = from.value * std::pow(factor, static_cast<double>(i));
    const double near_end = std::abs(exact - to) < 1e-9 * to ? to : exact;
    Json value = from.json(is_last ? near_end : exact, 6);
    if (values.empty() || values.back() != value) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace

Json schema_of_axes() {
  return {
      {"type", "object"},
      {"minProperties", 1},
      {"properties",
       {{"method",
         {{"description",
           "Ways of exchanging gradients by label: the fields that each sets, or a known name "
           "alone. A field that is none of an experiment belongs to the part before it: density "
           "to compression."},
          {"type", "object"},
          {"minProperties", 1},
          {"additionalProperties",
           any_of(
               {text_schema(),
                {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", true}}})}}}}},
      {"additionalProperties",
       any_of({list_schema(Json::object(), 1), schema_of_record<Range>()})}};
}

Axis::Axis(std::string field, const Value& values)
    : field_(std::move(field)),
      column_(path_of("axes", field_)),
      steps_(steps_of(field_, values.where())),
      where_(values.path().empty() ? values.file() : values.where()) {
  if (values.json().is_object())
    read_range(values);
  else
    read_list(values);
  if (size_ > most_figures) return;
  figures_.reserve(static_cast<std::size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) figures_.push_back(figure_value(value(i)));
}

void Axis::read_list(const Value& values) {
  if (!is_list(values.json()))
    values.fail("expected a list of values or a range {\"from\", \"to\", ...}, got " +
                values.json().dump().substr(0, 60));
  for (const Value& item : values.items()) list_.push_back(item.json());
  if (list_.empty()) values.fail("expected at least one value");
  if (list_.size() > longest_list)
    values.fail("expected at most " + std::to_string(longest_list) + " values");
  size_ = static_cast<int64_t>(list_.size());
}

void Axis::read_range(const Value& value) {
  const auto range = read_record<Range>(value);
  const Value& from = *range.from;
  const Value& to = *range.to;
  const auto& step = range.step;
  const auto& factor = range.factor;
  const auto& count = range.count;
  if (range.spacing && !count) value.child("spacing").fail("goes with \"count\" only");
  const bool log = factor || (range.spacing && *range.spacing == Spacing::log);
  from_ = amount_at(from);
  const Amount last = amount_at(to);
  check_kind(to, last, from_);
  // Where there is a step, the end is not a value by itself: 2..1e6 by 1 are whole.
  if (from_.kind == Amount::Kind::whole && last.kind == Amount::Kind::number && !step)
    from_.kind = last.kind;
  if (last.value < from_.value) to.fail("expected at least `from`");
  if (log && from_.value <= 0) from.fail("expected more than 0 where values are multiplied");
  const double given = count ? static_cast<double>(*count) : 0;
  if (count && given == 1 && last.value > from_.value)
    value.child("count").fail("two ends need two values");
  if (log) {
    double multiplier = 1;
    if (factor) {
      multiplier = *factor;
      const double steps = std::log(last.value / from_.value) / std::log(multiplier);
      list_ = geometric(from_, last.value, multiplier,
                        count_of(std::floor(steps + 1e-9), value) + 1, value);
    } else {
      if (given > 1) multiplier = std::pow(last.value / from_.value, 1 / (given - 1));
      list_ = geometric(from_, last.value, multiplier, static_cast<int64_t>(given), value);
    }
    size_ = static_cast<int64_t>(list_.size());
    return;
  }
  if (step) {
    const Amount by = amount_at(*step);
    check_kind(*step, by, from_);
    if (by.value <= 0) step->fail("expected more than 0");
    if (from_.kind == Amount::Kind::whole && by.kind == Amount::Kind::number) from_.kind = by.kind;
    step_ = by.value;
    size_ = count_of(std::floor((last.value - from_.value) / step_ + 1e-9), value) + 1;
    last_ = from_.value + step_ * static_cast<double>(size_ - 1);
    return;
  }
  size_ = static_cast<int64_t>(given);
  step_ = given > 1 ? (last.value - from_.value) / (given - 1) : 0;
  last_ = last.value;
  const bool is_whole = from_.kind == Amount::Kind::whole || from_.kind == Amount::Kind::size;
  if (is_whole && step_ < 1 && given > 1)
    value.child("count").fail(
        "there are fewer whole values in the range; numbers that are none need a point, 1.0");
}

Json Axis::value(int64_t index) const {
  if (!list_.empty()) return list_[static_cast<std::size_t>(index)];
  const double value =
      index + 1 == size_ ? last_ : from_.value + step_ * static_cast<double>(index);
  return from_.json(value, 12);
}

FigureValue Axis::figure(int64_t index) const {
  if (!figures_.empty()) return figures_[static_cast<std::size_t>(index)];
  return figure_value(value(index));
}

namespace {

// "1 Gbps", "1Gbps" and "1000 Mbps" are one value, and so are 4 and 4.0.
std::string same_for_all(const Json& value) {
  if (value.is_number_integer()) return "-1:" + value.dump() + ".0";  // of any length
  const std::optional<Amount> amount = amount_of(value);
  if (!amount) return value.dump();
  const int kind = amount->is_plain() ? -1 : static_cast<int>(amount->kind);
  return std::to_string(kind) + ":" + Json(amount->value).dump();
}

}  // namespace

void Axis::check_distinct(const std::vector<const Axis*>& together) {
  for (const Axis* axis : together)
    if (axis->list_.empty()) return;  // values of a range differ
  const Axis& first = *together.front();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < first.list_.size(); ++i) {
    std::string values;
    for (const Axis* axis : together) values += same_for_all(axis->list_[i]) + "\n";
    if (seen.insert(std::move(values)).second) continue;
    throw InputError(
        first.where_ + (first.where_.starts_with("--") ? ": /" : "/") + std::to_string(i),
        together.size() == 1 ? "this value occurs twice" : "these axes take the same values twice");
  }
}

bool Axis::is_ordered() const {
  if (list_.empty()) return true;
  std::optional<Amount> before;
  for (const Json& value : list_) {
    auto amount = amount_of(value);
    if (!amount || (before && (!amount->comparable(*before) || amount->value <= before->value)))
      return false;
    before = std::move(amount);
  }
  return true;
}

InputError said_by_axis(const std::string& option, const std::string& field,
                        const std::string& axis) {
  return {option, axis + " says " + field + ", too; give one of them"};
}

}  // namespace sgdsim
