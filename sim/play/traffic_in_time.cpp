// One start and one change are planned at a time.
#include "sim/play/traffic_in_time.h"

#include <algorithm>
#include <utility>

namespace sgdsim {

std::map<uint32_t, double> raised_by(std::span<const WireChange> changes, Time until) {
  struct Raised {
    double factor = 1;
    Time since;
    double sum_ps = 0;
  };
  std::map<uint32_t, Raised> all;
  const auto go_on = [&](Raised& one, Time now) {
    one.sum_ps += one.factor * static_cast<double>((now - one.since).ps());
    one.since = now;
  };
  for (const WireChange& change : changes) {
    if (change.loss >= 0 || change.at >= until) continue;
    for (const uint32_t resource : change.resources) {
      Raised& one = all[resource];
      go_on(one, change.at);
      one.factor = std::max(1.0, change.factor);
    }
  }
  std::map<uint32_t, double> raised;
  for (auto& [resource, one] : all) {
    go_on(one, until);
    const double mean = one.sum_ps / static_cast<double>(until.ps());
    if (mean > 1) raised[resource] = mean;
  }
  return raised;
}

TrafficInTime::TrafficInTime(const ActorClock& clock, const Network* network,
                             std::span<const PlainFlow> list,
                             std::span<const WireChange> wire_changes, Ended ended)
    : clock_(clock),
      network_(network),
      list_(list),
      changes_(wire_changes),
      ended_(std::move(ended)) {}

void TrafficInTime::begin() {
  if (!changes_.empty()) clock_.plan(changes, 0, changes_.front().at);
  if (!list_.empty()) clock_.plan(starts, 0, list_.front().start);
}

void TrafficInTime::happen(const Event& event, Time now) {
  if (event.kind_of_actor() == starts)
    start(event.subject(), now);
  else
    change(event.subject(), now);
}

void TrafficInTime::start(std::size_t number, Time now) {
  const PlainFlow& flow = list_[number];
  const auto size_B = static_cast<double>(flow.size.count());
  const uint32_t message = clock_.send({.from = flow.from,
                                        .to = flow.to,
                                        .size_B = size_B,
                                        .leg = Wires(*network_, clock_.carrier()->alpha_of_legs())
                                                   .leg(flow.from, flow.to, size_B, false),
                                        .tells_when_free = false,
                                        .flow = number},
                                       now);
  if (message >= flow_of_.size()) flow_of_.resize(message + 1);
  flow_of_[message] = number;
  if (++number < list_.size()) clock_.plan(starts, number, list_[number].start);
}

void TrafficInTime::change(std::size_t number, Time now) {
  const WireChange& what = changes_[number];
  if (what.loss >= 0) {
    clock_.carrier()->lose(what.resources, what.loss);
  } else {
    change_bandwidth(what, now);
  }
  if (++number < changes_.size()) clock_.plan(changes, number, changes_[number].at);
}

void TrafficInTime::change_bandwidth(const WireChange& what, Time now) {
  if (what.factor > 0)
    for (const uint32_t resource : what.resources) clock_.carrier()->scale(resource, what.factor);
  clock_.carrier()->open(what.resources, what.factor > 0, now);
}

}  // namespace sgdsim
