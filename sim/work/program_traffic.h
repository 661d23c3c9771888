// What a program sends, without playing it.
#pragma once

#include <cstdint>

#include "sim/work/schedule.h"

namespace sgdsim {

struct Traffic {
  int64_t messages = 0;
  double wire_B = 0;
};
Traffic traffic_of(const Program& program, int workers);

// The smallest and the largest message of a program, to the byte by which chunks differ.
struct MessageRange {
  double least_B = 0;
  double most_B = 0;
  bool any = false;
  void add(double size_B);
};
MessageRange message_range(const Program& program);

}  // namespace sgdsim
