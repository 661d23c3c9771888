// The compressions: one line each. The name is the JSON value, the file and the namespace.
#pragma once

#include "models/compression/compression.h"

namespace sgdsim {

#define SGDSIM_COMPRESSIONS(X) \
  X(topk)                      \
  X(topk2)                     \
  X(gtopk)                     \
  X(lags)                      \
  X(randomk)                   \
  X(truncate16)                \
  X(quantize8)                 \
  X(qsgd)                      \
  X(sign)                      \
  X(powersgd)

#define SGDSIM_DECLARE(name)    \
  namespace compression::name { \
  CompressionKind describe();   \
  }
SGDSIM_COMPRESSIONS(SGDSIM_DECLARE)
#undef SGDSIM_DECLARE

inline const std::vector<CompressionKind>& compressions() {
#define SGDSIM_DESCRIBE(name) compression::name::describe(),
  static const std::vector<CompressionKind> table = {SGDSIM_COMPRESSIONS(SGDSIM_DESCRIBE)};
#undef SGDSIM_DESCRIBE
  return table;
}

}  // namespace sgdsim
