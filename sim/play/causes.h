// Why a graph takes as long as it does: of every action what it waited for last, and the circle
// that this leads back to.
//
// What an action adds is the time from the end of its cause to its own end, waiting included. So
// along the causes these lengths add up to the time that has passed; and once an action comes that
// has been met before, in a later iteration, what lies between repeats: the critical circle, whose
// length over the iterations that it spans is the time of one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/graph.h"

namespace sgdsim {

class Causes {
 public:
  static constexpr uint32_t none = UINT32_MAX;
  struct Event {
    uint32_t action = none;
    uint32_t iteration = 0;
    bool is_known() const { return action != none; }
    bool operator==(const Event&) const = default;
  };
  struct Link {
    Event event;
    Action action;
    Duration length;  // from the end of its cause; of the first that is kept, nothing
  };
  struct Circle {
    std::vector<Link> links;  // in the order in which they happen
    uint32_t iterations = 1;  // that it spans
  };

  // Keeps so many iterations, the last ones.
  explicit Causes(std::size_t kept) : kept_(kept) {}

  void start_iteration(uint32_t iteration, std::size_t actions);
  // The actions of another graph mean something else.
  void forget();
  void note(Event event, const Action& action, Event cause, Time end);
  // From an event back to one that repeats, `period` iterations before or a multiple of it, and
  // takes about `mean` an iteration; where none does, as with iterations that are not alike, to the
  // first that repeats. If none does, back to the start of the simulation, or of the one iteration
  // that is kept. Without links if more would have to be kept to tell.
  Circle circle_from(Event last, Duration mean, uint32_t period = 1) const;

 private:
  struct Node {
    Action action;
    Event cause;
    Time end;
  };
  const Node* find(Event event) const;

  std::size_t kept_;
  uint32_t first_ = 0;  // the first iteration that is kept
  std::deque<std::vector<Node>> nodes_;
};

// The last of several things that something waits for; of equal ones the first.
struct LastCause {
  Causes::Event event;
  Time end;
  void consider(Causes::Event other, Time other_end) {
    if (!other.is_known() || (event.is_known() && other_end <= end)) return;
    event = other;
    end = other_end;
  }
};

}  // namespace sgdsim
