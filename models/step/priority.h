// Who goes next where messages go by priority, and one more while fewer bytes than `credit` are on
// their way.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "models/strategy/strategy.h"

namespace sgdsim {

// Calls `send(index, now)` for each message of the plan, the most urgent ready one first; it
// returns when that message has ended. `ready` is per message and grows along the plan; `never` is
// later than all of them.
//
// Pieces of one layer follow each other in the plan and get ready together, so that one entry
// stands for all of them. The most urgent entry is the last: as backward goes, that is where the
// next one belongs.
template <class Point, class Send>
void send_by_priority(const GradientPlan& plan, const std::vector<Point>& ready, Point never,
                      const Send& send) {
  struct Flight {
    Point end;
    Bytes size;
  };
  using Urgent = std::pair<int, std::size_t>;  // priority, then order of the plan
  std::vector<Urgent> waiting;                 // the most urgent last
  std::vector<Flight> committed;               // in the order of their ends
  committed.reserve(ready.size());
  auto same_layer = [&](std::size_t a, std::size_t b) {
    return plan.messages[a].priority == plan.messages[b].priority && ready[a] == ready[b];
  };
  std::size_t landed = 0;  // of the committed
  std::size_t next = 0;    // the first that is not ready yet
  Bytes in_flight;
  Point now;
  while (next < ready.size() || !waiting.empty()) {
    for (; next < ready.size() && ready[next] <= now; ++next) {
      if (next > 0 && same_layer(next - 1, next)) continue;
      const Urgent urgent(plan.messages[next].priority, next);
      auto place = waiting.end();
      while (place != waiting.begin() && *(place - 1) < urgent) --place;
      waiting.insert(place, urgent);
    }
    for (; landed < committed.size() && committed[landed].end <= now; ++landed)
      in_flight = in_flight - committed[landed].size;
    while (!waiting.empty()) {
      std::size_t index = waiting.back().second;
      const bool alone = landed == committed.size();
      if (!alone && in_flight >= plan.credit) break;
      auto follows = [&] { return index + 1 < next && same_layer(index, index + 1); };
      Point end = send(index, now);
      // With nobody ahead and nothing more urgent to come, the next piece follows at once.
      while (alone && follows() && (next == ready.size() || ready[next] > end) &&
             plan.messages[index].size >= plan.credit) {
        now = end;
        end = send(++index, now);
      }
      if (follows()) {
        waiting.back().second = index + 1;
      } else {
        waiting.pop_back();
      }
      committed.push_back({end, plan.messages[index].size});
      in_flight += committed.back().size;
    }
    Point wake = never;
    if (next < ready.size()) wake = ready[next];
    if (!waiting.empty() && landed < committed.size()) wake = std::min(wake, committed[landed].end);
    if (wake == never) break;
    now = wake;
  }
}

}  // namespace sgdsim
