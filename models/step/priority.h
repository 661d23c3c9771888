// Who goes next where messages go by priority, and one more while fewer bytes than `credit` are on
// their way.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "models/strategy/strategy.h"

namespace sgdsim {

// Messages first .. last of a plan, which get ready together: the pieces of a layer.
struct ReadyPieces {
  Time ready;
  std::size_t first = 0;
  std::size_t last = 0;
};

// Calls `send(place, message, now)` for each message of the plan, the most urgent ready one first;
// it returns when that message has ended. `place` is that of its pieces, which are in the order in
// which they get ready.
//
// The most urgent entry is the last of those that wait: as backward goes, that is where the next
// one belongs.
template <class Send>
void send_by_priority(const GradientPlan& plan, const std::vector<ReadyPieces>& pieces,
                      const Send& send) {
  struct Flight {
    Time end;
    Bytes size;
  };
  struct Urgent {
    int priority;
    std::size_t place;
    std::size_t message;
  };
  std::vector<Urgent> waiting;    // the most urgent last; of equal ones the first of the plan
  std::vector<Flight> committed;  // in the order of their ends
  committed.reserve(plan.messages.size());
  std::size_t landed = 0;  // of the committed
  std::size_t next = 0;    // the first that is not ready yet
  Bytes in_flight;
  Time now;
  while (next < pieces.size() || !waiting.empty()) {
    for (; next < pieces.size() && pieces[next].ready <= now; ++next) {
      const std::size_t first = pieces[next].first;
      const Urgent urgent{plan.messages[first].priority, next, first};
      auto place = waiting.end();
      while (place != waiting.begin() && (place - 1)->priority <= urgent.priority) --place;
      waiting.insert(place, urgent);
    }
    for (; landed < committed.size() && committed[landed].end <= now; ++landed)
      in_flight = in_flight - committed[landed].size;
    while (!waiting.empty()) {
      Urgent& urgent = waiting.back();
      const std::size_t place = urgent.place;
      std::size_t message = urgent.message;
      const bool alone = landed == committed.size();
      if (!alone && in_flight >= plan.credit) break;
      Time end = send(place, message, now);
      // With nobody ahead and nothing more urgent to come, the next piece follows at once.
      while (alone && message < pieces[place].last &&
             (next == pieces.size() || pieces[next].ready > end) &&
             plan.messages[message].size >= plan.credit) {
        now = end;
        end = send(place, ++message, now);
      }
      if (message < pieces[place].last) {
        urgent.message = message + 1;
      } else {
        waiting.pop_back();
      }
      committed.push_back({end, plan.messages[message].size});
      in_flight += committed.back().size;
    }
    Time wake = Time::last();
    if (next < pieces.size()) wake = pieces[next].ready;
    if (!waiting.empty() && landed < committed.size()) wake = std::min(wake, committed[landed].end);
    if (wake == Time::last()) break;
    now = wake;
  }
}

}  // namespace sgdsim
