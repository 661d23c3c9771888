// From worker to server and back.
#include "models/server/servers_in_time.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgdsim {

uint32_t ServersInTime::add(const ParameterServers& servers, const ServerPlaces& places, Bytes size,
                            const TensorPart& part, double depth) {
  uint32_t call = static_cast<uint32_t>(calls_.size());
  if (unused_.empty()) {
    calls_.emplace_back();
  } else {
    call = unused_.back();
    unused_.pop_back();
  }
  PushPull& it = calls_[call];
  it.servers = &servers;
  it.places = &places;
  it.parts = parts_of(servers, size, part);
  std::erase_if(it.parts, [](const ServerPart& one) { return one.size_B <= 0; });
  it.sums.assign(it.parts.size(), {Time(), false, servers.workers});
  it.to_get.assign(at(servers.workers), static_cast<int>(it.parts.size()));
  it.depth = depth;
  it.left = servers.workers;
  return call;
}

int ServersInTime::server_place(const PushPull& it, std::size_t part) const {
  const int server = it.parts[part].server;
  return it.servers->dedicated ? it.places->servers[at(server)]
                               : worker_place(it, it.servers->host(server));
}

void ServersInTime::enter(uint32_t call, int worker, Duration first, Time now) {
  agenda_.push(now + first, Event(on, call, static_cast<uint32_t>(worker)));
}

void ServersInTime::happen(const Event& event, Time now) {
  if (event.kind() == on)
    push(event.subject(), static_cast<int>(event.version()), now);
  else
    answer(event.subject(), event.version(), now);
}

void ServersInTime::push(uint32_t call, int worker, Time now) {
  const std::size_t count = calls_[call].parts.size();
  if (count == 0) {
    calls_[call].to_get[at(worker)] = 1;
    return get(call, worker, now);
  }
  const std::size_t first = calls_[call].servers->hashed ? 0 : at(worker);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t part = (i + first) % count;
    const int place = worker_place(calls_[call], worker);
    if (server_place(calls_[call], part) == place)
      add_to_sum(call, part, {}, now);
    else
      put({.call = call, .part = part, .worker = worker, .is_answer = false, .fold = {}}, now);
  }
}

ServersInTime::Line ServersInTime::line_of(const Sent& what) const {
  const PushPull& it = calls_[what.call];
  const int server = server_place(it, what.part);
  const int worker = worker_place(it, what.worker);
  const Line ends = what.is_answer ? Line(server, worker) : Line(worker, server);
  return {ends.first, it.servers->hashed ? ends.second : -1};
}

void ServersInTime::put(const Sent& what, Time now) {
  const Line line = line_of(what);
  Outbox& box = outboxes_[line];
  box.waiting.push_back(what);
  if (!box.is_busy) send_next(line, now);
}

void ServersInTime::send_next(Line line, Time now) {
  Outbox& box = outboxes_[line];
  box.is_busy = !box.waiting.empty();
  if (!box.is_busy) return;
  Sent what = box.waiting.front();
  box.waiting.pop_front();
  const PushPull& it = calls_[what.call];
  const int server = server_place(it, what.part);
  const int worker = worker_place(it, what.worker);
  Parcel parcel{.from = what.is_answer ? server : worker,
                .to = what.is_answer ? worker : server,
                .size_B = it.parts[what.part].size_B,
                .leg = {},
                .freight = {.depth = it.depth,
                            .cargo = what.is_answer ? Cargo::parameters : Cargo::gradients}};
  parcel.leg = Wires(network_, carrier_.alpha_of_legs())
                   .leg(parcel.from, parcel.to, parcel.size_B, !what.is_answer);
  what.fold = parcel.leg.fold;
  what.to_come = 2;  // free, arrived
  what.line = line;
  const uint32_t message = carrier_.send(parcel, now);
  if (message >= sent_.size()) sent_.resize(message + 1);
  sent_[message] = what;
}

bool ServersInTime::hear(const Carrier::Report& report, Time now) {
  if (report.message >= sent_.size() || sent_[report.message].to_come == 0) return false;
  --sent_[report.message].to_come;
  const Sent what = sent_[report.message];
  if (report.news == Carrier::News::sender_free) {
    send_next(what.line, now);
  } else if (what.is_answer) {
    get(what.call, what.worker, now);
  } else {
    add_to_sum(what.call, what.part, what.fold, now);
  }
  return true;
}

// Everything but the first gradient is folded in.
void ServersInTime::add_to_sum(uint32_t call, std::size_t part, Duration fold, Time now) {
  Sum& sum = calls_[call].sums[part];
  sum.ready = std::max(sum.ready, now) + (sum.has_begun ? fold : Duration());
  sum.has_begun = true;
  if (--sum.missing == 0)
    agenda_.push(sum.ready, Event(answers, call, static_cast<uint32_t>(part)));
}

void ServersInTime::answer(uint32_t call, std::size_t part, Time now) {
  const int workers = calls_[call].servers->workers;
  const int server = calls_[call].parts[part].server;
  const int place = server_place(calls_[call], part);
  for (int i = 0; i < workers; ++i) {
    const int worker = (server + i) % workers;
    if (worker_place(calls_[call], worker) == place)
      get(call, worker, now);
    else
      put({.call = call, .part = part, .worker = worker, .is_answer = true, .fold = {}}, now);
  }
}

void ServersInTime::get(uint32_t call, int worker, Time now) {
  PushPull& it = calls_[call];
  if (--it.to_get[at(worker)] > 0) return;
  if (--it.left == 0) unused_.push_back(call);
  ended_(call, worker, now);
}

}  // namespace sgdsim
