// Points, results and collectives as rows of columns: what was varied, and every figure that came
// out.
#pragma once

#include <string>
#include <vector>

#include "app/report/columns.h"

namespace sgdsim {

struct AnswerRows {
  ReportColumns columns;
  std::string sweep;   // of points: what their sweep is known by
  int64_t of = 0;      // how many points it has
  int64_t failed = 0;  // rows without a result
  Json first;          // the first line that has a result, or null
  Json last;           // the last one
  std::vector<std::string> notes;
};

// The points of one sweep, in their order, from one file or several. `where[i]` is the file of
// values[i]. InputError if a point occurs twice.
AnswerRows point_rows(std::vector<Json> points, const std::vector<std::string>& where);

// Results: the fields of their experiments that differ are what was varied.
AnswerRows result_rows(const std::vector<Json>& results, const std::vector<std::string>& where);

// The points of a collective-sweep.
AnswerRows collective_rows(const Json& points);

}  // namespace sgdsim
