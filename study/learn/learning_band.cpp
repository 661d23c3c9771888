// The tasks that take seconds, at their own rate and at each method's best one.
#include "study/learn/learning_band.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/worked_on.h"
#include "study/learn/lessons.h"

namespace sgdsim {
namespace {

constexpr int most_learners = 8;
constexpr int seeds_of_band = 2;
constexpr int evaluations = 20;  // each costs as much as ten iterations

struct BandTask {
  const char* name;
  int iterations;
  bool tries_best_rate;
};
constexpr std::array<BandTask, 3> band_tasks = {
    {{"teacher_mlp", 300, true}, {"logistic", 400, true}, {"glyphs_cnn", 200, false}}};

LearnQuestion band_question(const BandTask& task, int workers) {
  LearnQuestion question;
  question.task_json = task.name;
  question.task = learning::read_task(Value(question.task_json, "", ""));
  question.rate = question.task.rate;
  for (uint64_t seed = 1; seed <= seeds_of_band; ++seed) question.seeds.push_back(seed);
  question.iterations = task.iterations;
  question.evaluate = std::max<int64_t>(1, task.iterations / evaluations);
  question.workers = workers;
  question.samples = std::max(1, question.task.samples / workers);
  question.threads = all_cores();
  return question;
}

void widen(LearningBand& band, const LearnedMethod& method, const LearnedMethod& as_it_is,
           bool is_first) {
  const double needed = as_it_is.chosen().iterations_to_target.median;
  const double own = method.chosen().iterations_to_target.median;
  const double ratio = std::isfinite(needed) && needed > 0 ? own / needed : HUGE_VAL;
  band.least = is_first ? ratio : std::min(band.least, ratio);
  band.most = is_first ? ratio : std::max(band.most, ratio);
}

}  // namespace

std::string learned_by() {
  std::string text;
  for (const BandTask& task : band_tasks)
    text += (text.empty() ? "" : ", ") + std::string(task.name);
  return "small models (" + text + ") with " + std::to_string(seeds_of_band) +
         " seeds, at one rate for all and at each method's best";
}

std::vector<LearningBand> learning_bands(const Experiment& as_it_is,
                                         const std::vector<Experiment>& changed,
                                         const std::function<void()>& watch) {
  std::vector<LearningBand> bands(changed.size());
  if (changed.empty()) return bands;
  const int workers = std::min(most_learners, as_it_is.cluster.network.workers());
  bool is_first = true;
  for (const BandTask& task : band_tasks)
    for (const bool best : {false, true}) {
      if (best && !task.tries_best_rate) continue;
      LearnQuestion question = band_question(task, workers);
      question.wants_best_rate = best;
      // Dense sets the target.
      question.methods = {unplayed_method(nullptr, question), unplayed_method(&as_it_is, question)};
      for (const Experiment& one : changed)
        question.methods.push_back(unplayed_method(&one, question));
      const Learned learned = learn_all(question, watch);
      for (std::size_t i = 0; i < bands.size(); ++i)
        widen(bands[i], learned.methods[i + 2], learned.methods[1], is_first);
      is_first = false;
    }
  return bands;
}

}  // namespace sgdsim
