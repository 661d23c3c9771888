// `axis`: the same question about layouts for every point of a product of fields.
#pragma once

#include <string>
#include <vector>

#include "study/layout/layout_question.h"
#include "study/sweep/axis.h"

namespace sgdsim {

struct LayoutPoint {
  Json json;                       // sgdsim/layout-point/1
  std::vector<std::string> cells;  // of a table, below the titles
  std::vector<std::string> warnings;
  bool is_failed() const { return json.contains("error"); }
};

// The first axis is the slowest. InputError for axes that make no sense.
class LayoutSweep {
 public:
  explicit LayoutSweep(const LayoutWords& words);

  int64_t points() const { return points_; }
  std::size_t axes() const { return axes_.size(); }
  std::vector<std::string> titles() const;
  // A point that cannot be answered has the reason; `stopper` is asked before.
  LayoutPoint answer(int64_t number, Stopper& stopper) const;

 private:
  LayoutWords words_;
  std::vector<Axis> axes_;
  int64_t points_ = 0;
};

}  // namespace sgdsim
