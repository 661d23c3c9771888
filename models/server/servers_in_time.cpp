// From worker to server and back.
#include "models/server/servers_in_time.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgdsim {

uint32_t ServersInTime::add(const ParameterServers& servers, const ServerPlaces& places,
                            const PushedTensor& pushed) {
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
  it.network = &network_with(pushed.folding);
  it.parts = parts_of(servers, pushed.size, pushed.part);
  std::erase_if(it.parts, [](const ServerPart& one) { return one.size_B <= 0; });
  it.sums.assign(it.parts.size(), {Time(), false, servers.workers});
  it.to_get.assign(at(servers.workers), static_cast<int>(it.parts.size()));
  it.depth = pushed.depth;
  it.connection = pushed.connection;
  it.left = it.to_come = servers.workers;
  return call;
}

const Network& ServersInTime::network_with(const Folding& folding) {
  if (folding == Folding()) return network_;
  for (const auto& [of, network] : folded_)
    if (of == folding) return network;
  return folded_.emplace_back(folding, network_.with(folding)).second;
}

void ServersInTime::enter(uint32_t call, int worker, Duration first, Time now) {
  clock_.plan(on, call, now + first, static_cast<uint32_t>(worker));
}

void ServersInTime::happen(const Event& event, Time now) {
  if (event.kind_of_actor() == on)
    come(event.subject(), static_cast<int>(event.version()), now);
  else
    answer(event.subject(), event.version(), now);
}

void ServersInTime::come(uint32_t call, int worker, Time now) {
  const ParameterServers& servers = *calls_[call].servers;
  if (!servers.barrier) return push(call, worker, now);
  if (--calls_[call].to_come > 0) return;
  for (int each = 0; each < servers.workers; ++each) push(call, each, now);
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
      put({.call = call, .part = part, .worker = worker, .is_answer = false}, now);
  }
}

// Pushes to different servers do not wait for each other: if workers sent one after the other, they
// would crowd at the same servers. Only with as many servers as workers each is always at another
// one. Where parts are hashed or servers are more than workers, answers to different workers do not
// wait for each other either: in turns, two servers would be at one worker until the end.
void ServersInTime::put(const Message& what, Time now) {
  const PushPull& it = calls_[what.call];
  const int server = server_place(it, what.part);
  const int worker = worker_place(it, what.worker);
  OutboxLine line{what.is_answer ? server : worker};
  const ParameterServers& all = *it.servers;
  const bool crowds = what.is_answer ? all.servers > all.workers : all.servers != all.workers;
  if (all.hashed || crowds) line.to = what.is_answer ? worker : server;
  outboxes_.put(line, what, now);
}

Parcel ServersInTime::parcel_of(const Message& what) const {
  const PushPull& it = calls_[what.call];
  const int server = server_place(it, what.part);
  const int worker = worker_place(it, what.worker);
  Parcel parcel{.from = what.is_answer ? server : worker,
                .to = what.is_answer ? worker : server,
                .size_B = it.parts[what.part].size_B,
                .leg = {},
                .connection = it.connection,
                .freight = {.depth = it.depth,
                            .cargo = what.is_answer ? Cargo::parameters : Cargo::gradients}};
  parcel.leg = Wires(*it.network, clock_.carrier()->alpha_of_legs())
                   .leg(parcel.from, parcel.to, parcel.size_B, !what.is_answer);
  return parcel;
}

void ServersInTime::hear(const Carrier::Report& report, Time now) {
  const auto sent = outboxes_.hear(report, now);
  if (report.news != Carrier::News::arrived) return;
  const Message& what = sent->what;
  if (what.is_answer)
    get(what.call, what.worker, now);
  else
    add_to_sum(what.call, what.part, sent->leg.fold, now);
}

// Everything but the first gradient is folded in.
void ServersInTime::add_to_sum(uint32_t call, std::size_t part, Duration fold, Time now) {
  Sum& sum = calls_[call].sums[part];
  sum.ready = std::max(sum.ready, now) + (sum.has_begun ? fold : Duration());
  sum.has_begun = true;
  if (--sum.missing == 0) clock_.plan(answers, call, sum.ready, static_cast<uint32_t>(part));
}

void ServersInTime::answer(uint32_t call, std::size_t part, Time now) {
  const ParameterServers& servers = *calls_[call].servers;
  const int first = servers.place(calls_[call].parts[part].server);  // another one for each server
  const int place = server_place(calls_[call], part);
  for (int i = 0; i < servers.workers; ++i) {
    const int worker = (first + i) % servers.workers;
    if (worker_place(calls_[call], worker) == place)
      get(call, worker, now);
    else
      put({.call = call, .part = part, .worker = worker, .is_answer = true}, now);
  }
}

void ServersInTime::get(uint32_t call, int worker, Time now) {
  PushPull& it = calls_[call];
  if (--it.to_get[at(worker)] > 0) return;
  if (--it.left == 0) unused_.push_back(call);
  ended_(call, worker, now);
}

}  // namespace sgdsim
