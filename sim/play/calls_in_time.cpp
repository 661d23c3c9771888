// Every worker walks through the rounds of each of its collectives by itself.
#include "sim/play/calls_in_time.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "sim/core/error.h"
#include "sim/core/prefetch.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_cursors = 1 << 24;    // of 64 bytes
constexpr std::size_t cached_cursors = 1 << 13;  // so many stay in the cache

}  // namespace

uint32_t CallsInTime::add(const Program& program, const Network& network,
                          const std::vector<int>* places, const Freight& freight,
                          uint32_t connection) {
  return add({.program = &program,
              .network = &network,
              .places = places,
              .workers = place(network.workers()),
              .freight = freight,
              .connection = connection});
}

uint32_t CallsInTime::add_among(const Program& program, const Network& network,
                                const std::vector<int>& members, bool folds) {
  return add({.program = &program,
              .network = &network,
              .places = &members,
              .workers = members.size(),
              .is_among = true,
              .folds = folds});
}

uint32_t CallsInTime::add_seats(const Program& program, const Network& network, const Seats& seats,
                                bool folds) {
  return add({.program = &program,
              .network = &network,
              .workers = seats.seats.size(),
              .folds = folds,
              .seats = &seats});
}

uint32_t CallsInTime::add(CallInPlay call_in_play) {
  const std::size_t workers = call_in_play.workers;
  uint32_t call = 0;
  if (unused_calls_.empty()) {
    call = static_cast<uint32_t>(calls_.size());
    calls_.emplace_back();
  } else {
    call = unused_calls_.back();
    unused_calls_.pop_back();
  }
  std::vector<std::size_t>& unused = unused_cursors_[workers];
  std::size_t first = cursors_.size();
  if (unused.empty()) {
    if (first + workers > most_cursors)
      throw InputError("", "too many collectives in flight of " + std::to_string(workers) +
                               " workers to be simulated message by message");
    cursors_.resize(first + workers);
  } else {
    first = unused.back();
    unused.pop_back();
  }
  for (std::size_t worker = 0; worker < workers; ++worker) {
    Cursor& cursor = cursors_[first + worker];
    cursor = {.call = call,
              .worker = call_in_play.seats == nullptr ? static_cast<int>(worker)
                                                      : call_in_play.seats->seats[worker].member,
              .version = cursor.version};
  }
  call_in_play.first_cursor = first;
  call_in_play.left = static_cast<int>(workers);
  calls_[call] = call_in_play;
  return call;
}

void CallsInTime::end(std::size_t c, Time now) {
  const uint32_t call = cursors_[c].call;
  const auto worker = static_cast<int>(c - calls_[call].first_cursor);
  assert(calls_[call].left > 0);
  if (--calls_[call].left == 0) forget(call);
  ended_(call, worker, now);
}

// Its number and its cursors are used again.
void CallsInTime::forget(uint32_t call) {
  const CallInPlay& it = calls_[call];
  unused_cursors_[it.workers].push_back(it.first_cursor);
  const auto first = trees_at_.lower_bound({call, 0, 0});
  auto last = first;
  while (last != trees_at_.end() && std::get<0>(last->first) == call) ++last;
  trees_at_.erase(first, last);
  if (trees_at_.empty()) {
    trees_.clear();
    edges_.clear();
  }
  unused_calls_.push_back(call);
}

// With 65,536 workers a message waits for memory three times as long as it is worked on.
bool CallsInTime::is_cached() const { return cursors_.size() < cached_cursors; }

// The message of which the network has news; null: it does not, or not to this actor.
const OnTheWay* CallsInTime::message_of(const Event& next) const {
  const bool is_here = next.actor() == 0 && next.subject() < on_the_way_.size();
  return is_here ? &on_the_way_[next.subject()] : nullptr;
}

void CallsInTime::fetch(const Event& next) const {
  if (is_cached()) return;
  if (clock_.is_own(next) && next.kind_of_actor() == on) prefetch(cursors_[next.subject()]);
  if (const OnTheWay* message = message_of(next)) prefetch(*message);
}

void CallsInTime::fetch_for(const Event& next) const {
  if (is_cached()) return;
  if (const OnTheWay* message = message_of(next)) {
    if (message->from < cursors_.size()) prefetch(cursors_[message->from]);
    if (message->to < cursors_.size()) prefetch(cursors_[message->to]);
  }
  if (!clock_.is_own(next) || next.kind_of_actor() != on) return;
  const Cursor& cursor = cursors_[next.subject()];
  const CallInPlay& call = calls_[cursor.call];
  if (place(cursor.stage) >= call.program->stages.size()) return;
  const auto* phase = std::get_if<Phase>(&call.program->stages[place(cursor.stage)]);
  if (phase == nullptr || cursor.round >= phase->rounds) return;
  if (cursor.first_early != no_number) prefetch(early_[cursor.first_early]);
  const int v = phase->team.relative(cursor.worker);
  const int receiver = phase->receiver(cursor.round, v);
  if (receiver < 0) return;
  const Colleague me = colleague(next.subject(), cursor.worker);
  const Colleague to = colleague(next.subject(), phase->team.colleague(cursor.worker, v, receiver));
  prefetch(cursors_[to.cursor]);
  const std::vector<Port>& ports = call.network->ports();
  if (ports.empty()) return;
  prefetch(ports[place(me.on_network)].out);
  prefetch(ports[place(to.on_network)].in);
}

void CallsInTime::happen(const Event& event, Time now) {
  switch (event.kind_of_actor()) {
    case on:
      if (event.is_of(cursors_[event.subject()].version)) go_on(event.subject(), now);
      return;
    case opens:
      return try_edge(static_cast<int>(event.subject()), now);
    case folded:
      return block_complete(static_cast<int>(event.subject()), now);
    default:
      return;
  }
}

void CallsInTime::hear(const Carrier::Report& report, Time now) {
  const Carrier::News news = report.news;
  const OnTheWay message = on_the_way_[report.message];
  least_delivered_ = std::min(least_delivered_, report.delivered);
  if (message.edge >= 0) {
    if (news == Carrier::News::sender_free)
      block_left(message.edge, message.fold, now);
    else
      block_came(message.edge, message.fold, now);
    return;
  }
  if (news == Carrier::News::sender_free || message.frees_sender) {
    --cursors_[message.from].to_send;
    leave_if_done(message.from, now);
  }
  if (news != Carrier::News::arrived) return;
  on_the_way_[report.message].to = no_number;
  if (Cursor& receiver = cursors_[message.to]; is_due(receiver, message.stage, message.round))
    get(message.to, message.fold, now);
  else
    keep(receiver, {message.stage, message.round, message.fold});
}

// From the start of a stage or round until something has to come.
void CallsInTime::go_on(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  const std::vector<Stage>& stages = program(c).stages;
  for (; place(my.stage) < stages.size(); ++my.stage, my.round = 0) {
    if (const auto* phase = std::get_if<Phase>(&stages[place(my.stage)])) {
      if (phase->team.takes_part(cursors_[c].worker) && enter_round(c, *phase, now)) return;
    } else if (const auto* pipeline = std::get_if<TreePipeline>(&stages[place(my.stage)])) {
      if (pipeline->team.takes_part(cursors_[c].worker) && my.round == 0 &&
          enter_trees(c, *pipeline, now))
        return;
    } else if (const auto* barrier = std::get_if<Barrier>(&stages[place(my.stage)])) {
      if (barrier->team.takes_part(cursors_[c].worker)) return wait_for_all(c, *barrier, now);
    } else if (const auto* launch = std::get_if<Launch>(&stages[place(my.stage)])) {
      ++my.stage;
      my.round = 0;
      return go_on_at(c, now + launch->length);
    }
  }
  end(c, now);
}

// False if the phase has nothing more for this worker.
bool CallsInTime::enter_round(std::size_t c, const Phase& phase, Time now) {
  Cursor& my = cursors_[c];
  const int v = phase.team.relative(cursors_[c].worker);
  my.to_send = my.to_get = 0;
  my.fold = Duration();
  my.busy_until = now;
  my.at_once = phase.at_once;
  if (phase.at_once) {
    if (my.round > 0) return false;
    my.round = phase.rounds;  // all of them
    for (int round = 0; round < phase.rounds; ++round) {
      my.to_send += phase.receiver(round, v) >= 0 ? 1 : 0;
      my.to_get += phase.sender(round, v) >= 0 ? 1 : 0;
    }
    for (int round = 0; round < phase.rounds; ++round)
      if (const int to = phase.receiver(round, v); to >= 0) send(c, phase, v, round, to, now);
    get_early(c, now);
    return my.to_send + my.to_get > 0;
  }
  for (; my.round < phase.rounds; ++my.round) {
    const int to = phase.receiver(my.round, v);
    const int from = phase.sender(my.round, v);
    if (to < 0 && from < 0) continue;
    my.to_send = to >= 0 ? 1 : 0;
    my.to_get = from >= 0 ? 1 : 0;
    const bool has_sent = to >= 0 && send(c, phase, v, my.round, to, now);
    get_early(c, now);
    if (from < 0 && has_sent) leave(c, now);
    return true;
  }
  return false;
}

Leg CallsInTime::leg_of(const Cursor& sender, const Phase& phase, int round, int from, int to,
                        double size_B) {
  const CallInPlay& call = calls_[sender.call];
  const Network& network = *call.network;
  Wires wires(network, alpha_);
  if (carrier_ == nullptr && network.has_loads())
    wires = wires.sharing(loads_.try_emplace(&phase, network, phase).first->second.at(round));
  const Leg leg = wires.leg(from, to, size_B, phase.folds && call.folds, phase.goes_both_ways());
  if (!jitter_.on()) return leg;
  return Wires::scaled(
      leg, jitter_.factor(static_cast<uint64_t>(sender.stage) + 1, static_cast<uint64_t>(round),
                          static_cast<uint64_t>(sender.worker)));
}

Parcel CallsInTime::parcel_of(const CallInPlay& call, const Phase& phase, const Colleague& from,
                              const Colleague& to, double size_B, const Leg& leg) const {
  return {.from = from.place,
          .to = to.place,
          .size_B = size_B,
          .leg = leg,
          .is_overwritten = phase.overwrites_what_it_sends(),
          .acknowledged =
              Wires(*call.network, alpha_)
                  .acknowledged(from.on_network, to.on_network, size_B, phase.goes_both_ways()),
          .connection = call.connection,
          .freight = call.freight};
}

void CallsInTime::note_sent(uint32_t message, const OnTheWay& what) {
  if (message >= on_the_way_.size()) on_the_way_.resize(message + 1);
  on_the_way_[message] = what;
}

bool CallsInTime::send(std::size_t c, const Phase& phase, int v, int round, int receiver,
                       Time now) {
  Cursor& my = cursors_[c];
  const Colleague me = colleague(c, my.worker);
  const Colleague to = colleague(c, phase.team.colleague(my.worker, v, receiver));
  const std::size_t theirs = to.cursor;
  const double size_B = phase.sent_B(round, v, phase.team.lane(my.worker));
  const Leg leg = leg_of(my, phase, round, me.on_network, to.on_network, size_B);
  const bool waits = phase.handshake == Handshake::rendezvous;
  // Who has buffers for all of them answers at once.
  const bool agrees =
      carrier_ != nullptr && phase.handshake == Handshake::buffered && leg.agreed > Duration();
  Offer offer{.told = now + leg.flight, .transit = leg.transit};
  if (carrier_ != nullptr) {
    Parcel parcel = parcel_of(calls_[my.call], phase, me, to, size_B, leg);
    parcel.waits_for_receiver = waits;
    parcel.agrees_with_receiver = agrees;
    offer.message = clock_.send(parcel, now);
    note_sent(offer.message, {.fold = leg.fold,
                              .from = static_cast<uint32_t>(c),
                              .to = static_cast<uint32_t>(theirs),
                              .edge = -1,
                              .stage = my.stage,
                              .round = round,
                              .frees_sender = waits});
    if (!waits && !agrees) return false;
    offer.told = now + (agrees ? leg.word() : carrier_->notice(leg));
  } else if (waits) {
    offer.held = static_cast<uint32_t>(c);
  } else {
    my.busy_until = now + leg.out_busy;
    --my.to_send;
  }
  Cursor& their = cursors_[theirs];
  if (is_due(their, my.stage, round))
    be_there(theirs, offer, leg.fold, offer.told);
  else
    keep(their, {my.stage, round, leg.fold, offer, true});
  return carrier_ == nullptr && !waits;
}

void CallsInTime::keep(Cursor& cursor, const Early& early) {
  uint32_t number = unused_early_;
  if (number == no_number) {
    number = static_cast<uint32_t>(early_.size());
    early_.push_back(early);
  } else {
    unused_early_ = early_[number].next;
    early_[number] = early;
  }
  early_[number].next = no_number;
  if (cursor.first_early == no_number)
    cursor.first_early = number;
  else
    early_[cursor.last_early].next = number;
  cursor.last_early = number;
}

// What has come for this round, or these rounds, already.
void CallsInTime::get_early(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  const int stage = my.stage;
  const int round = my.round;
  const bool any_round = my.at_once;
  uint32_t before = no_number;
  for (uint32_t number = my.first_early; number != no_number;) {
    const Early one = early_[number];
    if (one.stage != stage || (!any_round && one.round != round)) {
      before = std::exchange(number, one.next);
      continue;
    }
    (before == no_number ? my.first_early : early_[before].next) = one.next;
    if (my.last_early == number) my.last_early = before;
    early_[number].next = std::exchange(unused_early_, number);
    number = one.next;
    if (one.is_offer)
      be_there(c, one.offer, one.fold, std::max(now, one.offer.told));
    else
      get(c, one.fold, now);
    if (!any_round) return;
  }
}

// The receiver of a message that waits for it.
void CallsInTime::be_there(std::size_t c, const Offer& offer, Duration fold, Time now) {
  if (carrier_ != nullptr) return carrier_->want(offer.message, now);
  const Time taken = now + offer.transit;
  if (offer.held != no_number) {
    --cursors_[offer.held].to_send;
    leave_if_done(offer.held, taken);
  }
  get(c, fold, taken);
}

void CallsInTime::get(std::size_t c, Duration fold, Time now) {
  Cursor& my = cursors_[c];
  --my.to_get;
  if (my.at_once)
    my.busy_until = std::max(my.busy_until, now) + fold;
  else
    my.fold = fold;
  leave_if_done(c, now);
}

void CallsInTime::leave_if_done(std::size_t c, Time now) {
  if (cursors_[c].to_send == 0 && cursors_[c].to_get == 0) leave(c, now);
}

void CallsInTime::leave(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  if (!my.at_once) ++my.round;
  go_on_at(c, std::max(now, my.busy_until) + my.fold);
}

void CallsInTime::wait_for_all(std::size_t c, const Barrier& barrier, Time now) {
  const Team& team = barrier.team;
  const auto me = cursors_[c].worker;
  const auto theirs = [&](int v) { return colleague(c, team.colleague(me, v)).cursor; };
  std::vector<std::size_t> seats;  // of the team, where some stand for others
  if (call_of(c).seats != nullptr) {
    for (int v = 0; v < team.size; ++v) seats.push_back(theirs(v));
    std::sort(seats.begin(), seats.end());
    seats.erase(std::unique(seats.begin(), seats.end()), seats.end());
  }
  const std::size_t missing = seats.empty() ? place(team.size) : seats.size();
  const std::tuple<std::size_t, int, std::size_t> barrier_place{
      cursors_[c].call, cursors_[c].stage, seats.empty() ? theirs(0) : seats.front()};
  if (++at_barrier_[barrier_place] < missing) return;
  at_barrier_.erase(barrier_place);
  for (std::size_t i = 0; i < missing; ++i) {
    const std::size_t its = seats.empty() ? theirs(static_cast<int>(i)) : seats[i];
    ++cursors_[its].stage;
    cursors_[its].round = 0;
    go_on_at(its, now);
  }
}

}  // namespace sgdsim
