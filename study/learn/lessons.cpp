// Finding equal lessons, learning on all threads, and reading times from curves.
#include "study/learn/lessons.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "sim/core/error.h"
#include "sim/core/worked_on.h"

namespace sgdsim {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// What methods of one question can differ in.
Json how_it_descends(const learning::Optimizer& optimizer) {
  return {optimizer.outer_rate, optimizer.outer_momentum, optimizer.divides_by_staleness};
}

Json what_is_lost(const learning::PacketLosses& losses) {
  if (!losses.any()) return nullptr;
  Json places = Json::array();
  for (const std::vector<learning::PlaceLoss>* list :
       {&losses.push_by_place, &losses.pull_by_place}) {
    places.push_back(Json::array());
    for (const learning::PlaceLoss& place : *list)
      places.back().push_back({place.until, place.part});
  }
  return {losses.push, losses.pull,     losses.packet, losses.divides_by_received,
          losses.of,   losses.fraction, places};
}

std::string key_of(const LearnMethod& method, double rate, uint64_t seed) {
  const learning::Compressing& how = method.compressing;
  Json densities = Json::array();
  for (const learning::DensityPhase& phase : how.densities)
    densities.push_back({phase.density, phase.iterations});
  return Json({method.log_hash, static_cast<int>(how.numbers), densities, how.by_tensor,
               how.feedback, how.leaks, how.threshold, how.levels, how.bucket, how.rank,
               what_is_lost(method.losses), how_it_descends(method.optimizer), rate, seed})
      .dump();
}

// The first evaluation at the target at which the next one is, too.
int64_t iterations_to(const LearnTarget& target, const learning::Lesson& lesson) {
  for (std::size_t i = 0; i + 1 < lesson.curve.size(); ++i)
    if (target.is_met(lesson.curve[i]) && target.is_met(lesson.curve[i + 1]))
      return lesson.curve[i].iteration;
  return -1;
}

// What all lessons of a question have in common.
std::string common_key(const LearnQuestion& question) {
  const learning::Optimizer& optimizer = question.optimizer;
  return Json({question.task_json, question.samples, question.iterations, question.evaluate,
               question.measures_noise, optimizer.adam, optimizer.momentum,
               optimizer.momentum_on_worker})
      .dump();
}

// One after the other, or at once.
std::vector<learning::Lesson> learn_plans(const std::vector<const learning::LessonPlan*>& plans,
                                          int most_threads, const std::function<void()>& watch) {
  return worked_on<learning::Lesson>(
      plans.size(), {.threads = most_threads, .look = watch},
      [&](int, std::size_t number, const std::function<void()>& look) {
        return learning::learn(*plans[number], look);
      });
}

class Learner {
 public:
  Learner(const LearnQuestion& question, const std::function<void()>& watch, LessonMemory* memory)
      : question_(question), watch_(watch), memory_(memory), common_key_(common_key(question)) {
    for (const LearnMethod& method : question_.methods) {
      std::vector<std::vector<std::size_t>> rates;
      for (const double rate : ladder()) {
        std::vector<std::size_t> seeds;
        for (const uint64_t seed : question_.seeds) seeds.push_back(number_of(method, rate, seed));
        rates.push_back(seeds);
      }
      numbers_.push_back(rates);
    }
  }

  // Each different lesson, and what it depends on.
  const std::vector<learning::LessonPlan>& plans() const { return plans_; }
  const std::vector<std::string>& keys() const { return keys_; }

  Learned learned() {
    Learned all;
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
    std::string key = common_key_ + key_of(method, rate, seed);
    const auto [place, is_new] = known_.emplace(key, plans_.size());
    if (!is_new) return place->second;
    keys_.push_back(std::move(key));
    learning::LessonPlan plan;
    plan.task = &question_.task;
    plan.log = method.log;
    plan.compressing = method.compressing;
    plan.losses = method.losses;
    plan.optimizer = method.optimizer;
    plan.optimizer.rate = rate;
    plan.seed = seed;
    plan.samples = question_.samples;
    plan.iterations = question_.iterations;
    plan.evaluate = question_.evaluate;
    plan.measures_noise = question_.measures_noise;
    plans_.push_back(std::move(plan));
    return place->second;
  }

  // Each plan gets its lesson: one that is remembered, or a new one.
  void learn() {
    lessons_.resize(plans_.size());
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const auto found = memory_ != nullptr ? memory_->find(keys_[i]) : LessonMemory::iterator();
      if (memory_ != nullptr && found != memory_->end())
        lessons_[i] = found->second;
      else
        wanted.push_back(i);
    }
    std::vector<const learning::LessonPlan*> plans;
    for (const std::size_t i : wanted) plans.push_back(&plans_[i]);
    std::vector<learning::Lesson> learned = learn_plans(plans, question_.threads, watch_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      lessons_[wanted[i]] = std::move(learned[i]);
      if (memory_ != nullptr) memory_->emplace(keys_[wanted[i]], lessons_[wanted[i]]);
    }
  }

  void set_target(Learned& all) const {
    if (question_.target) {
      all.target = *question_.target;
      return;
    }
    all.target_is_chosen = true;
    std::vector<double> losses;
    std::vector<double> at_start;
    const std::vector<std::vector<std::size_t>>& rates = numbers_.front();
    for (const std::size_t number : rates[rates.size() / 2]) {
      const learning::Lesson& lesson = all.lessons[number];
      double loss = never;
      for (const learning::CurvePoint& point : lesson.curve)
        if (point.iteration <= question_.iterations / 2) loss = point.loss;
      losses.push_back(lesson.ended.empty() ? loss : never);
      if (!lesson.curve.empty()) at_start.push_back(lesson.curve.front().loss);
    }
    all.target.value = over_seeds(losses).median;
    if (!std::isfinite(all.target.value)) refuse_target("");
    // All would reach it before they begin.
    if (all.target.value > over_seeds(at_start).median)
      refuse_target(": after half of its iterations the loss is above that at the start");
  }

  [[noreturn]] void refuse_target(const std::string& why) const {
    throw InputError("--rate",
                     "dense training diverges at the rate " + Json(question_.rate).dump() + why +
                         ", so it sets no target: choose a smaller --rate, or say --target");
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
  LessonMemory* memory_;
  std::string common_key_;
  std::map<std::string, std::size_t> known_;
  std::vector<learning::LessonPlan> plans_;
  std::vector<std::string> keys_;  // of plans
  std::vector<learning::Lesson> lessons_;
  std::vector<std::vector<std::vector<std::size_t>>> numbers_;  // of method, rate, seed
  std::size_t asked_ = 0;
};

}  // namespace

OverSeeds over_seeds(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  OverSeeds all{values[half], values.front(), values.back()};
  if (values.size() % 2 == 0 && std::isfinite(values[half]))
    all.median = (values[half - 1] + values[half]) / 2;
  return all;
}

bool learn_alike(const LearnMethod& a, const LearnMethod& b) {
  return key_of(a, 1, 1) == key_of(b, 1, 1);
}

Learned learn_all(const LearnQuestion& question, const std::function<void()>& watch,
                  LessonMemory* memory) {
  return Learner(question, watch, memory).learned();
}

std::vector<std::size_t> learn_ahead(const std::vector<const LearnQuestion*>& questions,
                                     const std::function<void()>& watch, LessonMemory& memory) {
  std::vector<Learner> learners;
  for (const LearnQuestion* question : questions) learners.emplace_back(*question, watch, &memory);
  std::vector<const learning::LessonPlan*> plans;
  std::vector<LessonMemory::iterator> places;
  std::vector<std::size_t> counts;
  for (const Learner& learner : learners) {
    counts.push_back(0);
    for (std::size_t i = 0; i < learner.keys().size(); ++i) {
      const auto [place, is_new] = memory.emplace(learner.keys()[i], learning::Lesson());
      if (!is_new) continue;
      ++counts.back();
      plans.push_back(&learner.plans()[i]);
      places.push_back(place);
    }
  }
  if (plans.empty()) return counts;
  std::vector<learning::Lesson> lessons;
  try {
    lessons = learn_plans(plans, questions.front()->threads, watch);
  } catch (...) {  // what was not learned is not remembered
    for (const LessonMemory::iterator place : places) memory.erase(place);
    throw;
  }
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    lessons[i].weights = {};
    places[i]->second = std::move(lessons[i]);
  }
  return counts;
}

}  // namespace sgdsim
