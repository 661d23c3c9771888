// What messages of a plan wait for that share a network: others before them, or their gradients.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

#include "models/step/priority.h"
#include "models/step/step_graph.h"

namespace sgdsim {

// What messages that go one after the other wait for: pieces of a place share what the first of
// them waited for, since others may go between them.
class Turns {
 public:
  explicit Turns(std::size_t places) : causes_(places), before_(places) {}

  // `had_to_wait`: until the message before it had ended.
  HandedOverCause next(std::size_t place, bool is_last, bool had_to_wait) {
    if (place != before_) {
      if (!had_to_wait)
        causes_[place] = {place, false};
      else
        causes_[place] = is_whole_ ? HandedOverCause{before_, true} : causes_[before_];
    }
    before_ = place;
    is_whole_ = is_last;
    return causes_[place];
  }

 private:
  std::vector<HandedOverCause> causes_;
  std::size_t before_;     // whose message went last
  bool is_whole_ = false;  // and was it the last of its pieces
};

// A message that has been played, of the pieces of a place.
struct InFlight {
  std::size_t place = 0;
  std::size_t message = 0;
  Time starts;
  Time ends;
};

// The same for messages of which several are in flight: pieces may end in another order than they
// start, and others between them. One that starts later than it was ready came behind the last that
// had ended by then. If that one was the end of its place, it waited for that place; else for what
// that one itself had waited for.
class Flights {
 public:
  Flights(const std::vector<ReadyPieces>& pieces, const std::vector<InFlight>& all)
      : pieces_(pieces), places_(pieces.size()) {
    for (const InFlight& it : all) {
      ++places_[it.place].left;
      places_[it.place].ends = std::max(places_[it.place].ends, it.ends);
    }
  }

  // In the order in which they start. Whether it is the last of its place.
  bool next(const InFlight& it) {
    Place& place = places_[it.place];
    const HandedOverCause cause = cause_of(it);
    if (it.ends == place.ends) place.cause = cause;
    by_end_.insert_or_assign(it.ends, Ended{it.place, cause});
    return --place.left == 0;
  }
  // Of what ends the place.
  HandedOverCause cause_of(std::size_t place) const { return places_[place].cause; }

 private:
  struct Place {
    std::size_t left = 0;
    Time ends;
    HandedOverCause cause;
  };
  struct Ended {
    std::size_t place;
    HandedOverCause cause;
  };

  HandedOverCause cause_of(const InFlight& it) const {
    const Time ready = pieces_[it.place].ready;
    const auto behind = by_end_.upper_bound(it.starts);
    if (behind == by_end_.begin() || std::prev(behind)->first <= ready) return {it.place, false};
    const auto& [end, before] = *std::prev(behind);
    const Place& its = places_[before.place];
    // All of a place that is waited for has started: so nothing waits for itself.
    const bool is_whole = before.place != it.place && its.left == 0 && its.ends == end;
    return is_whole ? HandedOverCause{before.place, true} : before.cause;
  }

  const std::vector<ReadyPieces>& pieces_;
  std::vector<Place> places_;
  std::map<Time, Ended> by_end_;
};

}  // namespace sgdsim
