// Who goes next where messages go by priority: as many as there are channels, and one more while
// fewer bytes than `credit` are on their way.
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

// Who waits, the most urgent one first, and what is on its way.
//
// The most urgent entry is the last of those that wait: as backward goes, that is where the next
// one belongs.
class UrgentMessages {
 public:
  UrgentMessages(const GradientPlan& plan, int channels)
      : plan_(plan), channels_(static_cast<std::size_t>(channels)) {}

  // `place`: of the pieces, among those that get ready.
  void add(const ReadyPieces& pieces, std::size_t place) {
    const Urgent urgent{plan_.messages[pieces.first].priority, place, pieces.first, pieces.last};
    auto before = waiting_.end();
    while (before != waiting_.begin() && (before - 1)->priority <= urgent.priority) --before;
    waiting_.insert(before, urgent);
  }
  bool is_empty() const { return waiting_.empty(); }
  bool is_network_free() const { return on_their_way_ == 0; }
  bool may_send() const {
    return !waiting_.empty() && (on_their_way_ < channels_ || in_flight_ < plan_.credit);
  }
  struct Next {
    std::size_t place = 0;
    std::size_t message = 0;
  };
  // The most urgent one goes.
  Next take() {
    Urgent& urgent = waiting_.back();
    const Next next{urgent.place, urgent.message};
    if (urgent.message++ == urgent.last) waiting_.pop_back();
    in_flight_ += plan_.messages[next.message].size;
    ++on_their_way_;
    return next;
  }
  void landed(std::size_t message) {
    in_flight_ = in_flight_ - plan_.messages[message].size;
    --on_their_way_;
  }

 private:
  struct Urgent {
    int priority;
    std::size_t place;
    std::size_t message;
    std::size_t last;
  };
  const GradientPlan& plan_;
  std::size_t channels_;
  std::vector<Urgent> waiting_;  // the most urgent last; of equal ones the first of the plan
  std::size_t on_their_way_ = 0;
  Bytes in_flight_;
};

// Calls `send(place, message, now)` for each message of the plan, the most urgent ready one first;
// it returns when that message has ended. `place` is that of its pieces, which are in the order in
// which they get ready.
template <class Send>
void send_by_priority(const GradientPlan& plan, const std::vector<ReadyPieces>& pieces,
                      const Send& send) {
  struct Flight {
    Time end;
    std::size_t message;
  };
  UrgentMessages urgent(plan, 1);
  std::vector<Flight> committed;  // in the order of their ends
  committed.reserve(plan.messages.size());
  std::size_t landed = 0;  // of the committed
  std::size_t next = 0;    // the first that is not ready yet
  Time now;
  while (next < pieces.size() || !urgent.is_empty()) {
    for (; next < pieces.size() && pieces[next].ready <= now; ++next)
      urgent.add(pieces[next], next);
    for (; landed < committed.size() && committed[landed].end <= now; ++landed)
      urgent.landed(committed[landed].message);
    while (urgent.may_send()) {
      const bool alone = urgent.is_network_free();
      UrgentMessages::Next one = urgent.take();
      Time end = send(one.place, one.message, now);
      // With nobody ahead and nothing more urgent to come, the next piece follows at once.
      while (alone && one.message < pieces[one.place].last &&
             (next == pieces.size() || pieces[next].ready > end) &&
             plan.messages[one.message].size >= plan.credit) {
        now = end;
        urgent.landed(one.message);
        one = urgent.take();
        end = send(one.place, one.message, now);
      }
      committed.push_back({end, one.message});
    }
    Time wake = Time::last();
    if (next < pieces.size()) wake = pieces[next].ready;
    if (!urgent.is_empty() && landed < committed.size())
      wake = std::min(wake, committed[landed].end);
    if (wake == Time::last()) break;
    now = wake;
  }
}

}  // namespace sgdsim
