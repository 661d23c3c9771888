// Points, results and collectives as rows of columns: what was varied, and every figure that came
// out.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/report/columns.h"

namespace sgdsim {

struct AnswerRows {
  ReportColumns columns;
  std::string sweep;   // of points: what their sweep is known by
  int64_t of = 0;      // how many points it has
  int64_t failed = 0;  // rows without a result
  Json first, last;    // of those with a result the first and the last: {id, axes}; or null
  std::vector<std::string> files;
  std::vector<std::string> notes;
  std::set<std::string> warnings;  // of all rows, each once
};

// The points of sweeps, from one file or several, as they are read.
class PointTables {
 public:
  // InputError if it is none of the sweep that it names.
  void add(const Json& point, const std::string& file, int64_t line);
  // In the order of the points; InputError if one occurs twice.
  std::vector<AnswerRows> finish();

 private:
  struct Sweep {
    AnswerRows rows;
    std::vector<int64_t> points;  // the number of each row
  };
  std::vector<Sweep> sweeps_;
};

// Results: the fields of their experiments that differ are what was varied. `where[i]` names
// results[i].
AnswerRows result_rows(const std::vector<Json>& results, const std::vector<std::string>& where);

// Lines of `sgdsim layout --axis`: of each point the fastest layout.
AnswerRows layout_rows(const std::vector<Json>& lines);

// Lines of `sgdsim goodput --axis`: of each point its answer's figures.
AnswerRows goodput_rows(const std::vector<Json>& lines);

// Lines of `sgdsim learn --axis`: of each point a row for each method.
AnswerRows learn_rows(const std::vector<Json>& lines);

// The points of a collective-sweep.
AnswerRows collective_rows(const Json& points);

}  // namespace sgdsim
