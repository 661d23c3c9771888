// From messages to flows and back.
#include "sim/net/flows.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/core/error.h"

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
      capacities_(is_routed_ ? resources.capacities() : std::vector<double>()) {}

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
  it.progress.left_ps = static_cast<double>(it.what.leg.transit.ps());
  return message;
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

void Flows::start(uint32_t message, Time now) {
  const Duration waits = waits_before(message);
  if (waits > Duration())
    plan(begins, message, now + waits);
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
void Flows::want(uint32_t message, Time now) { plan(begins, message, now + waits_before(message)); }

Flows::Report Flows::happen(const Event& event, Time now) {
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
      return is_old ? News::nothing : leave(message, now);
    case arrives:
      unused_.push_back(message);
      if (is_half(it)) unused_.push_back(it.half);
      return News::arrived;
    default:
      return News::nothing;
  }
}

Flows::News Flows::leave(uint32_t message, Time now) {
  end(message, now);
  Flow& it = flow(message);
  if (is_half(it)) {
    end_half(message, now);
    return News::nothing;
  }
  // What waited for its receiver, or paid its latency before, is there.
  const bool is_there = it.what.waits_for_receiver || pays_first();
  plan(arrives, message, is_there ? now : now + it.what.leg.flight);
  if (!of_pairs_.empty()) start_next_of_pair(message, now);
  if (it.is_free || it.what.waits_for_receiver) return News::nothing;
  it.is_free = true;
  return News::sender_free;
}

void Flows::begin(uint32_t message, Time now) {
  Flow& it = flow(message);
  it.progress.since = now;
  if (it.part == Part::leaves) {
    flow(it.half).arrives = now + it.what.leg.flight + it.what.leg.transit;
    plan(begins, it.half, now + it.what.leg.flight);
  }
  it.is_shared =
      it.what.size_B > 0 && it.progress.left_ps > 0 && (is_routed_ || !it.what.has_own_link);
  if (!it.is_shared) {
    ++it.version;
    plan(leaves, message, now + Duration::nearest_ps(it.progress.left_ps));
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

// How much faster a message alone is that uses `uses_` than by the wires' first capacities: as much
// as the narrowest of them has grown. What slows wires down needs no cap.
double Flows::speed_up() const {
  if (!has_faster_) return 1;
  double before = std::numeric_limits<double>::infinity();
  double now = before;
  for (const ResourceUse& use : uses_) {
    before = std::min(before, capacities_[use.resource] / use.share);
    now = std::min(now, rates_.capacity(use.resource) / use.share);
  }
  return now > before && std::isfinite(now) ? now / before : 1;
}

// Messages under way may go faster, or no longer.
void Flows::follow_caps() {
  for (uint32_t message = 0; message < flows_.size(); ++message) {
    const Flow& it = flows_[message];
    if (!it.is_flowing) continue;
    uses_.clear();
    rates_.for_each_use(message, [&](uint32_t used, double share) {
      uses_.push_back({used, share});
    });
    const double cap = it.alone_B_per_ps * speed_up();
    if (cap == rates_.cap(message)) continue;
    rates_.remove(message);
    rates_.add(message, uses_, cap);
  }
}

void Flows::open(std::span<const uint32_t> resources, bool is_open, Time now) {
  if (!resources_.open(resources, is_open)) return;
  std::vector<uint32_t> again = std::exchange(stranded_, {});
  for (uint32_t message = 0; message < flows_.size(); ++message) {
    Flow& it = flow(message);
    if (!it.is_flowing) continue;
    it.progress.note(now);
    rates_.for_each_use(message, [&](uint32_t used, double share) {
      carried_B_[used] -= share * alone(it) * it.progress.left_ps;
    });
    it.progress.rate = 0;
    ++it.version;
    forget_end(message);
    rates_.remove(message);
    again.push_back(message);
  }
  next_end_ = Time::last();
  ++next_version_;  // what was planned has no rate any more
  for (const uint32_t message : again) find_route(message);
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

void Flows::scale(uint32_t resource, double factor) {
  const double first = capacities_[resource];
  const double least = std::max(first, rates_.capacity(resource));
  rates_.set_capacity(resource, first * factor);
  if (std::max(least, first * factor) <= first) return;
  has_faster_ = true;
  are_caps_old_ = true;
}

std::vector<Stranded> Flows::stranded() {
  std::vector<Stranded> messages;
  for (const uint32_t message : stranded_)
    messages.push_back({message, flows_[message].what, Stranding::no_way});
  return messages;
}

void Flows::lose(std::span<const uint32_t>, double) {
  throw InputError("", "links lose packets, which are simulated at fidelity packet only");
}

// What was in use since the last moment, and what is from now on.
void Flows::tell_watch(Time now) {
  const std::vector<uint32_t>& watched = options_.watch->resources();
  in_use_.resize(watched.size());
  for (std::size_t place = 0; place < watched.size(); ++place) {
    options_.watch->add(place, told_until_, now, in_use_[place]);
    in_use_[place] = rates_.used(watched[place]) /
                     std::max(capacities_[watched[place]], rates_.capacity(watched[place]));
  }
  told_until_ = now;
}

void Flows::settle(Time now) {
  if (std::exchange(are_caps_old_, false)) follow_caps();
  rates_.settle([&](uint32_t message, double rate) { set_rate(message, rate, now); });
  if (options_.watch != nullptr) tell_watch(now);
  if (rates_.work() > options_.most_work)
    throw InputError("", is_routed_
                             ? "too many messages share wires with each other at once; fewer "
                               "ranks, or rounds (option direct=rounds), can be simulated"
                             : "too many messages share ports with each other; fewer ranks, or "
                               "ports that take turns, can be simulated");
  plan_next(now);
}

void Flows::set_rate(uint32_t message, double rate, Time now) {
  Flow& it = flow(message);
  if (!it.progress.change(rate / it.alone_B_per_ps, now)) return;
  rate = it.progress.rate;
  ++it.version;
  const double left_ps = it.progress.left_ps / rate;
  // One that hardly flows never ends, unless it gets more.
  if (rate <= 0 || left_ps > static_cast<double>((Time::last() - now).ps()) / 2) {
    forget_end(message);
    return;
  }
  it.ends = now + it.progress.until(slack());
  if (it.ends < it.queued) queue_end(message, it.ends);
  if (!it.is_free && !is_half(it) && it.kept_ps > 0)
    plan(frees, message, now + it.progress.until(slack(), it.kept_ps));
}

void Flows::queue_end(uint32_t message, Time when) {
  flow(message).queued = when;
  ends_.set(message, when);
}

void Flows::forget_end(uint32_t message) {
  flow(message).queued = Time::last();
  ends_.remove(message);
}

// One event for the first of all ends. One that comes later than it was queued for, because its
// rate has fallen, is queued anew only when it seems to be the first.
void Flows::plan_next(Time now) {
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
