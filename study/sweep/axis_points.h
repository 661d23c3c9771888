// Axes of a command line over the fields of any question, and what its points answer: every
// combination of their values, the last axis the fastest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/answer.h"
#include "study/sweep/axis.h"

namespace sgdsim {

// A point that cannot be answered has the reason.
struct AnsweredPoint {
  Json answer = {};                     // of the question
  std::string error = {};               // why there is none
  Json json = {};                       // the line: schema, axes, and one of these
  std::vector<std::string> cells = {};  // of a table, below the titles
  std::vector<std::vector<std::string>> more_cells = {};  // of its further rows
  std::vector<std::string> warnings = {};
  bool is_failed() const { return !error.empty(); }
};

class AxisPoints {
 public:
  // Each is FIELD=VALUES. InputError if an axis occurs twice or takes a value twice, and if there
  // are more points than `most`.
  AxisPoints(const std::vector<std::string>& texts, int64_t most);

  const std::vector<Axis>& axes() const { return axes_; }
  int64_t count() const { return count_; }
  Json values_at(int64_t number) const;  // by field
  // The point as `answer` completes it; what that throws is its error.
  AnsweredPoint answered(
      const char* schema, int64_t number, std::size_t columns,
      const std::function<void(const Json& values, AnsweredPoint&)>& answer) const;

 private:
  std::vector<Axis> axes_;
  int64_t count_ = 1;
};

// A value as a command line has it.
std::string text_of_value(const Json& value);

// {"schema", "axes", "answer" or "error"}; `answer_of`: what the answer is.
Json schema_of_points(const char* kind, const char* answer_of, Json (*schema_of_answer)());
// All points as one answer, a list.
Answer answer_points(int64_t count, const std::function<AnsweredPoint(int64_t number)>& answer);
// "3 of 12 points failed".
std::string failed_points_text(int64_t failed, int64_t count);

}  // namespace sgdsim
