// Ranges of amounts, and their middles.
#include "study/need/field_range.h"

#include <algorithm>
#include <cmath>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/sweep/axis.h"
#include "study/sweep/axis_points.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {
namespace {

constexpr int coarse = 9;
constexpr double decade = 10;
constexpr double near_enough = 1e-3;
constexpr int digits_of_value = 5;

Amount amount_in(const Json& value, const std::string& where) {
  const auto amount = amount_of(value);
  if (!amount)
    throw InputError(where,
                     "expected numbers or quantities with units between which to look, as "
                     "in cluster.nic.bandwidth=10Gbps..400Gbps, got " +
                         value.dump().substr(0, 60) +
                         "; names are compared by `sgdsim sweep` and `sgdsim layout --axis`");
  constexpr double most = 0x1p53;  // beyond, whole numbers have gaps
  if (!std::isfinite(amount->value) || (amount->is_plain() && std::abs(amount->value) > most))
    throw InputError(where, "expected numbers up to 2^53, got " + value.dump().substr(0, 60));
  return *amount;
}

void check_kinds(const Amount& from, const Amount& to, const std::string& where) {
  if (!to.comparable(from))
    throw InputError(where, "one value is " + std::string(name_of(from.kind)) + " and another is " +
                                std::string(name_of(to.kind)) + "; write all of them in one unit");
}

}  // namespace

FieldRange::FieldRange(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string where = "--axis " + text.substr(0, std::min<std::size_t>(equals, 80));
  if (equals == std::string::npos || equals == 0)
    throw InputError(where, "expected FIELD=FROM..TO, as in cluster.nic.bandwidth=1Gbps..400Gbps");
  field_ = text.substr(0, equals);
  const std::string words = text.substr(equals + 1);
  const Json values = axis_values(words, where);
  const bool is_open = values.is_object() && !words.starts_with('{') && !values.contains("step");
  if (is_open)
    read_ends(values["from"], values["to"], where);
  else
    read_list(values, where);
}

FieldRange::FieldRange(std::string field, double low, double high)
    : field_(std::move(field)), low_(low), high_(high), low_value_(low), high_value_(high) {
  from_.value = low;
}

void FieldRange::read_ends(const Json& from, const Json& to, const std::string& where) {
  from_ = amount_in(from, where);
  const Amount last = amount_in(to, where);
  check_kinds(from_, last, where);
  if (from_.kind == Amount::Kind::whole) from_.kind = last.kind;
  low_ = from_.value;
  high_ = last.value;
  if (high_ < low_)
    throw InputError(where, "the range goes down; write the smaller end first: " +
                                text_of_value(to) + ".." + text_of_value(from));
  low_value_ = from;
  high_value_ = to;
}

void FieldRange::read_list(const Json& values, const std::string& where) {
  constexpr int64_t most_listed = 100'000;
  const Axis axis(field_, Value(values, where, ""));
  if (axis.size() > most_listed)
    throw InputError(where, "these are more than " + std::to_string(most_listed) +
                                " values, the most that are tried one by one; FROM..TO looks "
                                "between two ends");
  for (int64_t i = 0; i < axis.size(); ++i) listed_.push_back(axis.value(i));
  from_ = amount_in(listed_.front(), where);
  for (const Json& value : listed_) check_kinds(from_, amount_in(value, where), where);
  std::stable_sort(listed_.begin(), listed_.end(),
                   [](const Json& a, const Json& b) { return at(a) < at(b); });
  listed_.erase(std::unique(listed_.begin(), listed_.end(),
                            [](const Json& a, const Json& b) { return at(a) == at(b); }),
                listed_.end());
  low_value_ = listed_.front();
  high_value_ = listed_.back();
  low_ = at(low_value_);
  high_ = at(high_value_);
}

std::vector<Json> FieldRange::fractions() const {
  if (!is_whole() || is_listed() || high_ <= low_) return {};
  constexpr double half = 0.5;
  return {low_ + half, std::floor((low_ + high_) / 2) + half, high_ - half};
}

std::vector<Json> FieldRange::grid() const {
  if (is_listed()) return listed_;
  std::vector<Json> values = {low_value_};
  const auto add = [&](double position) {
    Json one = value(stepped(position));
    if (at(one) > at(values.back())) values.push_back(std::move(one));
  };
  if (low_ > 0 && high_ / low_ >= decade) {
    // Doublings, or equal parts of them.
    const double doublings = std::log2(high_ / low_);
    const double parts = std::ceil((coarse - 1) / doublings);
    for (int i = 1; i / parts < doublings - 1e-9; ++i) add(low_ * std::exp2(i / parts));
  } else {
    constexpr double ratio = 4;
    const double first = (high_ - low_) / (coarse - 1);
    for (double near = least(); near > 0 && low_ == 0 && near < first; near *= ratio) add(near);
    for (int i = 1; i + 1 < coarse; ++i) add(low_ + (high_ - low_) * i / (coarse - 1));
  }
  add(high_);
  return values;
}

double FieldRange::stepped(double position) const {
  if (steps_.empty() || position >= high_) return position;
  const auto above = std::lower_bound(steps_.begin(), steps_.end(), position);
  if (above == steps_.begin()) return *above;
  if (above == steps_.end()) return steps_.back();
  const double below = *std::prev(above);
  return position - below < *above - position ? below : *above;
}

std::vector<Json> FieldRange::steps_between(double low, double high) const {
  std::vector<Json> values;
  for (const double step : steps_)
    if (step > std::max(low, low_) && step < std::min(high, high_)) values.push_back(value(step));
  return values;
}

Json FieldRange::value(double position) const {
  if (position <= low_) return low_value_;
  if (position >= high_) return high_value_;
  if (from_.kind != Amount::Kind::size) return from_.json(position, digits_of_value);
  // In the unit that was written, where that is a number of bytes.
  const double one = at("1 " + from_.unit);
  const Json text = number_text(with_digits(position / one, digits_of_value)) + " " + from_.unit;
  const double read = at(text);
  return read > low_ && read < high_ ? text : from_.json(position, digits_of_value);
}

double FieldRange::at(const Json& value) {
  const auto amount = amount_of(value);
  return amount ? amount->value : std::nan("");
}

std::optional<Json> FieldRange::between(double low, double high) const {
  if (is_listed()) return std::nullopt;
  if (is_stepped()) {
    const std::vector<Json> inside = steps_between(low, high);
    return inside.empty() ? std::nullopt : std::optional(inside[inside.size() / 2]);
  }
  constexpr double far = 4;
  const bool is_far = low > 0 && high / low > far;
  double middle = is_far ? std::sqrt(low * high) : low + (high - low) / 2;
  if (is_whole()) {
    if (high - low < 2) return std::nullopt;
    middle = std::floor(middle);
  } else if (high - low <= near_enough * std::max(std::abs(low), std::abs(high)) ||
             (low == 0 && high <= least())) {
    return std::nullopt;
  }
  Json one = value(middle);
  const double position = at(one);
  if (!(position > low && position < high)) return std::nullopt;
  return one;
}

}  // namespace sgdsim
