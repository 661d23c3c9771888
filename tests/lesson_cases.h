// Small lessons, for tests with a pencil.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "models/learning/lesson.h"
#include "sim/core/json.h"

namespace sgdsim::learning {

inline Task lesson_task(const std::string& text) {
  const Json json = Json::parse(text);
  return read_task(Value(json, "task", ""));
}

// A bowl without noise.
inline Task bowl(const std::string& fields) {
  return lesson_task(R"({"name": "quadratic", "noise": 0, )" + fields + "}");
}

inline LessonPlan lesson_plan(const Task& task, int workers, double rate, int64_t iterations) {
  LessonPlan plan;
  plan.task = &task;
  plan.log.workers = workers;
  plan.optimizer.rate = rate;
  plan.samples = 1;
  plan.iterations = iterations;
  plan.evaluate = 1;
  return plan;
}

inline Compressing selecting(Numbers numbers, double density, bool feedback = true) {
  Compressing compressing;
  compressing.numbers = numbers;
  compressing.densities = {{density, 0}};
  compressing.feedback = feedback;
  return compressing;
}

// Coordinates that are alike are paths: E w^2 and its standard error.
struct Moment {
  double mean = 0;
  double error = 0;
};
inline Moment square_of(const LessonPlan& plan) {
  const std::vector<double> weights = learn(plan).weights;
  const auto count = static_cast<double>(weights.size());
  double sum = 0;
  double squares = 0;
  for (const double weight : weights) {
    sum += weight * weight;
    squares += weight * weight * weight * weight;
  }
  const double mean = sum / count;
  return {mean, std::sqrt((squares / count - mean * mean) / count)};
}

}  // namespace sgdsim::learning
