// Reading, the parts of a message, and the formulas.
#include "models/server/parameter_server.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr int64_t most_parts = 65536;  // of a tensor, by BytePS's key

// The better of two, each term by itself.
PairCost least(const PairCost& a, const PairCost& b) {
  return {std::min(a.latency, b.latency), std::min(a.per_byte, b.per_byte),
          std::min(a.reduce, b.reduce), a.rendezvous && b.rendezvous};
}

Network band_with_servers(const Network& network, int servers) {
  PairCost farthest;
  for (const PairCost& cost : network.classes()) farthest = worst_of(farthest, cost);
  Network star = Network::uniform(network.workers() + servers, farthest);
  std::vector<Port> ports = network.ports();
  if (ports.empty()) return star;
  Port best = ports.front();
  for (const Port& port : ports) best = {least(best.out, port.out), least(best.in, port.in)};
  ports.resize(ports.size() + static_cast<std::size_t>(servers), best);
  star.set_ports(std::move(ports));
  return star;
}

struct WorstAndMean {
  PairCost worst;
  PairCost mean;
};

// Between workers and servers, both ways.
WorstAndMean costs_to_servers(const Network& star, int workers) {
  PairCost worst;
  double latency_ps = 0;
  double per_byte_ps = 0;
  for (int worker = 0; worker < workers; ++worker)
    for (const PairCost& cost : {star.between(worker, workers), star.between(workers, worker)}) {
      worst = worst_of(worst, cost);
      latency_ps += static_cast<double>(cost.latency.ps());
      per_byte_ps += cost.per_byte.ps();
    }
  const double ways = 2. * workers;
  return {worst,
          {Duration::ps(std::llrint(latency_ps / ways)), PerByte::ps(per_byte_ps / ways),
           worst.reduce, worst.rendezvous}};
}

bool have_unlike_ports(const Network& network) {
  const std::vector<Port>& ports = network.ports();
  const auto unlike = [&](const Port& port) {
    return !(port.out == ports.front().out && port.in == ports.front().in);
  };
  return std::any_of(ports.begin(), ports.end(), unlike) ||
         std::any_of(network.bands().begin(), network.bands().end(),
                     [](const SizeBand& band) { return have_unlike_ports(band.network); });
}

void set_costs_to_servers(ParameterServers& servers, const Network& network) {
  const Network star = with_servers(network, 1);
  const int workers = network.workers();
  const WorstAndMean smallest = costs_to_servers(star, workers);
  servers.cost = smallest.worst;
  servers.mean = smallest.mean;
  servers.workers_differ = have_unlike_ports(network);
  for (const SizeBand& band : star.bands()) {
    const WorstAndMean costs = costs_to_servers(band.network, workers);
    servers.cost.from.emplace_back(band.from_B, costs.worst);
    servers.mean.from.emplace_back(band.from_B, costs.mean);
  }
}

// Of an exchange with a part on every server.
ExchangeTime uniform_time(const ParameterServers& servers, Bytes size) {
  const double part_B = static_cast<double>(size.count()) / servers.servers;
  const Duration busy = servers.busy(part_B);
  const Duration fold = servers.fold(part_B);
  const int others = servers.workers - 1;
  ExchangeTime time;
  Duration turns;
  if (servers.dedicated) {
    const int fewer = std::min(servers.workers, servers.servers);
    const Duration all = std::max(servers.all_busy(part_B), servers.servers * busy);
    const Duration overlapping = all + (2 * fewer - 1) * busy;
    const bool more_servers = servers.servers > servers.workers;
    turns = more_servers ? std::min(2 * all, overlapping) : 2 * all;
    time.spread = turns - std::min(turns, overlapping);
  } else {
    turns = others * busy * 2;
    const int saved = servers.servers == 1 ? others - 1 : servers.workers / servers.servers - 1;
    time.spread = saved * busy;
  }
  time.together = turns + others * fold + 2 * servers.flight(part_B);
  if (time.spread > Duration()) time.absorbed = time.spread + (others - 1) * fold;
  return time;
}

ExchangeTime hashed_time(const ParameterServers& servers, Bytes size, const TensorPart& place) {
  const int others = servers.workers - 1;
  const std::vector<ServerPart> parts = parts_of(servers, size, place);
  struct Load {
    Duration pushed, folded, own;
  };
  std::vector<Load> loads(static_cast<std::size_t>(servers.servers));
  Duration all;
  ExchangeTime time;
  Duration largest;  // pulled by all, after everything is pushed
  for (const ServerPart& part : parts) {
    const Duration busy = servers.busy(part.size_B);
    const Duration turns = servers.dedicated ? servers.all_busy(part.size_B) : others * busy;
    Load& load = loads[static_cast<std::size_t>(part.server)];
    load.pushed += turns;
    load.folded += others * servers.fold(part.size_B);
    load.own += busy;
    all += busy;
    largest = std::max(largest, turns);
    time.together = std::max(time.together, 2 * servers.flight(part.size_B));
  }
  Duration longest = servers.dedicated ? all : Duration();
  for (const Load& load : loads) {
    // On a worker, the port also takes the answers of other servers.
    const Duration answers = servers.dedicated ? Duration() : all - load.own;
    if (load.own > Duration()) longest = std::max(longest, load.pushed + load.folded + answers);
  }
  time.together += longest + largest;
  if (parts.size() > 1) return time;
  // One part is an exchange with one server.
  const Duration busy = servers.busy(parts.front().size_B);
  time.spread = largest - std::min(largest, busy);
  if (time.spread > Duration())
    time.absorbed = time.spread + (others - 1) * servers.fold(parts.front().size_B);
  return time;
}

}  // namespace

Network with_servers(const Network& network, int servers) {
  Network star = band_with_servers(network, servers);
  std::vector<SizeBand> bands;
  for (const SizeBand& band : network.bands())
    bands.push_back({band.from_B, band_with_servers(band.network, servers)});
  star.set_bands(std::move(bands));
  return star;
}

Fields fields_of(ParameterServers& servers) {
  return {Field("servers", servers.servers, "number of servers").from(1, 1 << 20),
          Field("placement", servers.dedicated,
                "on workers, whose ports they share, or on machines of their own")
              .one_of({"co_located", "dedicated"}),
          Field("sharding", servers.hashed,
                "a part of every message on every server, or partitions by BytePS's hash")
              .one_of({"uniform", "byteps"}),
          Field("partition", servers.partition, "byteps: bytes of a partition")
              .also([](const Value& size) {
                if (size.bytes().count() < 1) size.fail("expected at least one byte");
              }),
          Field("alpha", servers.alpha, "a latency occupies the ports, or is flight")
              .otherwise("port; wire where the cluster's `network` is tcp, mpi, gloo or nccl"),
          {"barrier", servers.barrier,
           "workers push when the last of them is ready; else who has pulled first pushes first, "
           "while others still pull"}};
}

ParameterServers read_parameter_servers(const Value& value, const Network& network,
                                        AlphaRule alpha) {
  const int workers = network.workers();
  ParameterServers servers;
  servers.alpha = alpha;
  servers.workers = workers;
  Object fields(value);
  read_fields(fields, fields_of(servers));
  if (!servers.dedicated && servers.servers > workers)
    fields.at("servers").fail("co-located servers sit on workers, of which there are " +
                              std::to_string(workers));
  fields.done();
  if (servers.dedicated) {
    set_costs_to_servers(servers, network);
  } else {
    servers.cost = worst_in_team(network, {.size = workers, .stride = 1});
    servers.workers_differ = have_unlike_ports(network);
  }
  return servers;
}

int djb2_server(int64_t key, int servers) {
  uint64_t hash = 5381;
  for (const char digit : std::to_string(key)) hash = 33 * hash + static_cast<uint64_t>(digit);
  return static_cast<int>(hash % static_cast<uint64_t>(servers));
}

std::vector<ServerPart> parts_of(const ParameterServers& servers, Bytes size,
                                 const TensorPart& place) {
  std::vector<ServerPart> parts;
  const auto size_B = static_cast<double>(size.count());
  if (!servers.hashed) {
    for (int s = 0; s < servers.servers; ++s) parts.push_back({s, size_B / servers.servers});
    return parts;
  }
  Bytes largest = servers.partition;
  if (place.piece.count() > 0) largest = std::min(largest, place.piece);
  auto count_of = [&](Bytes bytes) {
    return (bytes.count() + largest.count() - 1) / largest.count();
  };
  if (count_of(size) > most_parts)
    throw InputError("", "sharding byteps numbers at most 65,536 partitions of a message; one of " +
                             to_text(size) + " has " + std::to_string(count_of(size)) +
                             " with a `partition` of " + to_text(largest));
  int64_t number = place.first_piece * count_of(place.piece);
  for (Bytes left = size; left.count() > 0; ++number) {
    const Bytes part = std::min(left, largest);
    const int64_t key = most_parts * std::max(0, place.tensor) + number;
    parts.push_back({djb2_server(key, servers.servers), static_cast<double>(part.count())});
    left = left - part;
  }
  return parts;
}

ExchangeTime push_pull_time(const ParameterServers& servers, Bytes size, const TensorPart& place) {
  if (servers.is_alone() || size.count() == 0) return {};
  const ExchangeTime time =
      servers.hashed ? hashed_time(servers, size, place) : uniform_time(servers, size);
  return servers.barrier ? ExchangeTime{time.together, {}, {}} : time;
}

void ServerLoads::add(Bytes size, const TensorPart& place) {
  if (!servers_.hashed) return;  // all have the same
  for (const ServerPart& part : parts_of(servers_, size, place)) {
    Duration& busy = busy_[part.server];
    busy = busy + servers_.busy(part.size_B);
  }
}

double ServerLoads::fullest() const {
  Duration all;
  Duration most;
  for (const auto& [server, busy] : busy_) {
    all = all + busy;
    most = std::max(most, busy);
  }
  return all > Duration() ? most.us() / all.us() : 1. / servers_.servers;
}

// A dedicated server takes from all workers. A co-located one takes from the others, on a port that
// also takes what its worker pulls from other servers.
Duration port_time(const ParameterServers& servers, Bytes size, const TensorPart& place,
                   double fullest) {
  Duration of_worker;
  Duration of_all;
  const auto add = [&](double part_B, int count) {
    of_worker = of_worker + count * servers.busy(part_B);
    of_all = of_all + count * servers.all_busy(part_B);
  };
  if (servers.hashed)
    for (const ServerPart& part : parts_of(servers, size, place)) add(part.size_B, 1);
  else
    add(static_cast<double>(size.count()) / servers.servers, servers.servers);
  const auto part_of = [](Duration whole, double part) {
    return Duration::nearest_ps(part * static_cast<double>(whole.ps()));
  };
  if (servers.dedicated) return std::max(of_worker, part_of(of_all, fullest));
  return part_of(of_worker, (servers.workers - 2) * fullest + 1);
}

}  // namespace sgdsim
