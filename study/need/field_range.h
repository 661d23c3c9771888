// The values of one field among which something is looked for: all between two ends, or those of a
// list.
//
// "FIELD=1Gbps..400Gbps" is all between; "2..10:2", "1,4,16" and JSON as in sweeps are those values
// alone. Values are numbers or quantities that grow: names cannot be halved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "study/sweep/amount.h"

namespace sgdsim {

class FieldRange {
 public:
  // InputError with what to type instead.
  explicit FieldRange(const std::string& text);
  // All numbers between two.
  FieldRange(std::string field, double low, double high);

  const std::string& field() const { return field_; }
  bool is_listed() const { return !listed_.empty(); }
  bool is_whole() const { return from_.kind == Amount::Kind::whole; }
  // Plain numbers, and what is between whole ones, too.
  bool is_fractional() const { return from_.is_plain() && !is_whole() && !is_listed(); }
  // Of whole ends: values between whole ones, for asking whether the field takes such, too.
  std::vector<Json> fractions() const;
  void take_fractions() { from_.kind = Amount::Kind::number; }
  // Of a range of whole numbers only its ends and these, in growing order. `passes_over`: others
  // would do as well.
  void step_by(std::vector<double> steps, bool passes_over) {
    steps_ = std::move(steps);
    passes_over_ = passes_over;
  }
  bool passes_over() const { return passes_over_; }
  bool is_stepped() const { return !steps_.empty(); }
  // Steps between two values, which are not included.
  std::vector<Json> steps_between(double low, double high) const;
  // In base units, as every position here.
  double low() const { return low_; }
  double high() const { return high_; }
  // The lowest one that is looked at beside 0: numbers near 0 have no end.
  double least() const { return is_fractional() && low_ == 0 ? high_ * smallest_part : low_; }
  Json first() const { return value(low_); }
  Json last() const { return value(high_); }

  // All of a list; or nine values and a few more, in equal ratios where the range is over a decade;
  // of a range from 0 on more of them near 0.
  std::vector<Json> grid() const;
  // As a file writes it, with five digits.
  Json value(double at) const;
  static double at(const Json& value);
  // Between two values, the middle; nothing where these are within 0.1 %, or neighbours.
  std::optional<Json> between(double low, double high) const;

 private:
  static constexpr double smallest_part = 0x1p-20;  // about a millionth

  double stepped(double position) const;  // the nearest step
  void read_ends(const Json& from, const Json& to, const std::string& where);
  void read_list(const Json& values, const std::string& where);

  std::string field_;
  Amount from_;
  double low_ = 0;
  double high_ = 0;
  Json low_value_;  // as given
  Json high_value_;
  std::vector<Json> listed_;
  std::vector<double> steps_;
  bool passes_over_ = false;
};

}  // namespace sgdsim
