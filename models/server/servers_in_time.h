// Pushes and pulls in time, on a network that others may use as well: every worker pushes its
// gradients to the servers as it comes, a server answers when it has those of all.
//
// A worker sends to all servers at once, as over connections, its parts for each of them in their
// order; with as many servers as workers one after the other, each worker from another server on. A
// server sends one answer after the other, to the workers in turn, each server from another one on;
// where parts are hashed, one after the other to each worker. What arrives is folded into what is
// there, one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "models/server/outboxes.h"
#include "models/server/parameter_server.h"
#include "sim/play/clockwork.h"

namespace sgdsim {

// Where the workers of a job are on the network, and its servers if they are dedicated.
struct ServerPlaces {
  std::vector<int> workers;
  std::vector<int> servers;

  int of_worker(int worker) const { return workers[static_cast<std::size_t>(worker)]; }
  int of_server(const ParameterServers& group, int server) const {
    return group.dedicated ? servers[static_cast<std::size_t>(server)]
                           : of_worker(group.host(server));
  }
};

// `depth`: where in the model it is, from 0 to 1. `connection`: as in parcels; a job has its own.
struct PushedTensor {
  Bytes size;
  TensorPart part;
  Folding folding;
  double depth = 0;
  uint32_t connection = 0;
};

// An actor of the clockwork.
class ServersInTime {
 public:
  using Ended = std::function<void(uint32_t call, int worker, Time now)>;

  // `network`: of all that is there.
  ServersInTime(const ActorClock& clock, const Network& network, Ended ended)
      : clock_(clock),
        network_(network),
        ended_(std::move(ended)),
        outboxes_(clock, [this](const Message& what) { return parcel_of(what); }) {}

  // One push and pull of all workers, by its number until all have ended it. What it points to must
  // stay that long.
  uint32_t add(const ParameterServers& servers, const ServerPlaces& places,
               const PushedTensor& pushed);
  // `first`: what the worker does before.
  void enter(uint32_t call, int worker, Duration first, Time now);
  void happen(const Event& event, Time now);
  void hear(const Carrier::Report& report, Time now);

 private:
  enum Kind : uint8_t { on, answers };  // of its events
  struct Sum {
    Time ready;
    bool has_begun = false;
    int missing = 0;  // gradients
  };
  struct PushPull {
    const ParameterServers* servers = nullptr;
    const ServerPlaces* places = nullptr;
    const Network* network = nullptr;  // with its price of folding
    std::vector<ServerPart> parts;
    std::vector<Sum> sums;
    std::vector<int> to_get;  // of each worker, parts
    double depth = 0;
    uint32_t connection = 0;
    int left = 0;     // workers that have not ended it
    int to_come = 0;  // with a barrier: workers that are not ready to push
  };
  struct Message {
    uint32_t call = 0;
    std::size_t part = 0;
    int worker = 0;
    bool is_answer = false;
  };

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  int worker_place(const PushPull& it, int worker) const { return it.places->of_worker(worker); }
  int server_place(const PushPull& it, std::size_t part) const {
    return it.places->of_server(*it.servers, it.parts[part].server);
  }
  void come(uint32_t call, int worker, Time now);
  void push(uint32_t call, int worker, Time now);
  void put(const Message& what, Time now);
  Parcel parcel_of(const Message& what) const;
  const Network& network_with(const Folding& folding);
  void add_to_sum(uint32_t call, std::size_t part, Duration fold, Time now);
  void answer(uint32_t call, std::size_t part, Time now);
  void get(uint32_t call, int worker, Time now);

  ActorClock clock_;
  const Network& network_;
  std::deque<std::pair<Folding, Network>> folded_;  // the network with other prices of folding
  Ended ended_;
  std::vector<PushPull> calls_;
  std::vector<uint32_t> unused_;
  Outboxes<Message> outboxes_;
};

}  // namespace sgdsim
