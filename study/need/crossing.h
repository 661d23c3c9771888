// Where along a range a figure meets a target, and from where on more of it gains little.
//
// Nothing is assumed to be monotonic: a coarse grid is looked at first, and every change between
// two of its values is bisected, whole numbers exactly, others to 0.1 %. A target that is met and
// lost again between two neighbours of the grid is not seen.
//
// In place of a whole number that has no answer (128 GPUs divide, 129 do not) one that has is
// asked, among 2048 tries; those between that have none are left out. Before the first and behind
// the last that have one (nothing fits), and of quantities everywhere, the target is not met
// without an answer. Only 0, where a range of numbers begins, may have none: it is left out then.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "study/need/field_range.h"

namespace sgdsim {

// A figure that is to be at most, or at least, so much.
struct Goal {
  double value = 0;
  bool at_most = true;
  bool is_met_by(double figure) const { return at_most ? figure <= value : figure >= value; }
  bool is_better(double a, double b) const { return at_most ? a < b : a > b; }
};

struct NeedPoint {
  Json value = {};                         // of the field
  std::optional<double> reached = {};      // the figure there
  std::string error = {};                  // why there is none
  std::string limit = {};                  // the largest part of the time
  std::string layout = {};                 // the fastest one, of a search
  std::vector<std::string> warnings = {};  // of the answer
  bool meets = false;
  bool is_shown = false;  // in a table of a few
};

// Values that follow each other and all meet the target.
struct NeedStretch {
  NeedPoint from;
  NeedPoint to;
};

// From this value on doubling (or halving, where less is better) gains less than asked.
struct NeedKnee {
  NeedPoint point;
  double gain = 0;          // of doubling there, of the figure
  bool is_halving = false;  // less is better
  bool is_within = true;    // false: the last value that can be doubled in the range gains more
};

struct NeedFound {
  std::vector<NeedPoint> points;  // all that were asked, in order
  std::vector<NeedStretch> met;
  bool is_everywhere = false;
  bool is_largest = false;          // the first stretch begins at the lower end
  std::optional<NeedPoint> needed;  // the end of the first stretch that is not an end of the range
  std::optional<NeedPoint> before;  // its neighbour that does not meet the target
  std::optional<NeedPoint> best;    // what comes closest to the target, or exceeds it most
  std::optional<NeedKnee> knee;     // none: the range has no two values of which one is the double
};

using AskAt = std::function<NeedPoint(const Json& value)>;

// `gain`: the part that a knee is about, 0.05.
NeedFound look_for(const FieldRange& range, const Goal& goal, double gain, const AskAt& ask);

}  // namespace sgdsim
