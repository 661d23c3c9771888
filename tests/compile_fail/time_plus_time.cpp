// Two points in time cannot be added; only their difference is a length.
// EXPECT: no match for 'operator\+'|invalid operands to binary expression
#include "sim/core/units.h"

namespace sgdsim {

auto combine(Time earlier, Time later) {
#ifdef CONTROL
  return later - earlier;
#else
  return later + earlier;
#endif
}

}  // namespace sgdsim
