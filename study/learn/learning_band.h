// How many more iterations changes need that alter learning, as small models say: a band, because
// tasks and rates disagree, and never one number.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/step/experiment.h"

namespace sgdsim {

struct LearningBand {
  // Iterations to the same loss, over those of the experiment as it is; infinite where a task did
  // not reach it within its lesson.
  double least = 1;
  double most = 1;
};

// What the bands rest on, for people.
std::string learned_by();

// Of each changed experiment, whose compression and synchronization are learned by at most 8 of
// its workers. `watch` is asked now and then, by any thread, whether to stop: it throws.
std::vector<LearningBand> learning_bands(const Experiment& as_it_is,
                                         const std::vector<Experiment>& changed,
                                         const std::function<void()>& watch);

}  // namespace sgdsim
