// `axis`: the same question about layouts for every point of a product of fields.
#pragma once

#include <string>
#include <vector>

#include "study/layout/layout_question.h"
#include "study/sweep/axis_points.h"

namespace sgdsim {

// The first axis is the slowest. InputError for axes that make no sense.
class LayoutSweep {
 public:
  explicit LayoutSweep(const LayoutWords& words);

  int64_t points() const { return points_.count(); }
  std::size_t axes() const { return points_.axes().size(); }
  std::vector<std::string> titles() const;
  // sgdsim/layout-point/1. `stopper` is asked before.
  AnsweredPoint answer(int64_t number, Stopper& stopper) const;

 private:
  LayoutWords words_at(const Json& values) const;
  void check_values() const;
  LayoutWords words_;
  AxisPoints points_;
};

}  // namespace sgdsim
