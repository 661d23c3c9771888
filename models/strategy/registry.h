// The strategies: one line each. The name is the JSON value, the file and the namespace.
#pragma once

#include "models/strategy/strategy.h"

namespace sgdsim {

#define SGDSIM_STRATEGIES(X) \
  X(naive)                   \
  X(wfbp)                    \
  X(sync_easgd)              \
  X(mg_wfbp)                 \
  X(optimal)                 \
  X(fixed_buckets)           \
  X(ddp)                     \
  X(horovod)                 \
  X(bytescheduler)           \
  X(p3)                      \
  X(omgs)                    \
  X(bsp_lp)

#define SGDSIM_DECLARE(name) \
  namespace strategy::name { \
  StrategyKind describe();   \
  }
SGDSIM_STRATEGIES(SGDSIM_DECLARE)
#undef SGDSIM_DECLARE

inline const std::vector<StrategyKind>& strategies() {
#define SGDSIM_DESCRIBE(name) strategy::name::describe(),
  static const std::vector<StrategyKind> table = {SGDSIM_STRATEGIES(SGDSIM_DESCRIBE)};
#undef SGDSIM_DESCRIBE
  return table;
}

}  // namespace sgdsim
