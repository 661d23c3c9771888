// Workers that do not wait for each other, in time: one loop, whatever carries their messages.
//
// Where there is a carrier (sim/net/carrier.h), pushes and answers travel on it beside everything
// else that it carries, and a server sends one answer after the other. Else they meet at the ports
// of workers and servers only, which take in order of arrival what reaches them: fidelity message.
//
// A server folds a gradient while it comes, one after the other, then updates its part of the
// parameters, and answers with them: at once, or with a bound when the slowest worker's gradients
// are no more than so many iterations behind. Whoever goes on then knows all but the last of them
// (Ho and others, NIPS 2013).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/server/servers_in_time.h"
#include "models/step/compute.h"
#include "models/step/step.h"
#include "sim/play/clockwork.h"

namespace sgdsim {

// Null: workers have common iterations.
const AsynchronousRule* asynchronous_rule(const StepQuestion& question);

// What an iteration consists of, whatever the clocks say.
struct AsynchronousCycle {
  Encoded encoded;
  ParameterServers servers;
  Network network = Network::uniform(1, {});  // with the servers
  ServerPlaces places;                        // on it
  // What is pushed to, and pulled from, each server that has something; the update of its
  // parameters is so long.
  struct Part {
    int server = 0;
    double size_B = 0;
    Duration update;
  };
  std::vector<Part> parts;

  int count() const { return static_cast<int>(parts.size()); }
  const Part& part(int number) const { return parts[static_cast<std::size_t>(number)]; }
  int server_place(int number) const { return places.of_server(servers, part(number).server); }
  // Uniform sharding only: what formulas know.
  double part_B() const { return parts.front().size_B; }
  Duration update() const { return parts.front().update; }
};

// `network`, `places`: of all that is there; null: the cluster's own, with the servers behind it.
// InputError for what has no asynchronous form.
AsynchronousCycle asynchronous_cycle(const StepQuestion& question, const Network* network = nullptr,
                                     const ServerPlaces* places = nullptr);

// What a worker's exchange with the servers takes when nobody else is there, and how long a port is
// busy with a part: with a dedicated server its own; on workers the worst pair's.
struct ServerLegs {
  Duration exchange;
  Duration busy;
  Duration fold;
  Duration fold_behind;  // of it, what the coming of the gradients does not hide
};
ServerLegs legs_of(const AsynchronousCycle& cycle, int worker);

// An actor of the clockwork, or one of several that are one. Without a carrier: at ports.
class AsynchronousWorkers {
 public:
  struct Setting {
    ActorClock clock;
    uint32_t first_number = 0;  // of its workers, in events
    Time start = {};
  };
  AsynchronousWorkers(const StepQuestion& question, int bound, AsynchronousCycle cycle,
                      const Setting& setting);
  AsynchronousWorkers(const AsynchronousWorkers&) = delete;
  AsynchronousWorkers& operator=(const AsynchronousWorkers&) = delete;

  void begin();
  void happen(const Event& event, Time now);
  // False if the message is somebody else's.
  bool hear(const Carrier::Report& report, Time now);
  // All updates that were asked for are done, or will be.
  bool is_over() const { return applied_.size() >= wanted_; }
  // And have happened.
  bool is_updated() const { return updated_ >= static_cast<int64_t>(wanted_); }
  // And nothing is computed or on its way any more.
  bool is_done() const { return is_over() && busy_ == 0; }
  // Once it is over.
  StepResult result() const;
  Time start() const { return start_; }
  Time end() const { return applied_[wanted_ - 1]; }
  // That have been computed, those included that are not asked for.
  double iterations() const {
    return static_cast<double>(iterations_) / static_cast<double>(workers_.size());
  }

 private:
  // Of its events. The first two are first bytes at ports, the third a last one.
  enum Kind : uint8_t { pushed, answered, is_there, goes_on, updated };
  struct WorkerState {
    WorkerWork work;
    int iteration = 0;
    int parts_left = 0;
    int64_t read = 0;  // updates that its parameters know
    Time started;
    Time computed;
    bool is_computing = false;
  };
  struct Server {
    Time free;              // of folds and updates
    std::vector<int> had;   // from each worker, with a bound: gradients of so many iterations
    int least = 0;          // of the slowest worker
    int at_least = 0;       // how many workers have no more
    std::vector<int> held;  // workers that wait for its answer
  };
  struct Part {
    int worker = 0;
    int number = 0;
    bool is_answer = false;
  };

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  WorkerState& state(int worker) { return workers_[at(worker)]; }
  int worker_place(int worker) const { return cycle_.places.of_worker(worker); }
  bool is_own(const Part& part) const {
    return cycle_.server_place(part.number) == worker_place(part.worker);
  }
  int from(const Part& part) const {
    return part.is_answer ? cycle_.server_place(part.number) : worker_place(part.worker);
  }
  int to(const Part& part) const {
    return part.is_answer ? worker_place(part.worker) : cycle_.server_place(part.number);
  }
  Leg leg(const Part& part) const {
    return wires_.leg(from(part), to(part), cycle_.part(part.number).size_B, !part.is_answer);
  }
  void plan(Kind kind, int worker, Time when, int part = 0) {
    clock_.plan(kind, first_number_ + static_cast<uint32_t>(worker), when,
                static_cast<uint32_t>(part));
  }
  Parcel parcel_of(const Part& part) const;
  Duration own_fold(int number) const;

  void compute(int worker, Time now);
  void push(int worker, Time now);
  void send(const Part& part, Time ready);
  struct Span {
    Time begins;
    Time ends;
  };
  Span through_port(const Part& part, const Leg& way, Time now);
  void serve(const Part& push, const Span& coming, Duration fold);
  void update(int worker, int part, Time now);
  bool is_too_far_ahead(const Server& server, int worker) const;
  void answer(int worker, int part, Time now);
  void release(int part, Time now);
  void count_sent(int worker);  // of its parts, those that are not its own server's
  void count_update(int worker, Time when);
  void take(int worker, Time end);
  void next(int worker, Time now);
  bool is_measured() const { return applied_.size() >= workers_.size() * at(question_.warm_up); }
  Duration alone() const;
  Account account() const;

  const StepQuestion& question_;
  int bound_;
  const Trace& trace_;
  AsynchronousCycle cycle_;
  ActorClock clock_;
  Carrier* carrier_;
  uint32_t first_number_;
  Time start_;
  Wires wires_;
  std::vector<Duration> work_;
  std::vector<double> fixed_;
  std::vector<WorkerState> workers_;
  std::vector<Time> out_free_;  // ports: of workers, then of dedicated servers
  std::vector<Time> in_free_;
  std::unique_ptr<Outboxes<Part>> outboxes_;
  std::vector<Server> servers_;
  int held_ = 0;               // answers, of all servers
  int64_t updated_ = 0;        // how often the first part was
  std::size_t wanted_;         // updates
  std::vector<Time> applied_;  // updates, in order
  Breakdown computed_;
  Duration exchanged_;
  int busy_ = 0;  // workers that compute, or wait for an answer
  int64_t iterations_ = 0;
  int64_t updates_ = 0;
  int64_t sent_parts_ = 0;  // of these updates
  double sent_B_ = 0;
  double staleness_ = 0;
  double staleness_max_ = 0;
};

}  // namespace sgdsim
