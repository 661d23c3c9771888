// The best point of every group of points that differ in chosen axes only: the best strategy for
// each number of nodes and each bandwidth.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "study/advise/apart.h"
#include "study/sweep/contest.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_run.h"

namespace sgdsim {

inline constexpr double no_value =
    std::numeric_limits<double>::infinity();  // where nothing was found

// The value of an axis in a word or two: of an object its name, then its other fields.
std::string value_label(const Json& value);

// Whether this axis chooses the strategy, by itself or with a method: then one that no program
// plays is no answer. Otherwise it is as good a base as any other.
bool chooses_strategy(const Sweep& sweep, const std::string& axis);

// Results within the error of that kind of change are winners together; the first of them is the
// likeliest. A strategy that no program runs stands beside them as a bound.
class Best {
 public:
  // `over`: the axes to choose from; method or strategy if none is given.
  Best(const Sweep& sweep, std::string objective, std::vector<std::string> over);
  void add(DonePoint&& point);
  // How many groups have several winners.
  int64_t groups_with_ties() const;
  // That points with different numbers of samples are compared; empty if they are not.
  std::string warning(const Sweep& sweep) const;
  const std::vector<std::string>& others() const { return others_; }  // axes not chosen from
  void print(std::ostream& out, bool as_json) const;
  Json json() const;  // sgdsim/best/1
  // Choices are values of the axes to choose from.
  struct Group {
    Json fixed;  // the values of the other axes
    Contest<Json> contest;
    std::optional<Contest<Json>::Entry> bound;
    int64_t points = 0;  // that were compared
    int64_t failed = 0;
    double sign = 1;  // -1: more is better, and entries are negated
    double figure(double value) const { return sign * value; }
  };

 private:
  std::string footer() const;
  std::vector<std::string> row_of(const Group& group, bool is_time, bool has_bounds) const;

  std::string objective_;
  double sign_ = 1;  // of what is compared
  std::vector<std::string> over_;
  std::vector<std::string> others_;
  Apart apart_;
  bool chooses_strategy_ = false;
  std::vector<Group> groups_;  // in the order of their first points
  std::map<std::string, std::size_t> group_of_;
};
Json schema_of_best();

}  // namespace sgdsim
