// Where the time of a worker goes. This file alone says what the parts of a breakdown mean:
//
//   compute        forward + backward + compression + update
//   exposed        iteration - compute: what communication added to the iteration
//   waiting        the worker is ready for a message and computes nothing, others are not ready
//   communication  a message of the worker is being transferred: everybody is ready
//   overlapped     the part of communication that computation of the worker hides
//   idle           neither computing, transferring nor waiting for others
//
//   exposed = (communication - overlapped) + waiting + idle
//
// A Ledger records what happened to one worker in one iteration. An Account sums iterations, and
// ends as a Breakdown, in which exposed and idle are what is left of the time that they took.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

// Means over workers and measured iterations.
struct Breakdown {
  Duration forward;
  Duration backward;
  Duration update;
  Duration communication;
  Duration waiting;
  Duration compression;  // encoding and decoding of gradients
  Duration exposed;
  Duration overlapped;
  Duration idle;

  Duration computed() const { return forward + backward + update + compression; }
  Breakdown& operator+=(const Breakdown& other);
  Breakdown operator*(int64_t times) const;
  Breakdown operator/(int64_t parts) const;
};

// Sums over iterations, of one worker.
struct Account {
  Breakdown parts;   // all but exposed and idle
  Duration carried;  // communication that no computation of the worker hides

  // Of a worker that computes, exchanges and waits in turns: whatever else there is is waiting.
  static Account in_turns(const Breakdown& computed, Duration communication);
  Account& operator+=(const Account& other);
  // The mean of `count` iterations that took `total` together. A worker may have computed for
  // longer than they took, because it began before the slowest one had ended what came before: its
  // computation is then cut to their length, each part in proportion. Waiting and carried
  // communication end where exposed does.
  Breakdown settled(int64_t count, Duration total) const;
};

// Times that come more or less in order; overlapping ones are merged.
class BusyTimes {
 public:
  void clear() {
    times_.clear();
    next_ = 0;
  }
  void add(Time start, Time end);
  // What has ended by then.
  void forget(Time until);
  // The end of `work` that starts at `now`, taking `slowdown` times as long while busy. Calls must
  // come with growing `now`.
  Time finish(Time now, Duration work, double slowdown);
  // How much of from .. to is busy.
  Duration within(Time from, Time to) const;
  // How much of that was busy before, too; which is busy from now on.
  Duration again(const BusyTimes& more);

 private:
  struct Interval {
    Time start, end;
  };
  std::vector<Interval> times_;
  std::size_t next_ = 0;  // the first interval that does not end before the last `now`
};

class Ledger {
 public:
  // An iteration starts. `is_plain`: it ends when its messages have ended, and all that a worker
  // computes meanwhile is its backward pass. `slowdown`: what is computed takes so many times as
  // long while messages travel, those of iterations before as well.
  void open(Time start, bool is_plain, double slowdown);
  void compute(Duration Breakdown::*part, Time from, Time to) { parts_.*part += to - from; }
  // The worker was ready for a message at `ready`, everybody at `everybody`, and it was sent at
  // `sent`. Returns when the transfer began on this worker.
  Time exchange(Time ready, Time everybody, Time sent, Time end);
  // Messages whose time is known before they are recorded slow down what is computed meanwhile.
  void slow_down(Time from, Time to) {
    if (slowdown_ != 1) slowing_.add(from, to);
  }
  // Messages in flight together are communication once, and are waited for once.
  void count_once();
  // The end of what is computed.
  Time finish(Time begin, Duration work) {
    return slowdown_ == 1 ? begin + work : slowing_.finish(begin, work, slowdown_);
  }
  // The backward pass, what it encodes and the messages take what they took `before`.
  void repeat_backward(const Ledger& before, Duration encoding);

  Time start() const { return start_; }
  // The end of the iteration, whose backward pass ended at `backward_end`.
  Account close(Time backward_end) const;

 private:
  Time start_;
  bool is_plain_ = true;
  double slowdown_ = 1;
  Breakdown parts_;
  BusyTimes busy_;     // with messages of this iteration
  BusyTimes earlier_;  // with those before it that may go on
  BusyTimes slowing_;  // with any, where that slows down what is computed
  BusyTimes waits_;    // for others
};

}  // namespace sgdsim
