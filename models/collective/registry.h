// The collective algorithms: one line each. The name is the value of --algorithm, the file and the
// namespace; the order is that of `sgdsim list algorithms`.
#pragma once

#include "models/collective/collective.h"

namespace sgdsim {

#define SGDSIM_ALGORITHMS(X) \
  X(mst)                     \
  X(be)                      \
  X(lp)                      \
  X(ring)                    \
  X(recursive_doubling)      \
  X(halving_doubling)        \
  X(double_binary_tree)      \
  X(hierarchical)            \
  X(torus_ring)              \
  X(direct)                  \
  X(linear)

#define SGDSIM_DECLARE(name)   \
  namespace collective::name { \
  Algorithm describe();        \
  }
SGDSIM_ALGORITHMS(SGDSIM_DECLARE)
#undef SGDSIM_DECLARE

inline const std::vector<Algorithm>& algorithms() {
#define SGDSIM_DESCRIBE(name) collective::name::describe(),
  static const std::vector<Algorithm> table = {SGDSIM_ALGORITHMS(SGDSIM_DESCRIBE)};
#undef SGDSIM_DESCRIBE
  return table;
}

}  // namespace sgdsim
