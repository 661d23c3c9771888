// The synchronizations: one line each. The name is the JSON value, the file and the namespace.
#pragma once

#include <vector>

#include "models/synchronization/synchronization.h"

namespace sgdsim {

#define SGDSIM_SYNCHRONIZATIONS(X) \
  X(pipe_sgd)                      \
  X(local_sgd)                     \
  X(async_ps)                      \
  X(ssp)

#define SGDSIM_DECLARE(name)        \
  namespace synchronization::name { \
  SynchronizationKind describe();   \
  }
SGDSIM_SYNCHRONIZATIONS(SGDSIM_DECLARE)
#undef SGDSIM_DECLARE

inline const std::vector<SynchronizationKind>& synchronizations() {
#define SGDSIM_DESCRIBE(name) synchronization::name::describe(),
  static const std::vector<SynchronizationKind> table = {SGDSIM_SYNCHRONIZATIONS(SGDSIM_DESCRIBE)};
#undef SGDSIM_DESCRIBE
  return table;
}

}  // namespace sgdsim
