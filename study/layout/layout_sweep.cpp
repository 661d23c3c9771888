// Points are words with some fields changed.
#include "study/layout/layout_sweep.h"

#include <algorithm>
#include <array>

#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "study/step/override.h"
#include "study/sweep/sweep_file.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr int64_t most_layout_points = 1'000'000;

const std::vector<std::pair<std::string, std::string LayoutWords::*>>& text_fields() {
  static const std::vector<std::pair<std::string, std::string LayoutWords::*>> fields = {
      {"model", &LayoutWords::model},
      {"layout", &LayoutWords::layout},
      {"gpu", &LayoutWords::gpu},
      {"memory", &LayoutWords::memory},
      {"precision", &LayoutWords::precision},
      {"gradients", &LayoutWords::gradients},
      {"program", &LayoutWords::program}};
  return fields;
}
struct WholeField {
  const char* name;
  int64_t LayoutWords::*member;
  int64_t most;
};
constexpr std::array<WholeField, 3> whole_fields{{
    {"gpus", &LayoutWords::gpus, most_gpus},
    {"sequence", &LayoutWords::sequence, most_sequence},
    {"global_batch", &LayoutWords::batch, most_global_batch},
}};
constexpr std::string_view of_cluster = "cluster.";
constexpr std::string_view of_algorithms = "algorithm";

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void set_field(LayoutWords& words, const std::string& field, const Json& value) {
  const std::string where = "--axis " + field;
  if (field == of_algorithms) {
    words.algorithms = {Value(value, where, "").text()};
    return;
  }
  for (const auto& [name, member] : text_fields())
    if (name == field) {
      words.*member = Value(value, where, "").text();
      return;
    }
  for (const WholeField& one : whole_fields)
    if (field == one.name) {
      words.*one.member = Value(value, where, "").whole(1, one.most);
      return;
    }
  words.settings.push_back(field.substr(of_cluster.size()) + "=" + text_of(value));
}

void check_field(const std::string& field) {
  if (field.starts_with(of_cluster) && field.size() > of_cluster.size()) return;
  std::vector<std::string> known = {std::string(of_algorithms)};
  for (const auto& one : text_fields()) known.push_back(one.first);
  for (const WholeField& one : whole_fields) known.emplace_back(one.name);
  if (std::find(known.begin(), known.end(), field) != known.end()) return;
  known.emplace_back("cluster.FIELD");
  throw InputError("--axis " + field.substr(0, 80), unknown_name("field", field, known));
}

int64_t points_of(const std::vector<Axis>& axes) {
  int64_t points = 1;
  for (const Axis& axis : axes)
    if (__builtin_mul_overflow(points, axis.size(), &points) || points > most_layout_points)
      throw InputError("--axis", "there are more than " + std::to_string(most_layout_points) +
                                     " points, the most that are tried");
  return points;
}

// The values of a point, by field; the last axis is the fastest.
Json values_at(const std::vector<Axis>& axes, int64_t point) {
  Json values = Json::object();
  for (const Axis& axis : axes) values[axis.field()] = nullptr;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    values[axis->field()] = axis->value(point % axis->size());
    point /= axis->size();
  }
  return values;
}

void add_cells(std::vector<std::string>& cells, const AnsweredLayouts& answered) {
  const LayoutQuestion& question = answered.question;
  const FoundLayout& best = answered.answer.best.front().found;
  const LayoutRates rates = rates_of(question, best);
  cells.insert(cells.end(), {to_text(best.layout), short_duration(best.time.us(), 5),
                             rounded(rates.tokens_per_s), rounded(100 * best.mfu, 3) + " %",
                             gib_text(best.memory_B), best.limit});
  if (rates.days) cells.push_back(days_text(*rates.days));
  if (rates.end) cells.push_back(days_text(rates.end->days));
}

}  // namespace

LayoutSweep::LayoutSweep(const LayoutWords& words) : words_(words) {
  add_axes(axes_, words.axes);
  for (const Axis& axis : axes_) {
    check_field(axis.field());
    Axis::check_distinct({&axis});
  }
  points_ = points_of(axes_);
}

std::vector<std::string> LayoutSweep::titles() const {
  std::vector<std::string> titles;
  for (const Axis& axis : axes_) titles.push_back(axis.field());
  titles.insert(titles.end(),
                {"fastest layout", "step", "tokens/s/GPU", "MFU", "memory", "largest part"});
  if (!words_.tokens.empty()) titles.push_back(words_.tokens + " tokens");
  if (!words_.goodput.empty()) titles.emplace_back("with failures");
  return titles;
}

LayoutPoint LayoutSweep::answer(int64_t number, Stopper& stopper) const {
  stopper.look();
  const Json values = values_at(axes_, number);
  LayoutPoint point{{{"schema", "sgdsim/layout-point/1"}, {"axes", values}}, {}, {}};
  for (const Axis& axis : axes_) point.cells.push_back(text_of(values[axis.field()]));
  const auto fail = [&](const std::string& why) {
    point.json["error"] = why;
    point.cells.push_back(printable(why));
    point.cells.resize(titles().size());
  };
  try {
    LayoutWords one = words_;
    for (const Axis& axis : axes_) set_field(one, axis.field(), values[axis.field()]);
    const AnsweredLayouts answered = answer_layouts(one, false, stopper);
    point.json["answer"] = to_json(answered.question, answered.answer);
    point.warnings = warnings_of(answered.question, answered.answer);
    add_cells(point.cells, answered);
  } catch (const InputError& error) {
    fail(error.what());
  } catch (const LimitReached& limit) {
    fail(limit.what());
  }
  return point;
}

}  // namespace sgdsim
