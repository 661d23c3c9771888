// The transports of packets: one line each. The name is the JSON value, the file and the namespace.
#pragma once

#include "models/transport/transport.h"

namespace sgdsim {

#define SGDSIM_TRANSPORTS(X) \
  X(ideal)                   \
  X(dctcp)                   \
  X(pias)                    \
  X(pfabric)                 \
  X(ndp)                     \
  X(mlt)                     \
  X(dlcp)                    \
  X(roce_dcqcn)              \
  X(tcp)

#define SGDSIM_DECLARE(name)  \
  namespace transport::name { \
  Transport describe();       \
  }
SGDSIM_TRANSPORTS(SGDSIM_DECLARE)
#undef SGDSIM_DECLARE

inline const std::vector<Transport>& transports() {
#define SGDSIM_DESCRIBE(name) transport::name::describe(),
  static const std::vector<Transport> table = {SGDSIM_TRANSPORTS(SGDSIM_DESCRIBE)};
#undef SGDSIM_DESCRIBE
  return table;
}

}  // namespace sgdsim
