// What messages of GOAL programs cost in tests.
#pragma once

#include "sim/play/replay.h"

namespace sgdsim {

// LogGOPS in nanoseconds, of a byte for G and O.
inline MessageCosts log_gops(int64_t L, int64_t o, int64_t g, double G, double O) {
  MessageCosts costs;
  costs.flight = Duration::ns(L);
  costs.overhead = Duration::ns(o);
  costs.gap = Duration::ns(g);
  costs.per_byte = PerByte::ps(1000 * G);
  costs.overhead_per_byte = PerByte::ps(1000 * O);
  return costs;
}

}  // namespace sgdsim
