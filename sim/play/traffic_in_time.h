// Plain flows on a network that others may use as well, and what happens to its wires meanwhile.
#pragma once

#include <functional>
#include <map>
#include <optional>
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

// What else is on the wires, and what happens to them, both in the order of time.
struct Meanwhile {
  std::span<const PlainFlow> flows = {};
  std::span<const WireChange> changes = {};
  bool any() const { return !flows.empty() || !changes.empty(); }
};

// What resources could carry until then, over what they carry as they are, where changes have made
// them faster or slower; what closes them does not count. Changes in order of time.
std::map<uint32_t, double> changed_by(std::span<const WireChange> changes, Time until);

// An actor of the clockwork (clockwork.h).
class TrafficInTime {
 public:
  using Ended = std::function<void(std::size_t flow, double delivered, Time now)>;

  // Without flows no network is needed.
  TrafficInTime(const ActorClock& clock, const Network* network, const Meanwhile& what,
                Ended ended = {});

  void begin();
  void happen(const Event& event, Time now);
  void hear(const Carrier::Report& report, Time now);
  // When the last flow was there; none, or not yet: nothing.
  std::optional<Time> end() const { return end_; }

 private:
  enum Kind : uint8_t { starts, changes };  // of its events
  void start(std::size_t number, Time now);
  void change(std::size_t number, Time now);
  void change_bandwidth(const WireChange& what, Time now);

  ActorClock clock_;
  const Network* network_;
  Meanwhile what_;
  Ended ended_;
  std::size_t left_;  // flows that have not ended
  std::optional<Time> end_;
  std::vector<std::size_t> flow_of_;  // by the number of the message
};

}  // namespace sgdsim
