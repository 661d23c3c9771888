// Points of axes, one after the other: a table for people, lines of JSON for programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "sim/core/output.h"
#include "study/sweep/axis_points.h"

namespace sgdsim {

struct PointsToPrint {
  std::vector<std::string> titles;
  std::size_t axes = 0;  // the first columns
  int64_t count = 0;
  std::function<AnsweredPoint(int64_t number)> answer;
};

// Claims --out for points of this kind. InputError if the file holds something else: also points
// with other values of these axes, or more of them.
void claim_points(OutputGuard& guard, const std::string& file, const std::string& schema,
                  int64_t count, const std::function<Json(int64_t number)>& axes_of);

// With `file` the lines go there as well; "-" and "" are none. Each warning is told once. Returns
// the exit code.
int print_points(const PointsToPrint& points, const std::string& format, const std::string& file,
                 Streams streams);

}  // namespace sgdsim
