// Message by message through an event queue, or by the formula.
#include "models/step/asynchronous.h"

#include <algorithm>
#include <cmath>

#include "models/step/compute.h"
#include "models/step/sparsity.h"
#include "sim/core/error.h"
#include "sim/core/event_queue.h"
#include "sim/core/scaled.h"

namespace sgdsim {
namespace {

// What an iteration consists of, whatever the clocks say.
struct Cycle {
  Encoded encoded;
  ParameterServers servers;
  Network network = Network::uniform(1, {});  // with the dedicated servers
  double part_B = 0;                          // pushed to, and pulled from, each server
  Duration update;                            // of a part's parameters, at the server
};

Cycle cycle_of(const StepQuestion& question) {
  if (question.timeline != nullptr)
    throw InputError("--timeline", "is not recorded without a common iteration");
  if (question.interference != 1 || question.channels != 1)
    throw InputError("",
                     "interference and several channels are not defined without a common "
                     "iteration");
  const ParameterServers* servers = question.cost.servers();
  if (servers == nullptr || servers->hashed)
    throw InputError("",
                     "asynchronous training needs a collective with `parameter_server` and "
                     "uniform sharding");
  Cycle cycle;
  cycle.servers = *servers;
  const std::vector<PlannedMessage> all = all_in_one(*question.trace);
  if (!all.empty()) cycle.encoded = question.cost.encoded(all.front().group());
  if (cycle.encoded.transfer_count > 1)
    throw InputError("", "asynchronous training sends one message: no powersgd");
  const Transfer& transfer = cycle.encoded.transfers[0];
  cycle.part_B = static_cast<double>(transfer.size.count()) / servers->servers;
  cycle.servers.cost = servers->cost.with(transfer.folding);
  cycle.network = question.cluster->network.with(transfer.folding);
  if (servers->dedicated) cycle.network = with_servers(cycle.network, servers->servers);
  cycle.update = Duration::ps(question.trace->update.ps() / servers->servers);
  return cycle;
}

// What a worker's exchange with the servers takes when nobody else is there, and how long their
// ports are busy for it: with a dedicated server its own; on workers the worst pair's.
struct ServerLegs {
  Duration exchange;
  Duration busy;
  Duration fold;
};

ServerLegs legs_of(const Cycle& cycle, int worker) {
  const ParameterServers& servers = cycle.servers;
  if (!servers.dedicated) {
    const Duration busy = servers.busy(cycle.part_B);
    return {(servers.servers + 1) * busy + 2 * servers.flight(cycle.part_B), busy,
            servers.fold(cycle.part_B)};
  }
  const Wires wires(cycle.network, servers.alpha);
  const Leg push = wires.leg(worker, servers.place(0), cycle.part_B, true);
  const Leg pull = wires.leg(servers.place(0), worker, cycle.part_B, false);
  return {servers.servers * push.out_busy + push.flight + pull.flight + pull.in_busy,
          std::max(push.in_busy, pull.out_busy), push.fold};
}

class Asynchronous {
 public:
  Asynchronous(const StepQuestion& question, int bound)
      : question_(question),
        bound_(bound),
        trace_(*question.trace),
        cycle_(cycle_of(question)),
        wires_(cycle_.network, cycle_.servers.alpha),
        work_(backward_work(trace_)),
        fixed_(fixed_factors(question.workers, question.cluster->network.workers())),
        workers_(fixed_.size()),
        out_free_(fixed_.size() + static_cast<std::size_t>(cycle_.servers.servers)),
        in_free_(out_free_),
        server_free_(static_cast<std::size_t>(cycle_.servers.servers)),
        at_least_(static_cast<int>(fixed_.size())) {}

  StepResult run() {
    const int64_t wanted =
        static_cast<int64_t>(workers_.size()) * (question_.warm_up + question_.iterations);
    for (std::size_t i = 0; i < workers_.size(); ++i) begin(static_cast<int>(i), Time());
    while (static_cast<int64_t>(applied_.size()) < wanted) {
      const auto event = queue_.pop();
      handle(event.payload, event.time);
    }
    return result();
  }

 private:
  enum class Kind : uint8_t { computed, pushed, answered, done };
  struct Happening {
    Kind kind;
    int worker;
    int part;
  };
  struct WorkerState {
    WorkerWork work;
    int iteration = 0;
    int parts_left = 0;
    int64_t read = 0;  // updates that its parameters know
    Time started;
    Time computed;
    bool blocked = false;
  };

  WorkerState& state(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  int place(int server) const { return cycle_.servers.place(server); }
  Leg leg(int from, int to, bool folds) const { return wires_.leg(from, to, cycle_.part_B, folds); }
  Time& out(int endpoint) { return out_free_[static_cast<std::size_t>(endpoint)]; }
  Time& in(int endpoint) { return in_free_[static_cast<std::size_t>(endpoint)]; }

  // A worker's own gradients are folded at the price of any others that its server gets.
  Duration own_fold(int server) const {
    if (workers_.size() == 1) return {};
    return leg(server == 0 ? 1 : 0, server, true).fold;
  }

  void handle(const Happening& one, Time now) {
    switch (one.kind) {
      case Kind::computed:
        return push(one.worker, now);
      case Kind::pushed:
        return serve(one.worker, one.part, now);
      case Kind::answered:
        return take(one.worker, one.part, now);
      case Kind::done:
        return next(one.worker, now);
    }
  }

  void begin(int worker, Time now) {
    WorkerState& my = state(worker);
    if (my.iteration == 0 || question_.workers.is_random())
      my.work =
          draw_work(trace_, work_, question_.workers, fixed_[static_cast<std::size_t>(worker)],
                    {question_.seed, worker, my.iteration});
    Breakdown one;
    for (const Duration forward : my.work.forward) one.forward += forward;
    for (const Duration backward : my.work.backward) one.backward += backward;
    one.compression = scaled(cycle_.encoded.compress + cycle_.encoded.decompress, my.work.factor);
    if (question_.pause) question_.pause();
    my.started = now;
    my.computed = now + one.forward + one.backward + one.compression;
    computed_ += one;
    ++iterations_;
    queue_.push(my.computed, {Kind::computed, worker, 0});
  }

  void push(int worker, Time now) {
    const int servers = cycle_.servers.servers;
    state(worker).parts_left = servers;
    for (int i = 0; i < servers; ++i) {
      const int part = (worker + i) % servers;
      Time arrives = now;
      if (place(part) != worker) {
        Time& port = out(worker);
        const Time start = std::max(port, now);
        const Leg way = leg(worker, place(part), true);
        port = start + way.out_busy;
        arrives = start + way.flight;
      }
      queue_.push(arrives, {Kind::pushed, worker, part});
    }
  }

  // The server takes the part from its port and folds it in while it comes; then it updates.
  void serve(int worker, int part, Time now) {
    const int server = place(part);
    const bool own = server == worker;
    Time& free = server_free_[static_cast<std::size_t>(part)];
    const Time begins = own ? now : std::max(in(server), now);
    Time taken = now;
    Duration fold = own_fold(server);
    if (!own) {
      const Leg way = leg(worker, server, true);
      in(server) = begins + way.in_busy;
      taken = begins + way.transit;
      fold = way.fold;
    }
    free = std::max(taken, std::max(free, begins) + fold) + cycle_.update;
    if (part == 0) {
      WorkerState& my = state(worker);
      const auto stale = static_cast<double>(static_cast<int64_t>(applied_.size()) - my.read);
      if (is_measured()) {
        staleness_ += stale;
        staleness_max_ = std::max(staleness_max_, stale);
        ++updates_;
      }
      applied_.push_back(free);
      my.read = static_cast<int64_t>(applied_.size());
    }
    if (own) return queue_.push(free, {Kind::answered, worker, part});
    Time& port = out(server);
    const Time leaves = std::max(port, free);
    const Leg way = leg(server, worker, false);
    port = leaves + way.out_busy;
    queue_.push(leaves + way.flight, {Kind::answered, worker, part});
  }

  void take(int worker, int part, Time now) {
    Time end = now;
    if (place(part) != worker) {
      const Leg way = leg(place(part), worker, false);
      const Time begins = std::max(in(worker), now);
      in(worker) = begins + way.in_busy;
      end = begins + way.transit;
    }
    WorkerState& my = state(worker);
    if (--my.parts_left > 0) return;
    exchanged_ += end - my.computed;
    queue_.push(std::max(end, my.started + trace_.load), {Kind::done, worker, 0});
  }

  // Goes on unless it would be too far ahead; the slowest one lets others go on.
  void next(int worker, Time now) {
    WorkerState& my = state(worker);
    const bool was_slowest = my.iteration++ == least_;
    my.blocked = true;
    if (was_slowest && --at_least_ == 0) {
      ++least_;
      for (const WorkerState& one : workers_) at_least_ += one.iteration == least_ ? 1 : 0;
      for (std::size_t i = 0; i < workers_.size(); ++i) try_to_begin(static_cast<int>(i), now);
    }
    try_to_begin(worker, now);
  }

  void try_to_begin(int worker, Time now) {
    WorkerState& my = state(worker);
    if (!my.blocked || (bound_ != AsynchronousRule::no_bound && my.iteration - least_ > bound_))
      return;
    my.blocked = false;
    begin(worker, now);
  }

  bool is_measured() const {
    return static_cast<int64_t>(applied_.size()) >=
           static_cast<int64_t>(workers_.size()) * question_.warm_up;
  }

  // What an exchange takes when nobody else is there, in the mean.
  Duration alone() const {
    int64_t sum_ps = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i)
      sum_ps += legs_of(cycle_, static_cast<int>(i)).exchange.ps();
    return Duration::ps(sum_ps / static_cast<int64_t>(workers_.size()));
  }

  // Of one worker in the mean, for all measured iterations: an iteration is one update of each.
  Account account() const {
    Account account;
    account.parts = computed_ / iterations_ * question_.iterations;
    const Duration one = std::min(Duration::ps(exchanged_.ps() / iterations_), alone());
    account.parts.communication = account.carried = one * question_.iterations;
    account.parts.waiting = Duration::longest();  // all the rest, for servers or for the slowest
    return account;
  }

  StepResult result() const {
    StepResult result;
    const std::size_t workers = workers_.size();
    auto end_of = [&](int iteration) {
      return iteration == 0 ? Time() : applied_[static_cast<std::size_t>(iteration) * workers - 1];
    };
    for (int i = question_.warm_up; i < question_.warm_up + question_.iterations; ++i)
      result.iterations.push_back(end_of(i + 1) - end_of(i));
    result.settle({account()});
    const int64_t parts = cycle_.servers.servers;
    const auto endpoints = static_cast<int64_t>(workers);
    result.message_count = 2 * parts * (endpoints - (cycle_.servers.dedicated ? 0 : 1));
    result.wire_B = static_cast<double>(result.message_count) * cycle_.part_B;
    Sparsity sparsity;
    sparsity.add(cycle_.encoded);
    result.quality = sparsity.quality();
    result.quality.staleness_mean = staleness_ / std::max(1., static_cast<double>(updates_));
    result.quality.staleness_max = staleness_max_;
    result.path = name_of(PathTaken::events);
    return result;
  }

  const StepQuestion& question_;
  int bound_;
  const Trace& trace_;
  Cycle cycle_;
  Wires wires_;
  std::vector<Duration> work_;
  std::vector<double> fixed_;
  std::vector<WorkerState> workers_;
  std::vector<Time> out_free_;  // workers, then dedicated servers
  std::vector<Time> in_free_;
  std::vector<Time> server_free_;  // of folds and updates
  int least_ = 0;                  // iterations of the slowest worker
  int at_least_;                   // how many workers have no more
  std::vector<Time> applied_;      // updates, in order
  EventQueue<Happening> queue_;
  Breakdown computed_;
  Duration exchanged_;
  int64_t iterations_ = 0;
  int64_t updates_ = 0;
  double staleness_ = 0;
  double staleness_max_ = 0;
};

// The three limits: the workers' own cycles, the port of a server, its processor.
StepResult by_formula(const StepQuestion& question, int bound) {
  const Cycle cycle = cycle_of(question);
  const std::vector<double> factors =
      fixed_factors(question.workers, question.cluster->network.workers());
  const auto workers = static_cast<double>(factors.size());
  const Trace& trace = *question.trace;
  const Duration compute =
      trace.forward() + trace.backward() + cycle.encoded.compress + cycle.encoded.decompress;
  Duration busy;       // of a server's port, for one update of every worker
  Duration processor;  // of a server, likewise
  Duration exchange;   // of all workers
  double rate = 0;     // updates per picosecond
  double slowest = 0;  // picoseconds
  double factor_sum = 0;
  double factor_rate = 0;
  for (std::size_t worker = 0; worker < factors.size(); ++worker) {
    const ServerLegs legs = legs_of(cycle, static_cast<int>(worker));
    busy += legs.busy;
    processor += legs.fold + cycle.update;
    exchange += legs.exchange;
    const Duration whole = scaled(compute, factors[worker]) + legs.exchange + cycle.update;
    const auto cycle_ps = static_cast<double>(std::max(trace.load, whole).ps());
    const double own_rate = 1 / std::max(1., cycle_ps);
    rate += own_rate;
    factor_sum += factors[worker];
    factor_rate += factors[worker] * own_rate;
    slowest = std::max(slowest, cycle_ps);
  }
  // Of the mean update: each worker's counts as often as it comes.
  const double factor =
      bound == AsynchronousRule::no_bound ? factor_rate / rate : factor_sum / workers;
  if (bound != AsynchronousRule::no_bound) rate = std::min(rate, workers / std::max(1., slowest));
  for (const Duration limit : {busy, processor})
    if (limit > Duration()) rate = std::min(rate, workers / static_cast<double>(limit.ps()));
  StepResult result;
  const Duration iteration = Duration::nearest_ps(workers / rate);
  result.iterations.assign(static_cast<std::size_t>(question.iterations), iteration);
  Account account;
  account.parts.forward = scaled(trace.forward(), factor);
  account.parts.backward = scaled(trace.backward(), factor);
  account.parts.compression = scaled(cycle.encoded.compress + cycle.encoded.decompress, factor);
  account.parts.communication = account.carried =
      Duration::ps(exchange.ps() / static_cast<int64_t>(factors.size()));
  account.parts = account.parts * question.iterations;
  account.carried = account.carried * question.iterations;
  account.parts.waiting = Duration::longest();
  result.settle({account});
  Sparsity sparsity;
  sparsity.add(cycle.encoded);
  result.quality = sparsity.quality();
  result.quality.staleness_mean = result.quality.staleness_max = workers - 1;
  result.path = "formula";
  return result;
}

}  // namespace

StepResult play_asynchronous(const StepQuestion& question, const AsynchronousRule& rule) {
  return question.fidelity == Fidelity::message ? Asynchronous(question, rule.bound).run()
                                                : by_formula(question, rule.bound);
}

}  // namespace sgdsim
