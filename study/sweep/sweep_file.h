// A sweep: a base experiment, axes with the values that its fields take, and the points of their
// product, numbered without being stored.
//
// The first axis of the file is the slowest, the last the fastest. Axes of one `zip` move together,
// at the place of the first of them. `where` leaves points out; the rest are numbered from 0 in
// that order. Whatever computes a point sees the same experiment, wherever and whenever it runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/advise/apart.h"
#include "study/step/experiment.h"
#include "study/step/method.h"
#include "study/sweep/axis.h"
#include "study/sweep/where.h"

namespace sgdsim {

// Point k belongs to shard k mod count.
struct Shard {
  int64_t index = 0;
  int64_t count = 1;
};

struct Sweep {
  // A trace or a cluster that an axis names by its file.
  struct Content {
    Json json;
    std::string file;
  };

  std::string name;
  std::string file;
  std::vector<std::string> inputs;  // all files that were read
  ResolvedExperiment base;
  bool stands_alone = true;  // the base needs no value of an axis
  std::vector<Axis> axes;
  std::vector<Method> methods;                   // of the axis "method", in its order
  std::vector<std::vector<std::size_t>> groups;  // axes that move together, slowest first
  Where where;
  std::map<std::string, Content> files;
  int64_t product = 1;  // of all groups
  int64_t points = 0;   // of these, what `where` keeps
  std::string id;       // 16 hexadecimal digits over all that decides the points

  bool is_method(const Axis& axis) const { return !methods.empty() && axis.field() == method_axis; }
  int64_t size_of(std::size_t group) const { return axes[groups[group].front()].size(); }
  // The place in the product as a value of each axis.
  Choice choice_at(int64_t place) const;
  bool keeps(const Choice& choice) const;

  std::vector<std::size_t> watched;  // groups that `where` names
  std::vector<bool> kept;            // over their product; empty: everything is kept
  // For the first of these groups, the first two, and so on: which places in their product lead to
  // a point, in growing order.
  std::vector<std::vector<int32_t>> leading;
};

// What a command line says besides the file.
struct SweepWords {
  std::vector<std::string> settings;
  std::vector<std::string> axes;  // FIELD=VALUES
  std::vector<Method> methods;    // one more axis, the fastest
  std::string cluster;            // in place of that of the base; a file or a name
};

// With axes or methods among the words, `file` may be an experiment, or a trace with a cluster.
Sweep read_sweep(const std::string& file, const SweepWords& words);
Sweep read_sweep(const std::string& file, const std::vector<std::string>& settings,
                 const std::vector<std::string>& axes);

// The fields of the experiment that an axis changes: one, or those that its methods set.
std::vector<std::string> fields_of(const Sweep& sweep, const std::string& axis);
// Those that all axes change together.
std::vector<std::string> fields_of(const Sweep& sweep);

// What the text behind FIELD= of an axis stands for: "2..256" doubles, "2..10:2" steps, "a,b"
// lists; JSON stands for itself.
Json axis_values(const std::string& text, const std::string& where);

// Adds axes of the command line, each FIELD=VALUES, to those that there are.
void add_axes(std::vector<Axis>& axes, const std::vector<std::string>& texts);

Json schema_of_sweeps();
// One without a file: an experiment and its axes. It has no id.
Sweep sweep_over(ResolvedExperiment base, std::vector<Axis> axes);

struct Point {
  int64_t number = 0;
  Choice choice;
};

// The points of one shard, in order.
class Points {
 public:
  Points(const Sweep& sweep, Shard shard) : sweep_(&sweep), shard_(shard) {}
  std::optional<Point> next();
  // How many next() gives in all.
  static int64_t count(const Sweep& sweep, Shard shard) {
    return (sweep.points - shard.index + shard.count - 1) / shard.count;
  }

 private:
  bool settle(std::size_t group, int64_t from);
  bool advance();

  const Sweep* sweep_;
  Shard shard_;
  int64_t place_ = 0;            // without `where`
  int64_t number_ = 0;           // with it: of the next point
  std::vector<int64_t> values_;  // of every group, at that point
  std::vector<int64_t> leads_;   // the place of the watched groups before a group, and of all
};

// So many points, evenly spread over the whole sweep (fewer where `where` leaves them out).
std::vector<Point> spread_points(const Sweep& sweep, int64_t count);

// The values of a point, by field.
Json axes_json(const Sweep& sweep, const Choice& choice);

}  // namespace sgdsim
