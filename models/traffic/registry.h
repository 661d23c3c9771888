// The generators of traffic: one line each. The name is the JSON value, the file and the namespace.
#pragma once

#include "models/traffic/traffic.h"

namespace sgdsim {

#define SGDSIM_TRAFFIC(X) \
  X(poisson)              \
  X(permutation)          \
  X(incast)               \
  X(all_to_all)           \
  X(listed)

#define SGDSIM_DECLARE(name)   \
  namespace traffic::name {    \
  TrafficGenerator describe(); \
  }
SGDSIM_TRAFFIC(SGDSIM_DECLARE)
#undef SGDSIM_DECLARE

inline const std::vector<TrafficGenerator>& traffic_generators() {
#define SGDSIM_DESCRIBE(name) traffic::name::describe(),
  static const std::vector<TrafficGenerator> table = {SGDSIM_TRAFFIC(SGDSIM_DESCRIBE)};
#undef SGDSIM_DESCRIBE
  return table;
}

}  // namespace sgdsim
