// One agenda: starts, ends, changes.
#include "sim/play/play_flows.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/net/flows.h"

namespace sgdsim {
namespace {

class FlowsPlayer {
 public:
  explicit FlowsPlayer(const FlowsQuestion& question)
      : question_(question),
        watch_(question.watched, question.interval, question.intervals, question.watched_queues),
        carrier_(make_carrier()),
        traffic_(agenda_, *carrier_, *question.network, question.flows, question.changes) {
    played_.ends.assign(question.flows.size(), Time::last());
    played_.delivered.assign(question.flows.size(), 0);
  }

  FlowsPlayed play() {
    traffic_.begin();
    Time now;
    for (; !agenda_.empty() && ended_ < question_.flows.size(); ++played_.events) {
      const auto event = agenda_.pop();
      now = event.time;
      count(question_.stopper, now);
      happen(event.payload, now);
      if (!agenda_.another_now()) carrier_->settle(now);
    }
    for (const Parcel& parcel : carrier_->stranded())
      played_.stranded.push_back(static_cast<std::size_t>(parcel.flow));
    std::sort(played_.stranded.begin(), played_.stranded.end());
    if (ended_ + played_.stranded.size() < question_.flows.size()) throw InputError("", never_ends);
    played_.until = now;
    played_.carried_B = carrier_->carried_B();
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
        *question_.resources, Flows::Options{.alpha = AlphaRule::port, .watch = watch}, agenda_);
  }

  void happen(const Event& event, Time now) {
    if (event.kind() >= Carrier::kind_count) return traffic_.happen(event, now);
    const auto [news, message, delivered] = carrier_->happen(event, now);
    if (news != Carrier::News::arrived) return;
    const std::size_t flow = traffic_.flow_of(message);
    played_.ends[flow] = now;
    played_.delivered[flow] = delivered;
    ++ended_;
  }

  const FlowsQuestion& question_;
  Agenda agenda_;
  LinkWatch watch_;
  std::unique_ptr<Carrier> carrier_;
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
