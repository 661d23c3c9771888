// `axis`: the same training for every point of a product of fields of its question.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/goodput/goodput_words.h"
#include "study/sweep/axis_points.h"

namespace sgdsim {

// The first axis is the slowest. InputError for a field that no question has, and where none of the
// first hundred points is a question.
class GoodputSweep {
 public:
  explicit GoodputSweep(const GoodputWords& words);

  int64_t points() const { return points_.count(); }
  std::size_t axes() const { return points_.axes().size(); }
  Json values_at(int64_t number) const { return points_.values_at(number); }  // by field
  std::vector<std::string> titles() const;
  // sgdsim/goodput-point/1. What `look` throws ends it.
  AnsweredPoint answer(int64_t number, const std::function<void()>& look) const;

 private:
  GoodputQuestion question_with(const Json& values, const std::function<void()>& look = {}) const;
  void check_fields() const;
  void check_nodes() const;
  void refuse_unknown(const std::string& sentence) const;
  bool asks(const std::string& field) const;

  GoodputWords words_;
  std::string file_;
  Json base_;
  AxisPoints points_;
};

}  // namespace sgdsim
