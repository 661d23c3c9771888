// Counting through a product, and collecting what its points say.
#include "study/sweep/axis_points.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "sim/core/stopper.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {

namespace {

Fields point_fields(const char* kind, const Json& axes, const Json& answer, const char* answer_of,
                    const std::string& error, Json (*schema_of_answer)() = any_object_schema) {
  return {answer_kind(kind),
          Field("axes", axes, "the values of this point, by field").like(any_object_schema),
          Field("answer", answer, answer_of).like(schema_of_answer).if_any(),
          Field("error", error, "in place of it: why there is none").if_any()};
}

}  // namespace

Json schema_of_points(const char* kind, const char* answer_of, Json (*schema_of_answer)()) {
  return record_schema(point_fields(kind, {}, {}, answer_of, {}, schema_of_answer));
}

bool Sweep::keeps(const Choice& choice) const {
  if (kept.empty()) return true;
  int64_t place = 0;
  for (const std::size_t group : watched)
    place = place * size_of(group) + choice[groups[group].front()];
  return kept[static_cast<std::size_t>(place)];
}

AxisPoints::AxisPoints(const std::vector<std::string>& texts, int64_t most) {
  add_axes(axes_, texts);
  for (const Axis& axis : axes_) {
    Axis::check_distinct({&axis});
    if (__builtin_mul_overflow(count_, axis.size(), &count_) || count_ > most)
      throw InputError("--axis", "there are more than " + std::to_string(most) +
                                     " points, the most that are tried");
  }
}

Json AxisPoints::values_at(int64_t number) const {
  Json values = Json::object();
  for (const Axis& axis : axes_) values[axis.field()] = nullptr;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    values[axis->field()] = axis->value(number % axis->size());
    number /= axis->size();
  }
  return values;
}

AnsweredPoint AxisPoints::answered(
    const char* schema, int64_t number, std::size_t columns,
    const std::function<void(const Json& values, AnsweredPoint&)>& answer) const {
  const Json values = values_at(number);
  AnsweredPoint point;
  for (const Axis& axis : axes_) point.cells.push_back(text_of_value(values[axis.field()]));
  const auto fail = [&](const std::string& why) {
    point.error = why;
    point.cells.resize(axes_.size());
    point.cells.push_back(printable(why));
    point.cells.resize(columns);
  };
  try {
    answer(values, point);
  } catch (const InputError& error) {
    fail(error.what());
  } catch (const LimitReached& limit) {
    fail(limit.what());
  }
  point.json = written(point_fields(schema, values, point.answer, "", point.error));
  return point;
}

std::string text_of_value(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Answer answer_points(int64_t count, const std::function<AnsweredPoint(int64_t number)>& answer) {
  Answer all{Json::array()};
  int64_t failed = 0;
  for (int64_t number = 0; number < count; ++number) {
    AnsweredPoint one = answer(number);
    failed += one.is_failed() ? 1 : 0;
    all.json.push_back(std::move(one.json));
    for (std::string& warning : one.warnings)
      if (std::find(all.warnings.begin(), all.warnings.end(), warning) == all.warnings.end())
        all.warnings.push_back(std::move(warning));
  }
  if (failed == 0) return all;
  all.code = exit_point_failed;
  all.problem = failed_points_text(failed, count);
  return all;
}

std::string failed_points_text(int64_t failed, int64_t count) {
  return std::to_string(failed) + " of " + std::to_string(count) + " points failed";
}

}  // namespace sgdsim
