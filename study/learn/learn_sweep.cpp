// Points are experiments with more settings.
#include "study/learn/learn_sweep.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/worked_on.h"
#include "study/learn/learn_answer.h"
#include "study/learn/learn_fields.h"
#include "study/table.h"
#include "study/tie.h"

namespace sgdsim {
namespace {

constexpr int64_t most_learn_points = 100'000;
constexpr int64_t most_points_at_once = 64;
constexpr double most_ends_at_once = 1 << 25;  // of iterations: 256 MB
constexpr int64_t tried_experiments = 100;

bool sets_a_method(const std::string& step) {
  return step == "compression" || step == "synchronization";
}

std::string sentence_of(const InputError& error) {
  const std::string what = error.what();
  return error.where().empty() ? what : what.substr(error.where().size() + 2);
}

bool is_within(const std::string& field, const std::string& other) {
  return field == other || field.starts_with(other + '.');
}

// Two that set the same field could not both have their way.
void check_apart(const std::vector<Axis>& axes, const std::vector<Method>& methods) {
  for (const Method& method : methods)
    for (const auto& one : method.fields)
      for (const Axis& axis : axes)
        if (is_within(axis.field(), one.first) || is_within(one.first, axis.field()))
          throw InputError(axis.where(), "the method \"" + method.label + "\" sets " + one.first +
                                             ", too; make it a method of its own");
}

// Who is first: equal ones together, and with how many seeds that holds.
struct Winners {
  std::vector<std::size_t> methods;
  std::size_t seeds = 0;
};

bool are_equal(double a, double b) { return std::isfinite(a) && std::isfinite(b) && is_tie(a, b); }
bool is_no_later(double a, double b) { return a < b || are_equal(a, b); }

Winners winners_of(const Learned& learned) {
  const auto time = [&](std::size_t method) {
    return learned.methods[method].chosen().time_to_target_us.median;
  };
  double least = HUGE_VAL;
  for (std::size_t i = 0; i < learned.methods.size(); ++i) least = std::min(least, time(i));
  Winners winners;
  if (!std::isfinite(least)) return winners;
  for (std::size_t i = 0; i < learned.methods.size(); ++i)
    if (are_equal(time(i), least)) winners.methods.push_back(i);
  const LearnedRate& first = learned.methods[winners.methods.front()].chosen();
  for (std::size_t seed = 0; seed < first.times_us.size(); ++seed)
    winners.seeds +=
        std::all_of(learned.methods.begin(), learned.methods.end(), [&](const LearnedMethod& one) {
          return is_no_later(first.times_us[seed], one.chosen().times_us[seed]);
        });
  return winners;
}

std::string time_cell(const LearnedMethod& method) {
  const double time = method.chosen().time_to_target_us.median;
  if (std::isfinite(time)) return short_duration(time, 4);
  return end_of(method.chosen()).empty() ? "not reached" : "diverged";
}

std::string winners_cell(const LearnQuestion& question, const Winners& winners) {
  if (winners.methods.empty()) return "none";
  std::string text;
  for (const std::size_t i : winners.methods)
    text += (text.empty() ? "" : " = ") + question.methods[i].label;
  const std::size_t seeds = question.seeds.size();
  if (winners.seeds < seeds)
    text += ", " + std::to_string(winners.seeds) + " of " + std::to_string(seeds) + " seeds";
  return text;
}

}  // namespace

LearnSweep::LearnSweep(const LearnWords& words, Watch watch, std::vector<std::string>& inputs)
    : watch_(std::move(watch)),
      file_(words.experiment),
      base_(begin_learn_question(words)),
      resolved_(resolve_experiment(words.experiment, words.settings, words.cluster)),
      points_(words.axes, most_learn_points) {
  inputs = resolved_.inputs;
  if (base_.measures_noise)
    throw InputError("--noise-scale", "is of one experiment; it does not go with --axis");
  check_apart(points_.axes(), base_.also);
  check_methods();
  labels_ = {"dense"};
  const auto has = [&](const char* field) {
    return resolved_.json.contains(field) && !resolved_.json[field].is_null();
  };
  if (has("compression") || has("synchronization") ||
      std::any_of(points_.axes().begin(), points_.axes().end(),
                  [](const Axis& axis) { return sets_a_method(axis.steps().front()); }))
    labels_.emplace_back("as it is");
  for (const Method& method : base_.also) labels_.push_back(method.label);
  const double ends = static_cast<double>(base_.iterations) * static_cast<double>(labels_.size());
  at_once_ =
      std::clamp<int64_t>(static_cast<int64_t>(most_ends_at_once / ends), 1, most_points_at_once);
}

// "--set cluster.nodes=0" of an error is that axis; empty: of none.
std::string LearnSweep::axis_of(const InputError& error) const {
  for (const Axis& axis : points_.axes())
    if (error.where().starts_with("--set " + axis.field() + "=")) return axis.where();
  return {};
}

ResolvedExperiment LearnSweep::resolved_at(const Json& values) const {
  std::vector<std::string> settings;
  for (const Axis& axis : points_.axes())
    settings.push_back(axis.field() + "=" + values[axis.field()].dump());
  return with_settings(resolved_, settings);
}

LearnQuestion LearnSweep::question_at(const ResolvedExperiment& resolved) const {
  return for_experiment(base_, file_, resolved);
}

// All points have the same fields: the first one whose values are taken shows that there are such.
void LearnSweep::check_methods() const {
  std::string first;
  for (int64_t number = 0; number < std::min(points_.count(), tried_experiments); ++number) {
    try {
      const ResolvedExperiment resolved = resolved_at(points_.values_at(number));
      for (const LearnMethod& method : question_at(resolved).methods)
        read_experiment(with_settings(resolved, method.settings));
      return;
    } catch (const StatedCosts& error) {
      const std::string axis = axis_of(error);
      if (axis.empty()) throw;
      throw InputError(axis, error.sentence());
    } catch (const InputError& error) {
      const std::string axis = axis_of(error);
      if (!axis.empty() && sentence_of(error).starts_with("unknown field"))
        throw InputError(axis, sentence_of(error));
      if (first.empty()) first = error.what();
    }
  }
  throw InputError("--axis", "no point can be learned; the first one: " + first);
}

std::vector<std::string> LearnSweep::titles() const {
  std::vector<std::string> titles;
  for (const Axis& axis : points_.axes()) titles.push_back(axis.field());
  titles.insert(titles.end(), labels_.begin(), labels_.end());
  titles.emplace_back("fastest");
  return titles;
}

LearnSweep::Point LearnSweep::played(int64_t number, const std::function<void()>& look) const {
  Point point;
  try {
    const ResolvedExperiment resolved = resolved_at(points_.values_at(number));
    LearnQuestion question = question_at(resolved);
    Stopper stopper(look);
    play_methods(question, resolved, &stopper);
    point.question = std::move(question);
  } catch (const InputError& error) {
    const std::string axis = axis_of(error);
    point.failure = axis.empty() ? std::current_exception()
                                 : std::make_exception_ptr(InputError(axis, sentence_of(error)));
  } catch (const LimitReached&) {
    point.failure = std::current_exception();
  }
  return point;
}

// Simulates the next points, and learns what they need.
void LearnSweep::take_points(int64_t first) {
  first_ = first;
  const int64_t end = std::min(points_.count(), first + at_once_);
  ready_ = worked_on<Point>(static_cast<std::size_t>(end - first),
                            {.threads = base_.threads, .look = watch_.look},
                            [&](int, std::size_t number, const std::function<void()>& look) {
                              return played(first + static_cast<int64_t>(number), look);
                            });
  std::vector<const LearnQuestion*> questions;
  for (const Point& point : ready_)
    if (point.question) questions.push_back(&*point.question);
  const std::vector<std::size_t> learned = learn_ahead(questions, watch_.look, memory_);
  auto count = learned.begin();
  for (Point& point : ready_)
    if (point.question) point.learned = *count++;
  choose_target();
}

// All points have one target: the one that was asked for, or what dense reaches at the first.
void LearnSweep::choose_target() {
  for (Point& point : ready_) {
    if (!point.question) continue;
    if (!base_.target) {
      base_.target = learn_all(*point.question, watch_.look, &memory_).target;
      target_is_chosen_ = true;
    }
    point.question->target = base_.target;
  }
}

Json LearnSweep::answer_json(const LearnQuestion& question, const Learned& learned,
                             const Point& point) const {
  const Winners winners = winners_of(learned);
  ToldLearnPoint told{.question = &question,
                      .target = learned.target,
                      .target_was_asked_for = !target_is_chosen_,
                      .asked = static_cast<int64_t>(learned.asked),
                      .learned = static_cast<int64_t>(point.learned),
                      .seeds_won = static_cast<int64_t>(winners.seeds)};
  for (std::size_t i = 0; i < learned.methods.size(); ++i)
    told.methods[question.methods[i].label] =
        written(point_figures(question.methods[i], learned.methods[i]));
  for (const std::size_t i : winners.methods) told.fastest.push_back(question.methods[i].label);
  return to_json_by_fields(told);
}

AnsweredPoint LearnSweep::answer(int64_t number) {
  const auto count = static_cast<int64_t>(ready_.size());
  if (number < first_ || number >= first_ + count) take_points(number);
  Point& point = ready_[static_cast<std::size_t>(number - first_)];
  return points_.answered("sgdsim/learn-point/1", number, titles().size(),
                          [&](const Json&, AnsweredPoint& answered) {
                            if (point.failure) std::rethrow_exception(point.failure);
                            const LearnQuestion& question = *point.question;
                            const Learned learned = learn_all(question, watch_.look, &memory_);
                            asked_ += learned.asked;
                            answered.answer = answer_json(question, learned, point);
                            for (const std::string& label : labels_) {
                              std::string cell = "-";
                              for (std::size_t i = 0; i < learned.methods.size(); ++i)
                                if (question.methods[i].label == label)
                                  cell = time_cell(learned.methods[i]);
                              answered.cells.push_back(cell);
                            }
                            answered.cells.push_back(winners_cell(question, winners_of(learned)));
                            for (std::size_t i = 0; i < learned.methods.size(); ++i) {
                              const std::string label = question.methods[i].label + ": ";
                              for (const std::string& note : question.methods[i].notes)
                                answered.warnings.push_back(label + note);
                              if (learned.methods[i].is_at_edge)
                                answered.warnings.push_back(label + edge_of_ladder);
                            }
                          });
}

std::string LearnSweep::summary() const {
  std::string text = "Time to ";
  text += base_.target ? goal_text(*base_.target) : "the target";
  if (target_is_chosen_)
    text += ", which dense reaches in half of the iterations at the first point";
  text += "; median of " + std::to_string(base_.seeds.size()) +
          (base_.seeds.size() == 1 ? " seed" : " seeds") + ", at most " +
          std::to_string(base_.iterations) + " iterations.\n" + std::to_string(points_.count()) +
          (points_.count() == 1 ? " point" : " points") + " with " +
          std::to_string(labels_.size()) + (labels_.size() == 1 ? " method" : " methods") + ": " +
          std::to_string(memory_.size()) + " lessons learned of " + std::to_string(asked_) +
          " asked.\n";
  return text;
}

}  // namespace sgdsim
