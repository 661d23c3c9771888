// What may stop a simulation that goes on: people, and limits.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/core/units.h"

namespace sgdsim {

// What ends a computation that somebody does not wait for any longer.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

struct SimulationLimits {
  uint64_t events = std::numeric_limits<uint64_t>::max();
  Time end = Time::last();
};

// Which limit stopped a simulation, and what was reached.
struct LimitReached : std::runtime_error {
  using std::runtime_error::runtime_error;
  LimitReached with(const std::string& more) const { return LimitReached(what() + more); }
};

class Stopper {
 public:
  // `look`: called now and then, if there is one; what it throws ends the simulation.
  explicit Stopper(std::function<void()> look, const SimulationLimits& limits = {})
      : look_(std::move(look)), limits_(limits) {}

  const SimulationLimits& limits() const { return limits_; }
  // For another simulation.
  void restart() {
    events_ = next_look_ = 0;
    reached_ = Time();
  }
  // Before what may take long.
  void look() const {
    if (look_) look_();
  }
  // Before so many are played as one, and counted afterwards.
  void expect(uint64_t events) const {
    if (events > limits_.events - events_) stop("--max-events", events);
  }
  // So many more events happen, the last of them now: messages that are played, or what is taken
  // from an agenda.
  void count(Time now, uint64_t events = 1) {
    if (events > limits_.events - events_) stop("--max-events", events);
    if (now > limits_.end) stop("--max-sim-time", events);
    events_ += events;
    reached_ = now;
    if (events_ < next_look_) return;
    next_look_ = events_ + between_looks;
    look();
  }

 private:
  static constexpr uint64_t between_looks = 4096;

  [[noreturn]] void stop(const std::string& limit, uint64_t next) const {
    const std::string ns = std::to_string(1000 + reached_.since_start().ps() / 1000 % 1000);
    throw LimitReached(
        "stopped by " + limit + " after " + std::to_string(events_) + " events, at " +
        std::to_string(reached_.since_start().ps() / 1'000'000) + "." + ns.substr(1) +
        " us of simulated time" +
        (next > 1 ? "; the next " + std::to_string(next) + " are simulated as one" : ""));
  }

  std::function<void()> look_;
  SimulationLimits limits_;
  uint64_t events_ = 0;
  uint64_t next_look_ = 0;
  Time reached_;
};

// Where messages pass that are not counted one by one: looks once for so many of them.
class Lookout {
 public:
  explicit Lookout(const Stopper* stopper) : stopper_(stopper) {}
  void passed(int64_t messages) {
    left_ -= messages;
    if (left_ > 0) return;
    left_ = between_looks;
    if (stopper_ != nullptr) stopper_->look();
  }

 private:
  static constexpr int64_t between_looks = 65'536;
  const Stopper* stopper_;
  int64_t left_ = between_looks;
};

// Where there may be nobody to ask.
inline void restart(Stopper* stopper) {
  if (stopper != nullptr) stopper->restart();
}
inline SimulationLimits limits_of(const Stopper* stopper) {
  return stopper != nullptr ? stopper->limits() : SimulationLimits();
}
inline void look(const Stopper* stopper) {
  if (stopper != nullptr) stopper->look();
}
inline void count(Stopper* stopper, Time now, uint64_t events = 1) {
  if (stopper != nullptr) stopper->count(now, events);
}

}  // namespace sgdsim
