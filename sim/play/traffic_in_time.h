// Plain flows on a network that others may use as well, and what happens to its wires meanwhile.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "sim/core/agenda.h"
#include "sim/net/carrier.h"
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

class TrafficInTime {
 public:
  enum Kind : uint8_t { starts = 14, changes };  // of its events; all kinds before are others'

  // Flows and changes in the order of their times.
  TrafficInTime(Agenda& agenda, Carrier& carrier, const Network& network,
                std::span<const PlainFlow> list, std::span<const WireChange> wire_changes);

  void begin();
  void happen(const Event& event, Time now);
  // Which of the flows a message is; none: it is somebody else's.
  static constexpr std::size_t none = SIZE_MAX;
  std::size_t flow_of(uint32_t message) const {
    return message < flow_of_.size() ? flow_of_[message] : none;
  }
  // It has arrived: its number may become somebody else's.
  void forget(uint32_t message) { flow_of_[message] = none; }

 private:
  void plan(Kind kind, std::size_t subject, Time when) {
    agenda_.push(when, Event(kind, static_cast<uint32_t>(subject)));
  }
  void start(std::size_t number, Time now);
  void change(std::size_t number, Time now);
  void change_bandwidth(const WireChange& what, Time now);

  Agenda& agenda_;
  Carrier& carrier_;
  const Network& network_;
  std::span<const PlainFlow> list_;
  std::span<const WireChange> changes_;
  std::vector<std::size_t> flow_of_;
};

}  // namespace sgdsim
