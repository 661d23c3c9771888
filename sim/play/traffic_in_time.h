// Plain flows on a network that others may use as well, and what happens to its wires meanwhile.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "sim/play/clockwork.h"
#include "sim/work/plain_flow.h"

namespace sgdsim {

// From this moment on, these resources give so much of what they have; 0: they are closed, and
// messages take other ways, or wait.
struct WireChange {
  Time at;
  std::vector<uint32_t> resources;
  double factor = 1;
  double loss = -1;  // of packets, in place of that; less than 0: as before
};

// What resources could carry until then, over what they carry as they are, where changes have made
// them faster; what makes them slower, or closes them, does not count. Changes in order of time.
std::map<uint32_t, double> raised_by(std::span<const WireChange> changes, Time until);

// An actor of the clockwork (clockwork.h).
class TrafficInTime {
 public:
  using Ended = std::function<void(std::size_t flow, double delivered, Time now)>;

  // Flows and changes in the order of their times. Without any, no network is needed either.
  TrafficInTime(const ActorClock& clock, const Network* network, std::span<const PlainFlow> list,
                std::span<const WireChange> wire_changes, Ended ended = {});

  void begin();
  void happen(const Event& event, Time now);
  void hear(const Carrier::Report& report, Time now) {
    if (ended_ && report.news == Carrier::News::arrived)
      ended_(flow_of_[report.message], report.delivered, now);
  }

 private:
  enum Kind : uint8_t { starts, changes };  // of its events
  void start(std::size_t number, Time now);
  void change(std::size_t number, Time now);
  void change_bandwidth(const WireChange& what, Time now);

  ActorClock clock_;
  const Network* network_;
  std::span<const PlainFlow> list_;
  std::span<const WireChange> changes_;
  Ended ended_;
  std::vector<std::size_t> flow_of_;  // by the number of the message
};

}  // namespace sgdsim
