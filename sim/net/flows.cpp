// From messages to flows and back.
#include "sim/net/flows.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/prefetch.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_messages = 1 << 22;  // under way at a time, of some 300 bytes

}  // namespace

Flows::Flows(Resources& resources, const Options& options, Agenda& agenda)
    : resources_(resources),
      is_routed_(resources.are_routes()),
      options_(options),
      agenda_(agenda),
      rates_(resources.capacities()),
      carried_B_(is_routed_ ? resources.capacities().size() : 0),
      capacities_(is_routed_ ? resources.capacities() : std::vector<double>()) {
  // So many are under way where each port has one; what is not used takes no memory.
  flows_.reserve(resources.capacities().size() / 2);
}

void Flows::plan(Kind kind, uint32_t message, Time when) {
  agenda_.push(when, Event(kind, message, flow(message).version));
}

uint32_t Flows::add(const Parcel& parcel) {
  uint32_t message = 0;
  if (unused_.empty()) {
    if (flows_.size() == most_messages)
      throw InputError("", "more than " + std::to_string(most_messages) +
                               " messages are under way at a time: too many to share a network");
    message = static_cast<uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    message = unused_.back();
    unused_.pop_back();
  }
  Flow& it = flow(message);
  const uint32_t version = it.version + 1;
  it = {};
  it.version = version;
  it.what = parcel;
  it.what.leg = parcel.leg.bytes_only();
  if (const auto detour = resources_.detour(parcel)) [[unlikely]]
    it.what.leg = along(*detour, it.what.leg);
  it.progress.left_ps = static_cast<double>(it.what.leg.transit.ps());
  // What waits for its receiver frees its sender when it is there; that, and what has paid its
  // latency before, is there when it has left.
  it.is_free = parcel.waits_for_receiver;
  it.is_there = parcel.waits_for_receiver || pays_first() || parcel.leg.flight == Duration();
  return message;
}

Leg Flows::along(const Resources::Detour& detour, Leg leg) {
  const auto times = [&](Duration length) {
    return Duration::nearest_ps(static_cast<double>(length.ps()) * detour.longer);
  };
  leg.flight += detour.latency;
  leg.out_busy = times(leg.out_busy);
  leg.in_busy = times(leg.in_busy);
  leg.transit = times(leg.transit);
  return leg;
}

uint32_t Flows::send(const Parcel& parcel, Time now) {
  const uint32_t message = add(parcel);
  if (parcel.waits_for_receiver) return message;  // want() lets it begin
  const double buffer_B = options_.send_buffer_B;
  const bool is_eager = parcel.leg.agreed == Duration();
  const bool is_whole = parcel.size_B <= buffer_B && parcel.size_B > 0 && is_eager;
  if (is_whole && !is_routed_ && !parcel.has_own_link) {
    send_in_halves(message, now);
    return message;
  }
  Flow& it = flow(message);
  it.kept_ps = it.progress.left_ps * std::min(1.0, buffer_B / std::max(1.0, parcel.size_B));
  if (parcel.agrees_with_receiver) return message;  // want() does, when the one before is there
  if (is_whole && is_routed_) plan(handed_over, message, now);
  if (buffer_B > 0 && !parcel.has_own_link) {
    std::deque<uint32_t>& pair = of_pairs_[{parcel.from, parcel.to}];
    pair.push_back(message);
    if (pair.size() > 1) return message;
  }
  start(message, now);
  return message;
}

Duration Flows::waits_before(uint32_t message) {
  const Leg& leg = flow(message).what.leg;
  return pays_first() ? leg.agreed + leg.flight : leg.agreed;
}

void Flows::begin_at(uint32_t message, Time when) {
  flow(message).ends = when;
  plan(begins, message, when);
}

void Flows::start(uint32_t message, Time now) {
  const Duration waits = waits_before(message);
  if (waits > Duration())
    begin_at(message, now + waits);
  else
    begin(message, now);
}

// A sender that is free before its message has left may hand over another one.
void Flows::start_next_of_pair(uint32_t message, Time now) {
  const Parcel& what = flow(message).what;
  const auto pair = of_pairs_.find({what.from, what.to});
  if (pair == of_pairs_.end() || pair->second.front() != message) return;
  pair->second.pop_front();
  if (pair->second.empty())
    of_pairs_.erase(pair);
  else
    start(pair->second.front(), now);
}

void Flows::send_in_halves(uint32_t message, Time now) {
  const Parcel parcel = flow(message).what;  // which moves when another one comes
  const uint32_t second = add(parcel);
  const Leg& leg = parcel.leg;
  flow(message).part = Part::leaves;
  flow(message).half = second;
  flow(message).progress.left_ps = static_cast<double>(leg.out_busy.ps());
  flow(second).part = Part::enters;
  flow(second).half = message;
  flow(second).progress.left_ps = static_cast<double>(leg.in_busy.ps());
  plan(handed_over, message, now);
  join_queue(message, now);
}

Flows::Queue& Flows::queue_of(const Flow& flow) {
  const std::size_t number = flow.part == Part::enters
                                 ? 2 * static_cast<std::size_t>(flow.what.to) + 1
                                 : 2 * static_cast<std::size_t>(flow.what.from);
  if (number >= queues_.size()) queues_.resize(number + 1);
  return queues_[number];
}

void Flows::join_queue(uint32_t message, Time now) {
  Queue& queue = queue_of(flow(message));
  if (queue.is_busy) {
    queue.waiting.push_back(message);
    return;
  }
  queue.is_busy = true;
  begin(message, now);
}

// A message that waits has told of itself one flight after it was sent.
void Flows::want(uint32_t message, Time now) {
  const Parcel& what = flow(message).what;
  const Duration told = what.agrees_with_receiver ? what.leg.word() : Duration();
  begin_at(message, now + (waits_before(message) - told));
}

void Flows::fetch(const Event& next) const {
  if (next.actor() != 0 || next.kind() == next_leaves) return;
  prefetch(&flows_[next.subject()], offsetof(Flow, what));
  if (next.kind() == leaves) rates_.fetch(next.subject());
}

Flows::Report Flows::happen(const Event& event, Time now) {
  if (arrived_ != none) free_number(std::exchange(arrived_, none));
  if (event.kind() != next_leaves) {
    const uint32_t message = event.subject();
    const bool is_old = !event.is_of(flow(message).version);
    return {follow(static_cast<Kind>(event.kind()), message, is_old, now), message};
  }
  if (!event.is_of(next_version_)) return {};
  next_end_ = Time::last();
  const uint32_t message = ends_.first().subject;
  forget_end(message);
  plan_next(now);
  return {leave(message, now), message};
}

Flows::News Flows::follow(Kind kind, uint32_t message, bool is_old, Time now) {
  Flow& it = flow(message);
  switch (kind) {
    case begins:
      if (is_old) return News::nothing;
      if (is_half(it))
        join_queue(message, now);
      else
        begin(message, now);
      return News::nothing;
    case frees:
      if (is_old) return News::nothing;
      [[fallthrough]];
    case handed_over:
      if (it.is_free) return News::nothing;
      it.is_free = true;
      return News::sender_free;
    case leaves:
      return is_over(message, now) ? leave(message, now) : News::nothing;
    case arrives:
      if (is_old) return News::nothing;
      free_number(message);
      return News::arrived;
    default:
      return News::nothing;
  }
}

void Flows::free_number(uint32_t message) {
  unused_.push_back(message);
  if (is_half(flow(message))) unused_.push_back(flow(message).half);
}

void Flows::arrive_at(uint32_t message, Time when) {
  flow(message).arrives = when;
  plan(arrives, message, when);
}

Flows::News Flows::leave(uint32_t message, Time now) {
  end(message, now);
  Flow& it = flow(message);
  if (is_half(it)) {
    end_half(message, now);
    return News::nothing;
  }
  it.has_left = true;
  if (it.is_there)
    arrived_ = message;
  else
    arrive_at(message, now + it.what.leg.flight);
  if (!of_pairs_.empty()) start_next_of_pair(message, now);
  if (it.is_free) return it.is_there ? News::arrived : News::nothing;
  it.is_free = true;
  return it.is_there ? News::both : News::sender_free;
}

void Flows::begin(uint32_t message, Time now) {
  Flow& it = flow(message);
  it.progress.since = now;
  it.has_begun = true;
  if (it.part == Part::leaves) {
    flow(it.half).arrives = now + it.what.leg.flight + it.what.leg.transit;
    plan(begins, it.half, now + it.what.leg.flight);
  }
  it.is_shared =
      it.what.size_B > 0 && it.progress.left_ps > 0 && (is_routed_ || !it.what.has_own_link);
  if (!it.is_shared) {
    it.ends = now + Duration::nearest_ps(it.progress.left_ps);
    queue_end(message, it.ends);
    return;
  }
  find_route(message);
}

void Flows::find_route(uint32_t message) {
  Flow& it = flow(message);
  uses_.clear();
  it.is_flowing = resources_.find(it.what, it.part, uses_);
  if (!it.is_flowing) {
    stranded_.push_back(message);
    return;
  }
  if (is_routed_) {
    const double left_B = alone(it) * it.progress.left_ps;
    for (const ResourceUse& use : uses_) carried_B_[use.resource] += use.share * left_B;
  }
  it.alone_B_per_ps = alone(it);
  rates_.add(message, uses_, it.alone_B_per_ps * speed_up());
}

std::vector<double> Flows::carried_B(Time now) const {
  std::vector<double> carried_B = carried_B_;
  for (uint32_t message = 0; is_routed_ && message < flows_.size(); ++message) {
    const Flow& it = flows_[message];
    if (!it.is_flowing) continue;
    rates_.for_each_use(message, [&](uint32_t used, double share) {
      carried_B[used] -= share * alone(it) * it.progress.left_at(now);
    });
  }
  return carried_B;
}

void Flows::end(uint32_t message, Time now) {
  Flow& it = flow(message);
  it.progress.rate = 0;
  it.queued = Time::last();
  ++it.version;
  if (it.is_flowing) rates_.remove(message);
  it.is_flowing = false;
  if (!is_half(it)) return;
  Queue& queue = queue_of(it);
  if (queue.next == queue.waiting.size())
    queue = {};
  else
    begin(queue.waiting[queue.next++], now);
}

// Of a whole message: it has arrived when it has both left and entered.
void Flows::end_half(uint32_t message, Time now) {
  Flow& it = flow(message);
  Flow& second = it.part == Part::enters ? it : flow(it.half);
  if (it.part == Part::leaves) second.arrives = std::max(second.arrives, now + it.what.leg.flight);
  it.has_left = true;
  if (!flow(it.half).has_left) return;
  plan(arrives, it.part == Part::enters ? it.half : message, std::max(now, second.arrives));
}

// Bytes per picosecond of a flow that shares nothing.
double Flows::alone(const Flow& flow) {
  const Leg& leg = flow.what.leg;
  const Duration busy = flow.part == Part::whole    ? leg.transit
                        : flow.part == Part::enters ? leg.in_busy
                                                    : leg.out_busy;
  return flow.what.size_B / static_cast<double>(busy.ps());
}

// What was in use since the last moment, and what is from now on.
void Flows::tell_watch(Time now) {
  const std::vector<uint32_t>& watched = options_.watch->resources();
  in_use_.resize(watched.size());
  for (std::size_t place = 0; place < watched.size(); ++place) {
    options_.watch->add(place, told_until_, now, in_use_[place]);
    const double now_B_per_ps = rates_.capacity(watched[place]);
    in_use_[place] = now_B_per_ps > 0 ? rates_.used(watched[place]) / now_B_per_ps : 0;
  }
  told_until_ = now;
}

void Flows::settle(Time now) {
  if (std::exchange(are_caps_old_, false)) follow_caps();
  if (rates_.is_changed())
    rates_.settle([&](uint32_t message, double rate) { set_rate(message, rate, now); });
  if (options_.watch != nullptr) tell_watch(now);
  if (rates_.work() > options_.most_work)
    throw InputError("", is_routed_
                             ? "too many messages share wires with each other at once; fewer "
                               "ranks, or rounds (option direct=rounds), can be simulated"
                             : "too many messages share ports with each other; fewer ranks, or "
                               "ports that take turns, can be simulated");
  if (are_ends_old_) plan_next(now);
}

void Flows::set_rate(uint32_t message, double rate, Time now) {
  Flow& it = flow(message);
  const bool joins_crowd = rates_.is_crowded(message) && !it.is_in_heap;
  if (!it.progress.change(rate / it.alone_B_per_ps, now)) {
    if (joins_crowd && it.progress.rate > 0) queue_end(message, it.ends);
    return;
  }
  ++it.version;
  const std::optional<Time> end = it.progress.end(now, slack());
  if (!end) return forget_end(message);
  it.ends = *end;
  are_ends_old_ = are_ends_old_ || it.is_in_heap;  // it may have been the first
  if (it.ends < it.queued || joins_crowd) queue_end(message, it.ends);
  if (!it.is_free && !is_half(it) && it.kept_ps > 0)
    plan(frees, message, now + it.progress.until(slack(), it.kept_ps));
}

// An event of those queued for another time means nothing.
bool Flows::is_over(uint32_t message, Time now) {
  Flow& it = flow(message);
  if (it.queued != now || it.is_in_heap) return false;
  if (it.ends > now) queue_end(message, it.ends);
  return it.ends <= now;
}

void Flows::queue_end(uint32_t message, Time when) {
  Flow& it = flow(message);
  it.queued = when;
  const bool was_in_heap = it.is_in_heap;
  it.is_in_heap = it.is_flowing && rates_.is_crowded(message);
  are_ends_old_ = are_ends_old_ || was_in_heap || it.is_in_heap;
  if (it.is_in_heap) return ends_.set(message, when);
  if (was_in_heap) ends_.remove(message);
  agenda_.push(when, Event(leaves, message));
}

void Flows::forget_end(uint32_t message) {
  Flow& it = flow(message);
  it.queued = Time::last();
  if (!it.is_in_heap) return;
  it.is_in_heap = false;
  ends_.remove(message);
  are_ends_old_ = true;
}

// One event for the first of all ends. One that comes later than it was queued for, because its
// rate has fallen, is queued anew only when it seems to be the first.
void Flows::plan_next(Time now) {
  are_ends_old_ = false;
  while (!ends_.empty()) {
    const uint32_t first = ends_.first().subject;
    if (flow(first).ends == flow(first).queued) break;
    queue_end(first, flow(first).ends);
  }
  const Time first = ends_.empty() ? Time::last() : std::max(now, ends_.first().time);
  if (first == next_end_) return;
  next_end_ = first;
  ++next_version_;
  if (!ends_.empty()) agenda_.push(first, Event(next_leaves, 0, next_version_));
}

}  // namespace sgdsim
