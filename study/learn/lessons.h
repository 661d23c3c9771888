// The lessons of a question: every method, seed and rate, each different one learned once.
#pragma once

#include <functional>
#include <map>

#include "study/learn/learn_question.h"

namespace sgdsim {

// A number over seeds; infinite where a seed did not reach the target.
struct OverSeeds {
  double median = 0;
  double low = 0;
  double high = 0;
};

// The middle one; of an even number the mean of both, so long as they are finite.
OverSeeds over_seeds(std::vector<double> values);

struct LearnedRate {
  double rate = 0;
  std::vector<const learning::Lesson*> lessons;  // by seed
  std::vector<double> iterations;                // to the target, by seed; infinite: not reached
  std::vector<double> times_us;                  // likewise
  OverSeeds iterations_to_target;
  OverSeeds time_to_target_us;
  double final_loss = 0;  // median of seeds; infinite where most diverged
};

struct LearnedMethod {
  std::vector<LearnedRate> ladder;  // ascending; one if the rate is given
  std::size_t best = 0;
  bool is_at_edge = false;  // the best of the ladder is its first or last rate
  OverSeeds against_dense;  // time to target, seed by seed; NaN where either was not reached

  const LearnedRate& chosen() const { return ladder[best]; }
};

struct Learned {
  std::vector<learning::Lesson> lessons;  // each different one
  std::size_t asked = 0;                  // how many there would be without equal ones
  LearnTarget target;
  bool target_is_chosen = false;  // it was not asked for
  std::vector<LearnedMethod> methods;
};

// Whether both learn the same, with the same rates and seeds.
bool learn_alike(const LearnMethod& a, const LearnMethod& b);

// Lessons of earlier questions, by what they depend on.
using LessonMemory = std::map<std::string, learning::Lesson>;

// `watch` is asked now and then, by any thread, whether to stop: it throws. What `memory` has is
// not learned again, and it gets what was learned.
Learned learn_all(const LearnQuestion& question, const std::function<void()>& watch,
                  LessonMemory* memory = nullptr);

// Learns at once what several questions need and `memory` has not, without the weights at the end:
// how many lessons each question was the first to need.
std::vector<std::size_t> learn_ahead(const std::vector<const LearnQuestion*>& questions,
                                     const std::function<void()>& watch, LessonMemory& memory);

}  // namespace sgdsim
