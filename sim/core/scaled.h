// A time that is some factor as long.
#pragma once

#include "sim/core/units.h"

namespace sgdsim {

// To the nearest picosecond.
inline Duration scaled(Duration length, double factor) {
  return factor == 1 ? length : Duration::nearest_ps(static_cast<double>(length.ps()) * factor);
}

}  // namespace sgdsim
