// Parameter servers: every worker pushes its gradients to them, they sum, every worker pulls.
//
// A server has one port in and one port out, and takes what arrives first first. A gradient is cut
// into parts, one per server (`uniform`) or of so many bytes on the server that a hash gives
// (`byteps`: djb2 over the decimal key 65536 tensor + part, as BytePS does it, so that load is not
// balanced). Co-located servers sit on workers, share their ports, and get the own part for free.
//
// With n bytes, P workers, S servers and n' = n/S, where all push at once and S <= P:
//
//   dedicated    2 P (alpha + n' beta) + (P-1) n' gamma        (S > P: S in place of P)
//   co-located   2 (P-1) (alpha + n' beta) + (P-1) n' gamma
//
// exactly for dedicated servers up to P, for one co-located server, and for P of them.
#pragma once

#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "sim/core/json.h"

namespace sgdsim {

struct ParameterServers {
  int servers = 1;
  bool dedicated = true;
  bool hashed = false;
  Bytes partition = Bytes(4'096'000);  // hashed: of a part
  AlphaRule alpha = AlphaRule::port;
  int workers = 1;
  TeamCost cost;  // of the worst pair; between a worker and a dedicated server

  Duration busy(double size_B) const {  // of a port
    const PairCost& pair = cost.at(size_B);
    const Duration transit = pair.per_byte.of(size_B);
    return alpha == AlphaRule::port ? pair.latency + transit : transit;
  }
  Duration flight(double size_B) const {
    return alpha == AlphaRule::port ? Duration() : cost.at(size_B).latency;
  }
  Duration fold(double size_B) const { return cost.at(size_B).reduce.of(size_B); }
  // The worker on which a co-located server sits: spread evenly.
  int host(int server) const {
    return static_cast<int>(static_cast<int64_t>(server) * workers / servers);
  }
};

// {"servers": 2, "placement": "dedicated", "sharding": "uniform"}; InputError if it does not fit.
ParameterServers read_parameter_servers(const Value& value, int workers, const TeamCost& worst);

struct ServerPart {
  int server = 0;
  double size_B = 0;
};
// In the order in which workers send them; with uniform parts worker i starts with server i.
std::vector<ServerPart> parts_of(const ParameterServers& servers, Bytes size, int tensor);

// BytePS's server of a key.
int djb2_server(int64_t key, int servers);

// The formula; for hashed parts the busier of the fullest server and the workers' own ports.
Duration push_pull_time(const ParameterServers& servers, Bytes size, int tensor);
// Synchronous push and pull, message by message; `starts` and the answer are per worker.
Played play_push_pull(const ParameterServers& servers, const Network& network, Bytes size,
                      int tensor, std::vector<Time> starts);

}  // namespace sgdsim
