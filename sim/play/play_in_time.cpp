// Every worker walks through the rounds of each of its collectives by itself.
#include "sim/play/play_in_time.h"

#include <algorithm>
#include <string>

#include "sim/core/error.h"
#include "sim/play/player_in_time.h"

namespace sgdsim {
namespace {

constexpr double most_cursors = 1 << 24;  // of some 100 bytes

}  // namespace

void PlayerInTime::happen(const Event& event, Time now) {
  if (event.kind() == ready) {
    start_calls(event.subject() % workers_, now);
    return;
  }
  if (event.kind() == on) {
    go_on(event.subject(), now);
    return;
  }
  if (event.kind() == opens) {
    try_edge(static_cast<int>(event.subject()), now);
    return;
  }
  if (event.kind() == folded) {
    block_complete(static_cast<int>(event.subject()), now);
    return;
  }
  const auto [news, number] = flows_.happen(event, now);
  if (news == Flows::News::nothing) return;
  const OnTheWay message = on_the_way_[number];
  if (message.edge >= 0) {
    if (news == Flows::News::sender_free)
      block_left(message.edge, message.fold, now);
    else
      block_came(message.edge, message.fold, now);
    return;
  }
  if (news == Flows::News::sender_free || message.frees_sender) {
    --cursors_[message.from].to_send;
    leave_if_done(message.from, now);
  }
  if (news == Flows::News::arrived)
    arrive(message.to, message.stage, message.round, message.fold, now);
}

// In order; one that is not ready holds up those behind it.
void PlayerInTime::start_calls(std::size_t worker, Time now) {
  while (next_call_[worker] < calls_.size() && under_way_[worker] < options_.at_once) {
    const std::size_t call = next_call_[worker];
    if (calls_[call].ready[worker] > now) return;
    ++next_call_[worker];
    ++under_way_[worker];
    times_[call].starts[worker] = now;
    go_on(call * workers_ + worker, now);
  }
}

// From the start of a stage or round until something has to come.
void PlayerInTime::go_on(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  const std::vector<Stage>& stages = program(c).stages;
  for (; place(my.stage) < stages.size(); ++my.stage, my.round = 0) {
    if (const auto* phase = std::get_if<Phase>(&stages[place(my.stage)])) {
      if (phase->team.takes_part(static_cast<int>(c % workers_)) && enter_round(c, *phase, now))
        return;
    } else if (const auto* pipeline = std::get_if<TreePipeline>(&stages[place(my.stage)])) {
      if (pipeline->team.takes_part(static_cast<int>(c % workers_)) && my.round == 0 &&
          enter_trees(c, *pipeline, now))
        return;
    } else if (const auto* barrier = std::get_if<Barrier>(&stages[place(my.stage)])) {
      if (barrier->team.takes_part(static_cast<int>(c % workers_)))
        return wait_for_all(c, *barrier, now);
    } else if (const auto* launch = std::get_if<Launch>(&stages[place(my.stage)])) {
      ++my.stage;
      my.round = 0;
      return plan(on, c, now + launch->length);
    }
  }
  times_[c / workers_].ends[c % workers_] = now;
  my.early = {};
  --under_way_[c % workers_];
  start_calls(c % workers_, now);
}

// False if the phase has nothing more for this worker.
bool PlayerInTime::enter_round(std::size_t c, const Phase& phase, Time now) {
  Cursor& my = cursors_[c];
  const int v = phase.team.relative(static_cast<int>(c % workers_));
  my.to_send = my.to_get = 0;
  my.fold = Duration();
  my.folded_until = now;
  if (phase.at_once) {
    if (my.round > 0) return false;
    my.round = phase.rounds;  // all of them
    for (int round = 0; round < phase.rounds; ++round) {
      my.to_send += phase.receiver(round, v) >= 0 ? 1 : 0;
      my.to_get += phase.sender(round, v) >= 0 ? 1 : 0;
    }
    for (int round = 0; round < phase.rounds; ++round)
      if (const int to = phase.receiver(round, v); to >= 0) send(c, phase, round, to, now);
    get_early(c, now);
    return my.to_send + my.to_get > 0;
  }
  for (; my.round < phase.rounds; ++my.round) {
    const int to = phase.receiver(my.round, v);
    const int from = phase.sender(my.round, v);
    if (to < 0 && from < 0) continue;
    my.to_send = to >= 0 ? 1 : 0;
    my.to_get = from >= 0 ? 1 : 0;
    if (to >= 0) send(c, phase, my.round, to, now);
    get_early(c, now);
    return true;
  }
  return false;
}

void PlayerInTime::send(std::size_t c, const Phase& phase, int round, int receiver, Time now) {
  const auto me = static_cast<int>(c % workers_);
  const int v = phase.team.relative(me);
  const int to = phase.team.colleague(me, v, receiver);
  Parcel what{.from = me,
              .to = to,
              .size_B = phase.sent_B(round, v, phase.team.lane(me)),
              .leg = {},
              .waits_for_receiver = phase.handshake == Handshake::rendezvous};
  what.leg = Wires(*calls_[c / workers_].network, flows_.alpha_of_legs())
                 .leg(me, to, what.size_B, phase.folds);
  if (options_.jitter.on())
    what.leg = Wires::scaled(
        what.leg, options_.jitter.factor(static_cast<uint64_t>(cursors_[c].stage) + 1,
                                         static_cast<uint64_t>(round), static_cast<uint64_t>(me)));
  const uint32_t message = flows_.send(what, now);
  if (message >= on_the_way_.size()) on_the_way_.resize(message + 1);
  const std::size_t theirs = c - c % workers_ + place(to);
  on_the_way_[message] = {
      c, theirs, -1, cursors_[c].stage, round, what.leg.fold, what.waits_for_receiver};
  if (!what.waits_for_receiver) return;
  Cursor& their = cursors_[theirs];
  const Time told = now + flows_.notice(what.leg);
  const bool is_there = their.stage == cursors_[c].stage && their.to_get > 0 &&
                        (phase.at_once || their.round == round);
  if (is_there)
    flows_.want(message, told);
  else
    their.early.push_back({cursors_[c].stage, round, {}, true, message, told});
}

// What has come for this round, or these rounds, already.
void PlayerInTime::get_early(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  const int stage = my.stage;
  const int round = my.round;
  const bool any_round = std::get<Phase>(program(c).stages[place(stage)]).at_once;
  const auto is_due = [&](const Early& one) {
    return one.stage == stage && (any_round || one.round == round);
  };
  const auto due = std::stable_partition(my.early.begin(), my.early.end(),
                                         [&](const Early& one) { return !is_due(one); });
  const std::vector<Early> come(due, my.early.end());
  my.early.erase(due, my.early.end());
  for (const Early& one : come) {
    if (one.is_offer)
      flows_.want(one.message, std::max(now, one.told));
    else
      arrive(c, one.stage, one.round, one.fold, now);
  }
}

void PlayerInTime::arrive(std::size_t c, int stage, int round, Duration fold, Time now) {
  Cursor& my = cursors_[c];
  bool is_due = my.stage == stage && my.to_get > 0;
  bool many = false;
  if (is_due) {
    many = std::get<Phase>(program(c).stages[place(stage)]).at_once;
    is_due = many || my.round == round;
  }
  if (!is_due) {
    my.early.push_back({stage, round, fold, false, 0, now});
    return;
  }
  --my.to_get;
  if (many)
    my.folded_until = std::max(my.folded_until, now) + fold;
  else
    my.fold = fold;
  leave_if_done(c, now);
}

void PlayerInTime::leave_if_done(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  if (my.to_send > 0 || my.to_get > 0) return;
  const auto& phase = std::get<Phase>(program(c).stages[place(my.stage)]);
  if (!phase.at_once) ++my.round;
  plan(on, c, std::max(now + my.fold, my.folded_until));
}

void PlayerInTime::wait_for_all(std::size_t c, const Barrier& barrier, Time now) {
  const Team& team = barrier.team;
  const auto me = static_cast<int>(c % workers_);
  const int first = team.colleague(me, 0);
  int& here = at_barrier_[{c / workers_, cursors_[c].stage, first}];
  if (++here < team.size) return;
  for (int v = 0; v < team.size; ++v) {
    const std::size_t theirs = c - c % workers_ + place(team.colleague(first, v));
    ++cursors_[theirs].stage;
    cursors_[theirs].round = 0;
    plan(on, theirs, now);
  }
}

std::vector<CallTimes> play_in_time(std::span<const Call> calls, const SharingOptions& options) {
  if (calls.empty()) return {};
  const auto workers = static_cast<double>(calls.front().network->workers());
  if (workers * static_cast<double>(calls.size()) > most_cursors)
    throw InputError("", std::to_string(calls.size()) + " collectives in flight of " +
                             std::to_string(calls.front().network->workers()) +
                             " workers are too many to be played message by message");
  return PlayerInTime(calls, options).play();
}

}  // namespace sgdsim
