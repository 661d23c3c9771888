// One field of an experiment and the values that it takes in a sweep: a list, or a range.
//
// {"from": 2, "to": 256, "factor": 2}, {"from": "1 Gbps", "to": "100 Gbps", "count": 20,
// "spacing": "log"}, {"from": "1 MB", "to": "64 MB", "step": "1 MB"}. Both ends belong to a range.
// An evenly spaced one may have any number of values: they are computed when they are asked for.
#pragma once

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/figures.h"
#include "study/sweep/amount.h"

namespace sgdsim {

class Axis {
 public:
  // `field` is a path with dots: cluster.nic.bandwidth.
  Axis(std::string field, const Value& values);

  const std::string& field() const { return field_; }
  const std::vector<std::string>& steps() const { return steps_; }  // of the path
  // Its name among the columns of points: axes.cluster.nic.bandwidth.
  const std::string& column() const { return column_; }
  const std::string& where() const { return where_; }
  int64_t size() const { return size_; }
  Json value(int64_t index) const;
  FigureValue figure(int64_t index) const;
  // InputError if a value occurs twice. Axes that move together may repeat theirs, if no
  // combination occurs twice.
  static void check_distinct(const std::vector<const Axis*>& together);
  // Values that are numbers or quantities, in growing order: what a search can bisect.
  bool is_ordered() const;

 private:
  void read_list(const Value& values);
  void read_range(const Value& value);

  std::string field_;
  std::string column_;
  std::vector<std::string> steps_;
  std::string where_;
  int64_t size_ = 0;
  std::vector<Json> list_;            // empty: evenly spaced
  std::vector<FigureValue> figures_;  // of values that many points share; empty: there are too many
  Amount from_;
  double step_ = 0;  // in base units
  double last_ = 0;  // the last value, exactly as given
};

// What an option says that an axis (or a method) says, too, which would be read by nothing.
InputError said_by_axis(const std::string& option, const std::string& field,
                        const std::string& axis = "--axis");

// The field `axes` of a sweep.
Json schema_of_axes();

}  // namespace sgdsim
