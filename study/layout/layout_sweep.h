// `axis`: the same question about layouts for every point of a product of fields.
#pragma once

#include <deque>
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
  // The same of 0, 1, 2, ... in order: where each is one layout, some are answered at a time, on
  // all cores. A search uses them itself.
  AnsweredPoint next_answer(Stopper& stopper);

 private:
  int64_t at_once() const;
  LayoutWords words_at(const Json& values) const;
  void check_values() const;
  LayoutWords words_;
  AxisPoints points_;
  std::deque<AnsweredPoint> ready_;
  int64_t begun_ = 0;  // points that were answered, or are ready
};

}  // namespace sgdsim
