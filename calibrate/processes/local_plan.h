// The part of a plan that one of several processes plays: a copy from a rank of another process
// becomes a message.
//
// A plan's copies are made by the receiver, when events say that the sender's data is ready. Events
// do not reach other processes. There, data is sent as soon as it is ready: after the last step
// before the copy that writes it. So between processes only messages hold a rank up, as in the
// simulator's schedules. Messages of a rank leave one after the other; what is still to be sent is
// not overwritten. Between ranks of one process a copy waits for whoever wrote last, since the
// events in between may have been those of others.
#pragma once

#include <vector>

#include "calibrate/plan/plan.h"
#include "calibrate/processes/processes.h"

namespace sgdsim::calibrate {

struct LocalStep {
  enum class Kind : uint8_t { step, send, receive };
  Kind kind = Kind::step;
  Step step;        // of send and receive: the copy
  int process = 0;  // send, receive: the other one
  int tag = 0;      // send, receive: the same at both ends
};

struct LocalPlan {
  int ranks = 1;
  int events = 0;
  std::vector<std::vector<LocalStep>> streams;  // by number; those of other processes are empty
};

LocalPlan local_plan(const Plan& plan, const Division& division, int process);

// Whether a step writes into these bytes.
bool writes_into(const Step& step, const Place& place, int64_t bytes);

// Whether streams of different processes wait for each other without a message, which cannot be.
bool has_bare_waits(const Plan& plan, const Division& division);
// Of what a rank takes from one of another process, the most at once; 0 if nothing.
int64_t largest_message_B(const Plan& plan, const Division& division);
// Neither of the two.
inline bool is_apart(const Plan& plan, const Division& division) {
  return largest_message_B(plan, division) == 0 && !has_bare_waits(plan, division);
}

}  // namespace sgdsim::calibrate
