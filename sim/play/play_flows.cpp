// Starts, ends, changes.
#include "sim/play/play_flows.h"

#include <map>

#include "sim/core/error.h"
#include "sim/net/flows.h"
#include "sim/net/packet_limit.h"

namespace sgdsim {
namespace {

class FlowsPlayer {
 public:
  explicit FlowsPlayer(const FlowsQuestion& question)
      : question_(question),
        watch_(question.watched, question.interval, question.intervals, question.watched_queues),
        carrier_(make_carrier()),
        clock_(agenda_, carrier_.get(), question.stopper),
        traffic_({clock_, 1}, question.network, {question.flows, question.changes},
                 [this](std::size_t flow, double delivered, Time now) {
                   played_.ends[flow] = now;
                   played_.delivered[flow] = delivered;
                   ++ended_;
                 }) {
    played_.ends.assign(question.flows.size(), Time::last());
    played_.delivered.assign(question.flows.size(), 0);
  }

  FlowsPlayed play() {
    check_packets_of_flows();
    traffic_.begin();
    Clockwork clockwork(clock_, traffic_);
    try {
      while (ended_ < question_.flows.size() && clockwork.step()) continue;
      carrier_->settle(clock_.now());  // who watches hears of the last moment, too
      name_stranded(carrier_->stranded());
    } catch (const NetworkStuck& stuck) {
      played_.circle = stuck.circle;
      name_stranded(stuck.stranded);
    }
    const Time now = clock_.now();
    played_.events = clock_.events();
    played_.until = now;
    played_.carried_B = carrier_->carried_B(now);
    played_.watched = watch_.take();
    played_.waiting_B = watch_.take_waiting_B();
    played_.packets = carrier_->report(now);
    return std::move(played_);
  }

 private:
  std::unique_ptr<Carrier> make_carrier() {
    LinkWatch* watch = question_.watched.empty() ? nullptr : &watch_;
    if (question_.carrier) return question_.carrier(*question_.resources, agenda_, watch);
    return std::make_unique<Flows>(
        *question_.resources, Flows::Options{.alpha = question_.alpha, .watch = watch}, agenda_);
  }

  void check_packets_of_flows() const {
    double packets = 0;
    for (const PlainFlow& flow : question_.flows)
      packets += carrier_->payload().packets(1, static_cast<double>(flow.size.count()));
    check_packets(packets, "or shorter flows");
  }

  // All that have not ended; if the network was stopped, also those that have not begun.
  void name_stranded(const std::vector<Stranded>& messages) {
    std::map<std::size_t, Stranding> why;
    for (const Stranded& one : messages) why[static_cast<std::size_t>(one.what.flow)] = one.why;
    if (ended_ + why.size() < question_.flows.size() && played_.circle.empty())
      throw InputError("", never_ends);
    for (std::size_t flow = 0; flow < question_.flows.size(); ++flow) {
      if (played_.ends[flow] < Time::last()) continue;
      played_.stranded.push_back(flow);
      const auto found = why.find(flow);
      played_.why_stranded.push_back(found != why.end() ? found->second : Stranding::stopped);
    }
  }

  const FlowsQuestion& question_;
  Agenda agenda_;
  LinkWatch watch_;
  std::unique_ptr<Carrier> carrier_;
  Clock clock_;
  TrafficInTime traffic_;
  std::size_t ended_ = 0;
  FlowsPlayed played_;
};

}  // namespace

FlowsPlayed play_flows(const FlowsQuestion& question) { return FlowsPlayer(question).play(); }

Duration alone(const PlainFlow& flow, const Network& network) {
  const Leg leg = Wires(network, AlphaRule::wire)
                      .leg(flow.from, flow.to, static_cast<double>(flow.size.count()), false);
  return leg.flight + leg.transit;
}

}  // namespace sgdsim
