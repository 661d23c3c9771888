// Bytes that go from one worker to another at some moment, whatever else happens.
#pragma once

#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

struct PlainFlow {
  Time start;
  Bytes size;
  int from = 0;
  int to = 0;
};

}  // namespace sgdsim
