// Messages that leave a place one after the other, each when the one before it is off the sender's
// hands.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/play/clockwork.h"

namespace sgdsim {

// Messages of one line go in order: all from a place, or those from a place to another one.
struct OutboxLine {
  static constexpr int all = -1;
  int from = 0;
  int to = all;
  auto operator<=>(const OutboxLine&) const = default;
};

// `What`: what the owner has to know of a message when there is news about it.
template <class What>
class Outboxes {
 public:
  struct Sent {
    What what;
    Leg leg;
    Time at;
    OutboxLine line;
    int to_come = 0;  // news about it
  };

  // `make`: the parcel of a message that is about to leave.
  Outboxes(const ActorClock& clock, std::function<Parcel(const What&)> make)
      : clock_(clock), make_(std::move(make)) {}

  void put(const OutboxLine& line, const What& what, Time now) {
    Outbox& box = outboxes_[line];
    box.waiting.push_back(what);
    if (!box.is_busy) send_next(line, now);
  }

  // The message that there is news about; empty: it is somebody else's.
  std::optional<Sent> hear(const Carrier::Report& report, Time now) {
    if (report.message >= sent_.size() || sent_[report.message].to_come == 0) return {};
    --sent_[report.message].to_come;
    const Sent sent = sent_[report.message];
    if (report.news == Carrier::News::sender_free) send_next(sent.line, now);
    return sent;
  }

 private:
  struct Outbox {
    std::deque<What> waiting;
    bool is_busy = false;
  };

  void send_next(const OutboxLine& line, Time now) {
    Outbox& box = outboxes_[line];
    box.is_busy = !box.waiting.empty();
    if (!box.is_busy) return;
    const What what = box.waiting.front();
    box.waiting.pop_front();
    const Parcel parcel = make_(what);
    const uint32_t message = clock_.send(parcel, now);
    if (message >= sent_.size()) sent_.resize(message + 1);
    sent_[message] = {what, parcel.leg, now, line, 2};  // it leaves, it arrives
  }

  ActorClock clock_;
  std::function<Parcel(const What&)> make_;
  std::map<OutboxLine, Outbox> outboxes_;
  std::vector<Sent> sent_;  // by the number of the message
};

}  // namespace sgdsim
