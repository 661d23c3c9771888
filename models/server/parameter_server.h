// Parameter servers: every worker pushes its gradients to them, they sum, every worker pulls.
//
// A server has one port in and one port out, and takes what arrives first first. A gradient is cut
// into parts, one per server (`uniform`) or of so many bytes on the server that a hash gives
// (`byteps`: djb2 over the decimal key 65536 tensor + part, as BytePS does it, so that load is not
// balanced). Co-located servers sit on workers, share their ports, and get the own part for free.
//
// With n bytes, P workers, S servers, n' = n/S, b = alpha + n' beta, where all push at once:
//
//   dedicated    2 P b + (P-1) n' gamma                          S <= P
//                min(2 S, S + 2 P - 1) b + (P-1) n' gamma        S >= P
//   co-located   2 (P-1) b + (P-1) n' gamma
//
// But workers pull one after the other, so the next pushes come one after the other, and the first
// of them beside the last pulls. Messages of one size, one behind the other, take only
//
//   dedicated    min(2 P, P + 2 S - 1) b + (P-1) n' gamma        S <= P; (P+1) b for one server
//   co-located   P b for one server; (2 (P-1) - (P/S - 1)) b for more; + (P-1) n' gamma
//
// exactly for dedicated servers, and for co-located ones where S divides P. Among messages of
// different sizes the saving is that of the smaller neighbour: exact for one server.
// Hashed parts: pulls overlap later pushes, and the fullest server decides,
//
//   dedicated    max(P sum b + (P-1) sum n' gamma over its parts, sum b over all parts) + P b
//
// within a tenth while all push at once; up to a quarter short where one server has many parts.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "models/server/tensor_part.h"
#include "sim/core/fields.h"

namespace sgdsim {

struct ParameterServers {
  int servers = 1;
  bool dedicated = true;
  bool hashed = false;
  Bytes partition = Bytes(4'096'000);  // hashed: of a part
  AlphaRule alpha = AlphaRule::port;
  bool barrier = false;  // workers push when the last of them is ready, so nothing of the above
  int workers = 1;
  TeamCost cost;                // of the worst pair; between a worker and a dedicated server
  bool workers_differ = false;  // their ports do
  TeamCost mean;                // dedicated: of all workers, where they differ

  Duration busy(double size_B) const { return busy(cost, size_B); }  // of a port
  // Of a server's port, while all workers send or get a part.
  Duration all_busy(double size_B) const {
    return workers * busy(workers_differ ? mean : cost, size_B);
  }
  Duration flight(double size_B) const {
    return alpha == AlphaRule::port ? Duration() : cost.at(size_B).latency;
  }
  Duration fold(double size_B) const { return cost.at(size_B).reduce.of(size_B); }
  // A worker that is its own server.
  bool is_alone() const { return workers == 1 && !dedicated; }
  // The worker on which a co-located server sits: spread evenly.
  int host(int server) const {
    return static_cast<int>(static_cast<int64_t>(server) * workers / servers);
  }
  // Whether a co-located one sits on this worker.
  bool has_server(int worker) const {
    const int64_t server = (static_cast<int64_t>(worker) * servers + workers - 1) / workers;
    return !dedicated && server < servers && host(static_cast<int>(server)) == worker;
  }
  // The endpoint of a server: the workers come first, then the dedicated servers.
  int place(int server) const { return dedicated ? workers + server : host(server); }

 private:
  Duration busy(const TeamCost& team, double size_B) const {
    const PairCost& pair = team.at(size_B);
    const Duration transit = pair.per_byte.of(size_B);
    return transit + (alpha == AlphaRule::port ? pair.start_up() : pair.agreement());
  }
};

// {"servers": 2, "placement": "dedicated", "sharding": "uniform"}; InputError if it does not fit.
Fields fields_of(ParameterServers& servers);
// `alpha`: where it does not say.
ParameterServers read_parameter_servers(const Value& value, const Network& network,
                                        AlphaRule alpha = AlphaRule::port);

// The network with dedicated servers as further workers. They are as far from each worker as the
// farthest pair of workers, behind the best of the workers' ports.
Network with_servers(const Network& network, int servers);

struct ServerPart {
  int server = 0;
  double size_B = 0;
};
// In the order in which workers send them; with uniform parts worker i starts with server i. An
// InputError if there are more hashed parts than BytePS numbers: 65,536.
std::vector<ServerPart> parts_of(const ParameterServers& servers, Bytes size,
                                 const TensorPart& part);

// BytePS's server of a key.
int djb2_server(int64_t key, int servers);

// What a message takes, and what it saves where workers do not come all at once.
struct ExchangeTime {
  Duration together;  // where they do
  Duration spread;    // by so much it spreads workers, from the first to the last
  Duration absorbed;  // so much of a spread before it costs nothing, at most
  Duration after(Duration spread_before) const {
    return together - std::min(spread_before, absorbed);
  }
  Duration steady() const { return after(spread); }  // behind one of its like
};
ExchangeTime push_pull_time(const ParameterServers& servers, Bytes size, const TensorPart& part);

// The same where workers push without waiting for what they pull: messages share ports, each way by
// itself, and the busiest port decides.
class ServerLoads {
 public:
  explicit ServerLoads(const ParameterServers& servers) : servers_(servers) {}
  void add(Bytes size, const TensorPart& part);
  double fullest() const;  // the part of all that the fullest server takes

 private:
  const ParameterServers& servers_;
  std::map<int, Duration> busy_;  // hashed: by server, of its port for one worker
};
// So long a message keeps the busiest port, one way, where the fullest server takes this part of
// all messages.
Duration port_time(const ParameterServers& servers, Bytes size, const TensorPart& part,
                   double fullest);

// Synchronous push and pull, message by message; `starts` and the answer are per worker.
Played play_push_pull(const ParameterServers& servers, const Network& network, Bytes size,
                      const TensorPart& part, std::vector<Time> starts);

}  // namespace sgdsim
