// The collective algorithms: one line each. The name is the value of --algorithm, the file and the
// namespace.
#pragma once

#include "models/collective/collective.h"

namespace sgdsim {

#define SGDSIM_ALGORITHM(name) \
  namespace name {             \
  Algorithm describe();        \
  }
SGDSIM_ALGORITHM(mst)
SGDSIM_ALGORITHM(be)
SGDSIM_ALGORITHM(lp)
SGDSIM_ALGORITHM(ring)
SGDSIM_ALGORITHM(recursive_doubling)
SGDSIM_ALGORITHM(halving_doubling)
SGDSIM_ALGORITHM(double_binary_tree)
SGDSIM_ALGORITHM(hierarchical)
SGDSIM_ALGORITHM(torus_ring)
SGDSIM_ALGORITHM(direct)
SGDSIM_ALGORITHM(linear)
#undef SGDSIM_ALGORITHM

inline const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = {
      mst::describe(),
      be::describe(),
      lp::describe(),
      ring::describe(),
      recursive_doubling::describe(),
      halving_doubling::describe(),
      double_binary_tree::describe(),
      hierarchical::describe(),
      torus_ring::describe(),
      direct::describe(),
      linear::describe(),
  };
  return table;
}

}  // namespace sgdsim
