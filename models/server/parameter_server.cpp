// Pushes are sorted by their arrival, served, and answered; nothing here needs an event queue,
// because when a push leaves does not depend on how busy the servers are.
#include "models/server/parameter_server.h"

#include <algorithm>
#include <tuple>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

// Endpoints: the workers, then the dedicated servers.
class PushPull {
 public:
  PushPull(const ParameterServers& servers, const Network& network, std::vector<Time> starts)
      : servers_(servers), network_(network), starts_(std::move(starts)) {
    out_free_ = starts_;
    out_free_.resize(starts_.size() + static_cast<std::size_t>(servers.servers));
    in_free_.resize(out_free_.size());
  }

  Played play(const std::vector<ServerPart>& parts) {
    push(parts);
    serve(parts);
    pull(parts);
    played_.path = PathTaken::events;
    return std::move(played_);
  }

 private:
  struct Arrival {
    Time first_byte;
    int worker = 0;
    std::size_t part = 0;
    Duration transit;
    Duration fold;
    bool operator<(const Arrival& other) const {
      return std::tie(first_byte, worker, part) <
             std::tie(other.first_byte, other.worker, other.part);
    }
  };

  int workers() const { return servers_.workers; }
  int place(int server) const {
    return servers_.dedicated ? workers() + server : servers_.host(server);
  }
  Time& out(int endpoint) { return out_free_[static_cast<std::size_t>(endpoint)]; }
  Time& in(int endpoint) { return in_free_[static_cast<std::size_t>(endpoint)]; }

  Leg leg(int from, int to, double size_B, bool folds) const {
    if (!servers_.dedicated) return Wires(network_, servers_.alpha).leg(from, to, size_B, folds);
    Leg leg;
    leg.flight = servers_.flight(size_B);
    leg.out_busy = leg.in_busy = leg.transit = servers_.busy(size_B);
    if (folds) leg.fold = servers_.fold(size_B);
    return leg;
  }

  // Sends when the port is free; the arrival at the other end.
  Arrival send(int from, int to, Time ready, const ServerPart& part, bool folds) {
    const Leg way = leg(from, to, part.size_B, folds);
    Time& port = out(from);
    const Time start = std::max(ready, port);
    port = start + way.out_busy;
    ++played_.traffic.messages;
    played_.traffic.wire_B += part.size_B;
    Arrival arrival;
    arrival.first_byte = start + way.flight;
    arrival.transit = way.transit;
    arrival.fold = way.fold;
    return arrival;
  }

  void push(const std::vector<ServerPart>& parts) {
    for (int worker = 0; worker < workers(); ++worker) {
      const std::size_t first = servers_.hashed ? 0 : static_cast<std::size_t>(worker);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t part = (i + first) % parts.size();
        const int server = place(parts[part].server);
        if (server == worker) continue;
        Arrival arrival =
            send(worker, server, starts_[static_cast<std::size_t>(worker)], parts[part], true);
        arrival.worker = worker;
        arrival.part = part;
        arrivals_.push_back(arrival);
      }
    }
    std::sort(arrivals_.begin(), arrivals_.end());
  }

  // What arrives first is taken first; every gradient but the first is folded in.
  void serve(const std::vector<ServerPart>& parts) {
    summed_.resize(parts.size());
    std::vector<bool> begun(parts.size());
    if (!servers_.dedicated)
      for (std::size_t part = 0; part < parts.size(); ++part) {
        summed_[part] = starts_[static_cast<std::size_t>(place(parts[part].server))];
        begun[part] = true;
      }
    for (const Arrival& arrival : arrivals_) {
      Time& port = in(place(parts[arrival.part].server));
      port = std::max(port, arrival.first_byte) + arrival.transit;
      if (begun[arrival.part]) {
        // The own gradient of a co-located server may be the last to be there.
        port = std::max(port, summed_[arrival.part]) + arrival.fold;
      }
      begun[arrival.part] = true;
      summed_[arrival.part] = port;
    }
  }

  void pull(const std::vector<ServerPart>& parts) {
    played_.ends = starts_;
    std::vector<std::size_t> order(parts.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return summed_[a] < summed_[b]; });
    std::vector<Arrival> answers;
    for (const std::size_t part : order) {
      const int server = place(parts[part].server);
      for (int i = 0; i < workers(); ++i) {
        const int worker = (server + i) % workers();
        if (server == worker) {
          Time& end = played_.ends[static_cast<std::size_t>(worker)];
          end = std::max(end, summed_[part]);
          continue;
        }
        Arrival answer = send(server, worker, summed_[part], parts[part], false);
        answer.worker = worker;
        answer.part = part;
        answers.push_back(answer);
      }
    }
    std::sort(answers.begin(), answers.end());
    for (const Arrival& answer : answers) {
      Time& port = in(answer.worker);
      port = std::max(port, answer.first_byte) + answer.transit;
      Time& end = played_.ends[static_cast<std::size_t>(answer.worker)];
      end = std::max(end, port);
    }
  }

  const ParameterServers& servers_;
  const Network& network_;
  std::vector<Time> starts_;
  std::vector<Time> out_free_;  // per endpoint
  std::vector<Time> in_free_;
  std::vector<Arrival> arrivals_;
  std::vector<Time> summed_;  // per part
  Played played_;
};

}  // namespace

ParameterServers read_parameter_servers(const Value& value, int workers, const TeamCost& worst) {
  ParameterServers servers;
  servers.workers = workers;
  servers.cost = worst;
  Object fields(value);
  if (const auto field = fields.find("placement")) {
    servers.dedicated = field->text() == "dedicated";
    if (!servers.dedicated && field->text() != "co_located")
      field->fail(unknown_name("placement", field->text(), {"dedicated", "co_located"}));
  }
  if (const auto field = fields.find("servers")) {
    servers.servers = static_cast<int>(field->whole(1, 1 << 20));
    if (!servers.dedicated && servers.servers > workers)
      field->fail("co-located servers sit on workers, of which there are " +
                  std::to_string(workers));
  }
  if (const auto field = fields.find("sharding")) {
    servers.hashed = field->text() == "byteps";
    if (!servers.hashed && field->text() != "uniform")
      field->fail(unknown_name("sharding", field->text(), {"uniform", "byteps"}));
  }
  if (const auto field = fields.find("partition")) servers.partition = field->bytes();
  if (servers.partition.count() < 1)
    fields.value().fail("expected a `partition` of at least one byte");
  if (const auto field = fields.find("alpha")) {
    const bool wire = field->text() == "wire";
    if (!wire && field->text() != "port")
      field->fail(unknown_name("alpha", field->text(), {"port", "wire"}));
    servers.alpha = wire ? AlphaRule::wire : AlphaRule::port;
  }
  fields.done();
  return servers;
}

int djb2_server(int64_t key, int servers) {
  uint64_t hash = 5381;
  for (const char digit : std::to_string(key)) hash = 33 * hash + static_cast<uint64_t>(digit);
  return static_cast<int>(hash % static_cast<uint64_t>(servers));
}

std::vector<ServerPart> parts_of(const ParameterServers& servers, Bytes size, int tensor) {
  std::vector<ServerPart> parts;
  const auto size_B = static_cast<double>(size.count());
  if (!servers.hashed) {
    for (int s = 0; s < servers.servers; ++s) parts.push_back({s, size_B / servers.servers});
    return parts;
  }
  int64_t number = 0;
  for (Bytes left = size; left.count() > 0; ++number) {
    const Bytes part = std::min(left, servers.partition);
    const int64_t key = 65536 * static_cast<int64_t>(std::max(0, tensor)) + number;
    parts.push_back({djb2_server(key, servers.servers), static_cast<double>(part.count())});
    left = left - part;
  }
  return parts;
}

Duration push_pull_time(const ParameterServers& servers, Bytes size, int tensor) {
  const int others = servers.workers - 1;
  const int pushes = servers.dedicated ? servers.workers : others;
  if (servers.workers == 1 || size.count() == 0) return {};
  if (!servers.hashed) {
    const double part_B = static_cast<double>(size.count()) / servers.servers;
    const int turns = servers.dedicated ? std::max(pushes, servers.servers) : pushes;
    return 2 * (servers.flight(part_B) + turns * servers.busy(part_B)) +
           servers.fold(part_B) * others;
  }
  std::vector<Duration> load(static_cast<std::size_t>(servers.servers));
  Duration own;
  Duration flights;
  for (const ServerPart& part : parts_of(servers, size, tensor)) {
    own += 2 * servers.busy(part.size_B);
    flights = 2 * servers.flight(part.size_B);
    load[static_cast<std::size_t>(part.server)] +=
        2 * pushes * servers.busy(part.size_B) + servers.fold(part.size_B) * others;
  }
  return flights + std::max(own, *std::max_element(load.begin(), load.end()));
}

Played play_push_pull(const ParameterServers& servers, const Network& network, Bytes size,
                      int tensor, std::vector<Time> starts) {
  if (servers.workers == 1 || size.count() == 0) {
    Played nothing;
    nothing.ends = std::move(starts);
    return nothing;
  }
  return PushPull(servers, network, std::move(starts)).play(parts_of(servers, size, tensor));
}

}  // namespace sgdsim
