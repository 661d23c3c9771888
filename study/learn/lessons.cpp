// Finding equal lessons, learning on all threads, and reading times from curves.
#include "study/learn/lessons.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "sim/core/error.h"
#include "sim/core/parallel.h"

namespace sgdsim {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::string key_of(const LearnMethod& method, double rate, uint64_t seed) {
  const learning::Compressing& how = method.compressing;
  Json densities = Json::array();
  for (const learning::DensityPhase& phase : how.densities)
    densities.push_back({phase.density, phase.iterations});
  return Json({method.log_hash, static_cast<int>(how.numbers), densities, how.by_tensor,
               how.feedback, how.leaks, how.threshold, how.levels, how.bucket, how.rank,
               method.losses.push, rate, seed})
      .dump();
}

// The middle one; of an even number the mean of both, so long as they are finite.
OverSeeds over_seeds(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  OverSeeds all{values[half], values.front(), values.back()};
  if (values.size() % 2 == 0 && std::isfinite(values[half]))
    all.median = (values[half - 1] + values[half]) / 2;
  return all;
}

// The first evaluation at the target at which the next one is, too.
int64_t iterations_to(const LearnTarget& target, const learning::Lesson& lesson) {
  for (std::size_t i = 0; i + 1 < lesson.curve.size(); ++i)
    if (target.is_met(lesson.curve[i]) && target.is_met(lesson.curve[i + 1]))
      return lesson.curve[i].iteration;
  return -1;
}

class Learner {
 public:
  Learner(const LearnQuestion& question, const std::function<void()>& watch)
      : question_(question), watch_(watch) {}

  Learned learned() {
    Learned all;
    for (const LearnMethod& method : question_.methods) {
      std::vector<std::vector<std::size_t>> rates;
      for (const double rate : ladder()) {
        std::vector<std::size_t> seeds;
        for (const uint64_t seed : question_.seeds) seeds.push_back(number_of(method, rate, seed));
        rates.push_back(seeds);
      }
      numbers_.push_back(rates);
    }
    all.asked = asked_;
    learn();
    all.lessons = std::move(lessons_);
    set_target(all);
    for (std::size_t i = 0; i < question_.methods.size(); ++i)
      all.methods.push_back(judged(all, i));
    for (LearnedMethod& method : all.methods) compare(method, all.methods.front());
    return all;
  }

 private:
  std::vector<double> ladder() const {
    if (!question_.wants_best_rate) return {question_.rate};
    std::vector<double> rates;
    for (const double factor : {0.25, 0.5, 1., 2., 4.}) rates.push_back(factor * question_.rate);
    return rates;
  }

  std::size_t number_of(const LearnMethod& method, double rate, uint64_t seed) {
    ++asked_;
    const auto [place, is_new] = known_.emplace(key_of(method, rate, seed), plans_.size());
    if (!is_new) return place->second;
    learning::LessonPlan plan;
    plan.task = &question_.task;
    plan.log = method.log;
    plan.compressing = method.compressing;
    plan.losses = method.losses;
    plan.optimizer.rate = rate;
    plan.optimizer.momentum = question_.momentum;
    plan.seed = seed;
    plan.samples = question_.samples;
    plan.iterations = question_.iterations;
    plan.evaluate = question_.evaluate;
    plans_.push_back(std::move(plan));
    return place->second;
  }

  void learn() {
    std::size_t next = 0;
    OrderedWork<std::size_t, learning::Lesson> work(
        {.next = [&]() -> std::optional<std::size_t> {
           return next < plans_.size() ? std::optional(next++) : std::nullopt;
         },
         .work = [&](int,
                     const std::size_t& number) { return learning::learn(plans_[number], watch_); },
         .take =
             [&](std::vector<learning::Lesson>&& ready) {
               if (watch_) watch_();
               for (learning::Lesson& lesson : ready) lessons_.push_back(std::move(lesson));
               return true;
             }},
        static_cast<int>(
            std::min<std::size_t>(plans_.size(), static_cast<std::size_t>(question_.threads))),
        std::chrono::milliseconds(20));
    work.run();
  }

  void set_target(Learned& all) const {
    if (question_.target) {
      all.target = *question_.target;
      return;
    }
    all.target_is_chosen = true;
    std::vector<double> losses;
    const std::vector<std::vector<std::size_t>>& rates = numbers_.front();
    for (const std::size_t number : rates[rates.size() / 2]) {
      const learning::Lesson& lesson = all.lessons[number];
      double loss = never;
      for (const learning::CurvePoint& point : lesson.curve)
        if (point.iteration <= question_.iterations / 2) loss = point.loss;
      losses.push_back(lesson.ended.empty() ? loss : never);
    }
    all.target.value = over_seeds(losses).median;
    if (!std::isfinite(all.target.value))
      throw InputError("--rate", "dense training diverges at the rate " +
                                     Json(question_.rate).dump() +
                                     ", so it sets no target: choose a smaller rate");
  }

  LearnedRate at_rate(const Learned& all, std::size_t number, std::size_t rung) const {
    const LearnMethod& method = question_.methods[number];
    LearnedRate result;
    result.rate = ladder()[rung];
    std::vector<double> losses;
    for (const std::size_t at : numbers_[number][rung]) {
      const learning::Lesson& lesson = all.lessons[at];
      result.lessons.push_back(&lesson);
      const int64_t iterations = iterations_to(all.target, lesson);
      result.iterations.push_back(iterations < 0 ? never : static_cast<double>(iterations));
      result.times_us.push_back(
          iterations < 0 ? never : method.ends_us[static_cast<std::size_t>(iterations)]);
      losses.push_back(lesson.ended.empty() && !lesson.curve.empty() ? lesson.curve.back().loss
                                                                     : never);
    }
    result.iterations_to_target = over_seeds(result.iterations);
    result.time_to_target_us = over_seeds(result.times_us);
    result.final_loss = over_seeds(losses).median;
    return result;
  }

  LearnedMethod judged(const Learned& all, std::size_t number) const {
    LearnedMethod method;
    for (std::size_t rung = 0; rung < numbers_[number].size(); ++rung)
      method.ladder.push_back(at_rate(all, number, rung));
    const auto is_better = [](const LearnedRate& a, const LearnedRate& b) {
      if (a.time_to_target_us.median != b.time_to_target_us.median)
        return a.time_to_target_us.median < b.time_to_target_us.median;
      return a.final_loss < b.final_loss;
    };
    const auto best = std::min_element(method.ladder.begin(), method.ladder.end(), is_better);
    method.best = static_cast<std::size_t>(best - method.ladder.begin());
    method.is_at_edge =
        method.ladder.size() > 1 && (method.best == 0 || method.best + 1 == method.ladder.size());
    return method;
  }

  // Seed by seed: both have seen the same samples.
  static void compare(LearnedMethod& method, const LearnedMethod& dense) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < method.chosen().times_us.size(); ++i) {
      const double own = method.chosen().times_us[i];
      const double other = dense.chosen().times_us[i];
      if (std::isfinite(own) && std::isfinite(other) && other > 0) ratios.push_back(own / other);
    }
    const double none = std::nan("");
    method.against_dense = ratios.size() == method.chosen().times_us.size()
                               ? over_seeds(ratios)
                               : OverSeeds{none, none, none};
  }

  const LearnQuestion& question_;
  const std::function<void()>& watch_;
  std::map<std::string, std::size_t> known_;
  std::vector<learning::LessonPlan> plans_;
  std::vector<learning::Lesson> lessons_;
  std::vector<std::vector<std::vector<std::size_t>>> numbers_;  // of method, rate, seed
  std::size_t asked_ = 0;
};

}  // namespace

Learned learn_all(const LearnQuestion& question, const std::function<void()>& watch) {
  return Learner(question, watch).learned();
}

}  // namespace sgdsim
