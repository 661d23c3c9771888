// Answers about lessons, sgdsim/learn/1 and the answers of sgdsim/learn-point/1: each field once,
// for the answer and for its schema.
#pragma once

#include "study/learn/lessons.h"
#include "study/learn/noise_scale.h"

namespace sgdsim {

// A number that may be out of reach; null is written where it is.
std::optional<double> if_finite(double value);

// Times, iterations and ratios of a method, without its curves.
Fields point_figures(const LearnMethod& method, const LearnedMethod& learned);

struct ToldLearnPoint {
  const LearnQuestion* question = nullptr;
  LearnTarget target = {};
  bool target_was_asked_for = true;
  int64_t asked = 0;
  int64_t learned = 0;
  Json methods = Json::object();  // figures by label
  std::vector<std::string> fastest = {};
  int64_t seeds_won = 0;
};
Fields fields_of(const ToldLearnPoint& told);
Json schema_of_learn_points();  // sgdsim/learn-point/1

Json learned_json(const LearnQuestion& question, const Learned& learned);  // sgdsim/learn/1
Json schema_of_learned();

}  // namespace sgdsim
