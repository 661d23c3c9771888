// One agenda: starts, ends, changes.
#include "sim/play/play_flows.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

class FlowsPlayer {
 public:
  explicit FlowsPlayer(const FlowsQuestion& question)
      : question_(question),
        flows_(*question.resources, {.alpha = AlphaRule::port}, agenda_),
        traffic_(agenda_, flows_, *question.network, question.flows, question.changes) {
    played_.ends.assign(question.flows.size(), Time::last());
    played_.watched.resize(question.watched.size());
    in_use_.resize(question.watched.size());
  }

  FlowsPlayed play() {
    const std::vector<double> capacities = question_.resources->capacities();
    for (const uint32_t resource : question_.watched)
      watched_capacities_.push_back(capacities[resource]);
    traffic_.begin();
    for (; !agenda_.empty() && ended_ < question_.flows.size(); ++played_.events) {
      if (played_.events % 4096 == 0 && question_.pause) question_.pause();
      const auto event = agenda_.pop();
      happen(event.payload, event.time);
      if (agenda_.another_now()) continue;
      watch_until(event.time);
      flows_.settle(event.time);
      look_at_watched();
    }
    for (const uint32_t message : flows_.stranded())
      played_.stranded.push_back(flows_.parcel(message).flow);
    std::sort(played_.stranded.begin(), played_.stranded.end());
    if (ended_ + played_.stranded.size() < question_.flows.size()) throw InputError("", never_ends);
    played_.carried_B = flows_.carried_B();
    return std::move(played_);
  }

 private:
  void happen(const Event& event, Time now) {
    if (event.kind() >= Flows::kind_count) return traffic_.happen(event, now);
    const auto [news, message] = flows_.happen(event, now);
    if (news != Flows::News::arrived) return;
    played_.ends[traffic_.flow_of(message)] = now;
    ++ended_;
  }

  // What was in use since the last moment.
  void watch_until(Time now) {
    if (question_.watched.empty()) return;
    const auto length = static_cast<double>(question_.interval.ps());
    while (watched_until_ < now) {
      const auto place = static_cast<std::size_t>(watched_until_.ps() / question_.interval.ps());
      const Time end = std::min(now, Time() + question_.interval * static_cast<int64_t>(place + 1));
      const double part = static_cast<double>((end - watched_until_).ps()) / length;
      for (std::size_t w = 0; w < in_use_.size(); ++w) {
        std::vector<double>& line = played_.watched[w];
        if (line.size() <= place) line.resize(place + 1);
        line[place] += part * in_use_[w];
      }
      watched_until_ = end;
    }
  }
  void look_at_watched() {
    for (std::size_t w = 0; w < in_use_.size(); ++w)
      in_use_[w] = flows_.rates().used(question_.watched[w]) / watched_capacities_[w];
  }

  const FlowsQuestion& question_;
  Agenda agenda_;
  Flows flows_;
  TrafficInTime traffic_;
  std::size_t ended_ = 0;
  Time watched_until_;
  std::vector<double> watched_capacities_;
  std::vector<double> in_use_;
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
