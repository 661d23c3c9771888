// Max-min fair rates by filling: the port that has least for each of its flows decides for those,
// then the next one of what is left.
#include "sim/net/shared_ports.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr double most_work = 4e8;               // some ten seconds
constexpr std::size_t most_messages = 1 << 21;  // under way at a time, of some 300 bytes
constexpr double near_enough = 1e-9;

}  // namespace

SharedPorts::SharedPorts(const Network& network, double send_buffer_B, Agenda& agenda)
    : network_(network),
      send_buffer_B_(send_buffer_B),
      agenda_(agenda),
      queues_(2 * static_cast<std::size_t>(network.workers())) {
  const auto workers = static_cast<std::size_t>(network.workers());
  std::size_t ports = 2 * workers;
  for (const SharedWays& shared : network.shared_ways())
    ports += 2 * (shared.way_of(network.workers() - 1) + 1);
  ports_.resize(ports);
}

void SharedPorts::find_uses(Flow& flow) const {
  const Sending& what = flow.what;
  flow.use_count = 0;
  auto add = [&](std::size_t port, double per_byte) {
    if (per_byte <= 0) return;
    assert(flow.use_count < flow.uses.size());
    flow.uses[flow.use_count++] = {port, per_byte};
  };
  auto per_byte = [&](Duration busy) { return static_cast<double>(busy.ps()) / what.size_B; };
  const bool leaves_too = !flow.in_buffer || !flow.enters;
  const bool enters_too = !flow.in_buffer || flow.enters;
  if (leaves_too) add(2 * static_cast<std::size_t>(what.from), per_byte(what.leg.out_busy));
  if (enters_too) add(2 * static_cast<std::size_t>(what.to) + 1, per_byte(what.leg.in_busy));
  std::size_t base = 2 * static_cast<std::size_t>(network_.workers());
  for (const SharedWays& shared : network_.shared_ways()) {
    if (what.from / shared.group != what.to / shared.group) {
      if (leaves_too) add(base + 2 * shared.way_of(what.from), shared.rate_of(what.from).ps());
      if (enters_too) add(base + 2 * shared.way_of(what.to) + 1, shared.rate_of(what.to).ps());
    }
    base += 2 * (shared.way_of(network_.workers() - 1) + 1);
  }
}

void SharedPorts::plan(Kind kind, uint32_t message, Time when) {
  agenda_.push(when, Event(kind, message, flow(message).version));
}

uint32_t SharedPorts::add(const Sending& what) {
  uint32_t message = 0;
  if (unused_.empty()) {
    if (flows_.size() == most_messages)
      throw InputError("", "more than " + std::to_string(most_messages) +
                               " messages are under way at a time: too many to share ports");
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
  it.what = what;
  it.left_ps = static_cast<double>(what.leg.transit.ps());
  return message;
}

uint32_t SharedPorts::send(const Sending& what, Time now) {
  const uint32_t message = add(what);
  if (what.waits_for_receiver) return message;  // want() lets it begin
  if (what.size_B > send_buffer_B_ || what.size_B <= 0 || what.has_own_link) {
    flow(message).kept_ps = flow(message).left_ps * (send_buffer_B_ / std::max(1.0, what.size_B));
    begin(message, now);
    return message;
  }
  const uint32_t second = add(what);
  for (const uint32_t half : {message, second}) {
    flow(half).in_buffer = true;
    flow(half).half = half == message ? second : message;
  }
  flow(message).left_ps = static_cast<double>(what.leg.out_busy.ps());
  flow(second).left_ps = static_cast<double>(what.leg.in_busy.ps());
  flow(second).enters = true;
  plan(handed_over, message, now);
  join_queue(message, now);
  return message;
}

SharedPorts::Queue& SharedPorts::queue_of(const Flow& flow) {
  return flow.enters ? queues_[2 * static_cast<std::size_t>(flow.what.to) + 1]
                     : queues_[2 * static_cast<std::size_t>(flow.what.from)];
}

void SharedPorts::join_queue(uint32_t message, Time now) {
  Queue& queue = queue_of(flow(message));
  if (queue.is_busy) {
    queue.waiting.push_back(message);
    return;
  }
  queue.is_busy = true;
  begin(message, now);
}

// A message that waits has told of itself one flight after it was sent.
void SharedPorts::want(uint32_t message, Time now) { plan(begins, message, now); }

SharedPorts::News SharedPorts::happen(const Event& event, Time now) {
  Flow& it = flow(event.subject());
  const bool is_old = !event.is_of(it.version);
  switch (event.kind()) {
    case begins:
      if (it.in_buffer)
        join_queue(event.subject(), now);
      else
        begin(event.subject(), now);
      return News::nothing;
    case frees:
      if (is_old) return News::nothing;
      [[fallthrough]];
    case handed_over:
      if (it.is_free) return News::nothing;
      it.is_free = true;
      return News::sender_free;
    case leaves: {
      if (is_old) return News::nothing;
      end(event.subject(), now);
      if (it.in_buffer) {
        end_half(event.subject(), now);
        return News::nothing;
      }
      plan(arrives, event.subject(), it.what.waits_for_receiver ? now : now + it.what.leg.flight);
      if (it.is_free || it.what.waits_for_receiver) return News::nothing;
      it.is_free = true;
      return News::sender_free;
    }
    case arrives:
      unused_.push_back(event.subject());
      if (it.in_buffer) unused_.push_back(it.half);
      return News::arrived;
    default:
      return News::nothing;
  }
}

void SharedPorts::begin(uint32_t message, Time now) {
  Flow& it = flow(message);
  it.since = now;
  if (it.in_buffer && !it.enters) {
    flow(it.half).arrives = now + it.what.leg.flight + it.what.leg.transit;
    plan(begins, it.half, now + it.what.leg.flight);
  }
  it.has_bytes = it.what.size_B > 0 && it.left_ps > 0 && !it.what.has_own_link;
  if (!it.has_bytes) {
    ++it.version;
    plan(leaves, message, now + Duration::nearest_ps(it.left_ps));
    return;
  }
  find_uses(it);
  for (const Use& use : uses_of(it)) {
    ports_[use.port].flows.push_back(message);
    touch(use.port);
  }
}

void SharedPorts::end(uint32_t message, Time now) {
  Flow& it = flow(message);
  it.rate = 0;
  ++it.version;
  if (it.has_bytes)
    for (const Use& use : uses_of(it)) {
      std::vector<uint32_t>& flows = ports_[use.port].flows;
      *std::find(flows.begin(), flows.end(), message) = flows.back();
      flows.pop_back();
      touch(use.port);
    }
  if (!it.in_buffer) return;
  Queue& queue = queue_of(it);
  if (queue.next == queue.waiting.size())
    queue = {};
  else
    begin(queue.waiting[queue.next++], now);
}

// Of a whole message: it has arrived when it has both left and entered.
void SharedPorts::end_half(uint32_t message, Time now) {
  Flow& it = flow(message);
  Flow& second = it.enters ? it : flow(it.half);
  if (!it.enters) second.arrives = std::max(second.arrives, now + it.what.leg.flight);
  it.has_left = true;
  if (!flow(it.half).has_left) return;
  plan(arrives, it.enters ? it.half : message, std::max(now, second.arrives));
}

void SharedPorts::touch(std::size_t port) {
  if (ports_[port].is_dirty) return;
  ports_[port].is_dirty = true;
  dirty_.push_back(port);
}

// Whether all that flows through this port is one flow, which shares no other port either; it then
// gets what it can have.
bool SharedPorts::is_alone(std::size_t port, Time now) {
  if (ports_[port].flows.size() > 1) return false;
  const uint32_t message = ports_[port].flows.front();
  const Flow& it = flow(message);
  double rate = 1;
  for (const Use& use : uses_of(it)) {
    if (ports_[use.port].flows.size() > 1) return false;
    rate = std::min(rate, 1 / (use.per_byte * alone(it)));
  }
  set_rate(message, rate, now);
  return true;
}

void SharedPorts::settle(Time now) {
  for (const std::size_t port : dirty_) {
    ports_[port].is_dirty = false;
    if (ports_[port].is_found || ports_[port].flows.empty() || is_alone(port, now)) continue;
    found_ports_.clear();
    found_flows_.clear();
    find(port);
    share_out(now);
  }
  for (const std::size_t port : dirty_) ports_[port].is_found = false;
  dirty_.clear();
}

void SharedPorts::count_work(std::size_t flows) {
  work_ += static_cast<double>(flows);
  if (work_ > most_work)
    throw InputError("",
                     "too many messages share ports with each other; fewer ranks, or ports that "
                     "take turns, can be played");
}

// All flows and ports that share with this one, directly or through others.
void SharedPorts::find(std::size_t port) {
  ports_[port].is_found = true;
  found_ports_.push_back(port);
  for (std::size_t p = 0; p < found_ports_.size(); ++p)
    for (const uint32_t message : ports_[found_ports_[p]].flows) {
      Flow& it = flow(message);
      if (it.is_found) continue;
      it.is_found = true;
      found_flows_.push_back(message);
      for (const Use& use : uses_of(it))
        if (!ports_[use.port].is_found) {
          ports_[use.port].is_found = true;
          found_ports_.push_back(use.port);
        }
    }
  count_work(found_flows_.size() + found_ports_.size());
}

// Bytes per picosecond of a flow that shares nothing.
double SharedPorts::alone(const Flow& flow) {
  const Leg& leg = flow.what.leg;
  const Duration busy = !flow.in_buffer ? leg.transit : flow.enters ? leg.in_busy : leg.out_busy;
  return flow.what.size_B / static_cast<double>(busy.ps());
}

void SharedPorts::share_out(Time now) {
  for (const std::size_t port : found_ports_) ports_[port].room = 1;
  for (const std::size_t port : found_ports_) ports_[port].asked = 0;
  for (const uint32_t message : found_flows_)
    for (const Use& use : uses_of(flow(message))) ports_[use.port].asked += use.per_byte;
  std::vector<uint32_t> open = found_flows_;
  while (!open.empty()) {
    // Bytes per picosecond that the ports of a flow, and its way alone, let it have.
    auto limit = [&](const Flow& it) {
      double rate = alone(it);
      for (const Use& use : uses_of(it))
        rate = std::min(rate, std::max(0.0, ports_[use.port].room) / ports_[use.port].asked);
      return rate;
    };
    double least = std::numeric_limits<double>::infinity();
    for (const uint32_t message : open) least = std::min(least, limit(flow(message)));
    std::vector<uint32_t> later;
    std::vector<std::pair<uint32_t, double>> fixed;
    for (const uint32_t message : open) {
      const double its = limit(flow(message));
      if (its <= least * (1 + near_enough))
        fixed.emplace_back(message, its);
      else
        later.push_back(message);
    }
    for (const auto& [message, rate] : fixed) {
      Flow& it = flow(message);
      for (const Use& use : uses_of(it)) {
        ports_[use.port].asked -= use.per_byte;
        ports_[use.port].room -= use.per_byte * rate;
      }
      set_rate(message, rate / alone(it), now);
    }
    count_work(open.size());
    open = std::move(later);
  }
  for (const uint32_t message : found_flows_) flow(message).is_found = false;
  for (const std::size_t port : found_ports_)
    if (!ports_[port].is_dirty) ports_[port].is_found = false;
}

void SharedPorts::set_rate(uint32_t message, double rate, Time now) {
  Flow& it = flow(message);
  if (rate > 1 - near_enough) rate = 1;
  if (std::abs(rate - it.rate) <= near_enough * rate) return;
  it.left_ps = std::max(0.0, it.left_ps - it.rate * static_cast<double>((now - it.since).ps()));
  it.since = now;
  it.rate = rate;
  ++it.version;
  plan(leaves, message, now + Duration::nearest_ps(it.left_ps / rate));
  if (!it.is_free && !it.in_buffer && it.kept_ps > 0)
    plan(frees, message, now + Duration::nearest_ps(std::max(0.0, it.left_ps - it.kept_ps) / rate));
}

}  // namespace sgdsim
