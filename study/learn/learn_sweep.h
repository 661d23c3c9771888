// `axis`: the methods of a question at every point of a product of fields of its experiment.
//
// Points differ in times and mostly not in what is learned, so a lesson is learned by the first
// point that needs it. Points are simulated and learned a handful at once, so that memory does not
// grow with their number.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/learn/lessons.h"
#include "study/sweep/axis_points.h"

namespace sgdsim {

// The first axis is the slowest.
class LearnSweep {
 public:
  // InputError for what no point can have: a field that experiments have not, words that no lesson
  // can follow, a method that can be read at none of the first hundred points.
  LearnSweep(const LearnWords& words, Watch watch, std::vector<std::string>& inputs);

  int64_t points() const { return points_.count(); }
  std::size_t axes() const { return points_.axes().size(); }
  Json values_at(int64_t number) const { return points_.values_at(number); }  // by field
  std::vector<std::string> titles() const;
  // sgdsim/learn-point/1. In order: number 0, 1, ... What the watch throws ends it.
  AnsweredPoint answer(int64_t number);
  // What the answers so far have in common, for people.
  std::string summary() const;

 private:
  // Simulated: the question, or why there is none.
  struct Point {
    std::optional<LearnQuestion> question = {};
    std::exception_ptr failure = {};
    std::size_t learned = 0;  // lessons of which it was the first
  };
  std::string axis_of(const InputError& error) const;
  ResolvedExperiment resolved_at(const Json& values) const;
  LearnQuestion question_at(const ResolvedExperiment& resolved) const;
  void check_methods() const;
  Point played(int64_t number, const std::function<void()>& look) const;
  void take_points(int64_t first);
  void choose_target();
  Json answer_json(const LearnQuestion& question, const Learned& learned, const Point& point) const;

  Watch watch_;
  std::string file_;
  LearnQuestion base_;
  ResolvedExperiment resolved_;
  AxisPoints points_;
  std::vector<std::string> labels_;  // of methods
  bool target_is_chosen_ = false;
  int64_t at_once_ = 1;
  int64_t first_ = 0;  // of those that are ready
  std::vector<Point> ready_;
  LessonMemory memory_;
  std::size_t asked_ = 0;
};

}  // namespace sgdsim
