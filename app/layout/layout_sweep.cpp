// Points are arguments with some fields changed.
#include "app/layout/layout_sweep.h"

#include <algorithm>
#include <array>
#include <set>

#include "app/layout/layout_files.h"
#include "app/step/override.h"
#include "app/sweep/sweep_file.h"
#include "app/table.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr int64_t most_layout_points = 1'000'000;

const std::vector<std::pair<std::string, std::string LayoutArguments::*>>& text_fields() {
  static const std::vector<std::pair<std::string, std::string LayoutArguments::*>> fields = {
      {"model", &LayoutArguments::model},
      {"layout", &LayoutArguments::layout},
      {"gpu", &LayoutArguments::gpu},
      {"memory", &LayoutArguments::memory},
      {"precision", &LayoutArguments::precision},
      {"gradients", &LayoutArguments::gradients},
      {"program", &LayoutArguments::program}};
  return fields;
}
struct WholeField {
  const char* name;
  int64_t LayoutArguments::*member;
  int64_t most;
};
constexpr std::array<WholeField, 3> whole_fields{{
    {"gpus", &LayoutArguments::gpus, most_gpus},
    {"sequence", &LayoutArguments::sequence, most_sequence},
    {"global_batch", &LayoutArguments::batch, most_global_batch},
}};
constexpr std::string_view of_cluster = "cluster.";
constexpr std::string_view of_algorithms = "algorithm";

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void set_field(LayoutArguments& arguments, const std::string& field, const Json& value) {
  const std::string where = "--axis " + field;
  if (field == of_algorithms) {
    arguments.algorithms = {Value(value, where, "").text()};
    return;
  }
  for (const auto& [name, member] : text_fields())
    if (name == field) {
      arguments.*member = Value(value, where, "").text();
      return;
    }
  for (const WholeField& one : whole_fields)
    if (field == one.name) {
      arguments.*one.member = Value(value, where, "").whole(1, one.most);
      return;
    }
  arguments.settings.push_back(field.substr(of_cluster.size()) + "=" + text_of(value));
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

std::vector<std::string> cells_of(const std::vector<Axis>& axes, const Json& values) {
  std::vector<std::string> cells;
  for (const Axis& axis : axes) cells.push_back(text_of(values[axis.field()]));
  return cells;
}

void add_cells(std::vector<std::string>& cells, const AnsweredLayouts& answered) {
  const LayoutQuestion& question = answered.question;
  const FoundLayout& best = answered.answer.best.front().found;
  const LayoutRates rates =
      rates_of(question.step_size(), best.time, best.mfu, question.gpu.peak(question.precision));
  cells.insert(cells.end(), {to_text(best.layout), short_duration(best.time.us(), 5),
                             rounded(rates.tokens_per_s), rounded(100 * best.mfu, 3) + " %",
                             gib_text(best.memory_B), best.limit});
  if (rates.days) cells.push_back(days_text(*rates.days));
}

}  // namespace

int sweep_layouts(const LayoutArguments& arguments, Streams streams,
                  const std::function<AnsweredLayouts(const LayoutArguments&)>& answer,
                  const Stopper& stopper) {
  std::vector<Axis> axes;
  add_axes(axes, arguments.axes);
  std::vector<std::string> titles;
  for (const Axis& axis : axes) {
    check_field(axis.field());
    Axis::check_distinct({&axis});
    titles.push_back(axis.field());
  }
  const int64_t points = points_of(axes);
  titles.insert(titles.end(),
                {"fastest layout", "step", "tokens/s/GPU", "MFU", "memory", "largest part"});
  if (!arguments.tokens.empty()) titles.push_back(arguments.tokens + " tokens");
  Table table(titles);
  std::set<std::string> warned;  // each once
  int64_t failed = 0;
  for (int64_t point = 0; point < points; ++point) {
    stopper.look();
    const Json values = values_at(axes, point);
    Json line = {{"schema", "sgdsim/layout-point/1"}, {"axes", values}};
    std::vector<std::string> cells = cells_of(axes, values);
    const auto fail = [&](const std::string& why) {
      ++failed;
      line["error"] = why;
      cells.push_back(printable(why));
      cells.resize(titles.size());
    };
    try {
      LayoutArguments one = arguments;
      for (const Axis& axis : axes) set_field(one, axis.field(), values[axis.field()]);
      const AnsweredLayouts answered = answer(one);
      line["answer"] = to_json(answered.question, answered.answer);
      for (const std::string& warning : warnings_of(answered.question, answered.answer))
        if (warned.insert(warning).second)
          streams.log << "sgdsim: warning: " << printable(warning) << '\n';
      add_cells(cells, answered);
    } catch (const InputError& error) {
      fail(error.what());
    } catch (const LimitReached& limit) {
      fail(limit.what());
    }
    if (arguments.format == "json")
      streams.out << line.dump() << '\n';
    else
      table.add(cells);
  }
  if (arguments.format != "json") table.print(streams.out, axes.size());
  if (failed == 0) return 0;
  streams.log << "sgdsim: " << failed << " of " << points << " points failed\n";
  return exit_point_failed;
}

}  // namespace sgdsim
