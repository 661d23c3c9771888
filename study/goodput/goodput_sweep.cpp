// Points are the question with some fields set.
#include "study/goodput/goodput_sweep.h"

#include <algorithm>

#include "sim/core/error.h"
#include "study/goodput/goodput_answer.h"
#include "study/goodput/goodput_output.h"
#include "study/goodput/spans.h"
#include "study/step/override.h"
#include "study/step/stated_costs.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr int64_t most_goodput_points = 100'000;
constexpr int64_t tried_questions = 100;

std::string or_dash(const std::optional<double>& value) { return value ? rounded(*value, 3) : "-"; }

}  // namespace

GoodputSweep::GoodputSweep(const GoodputWords& words)
    : words_(words),
      file_("options"),
      base_(goodput_json(words, file_)),
      points_(words.axes, most_goodput_points) {
  check_fields();
}

GoodputQuestion GoodputSweep::question_with(const Json& values,
                                            const std::function<void()>& look) const {
  Json json = base_;
  for (const Axis& axis : points_.axes())
    set_field(json, axis.steps(), values[axis.field()], axis.where());
  return read_goodput_question(Value(json, file_, ""), look);
}

// All points have the same fields: the first one whose values are taken shows that there are such.
void GoodputSweep::check_fields() const {
  check_nodes();
  std::string first;
  for (int64_t number = 0; number < std::min(points_.count(), tried_questions); ++number) {
    try {
      question_with(points_.values_at(number));
      return;
    } catch (const InputError& error) {
      refuse_unknown(error.what());
      if (first.empty()) first = error.what();
    }
  }
  throw InputError("--axis", "no point is a question; the first one: " + first);
}

// Of numbers of nodes one may be that of the step: both ends are tried.
void GoodputSweep::check_nodes() const {
  for (const Axis& axis : points_.axes()) {
    if (axis.field() != "nodes") continue;
    for (const int64_t number : {int64_t{0}, points_.count() - 1}) {
      try {
        question_with(points_.values_at(number));
      } catch (const StatedCosts& stated) {
        throw InputError(axis.where(), stated.sentence());
      } catch (const InputError&) {
        // Other points may have an answer.
      }
    }
  }
}

// If the sentence is about a field that only an axis names.
void GoodputSweep::refuse_unknown(const std::string& sentence) const {
  for (const Axis& axis : points_.axes()) {
    std::string path;
    for (const std::string& step : axis.steps()) {
      const std::string unknown =
          file_ + ": " + (path.empty() ? "/" : path) + ": unknown field \"" + step + "\"";
      if (sentence.starts_with(unknown))
        throw InputError(axis.where(), sentence.substr(sentence.find("unknown field")));
      path += "/" + step;
    }
  }
}

bool GoodputSweep::asks(const std::string& field) const {
  return base_.contains(field) ||
         std::any_of(points_.axes().begin(), points_.axes().end(),
                     [&](const Axis& axis) { return axis.steps().front() == field; });
}

std::vector<std::string> GoodputSweep::titles() const {
  std::vector<std::string> titles;
  for (const Axis& axis : points_.axes()) titles.push_back(axis.field());
  titles.insert(titles.end(), {"ends after", "95 % before", "productive", "saves every", "failures",
                               "GPU-hours"});
  if (asks("prices")) titles.emplace_back("cost");
  if (asks("until")) titles.emplace_back("late");
  return titles;
}

AnsweredPoint GoodputSweep::answer(int64_t number, const std::function<void()>& look) const {
  return points_.answered(
      "sgdsim/goodput-point/1", number, titles().size(),
      [&](const Json& values, AnsweredPoint& point) {
        const GoodputQuestion question = question_with(values, look);
        const GoodputAnswer answer = answer_goodput(question, threads_of(words_), look);
        point.answer = to_json(question, answer);
        point.warnings = answer.warnings;
        const goodput::Runs& runs = answer.runs;
        point.cells.insert(
            point.cells.end(),
            {span_text(goodput::to_s(runs.wall), 4), span_text(runs.quantile(0.95).value_s, 4),
             part_text(runs.productive()), span_text(question.interval_s()),
             rounded(runs.failures, 3), rounded(answer.cost.gpu_hours, 3)});
        if (asks("prices")) point.cells.push_back(or_dash(answer.cost.money));
        if (asks("until"))
          point.cells.push_back(
              or_dash(answer.deadline ? std::optional(answer.deadline->late) : std::nullopt));
      });
}

}  // namespace sgdsim
