// The tasks of learning: one line each. The name is the JSON value, the file and the namespace.
#pragma once

#include <vector>

#include "models/learning/task.h"

namespace sgdsim::learning {

#define SGDSIM_LEARNING_TASKS(X) \
  X(teacher_mlp)                 \
  X(glyphs_cnn)                  \
  X(text_transformer)            \
  X(logistic)                    \
  X(least_squares)               \
  X(quadratic)

#define SGDSIM_DECLARE(name) \
  namespace name {           \
  TaskKind describe();       \
  }
SGDSIM_LEARNING_TASKS(SGDSIM_DECLARE)
#undef SGDSIM_DECLARE

inline const std::vector<TaskKind>& tasks() {
#define SGDSIM_DESCRIBE(name) name::describe(),
  static const std::vector<TaskKind> table = {SGDSIM_LEARNING_TASKS(SGDSIM_DESCRIBE)};
#undef SGDSIM_DESCRIBE
  return table;
}

}  // namespace sgdsim::learning
