// Message by message, or by the formula.
#include "models/step/asynchronous.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/step/asynchronous_workers.h"
#include "models/step/jobs_in_time.h"
#include "models/step/sparsity.h"
#include "sim/core/refusal.h"
#include "sim/core/scaled.h"

namespace sgdsim {
namespace {

// How much each worker's updates ask of the busiest port of a server on a worker, in messages:
// others push by it, and its own worker pulls by it what other servers answer.
std::vector<double> port_loads(const ParameterServers& servers, const std::vector<double>& rates) {
  std::vector<double> loads(rates.size(), 1);
  std::size_t fastest = 0;
  for (int server = 1; server < servers.servers; ++server) {
    const auto host = static_cast<std::size_t>(servers.host(server));
    if (rates[host] > rates[fastest]) fastest = host;
  }
  loads[fastest] = servers.servers - 1;
  return loads;
}

// Lowers the highest rates to one level, with which the port is busy all the time, if they ask for
// more.
void share_port(std::vector<double>& rates, const std::vector<double>& loads, Duration busy) {
  const double room = 1 / std::max(1., static_cast<double>(busy.ps()));
  if (std::inner_product(rates.begin(), rates.end(), loads.begin(), 0.) <= room) return;
  double level = 0;
  while (true) {
    double left = room;
    double lowered = 0;  // loads of those that cannot go at their own rates
    for (std::size_t i = 0; i < rates.size(); ++i)
      if (rates[i] <= level)
        left -= loads[i] * rates[i];
      else
        lowered += loads[i];
    if (lowered <= 0 || left / lowered <= level) break;
    level = left / lowered;
  }
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (loads[i] > 0) rates[i] = std::min(rates[i], level);
}

// The three limits: the workers' own cycles, the port of a server, its processor.
StepResult by_formula(const StepQuestion& question, int bound) {
  const AsynchronousCycle cycle = asynchronous_cycle(question);
  if (cycle.servers.hashed)
    throw no_formula("", "asynchronous workers whose servers hold unlike parts (sharding byteps)");
  const std::vector<double> factors =
      fixed_factors(question.workers, question.cluster->network.workers());
  const auto workers = static_cast<double>(factors.size());
  const Trace& trace = *question.trace;
  const Duration compute =
      trace.forward() + trace.backward() + cycle.encoded.compress + cycle.encoded.decompress;
  const bool is_bound = bound != AsynchronousRule::no_bound;
  Duration busy;              // of a server's port, for one update of every worker
  Duration processor;         // of a server, likewise
  Duration exchange;          // of all workers
  std::vector<double> rates;  // updates per picosecond
  double slowest = 0;         // picoseconds
  double factor_sum = 0;
  for (std::size_t worker = 0; worker < factors.size(); ++worker) {
    const ServerLegs legs = legs_of(cycle, static_cast<int>(worker));
    busy += legs.busy;
    processor += legs.fold + cycle.update();
    exchange += legs.exchange;
    const Duration whole =
        scaled(compute, factors[worker]) + legs.exchange + legs.fold_behind + cycle.update();
    const auto cycle_ps = static_cast<double>(std::max(trace.load, whole).ps());
    rates.push_back(1 / std::max(1., cycle_ps));
    factor_sum += factors[worker];
    slowest = std::max(slowest, cycle_ps);
  }
  if (!cycle.servers.dedicated) {
    const Duration message = legs_of(cycle, 0).busy;
    const std::vector<double> loads = port_loads(cycle.servers, rates);
    busy = scaled(message, std::accumulate(loads.begin(), loads.end(), 0.));
    if (!is_bound) {
      share_port(rates, loads, message);
      busy = Duration();  // has been counted
    }
  }
  double rate = std::accumulate(rates.begin(), rates.end(), 0.);
  if (!is_bound)
    for (const Duration limit : {busy, processor})
      share_port(rates, std::vector<double>(rates.size(), 1), scaled(limit, 1 / workers));
  const double paced = std::accumulate(rates.begin(), rates.end(), 0.);
  const double stale =
      is_bound ? 0 : std::ceil(paced / *std::min_element(rates.begin(), rates.end()) - 1 - 1e-6);
  // Of the mean update: each worker's counts as often as it comes.
  const double factor =
      is_bound ? factor_sum / workers
               : std::inner_product(factors.begin(), factors.end(), rates.begin(), 0.) / paced;
  if (is_bound) rate = std::min(rate, workers / std::max(1., slowest));
  for (const Duration limit : {busy, processor})
    if (limit > Duration()) rate = std::min(rate, workers / static_cast<double>(limit.ps()));
  StepResult result;
  const Duration iteration = Duration::nearest_ps(workers / rate);
  count(question.stopper, Time() + iteration * question.iterations,
        factors.size() * static_cast<uint64_t>(question.iterations));
  result.iterations.assign(static_cast<std::size_t>(question.iterations), iteration);
  Breakdown computed;
  computed.forward = scaled(trace.forward(), factor);
  computed.backward = scaled(trace.backward(), factor);
  computed.compression = scaled(cycle.encoded.compress + cycle.encoded.decompress, factor);
  const Duration mean = Duration::ps(exchange.ps() / static_cast<int64_t>(factors.size()));
  result.settle({Account::in_turns(computed * question.iterations, mean * question.iterations)});
  Sparsity sparsity;
  sparsity.add(cycle.encoded);
  result.quality = sparsity.quality();
  result.quality.staleness_mean = workers - 1;
  result.quality.staleness_max = std::max(workers - 1, stale);
  result.path = "formula";
  const bool are_alike = std::all_of(factors.begin(), factors.end(),
                                     [&](double factor) { return factor == factors.front(); });
  if (factors.size() > 1 && !(are_alike && cycle.servers.dedicated))
    result.warnings.emplace_back(
        "the closed form takes workers to wait only for ports that are never free: those that "
        "differ, or have servers on them, also meet at others, which took up to half as long "
        "again; "
        "fidelity message counts it");
  return result;
}

// At ports, by themselves.
StepResult at_ports(const StepQuestion& question, int bound) {
  Agenda agenda;
  Clock clock(agenda, nullptr, question.stopper);
  AsynchronousWorkers workers(question, bound, asynchronous_cycle(question), {.clock = {clock, 1}});
  Clockwork clockwork(clock, workers);
  workers.begin();
  while (!workers.is_updated()) clockwork.step();
  return workers.result();
}

// Wires have carried what all workers have exchanged, until the last message was there.
StepResult on_wires(const StepQuestion& question) {
  JobsInTime in_time(alone_in_time(question));
  const AsynchronousWorkers& workers = in_time.asynchronous(0);
  StepResult result = workers.result();
  const double iterations = workers.iterations();
  if (!is_on_wires(question.fidelity)) return result;  // but at ports
  std::vector<double> carried_B = in_time.carried_B();
  for (double& bytes : carried_B) bytes /= iterations;
  const Duration all = std::max(in_time.now(), workers.end()) - Time();
  constexpr std::size_t shown = 10;
  result.wires = use_of(*question.wires, carried_B, scaled(all, 1 / iterations), shown,
                        changed_by(question.meanwhile.changes, in_time.now()));
  result.packets = in_time.packets();
  result.packet_wires = question.wires;
  if (result.packets) result.quality.delivered *= result.packets->of(Cargo::gradients).part();
  return result;
}

}  // namespace

StepResult play_asynchronous(const StepQuestion& question, const AsynchronousRule& rule) {
  if (question.wires != nullptr) return on_wires(question);
  // The formula is of what goes on in the long run without a barrier.
  const bool has_barrier = rule.bound == 0;
  return question.fidelity == Fidelity::message || has_barrier ? at_ports(question, rule.bound)
                                                               : by_formula(question, rule.bound);
}

}  // namespace sgdsim
