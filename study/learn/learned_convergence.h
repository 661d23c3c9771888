// What lessons say of the iterations of a training, in the form that experiments read: factors by
// staleness, density and what is delivered (study/step/convergence.h).
#pragma once

#include <string>
#include <vector>

#include "study/learn/lessons.h"

namespace sgdsim {

struct LearnedConvergence {
  Json file;                      // sgdsim/convergence/1
  std::vector<std::string> said;  // what is not in it, and why
};

// InputError where methods contradict each other, have not reached the target, or say nothing.
LearnedConvergence convergence_of(const LearnQuestion& question, const Learned& learned);

}  // namespace sgdsim
