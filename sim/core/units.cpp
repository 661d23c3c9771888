// Why a quantity cannot be counted.
#include "sim/core/units.h"

#include "sim/core/error.h"

namespace sgdsim {

void time_overflow() {
  throw InputError(
      "",
      "a time beyond 106 days, the longest that a clock of 64-bit picoseconds can hold: "
      "use fewer iterations, faster links or smaller messages");
}

void size_overflow() {
  throw InputError("", "a size beyond 8 EiB, the largest that 64 bits can hold");
}

}  // namespace sgdsim
