// What must be reached: "step=120ms", "mfu=0.4", "efficiency>=90%", "metrics.comm_exposed_us<=5ms",
// "memory=60GiB".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/need/crossing.h"

namespace sgdsim {

// A figure that has a name of its own.
struct NamedFigureOf {
  const char* name;
  const char* column;  // where the answer has it
  bool at_most;
};

struct NeedTarget {
  std::string name;    // as it was asked
  std::string column;  // "metrics.iteration_us"
  Goal goal;           // times in us, memory in GiB
  bool is_time() const { return column.ends_with("_us") || is_below("_us."); }
  bool is_memory() const { return column.ends_with("_GiB"); }
  // "metrics.iteration_us.p95"
  bool is_below(std::string_view end) const { return column.find(end) != std::string::npos; }
};

// InputError with what to type. Other columns of the answer stand under their own names; which of
// them there are is known when there is an answer.
NeedTarget target_in(const std::string& text, const std::vector<NamedFigureOf>& named);
// The figure in an answer; InputError that lists what there is, if it is none of it.
double figure_of(const Json& answer, const NeedTarget& target,
                 const std::vector<NamedFigureOf>& named);
// "119.9 ms", "41.2 %", "59.99 GiB", "3041".
std::string figure_text(const NeedTarget& target, double figure, int digits = 5);

}  // namespace sgdsim
