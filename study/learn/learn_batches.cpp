// Lessons of all sizes at once, targets one after the other, and what is fitted to them.
#include "study/learn/learn_batches.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/error.h"
#include "study/collective/ranges.h"
#include "study/learn/learn_answer.h"
#include "study/learn/noise_scale.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_batches = 20;
constexpr int64_t most_worker_samples = 1'000'000;
constexpr int64_t batch_evaluations = 100;

// ---- the question

void refuse_beside_batches(const LearnWords& words) {
  const auto refuse = [](bool is_there, const char* option, const char* why) {
    if (is_there) throw InputError(option, std::string(why) + "; it does not go with --batches");
  };
  refuse(!words.axes.empty(), "--axis", "is of times, which depend on the trace's own samples");
  refuse(!words.also.empty(), "--also",
         "is one more method, and batches are those of dense training");
  refuse(!words.samples.empty(), "--samples", "is one number of samples for each worker");
  refuse(words.noise_scale, "--noise-scale", "is in the answer to batches anyway");
}

std::vector<int64_t> read_batches(const LearnWords& words, int workers) {
  std::vector<int64_t> batches = parse_counts(words.batches, "--batches");
  std::sort(batches.begin(), batches.end());
  if (std::adjacent_find(batches.begin(), batches.end()) != batches.end())
    throw InputError("--batches", "has a number twice");
  if (batches.size() > most_batches)
    throw InputError("--batches", "has " + std::to_string(batches.size()) + " numbers; at most " +
                                      std::to_string(most_batches) + " are learned");
  for (const int64_t samples : batches) {
    if (samples < 1 || samples > most_worker_samples * workers)
      throw InputError("--batches", std::to_string(samples) +
                                        " is no number of samples from 1 to " +
                                        std::to_string(most_worker_samples) + " for each worker");
    if (samples % workers != 0)
      throw InputError("--batches", std::to_string(samples) +
                                        " samples cannot be shared equally by " +
                                        std::to_string(workers) +
                                        " workers: choose multiples of that, or other workers with "
                                        "--set cluster.nodes=...");
  }
  return batches;
}

double rate_at(const LearnedBatches& all, int64_t samples) {
  const double larger = static_cast<double>(samples) / all.task_samples;
  switch (all.batch_rate) {
    case BatchRate::fixed:
      return all.rate;
    case BatchRate::sqrt:
      return all.rate * std::sqrt(larger);
    case BatchRate::linear:
      return all.rate * larger;
  }
  return all.rate;
}

// ---- lessons

// Where the curve crosses the target, straight between that evaluation and the one before.
double crossing(const LearnTarget& target, const learning::Lesson& lesson, double reached) {
  if (!std::isfinite(reached)) return reached;
  const auto next = std::find_if(lesson.curve.begin(), lesson.curve.end(),
                                 [&](const learning::CurvePoint& point) {
                                   return static_cast<double>(point.iteration) == reached;
                                 });
  if (next == lesson.curve.begin())
    throw InputError(
        "--target",
        goal_text(target) +
            " is met before the first iteration: choose a harder one, or a smaller --rate");
  const auto before = next - 1;
  const auto figure = [&](const learning::CurvePoint& point) {
    return target.is_accuracy ? point.accuracy : point.loss;
  };
  const double part = (target.value - figure(*before)) / (figure(*next) - figure(*before));
  return static_cast<double>(before->iteration) +
         std::clamp(part, 0., 1.) * static_cast<double>(next->iteration - before->iteration);
}

BatchLesson batch_lesson(const LearnQuestion& question, const Learned& learned) {
  const LearnedMethod& method = learned.methods.front();
  const LearnedRate& chosen = method.chosen();
  BatchLesson lesson;
  lesson.samples = int64_t{question.samples} * question.workers;
  lesson.rate = chosen.rate;
  lesson.is_at_edge = method.is_at_edge;
  lesson.ended = end_of(chosen);
  for (std::size_t i = 0; i < chosen.lessons.size(); ++i)
    lesson.iterations.push_back(crossing(learned.target, *chosen.lessons[i], chosen.iterations[i]));
  lesson.over_seeds = over_seeds(lesson.iterations);
  if (question.measures_noise && lesson.is_reached())
    lesson.noise_scale = noise_scale_until(question, chosen.lessons, chosen.iterations);
  return lesson;
}

std::vector<BatchRow> rows_of(const std::vector<BatchLesson>& lessons,
                              const std::function<double(const BatchLesson&)>& iterations) {
  std::vector<BatchRow> rows;
  for (const BatchLesson& lesson : lessons)
    if (lesson.is_reached())
      rows.push_back({static_cast<double>(lesson.samples), iterations(lesson)});
  return rows;
}

// Of a seed that reached the target wherever the middle one did.
std::optional<double> critical_batch_of(const BatchTarget& target, std::size_t seed) {
  const std::vector<BatchRow> rows =
      rows_of(target.lessons, [&](const BatchLesson& lesson) { return lesson.iterations[seed]; });
  if (!std::all_of(rows.begin(), rows.end(),
                   [](const BatchRow& row) { return std::isfinite(row.iterations); }))
    return std::nullopt;
  const BatchFit fit = fit_batch_law(rows);
  if (fit.law) return fit.law->critical_batch;
  return fit.is_below ? std::numeric_limits<double>::infinity() : 0;
}

void fit_target(BatchTarget& target, std::size_t seeds) {
  target.fit = fit_batch_law(
      rows_of(target.lessons, [](const BatchLesson& lesson) { return lesson.over_seeds.median; }));
  if (!target.fit.law) return;
  for (std::size_t seed = 0; seed < seeds; ++seed)
    if (const std::optional<double> critical = critical_batch_of(target, seed))
      target.critical_by_seed.push_back(*critical);
  std::vector<double> noise;
  for (const BatchLesson& lesson : target.lessons)
    if (lesson.noise_scale) noise.push_back(*lesson.noise_scale);
  if (!noise.empty()) target.noise_scale = over_seeds(noise).median;
}

LearnedBatches begin_batches(const LearnWords& words, const LearnQuestion& base) {
  LearnedBatches all;
  all.name = base.name;
  all.task = base.task_json;
  all.task_name = base.task.name;
  all.weights = base.task.weights();
  all.workers = base.workers;
  all.task_samples = base.task.samples;
  all.rate = base.rate;
  if (!words.batch_rate.empty())
    all.batch_rate = named_in(batch_rates, "batch rate", words.batch_rate, "--batch-rate");
  all.wants_best_rate = base.wants_best_rate;
  all.iterations = base.iterations;
  all.seeds = base.seeds;
  return all;
}

std::vector<LearnQuestion> questions_of(const LearnedBatches& all, const LearnQuestion& base,
                                        const std::vector<int64_t>& batches) {
  std::vector<LearnQuestion> questions;
  for (const int64_t samples : batches) {
    LearnQuestion question = base;
    question.samples = static_cast<int>(samples / base.workers);
    question.rate = rate_at(all, samples);
    question.evaluate = std::max<int64_t>(1, base.iterations / batch_evaluations);
    question.measures_noise = base.workers > 1;
    question.methods = {unplayed_method(nullptr, question)};
    questions.push_back(std::move(question));
  }
  return questions;
}

}  // namespace

bool BatchLesson::is_reached() const { return std::isfinite(over_seeds.median); }

BatchQuestion read_batch_question(const LearnWords& words, std::vector<std::string>& inputs) {
  refuse_beside_batches(words);
  LearnQuestion base = begin_learn_question(words);
  const ResolvedExperiment resolved =
      resolve_experiment(words.experiment, words.settings, words.cluster);
  inputs = resolved.inputs;
  base = for_experiment(std::move(base), words.experiment, resolved);
  BatchQuestion question;
  question.about = begin_batches(words, base);
  question.sizes = questions_of(question.about, base, read_batches(words, base.workers));
  question.targets = read_targets(words.target, base.task);
  return question;
}

LearnedBatches learn_batches(BatchQuestion question, const Watch& watch) {
  LearnedBatches all = std::move(question.about);
  std::vector<LearnQuestion>& questions = question.sizes;
  std::vector<LearnTarget> targets = std::move(question.targets);
  std::vector<const LearnQuestion*> asked;
  for (const LearnQuestion& size : questions) asked.push_back(&size);
  LessonMemory memory;
  learn_ahead(asked, watch.look, memory);
  if (targets.empty()) {
    all.target_is_chosen = true;
    targets.push_back(learn_all(questions.front(), watch.look, &memory).target);
  }
  for (const LearnTarget& target : targets) {
    BatchTarget& told = all.targets.emplace_back();
    told.target = target;
    for (LearnQuestion& size : questions) {
      size.target = target;
      told.lessons.push_back(batch_lesson(size, learn_all(size, watch.look, &memory)));
    }
    fit_target(told, all.seeds.size());
  }
  return all;
}

}  // namespace sgdsim
