// Numbers along an axis: their unit, whether it is logarithmic, and where its marks stand.
#pragma once

#include <string>
#include <vector>

#include "study/sweep/amount.h"

namespace sgdsim {

// What the numbers of a column are, and how they are shown.
struct Measure {
  std::string words;  // "iteration time"
  std::string unit;   // "ms"; may be empty
  double factor = 1;  // from the numbers of the file, or base units of quantities, to that unit
  std::string label() const { return unit.empty() ? words : words + " (" + unit + ")"; }
};

// By the kind of its quantities or the ending of its name (iteration_us), and the largest value.
Measure measure_of(const std::string& column, Amount::Kind kind, double largest);

// For people, without a unit: "iteration time", "iteration time (p95)".
std::string words_of_column(const std::string& column);

enum class Spacing : unsigned char { by_range, linear, logarithmic };

class Scale {
 public:
  // `values`: in units of the axis, at least one. `marks`: stand at the values if these are few.
  // InputError, naming an option of `axis` ("x"), if logarithms are asked of what has none, or
  // values are too far apart.
  Scale(std::vector<double> values, Spacing spacing, bool has_marks_at_values, bool has_zero,
        double length, const std::string& axis);
  bool is_log() const { return is_log_; }
  double at(double value) const;  // from 0 to 1
  const std::vector<double>& marks() const { return marks_; }

 private:
  void set_linear(bool has_zero, double length, const std::string& axis);
  void set_log(double length);

  bool is_log_ = false;
  double least_ = 0;  // of values, or of their decimal logarithms
  double most_ = 1;
  std::vector<double> marks_;
};

// Of marks in growing order: with as many digits as tell neighbours apart, so that each stands
// where it says (as mark_texts() of web/common/figures.js). Whole numbers below a million are in
// full.
std::vector<std::string> mark_texts(const std::vector<double>& marks);

}  // namespace sgdsim
