// Each worker walks through the rounds; each port shares itself when somebody has come or gone.
#include "sim/play/rounds_at_ports.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "sim/core/prefetch.h"

namespace sgdsim {
namespace {

// Whether messages of some links wait for their receivers.
bool lets_agree(const Network& network) {
  const std::vector<PairCost>& classes = network.classes();
  const std::vector<Port>& ports = network.ports();
  if (std::any_of(classes.begin(), classes.end(),
                  [](const PairCost& cost) { return cost.rendezvous; }) ||
      std::any_of(ports.begin(), ports.end(),
                  [](const Port& port) { return port.out.rendezvous || port.in.rendezvous; }))
    return true;
  return network.has_bands() &&
         std::any_of(network.bands().begin(), network.bands().end(),
                     [](const SizeBand& band) { return lets_agree(band.network); });
}

constexpr double rate_is_open = -1;

// A worker has one port out and one in, which a message keeps busy for as long as it takes.
bool has_plain_ports(const Network& network) {
  const int node = network.inner_links().node;
  if (!network.shared_ways().empty() || (node > 1 && node < network.workers())) return false;
  const auto is_plain = [](const Network& band) {
    const auto least = band.least_rates(1);
    return !least ||
           std::all_of(band.classes().begin(), band.classes().end(),
                       [&](const PairCost& cost) { return cost.per_byte == least->outside; });
  };
  return is_plain(network) &&
         std::all_of(network.bands().begin(), network.bands().end(),
                     [&](const SizeBand& band) { return is_plain(band.network); });
}

}  // namespace

RoundsAtPorts::RoundsAtPorts(const ActorClock& clock, const Program& program, const RingPlay& how)
    : clock_(clock), how_(how), wires_(how.network, how.alpha) {
  is_fit_ = has_plain_ports(how.network) && !lets_agree(how.network) && find_rounds(program);
}

bool RoundsAtPorts::find_rounds(const Program& program) {
  uint64_t stage = 0;
  for (const Stage& it : program.stages) {
    ++stage;
    if (const auto* launch = std::get_if<Launch>(&it)) {
      (rounds_.empty() ? launch_first_ : rounds_.back().launch_after) += launch->length;
      continue;
    }
    const auto* phase = std::get_if<Phase>(&it);
    if (phase == nullptr || phase->at_once || phase->handshake != Handshake::buffered ||
        rounds_.size() + static_cast<std::size_t>(phase->rounds) > most_rounds)
      return false;
    for (int number = 0; number < phase->rounds; ++number)
      rounds_.push_back({phase, number, stage});
  }
  return true;
}

void RoundsAtPorts::begin(const std::vector<Time>& starts) {
  workers_.resize(starts.size());
  ends_ = starts;
  for (std::size_t worker = 0; worker < starts.size(); ++worker)
    clock_.plan(enters, worker, starts[worker] + launch_first_);
}

uint32_t RoundsAtPorts::other(const Round& round, uint32_t worker, bool is_sender) const {
  const Team& team = round.phase->team;
  const auto number = static_cast<int>(worker);
  if (!team.takes_part(number)) return nobody;
  const int v = team.relative(number);
  const int there =
      is_sender ? round.phase->sender(round.number, v) : round.phase->receiver(round.number, v);
  return there < 0 ? nobody : static_cast<uint32_t>(team.colleague(number, v, there));
}

Leg RoundsAtPorts::leg_of(const Round& round, uint32_t from, uint32_t to, double* size_B) const {
  const Phase& phase = *round.phase;
  const auto number = static_cast<int>(from);
  const double bytes =
      phase.sent_B(round.number, phase.team.relative(number), phase.team.lane(number));
  if (size_B != nullptr) *size_B = bytes;
  const Leg leg = wires_.leg(number, static_cast<int>(to), bytes, phase.folds && how_.folds,
                             phase.goes_both_ways());
  if (!how_.jitter.on()) return leg;
  return Wires::scaled(leg,
                       how_.jitter.factor(round.stage, static_cast<uint64_t>(round.number), from));
}

void RoundsAtPorts::happen(const Event& event, Time now) {
  const uint32_t number = event.subject();
  switch (event.kind_of_actor()) {
    case enters:
      return enter(number, now);
    case arrives: {
      const Round& round = rounds_[event.version()];
      return arrive(number, event.version(), leg_of(round, other(round, number, true), number).fold,
                    now);
    }
    default: {
      Worker& worker = workers_[number];
      if (worker.queued != now) return;
      if (worker.ends <= now) return leave_port(number, now);
      worker.queued = worker.ends;
      return clock_.plan(leaves, number, worker.ends);
    }
  }
}

void RoundsAtPorts::enter(uint32_t number, Time now) {
  Worker& worker = workers_[number];
  for (; worker.round < rounds_.size(); ++worker.round) {
    const Round& round = rounds_[worker.round];
    worker.to = other(round, number, false);
    const uint32_t from = other(round, number, true);
    worker.fold = Duration();
    worker.is_sending = worker.to != nobody;
    worker.is_waiting = from != nobody;
    const uint64_t bit = uint64_t{1} << worker.round;
    if (worker.is_waiting && (worker.arrived & bit) != 0) {
      worker.is_waiting = false;
      const bool is_kept = worker.early_round == worker.round;
      worker.fold = is_kept ? worker.early_fold : leg_of(round, from, number).fold;
      if (is_kept) worker.early_round = no_round;
    }
    if (worker.is_sending) return send(number, now);
    if (worker.is_waiting) return;
    const Duration pause = worker.fold + round.launch_after;
    if (pause == Duration()) continue;
    ++worker.round;
    return clock_.plan(enters, number, now + pause);
  }
  ends_[number] = now;
  ++ended_;
}

void RoundsAtPorts::send(uint32_t number, Time now) {
  Worker& worker = workers_[number];
  double size_B = 0;
  const Leg leg = leg_of(rounds_[worker.round], number, worker.to, &size_B);
  assert(leg.agreed == Duration());
  worker.fold_there = leg.fold;
  worker.flight = leg.flight;
  const auto transit_ps = static_cast<double>(leg.transit.ps());
  worker.progress = {.left_ps = transit_ps, .rate = 0, .since = now};
  worker.rate_B_per_ps = 0;
  worker.ends = worker.queued = Time::last();
  const bool is_shared = size_B > 0 && transit_ps > 0 && leg.in_busy > Duration();
  worker.share = is_shared ? static_cast<double>(leg.in_busy.ps()) / size_B : 0;
  if (!is_shared) {
    worker.ends = worker.queued = now + leg.transit;
    return clock_.plan(leaves, number, worker.ends);
  }
  worker.alone_B_per_ps = size_B / transit_ps;
  Worker& port = workers_[worker.to];
  worker.next = std::exchange(port.first, number);
  touch(worker.to);
}

void RoundsAtPorts::touch(uint32_t port) {
  if (!std::exchange(workers_[port].is_touched, true)) touched_.push_back(port);
}

// The message has left.
void RoundsAtPorts::leave_port(uint32_t number, Time now) {
  Worker& worker = workers_[number];
  worker.queued = Time::last();
  const uint32_t to = worker.to;
  if (worker.share > 0) {
    uint32_t* link = &workers_[to].first;
    while (*link != number) link = &workers_[*link].next;
    *link = worker.next;
    if (workers_[to].first != nobody) touch(to);
  }
  const uint32_t round = worker.round;
  const Duration flight = worker.flight;
  const Duration fold = worker.fold_there;
  worker.is_sending = false;
  if (!worker.is_waiting) go_on(number, now);
  if (flight > Duration())
    clock_.plan(arrives, to, now + flight, round);
  else
    arrive(to, round, fold, now);
}

void RoundsAtPorts::arrive(uint32_t number, uint32_t round, Duration fold, Time now) {
  Worker& worker = workers_[number];
  if (worker.round != round || !worker.is_waiting) {
    worker.arrived |= uint64_t{1} << round;
    if (worker.early_round != no_round) return;
    worker.early_round = static_cast<uint8_t>(round);
    worker.early_fold = fold;
    return;
  }
  worker.is_waiting = false;
  worker.fold = fold;
  if (!worker.is_sending) go_on(number, now);
}

void RoundsAtPorts::go_on(uint32_t number, Time now) {
  Worker& worker = workers_[number];
  const Duration pause = worker.fold + rounds_[worker.round].launch_after;
  ++worker.round;
  if (pause == Duration()) return enter(number, now);
  clock_.plan(enters, number, now + pause);
}

bool RoundsAtPorts::moment_over(Time now) {
  for (const uint32_t port : touched_) {
    workers_[port].is_touched = false;
    share_port(port, now);
  }
  touched_.clear();
  return false;
}

// All rise together; those stop that go as fast as alone, or all where the port is full.
void RoundsAtPorts::share_port(uint32_t port, Time now) {
  const uint32_t first = workers_[port].first;
  if (first == nobody) return;
  if (workers_[first].next == nobody) {
    Worker& only = workers_[first];
    return set_rate(only, first, std::min(only.alone_B_per_ps, 1 / only.share), now);
  }
  here_.clear();
  double room = 1;
  double asked = 0;
  for (uint32_t one = first; one != nobody; one = workers_[one].next) {
    here_.push_back(one);
    asked += workers_[one].share;
  }
  rates_.assign(here_.size(), rate_is_open);
  for (std::size_t left = here_.size(); left > 0;) {
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < here_.size(); ++i)
      if (rates_[i] == rate_is_open) level = std::min(level, workers_[here_[i]].alone_B_per_ps);
    const double full = asked > 0 ? std::max(0.0, room) / asked : level;
    const bool is_full = full < level;
    level = std::min(level, full);
    for (std::size_t i = 0; i < here_.size(); ++i) {
      const Worker& one = workers_[here_[i]];
      if (rates_[i] != rate_is_open || (!is_full && one.alone_B_per_ps > level)) continue;
      rates_[i] = level;
      room -= level * one.share;
      asked -= one.share;
      --left;
    }
  }
  for (std::size_t i = 0; i < here_.size(); ++i)
    set_rate(workers_[here_[i]], here_[i], rates_[i], now);
}

void RoundsAtPorts::set_rate(Worker& worker, uint32_t number, double rate, Time now) {
  if (std::exchange(worker.rate_B_per_ps, rate) == rate) return;
  if (!worker.progress.change(rate / worker.alone_B_per_ps, now)) return;
  const std::optional<Time> end = worker.progress.end(now, FlowProgress::slack);
  worker.ends = end.value_or(Time::last());
  if (!end) worker.queued = Time::last();
  if (worker.ends >= worker.queued) return;
  worker.queued = worker.ends;
  clock_.plan(leaves, number, worker.ends);
}

void RoundsAtPorts::fetch(const Event& next) const {
  if (clock_.is_own(next)) prefetch(workers_[next.subject()]);
}

void RoundsAtPorts::fetch_for(const Event& next) const {
  if (!clock_.is_own(next)) return;
  const Worker& worker = workers_[next.subject()];
  if (worker.round >= rounds_.size()) return;
  const bool is_new = next.kind_of_actor() == enters;
  const uint32_t to = is_new ? other(rounds_[worker.round], next.subject(), false) : worker.to;
  if (to == nobody) return;
  prefetch(workers_[to]);
  const std::vector<Port>& ports = how_.network.ports();
  if (!is_new || ports.empty()) return;
  prefetch(ports[next.subject()].out);
  prefetch(ports[to].in);
}

std::optional<std::vector<Time>> play_rounds_at_ports(const Program& program, const RingPlay& how,
                                                      const std::vector<Time>& starts,
                                                      Stopper* stopper) {
  Agenda agenda;
  Clock clock(agenda, nullptr, stopper);
  RoundsAtPorts rounds({clock, 1}, program, how);
  if (!rounds.is_fit()) return std::nullopt;
  rounds.begin(starts);
  Clockwork clockwork(clock, rounds);
  while (!rounds.has_ended() && clockwork.step()) {
  }
  if (!rounds.has_ended()) clock.fail();
  return rounds.take_ends();
}

}  // namespace sgdsim
