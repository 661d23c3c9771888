// One start and one change are planned at a time.
#include "sim/play/traffic_in_time.h"

#include <algorithm>
#include <utility>

namespace sgdsim {

std::map<uint32_t, double> changed_by(std::span<const WireChange> changes, Time until) {
  struct Changed {
    double factor = 1;
    Time since;
    double sum_ps = 0;
  };
  std::map<uint32_t, Changed> all;
  const auto go_on = [&](Changed& one, Time now) {
    one.sum_ps += one.factor * static_cast<double>((now - one.since).ps());
    one.since = now;
  };
  for (const WireChange& change : changes) {
    if (change.loss >= 0 || change.at >= until) continue;
    for (const uint32_t resource : change.resources) {
      Changed& one = all[resource];
      go_on(one, change.at);
      one.factor = change.factor > 0 ? change.factor : 1;
    }
  }
  std::map<uint32_t, double> changed;
  for (auto& [resource, one] : all) {
    go_on(one, until);
    const double mean = one.sum_ps / static_cast<double>(until.ps());
    if (mean != 1) changed[resource] = mean;
  }
  return changed;
}

TrafficInTime::TrafficInTime(const ActorClock& clock, const Network* network, const Meanwhile& what,
                             Ended ended)
    : clock_(clock),
      network_(network),
      what_(what),
      ended_(std::move(ended)),
      left_(what.flows.size()) {}

void TrafficInTime::begin() {
  if (!what_.changes.empty()) clock_.plan(changes, 0, what_.changes.front().at);
  if (!what_.flows.empty()) clock_.plan(starts, 0, what_.flows.front().start);
}

void TrafficInTime::happen(const Event& event, Time now) {
  if (event.kind_of_actor() == starts)
    start(event.subject(), now);
  else
    change(event.subject(), now);
}

void TrafficInTime::hear(const Carrier::Report& report, Time now) {
  if (report.news != Carrier::News::arrived) return;
  if (--left_ == 0) end_ = now;
  if (ended_) ended_(flow_of_[report.message], report.delivered, now);
}

void TrafficInTime::start(std::size_t number, Time now) {
  const PlainFlow& flow = what_.flows[number];
  const auto size_B = static_cast<double>(flow.size.count());
  const uint32_t message = clock_.send({.from = flow.from,
                                        .to = flow.to,
                                        .size_B = size_B,
                                        .leg = Wires(*network_, clock_.carrier()->alpha_of_legs())
                                                   .leg(flow.from, flow.to, size_B, false),
                                        .tells_when_free = false,
                                        .flow = number,
                                        .is_of_others = true},
                                       now);
  if (message >= flow_of_.size()) flow_of_.resize(message + 1);
  flow_of_[message] = number;
  if (++number < what_.flows.size()) clock_.plan(starts, number, what_.flows[number].start);
}

// All of a moment at once: nothing else happens in between.
void TrafficInTime::change(std::size_t number, Time now) {
  for (; number < what_.changes.size() && what_.changes[number].at == now; ++number) {
    const WireChange& what = what_.changes[number];
    if (what.loss >= 0)
      clock_.carrier()->lose(what.resources, what.loss);
    else
      change_bandwidth(what, now);
  }
  if (number < what_.changes.size()) clock_.plan(changes, number, what_.changes[number].at);
}

void TrafficInTime::change_bandwidth(const WireChange& what, Time now) {
  if (what.factor > 0)
    for (const uint32_t resource : what.resources)
      clock_.carrier()->scale(resource, what.factor, now);
  clock_.carrier()->open(what.resources, what.factor > 0, now);
}

}  // namespace sgdsim
