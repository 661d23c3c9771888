// Every worker walks through the rounds of each of its collectives by itself.
#include "sim/play/calls_in_time.h"

#include <algorithm>
#include <string>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_cursors = 1 << 24;  // of some 100 bytes

}  // namespace

uint32_t CallsInTime::add(const Program& program, const Network& network,
                          const std::vector<int>* places, const Freight& freight) {
  const auto workers = place(network.workers());
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
                               " workers to be played message by message");
    cursors_.resize(first + workers);
  } else {
    first = unused.back();
    unused.pop_back();
  }
  for (std::size_t worker = 0; worker < workers; ++worker) {
    cursors_[first + worker] = {};
    cursors_[first + worker].call = call;
    cursors_[first + worker].worker = static_cast<int>(worker);
  }
  calls_[call] = {&program, &network, places, first, network.workers(), freight};
  return call;
}

void CallsInTime::end(std::size_t c, Time now) {
  const uint32_t call = cursors_[c].call;
  cursors_[c].early = {};
  const int worker = cursors_[c].worker;
  if (--calls_[call].left == 0) forget(call);
  ended_(call, worker, now);
}

// Its number and its cursors are used again.
void CallsInTime::forget(uint32_t call) {
  const CallInPlay& it = calls_[call];
  unused_cursors_[place(it.network->workers())].push_back(it.first_cursor);
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

void CallsInTime::happen(const Event& event, Time now) {
  switch (event.kind()) {
    case on:
      return go_on(event.subject(), now);
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
  const uint32_t number = report.message;
  if (news == Carrier::News::nothing) return;
  const OnTheWay message = on_the_way_[number];
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
  if (news == Carrier::News::arrived)
    arrive(message.to, message.stage, message.round, message.fold, now);
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
      return plan(on, c, now + launch->length);
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
  my.folded_until = my.sent = now;
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
    if (to >= 0) send(c, phase, v, my.round, to, now);
    get_early(c, now);
    if (from < 0 && my.to_send == 0) leave(c, now);
    return true;
  }
  return false;
}

void CallsInTime::send(std::size_t c, const Phase& phase, int v, int round, int receiver,
                       Time now) {
  const auto me = cursors_[c].worker;
  const int to = phase.team.colleague(me, v, receiver);
  const CallInPlay& call = call_of(c);
  Parcel what{.from = call.place_of(me),
              .to = call.place_of(to),
              .size_B = phase.sent_B(round, v, phase.team.lane(me)),
              .leg = {},
              .waits_for_receiver = phase.handshake == Handshake::rendezvous,
              .freight = call.freight};
  Wires wires(*call.network, alpha_);
  const bool is_offered = what.waits_for_receiver || takes_at_receiver_;
  if (takes_at_receiver_ && !call.network->shared_ways().empty())
    wires = wires.sharing(loads_.try_emplace(&phase, *call.network, phase).first->second.at(round));
  what.leg = wires.leg(me, to, what.size_B, phase.folds);
  if (jitter_.on())
    what.leg = Wires::scaled(
        what.leg, jitter_.factor(static_cast<uint64_t>(cursors_[c].stage) + 1,
                                 static_cast<uint64_t>(round), static_cast<uint64_t>(me)));
  if (takes_at_receiver_ && !what.waits_for_receiver) {
    what.tells_when_free = false;
    cursors_[c].sent = now + what.leg.out_busy;
    --cursors_[c].to_send;
  }
  const uint32_t message = carrier_.send(what, now);
  if (message >= on_the_way_.size()) on_the_way_.resize(message + 1);
  const std::size_t theirs = cursor_of(cursors_[c].call, to);
  on_the_way_[message] = {
      c, theirs, -1, cursors_[c].stage, round, what.leg.fold, what.waits_for_receiver};
  if (!is_offered) return;
  Cursor& their = cursors_[theirs];
  const Time told = now + carrier_.notice(what.leg);
  const bool is_there = their.stage == cursors_[c].stage && their.to_get > 0 &&
                        (phase.at_once || their.round == round);
  if (is_there)
    be_there(theirs, message, told);
  else
    their.early.push_back({cursors_[c].stage, round, {}, true, message, told});
}

// What has come for this round, or these rounds, already.
void CallsInTime::get_early(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  const int stage = my.stage;
  const int round = my.round;
  const bool any_round = std::get<Phase>(program(c).stages[place(stage)]).at_once;
  const auto is_due = [&](const Early& one) {
    return one.stage == stage && (any_round || one.round == round);
  };
  std::size_t kept = 0;
  for (std::size_t i = 0; i < my.early.size(); ++i) {
    const Early one = my.early[i];
    if (!is_due(one))
      my.early[kept++] = one;
    else if (one.is_offer)
      be_there(c, one.message, std::max(now, one.told));
    else
      arrive(c, one.stage, one.round, one.fold, now);
  }
  my.early.resize(kept);
}

// The receiver of a message that waits for it.
void CallsInTime::be_there(std::size_t c, uint32_t message, Time now) {
  if (!takes_at_receiver_) return carrier_.want(message, now);
  const Time taken = carrier_.take(message, now);
  const OnTheWay& it = on_the_way_[message];
  if (it.frees_sender) {
    --cursors_[it.from].to_send;
    leave_if_done(it.from, taken);
  }
  arrive(c, it.stage, it.round, it.fold, taken);
}

void CallsInTime::arrive(std::size_t c, int stage, int round, Duration fold, Time now) {
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

void CallsInTime::leave_if_done(std::size_t c, Time now) {
  if (cursors_[c].to_send == 0 && cursors_[c].to_get == 0) leave(c, now);
}

void CallsInTime::leave(std::size_t c, Time now) {
  Cursor& my = cursors_[c];
  const auto& phase = std::get<Phase>(program(c).stages[place(my.stage)]);
  if (!phase.at_once) ++my.round;
  const Time next = std::max(std::max(now, my.sent) + my.fold, my.folded_until);
  plan(on, c, next);
}

void CallsInTime::wait_for_all(std::size_t c, const Barrier& barrier, Time now) {
  const Team& team = barrier.team;
  const auto me = cursors_[c].worker;
  const int first = team.colleague(me, 0);
  const std::tuple<std::size_t, int, int> barrier_place{cursors_[c].call, cursors_[c].stage, first};
  if (++at_barrier_[barrier_place] < team.size) return;
  at_barrier_.erase(barrier_place);
  for (int v = 0; v < team.size; ++v) {
    const std::size_t theirs = cursor_of(cursors_[c].call, team.colleague(first, v));
    ++cursors_[theirs].stage;
    cursors_[theirs].round = 0;
    plan(on, theirs, now);
  }
}

}  // namespace sgdsim
