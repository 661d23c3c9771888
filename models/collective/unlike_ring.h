// A ring whose links differ, where start-ups are flight time.
#pragma once

#include <cstdint>
#include <vector>

namespace sgdsim::collective {

// From a member to the next one.
struct RingLink {
  double flight_ps = 0;
  double transit_ps = 0;
};

// In each step a member sends when it is done with the one before: then it has sent, and what the
// member before it sent in that step is there. What each sends goes around in as many steps as
// there are other members, or more.
//
// The last message to end has come, step by step, over the next link, or waited for a port: so it
// is the longest way around, of so many steps, that decides. It waits where that takes longest.
double steps_around_ps(const std::vector<RingLink>& links, int64_t steps);

}  // namespace sgdsim::collective
