// From a question to an answer: choose, check, play or evaluate, convert.
#include "models/collective/simulate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/collective/network_defaults.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "sim/net/port_resources.h"
#include "sim/play/quiet.h"

namespace sgdsim {
namespace {

CollectiveJob job_of(const CollectiveQuestion& question, const Algorithm& algorithm,
                     const Cluster& cluster) {
  CollectiveJob job;
  job.operation = question.operation;
  job.team = {.size = cluster.network.workers(), .stride = 1};
  job.share = {.total = question.messages.front(),
               .fractional = question.options.fractional_chunks,
               .split = {}};
  job.following.assign(question.messages.begin() + 1, question.messages.end());
  if (question.block) {  // a message below the block is one block
    const auto& messages = question.messages;
    const Bytes largest = *std::max_element(messages.begin(), messages.end());
    job.block = std::min(*question.block, std::max(largest, Bytes(1)));
  }
  job.root = question.root;
  job.options = question.options;
  job.workers_per_node = cluster.workers_per_node;
  job.grid = cluster.grid;
  job.network = &cluster.network;
  job.on_wires = is_on_wires(question.fidelity);
  job.cost = worst_of_job(algorithm, job);
  job.launch = launch_for(question.latency, algorithm, job);
  return job;
}

void check_block(const CollectiveQuestion& question, const Algorithm& algorithm) {
  if (question.block && !algorithm.takes_block)
    throw InputError("", std::string(algorithm.name) + " does not cut messages into blocks");
}

void check_logged(const Program& program, int workers, int64_t most) {
  const int64_t messages = traffic_of(program, workers).messages;
  if (messages > most)
    throw InputError("", "--timeline and --gantt show at most " + std::to_string(most) +
                             " messages, not " + std::to_string(messages));
}

// By the options that the network of the cluster suggests. A formula that is not known with them is
// that of the options that were given.
CollectiveQuestion with_network(const CollectiveQuestion& asked, const Algorithm& algorithm,
                                const Cluster& cluster) {
  CollectiveQuestion question = asked;
  const bool is_formula = asked.fidelity == Fidelity::closed_form;
  const bool has_ports = !is_formula && !is_on_wires(asked.fidelity);
  if (has_ports && asked.meanwhile.any()) question.options = with_others(asked.options);
  question.options = with_network(question.options, cluster, algorithm, has_ports);
  if (is_formula && !closed_form_of(algorithm, job_of(question, algorithm, cluster)))
    question.options = asked.options;
  return question;
}

CollectiveAnswer answer_with(const Algorithm& algorithm, const CollectiveQuestion& asked,
                             const Cluster& cluster) {
  const CollectiveQuestion question = with_network(asked, algorithm, cluster);
  const CollectiveJob job = job_of(question, algorithm, cluster);
  check_block(question, algorithm);
  const Program program = schedule_of(algorithm, job);
  CollectiveAnswer answer;
  answer.algorithm = algorithm.name;
  answer.fidelity = question.fidelity;
  check_fidelity(question.fidelity, job.options, question.carrier != nullptr);
  if (!is_on_wires(question.fidelity)) answer.warnings = cluster.notes;
  if (std::string why = beyond_valid(program, cluster); !why.empty())
    answer.warnings.push_back(std::move(why));
  if (question.fidelity == Fidelity::closed_form) {
    const auto time = closed_form_of(algorithm, job);
    if (!time)
      throw no_formula("", std::string(algorithm.name) + " " + std::string(name_of(job.operation)) +
                               " with these options and this count of ranks");
    if (!question.starts.empty() || question.jitter.on())
      throw no_formula("", "start times and jitter");
    answer.time = *time;
    answer.traffic = traffic_of(program, cluster.network.workers());
    answer.path = "formula";
    if (job.options.shares_ports)
      answer.warnings.emplace_back("the closed form does not know of shared ports");
    for (std::string& note : notes_of_formula(algorithm, job, cluster.network))
      answer.warnings.push_back(std::move(note));
    return answer;
  }
  std::unique_ptr<Resources> wires;
  if (is_on_wires(question.fidelity))
    wires = wires_of(cluster, job.options, question.jitter.seed);
  else if (question.meanwhile.any())
    wires = shared_at(question.fidelity, cluster, {});
  PlayOptions options = to_play(question.options);
  options.jitter = question.jitter;
  options.path = question.path;
  options.resources = wires.get();
  options.meanwhile = question.meanwhile;
  options.last_only = true;
  if (question.log != nullptr) {
    check_logged(program, cluster.network.workers(), question.most_logged);
    options.log = question.log;
  }
  options.stopper = question.stopper;
  if (wires) {
    options.carrier = question.carrier;
    answer.transport = question.transport;
  }
  const Played played = play(program, cluster.network, options, question.starts);
  answer.time = played.last_end().since_start();
  answer.traffic = played.traffic;
  answer.path = name_of(played.path);
  if (played.pads_chunks) answer.warnings.emplace_back(Played::padding_said);
  constexpr std::size_t shown = 10;
  if (wires && wires->are_routes()) {
    const std::vector<double> carried_B =
        played.carried_B.empty() ? carried_by(program, cluster.network, *wires) : played.carried_B;
    // Packets may be sent again, or answered, when all has arrived.
    const Duration until = std::max(answer.time, played.until - Time());
    answer.wires = use_of(*wires, carried_B, until, shown,
                          changed_by(question.meanwhile.changes, Time() + until));
  }
  return answer;
}

CollectiveAnswer cheapest(const CollectiveQuestion& question, const Cluster& cluster) {
  std::optional<CollectiveAnswer> best;
  std::vector<Candidate> candidates;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.offers(question.operation)) continue;
    CollectiveQuestion one = question;
    if (!algorithm.takes_block) one.block.reset();
    Candidate candidate{std::string(algorithm.name), {}, {}};
    try {
      CollectiveAnswer answer = answer_with(algorithm, one, cluster);
      const bool is_reached =
          question.fidelity != Fidelity::closed_form || algorithm.closed_form_note.empty();
      if (is_reached)
        candidate.time = answer.time;
      else
        candidate.why_not = algorithm.closed_form_note;
      if (is_reached && (!best || answer.time < best->time)) best = std::move(answer);
    } catch (const InputError& error) {
      candidate.why_not = error.what();
    }
    candidates.push_back(std::move(candidate));
  }
  if (!best) throw InputError("", "no algorithm fits: " + candidates.front().why_not);
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.time.value_or(Duration::longest()) < b.time.value_or(Duration::longest());
  });
  best->candidates = std::move(candidates);
  return *best;
}

}  // namespace

std::string_view name_of(Fidelity fidelity) { return name_in(fidelities, fidelity); }

Fidelity fidelity_named(const std::string& name, const std::string& where) {
  return named_in(fidelities, "fidelity", name, where);
}

void check_fidelity(Fidelity fidelity, const CollectiveOptions& options, bool has_windows) {
  if (fidelity != Fidelity::closed_form && options.of(paper_steps))
    throw InputError("", "lp_steps=paper is a formula, not a schedule; use --fidelity closed_form");
  if (fidelity != Fidelity::flow && options.routing != Routing::by_destination)
    throw InputError("", idle_word("option routing", "without fidelity flow"));
  const bool has_buffer = has_windows && options.send_buffer > Bytes();
  if (is_on_wires(fidelity) && (options.shares_ports || has_buffer))
    throw InputError("",
                     idle_word(options.shares_ports ? "option ports=shared" : "option send_buffer",
                               "at fidelity " + std::string(name_of(fidelity)) +
                                   ", where messages share all wires"));
}

std::unique_ptr<Resources> wires_of(const Cluster& cluster, const CollectiveOptions& options,
                                    uint64_t seed) {
  if (!cluster.wires)
    throw InputError("", "fidelity flow needs a cluster with wires: a cluster file");
  return cluster.wires({options.routing, seed});
}

std::unique_ptr<Resources> shared_at(Fidelity fidelity, const Cluster& cluster,
                                     const RouteChoice& routes) {
  if (is_on_wires(fidelity)) return cluster.wires(routes);
  if (cluster.network.crowding().any())
    throw InputError("", crowding_is_for("jobs and flows that meet at ports"));
  return std::make_unique<PortResources>(cluster.network);
}

std::vector<std::string> notes_of_formula(const Algorithm& algorithm, const CollectiveJob& job,
                                          const Network& network) {
  std::vector<std::string> notes;
  if (!algorithm.closed_form_note.empty()) notes.emplace_back(algorithm.closed_form_note);
  if (network.is_uniform() || job.size() == 1) return notes;
  CollectiveJob here = job;
  here.network = &network;
  const bool knows = algorithm.knows_links != nullptr && algorithm.knows_links(here);
  if (!knows) notes.emplace_back(worst_pair_said);
  return notes;
}

Duration launch_for(Duration latency, const Algorithm& algorithm, CollectiveJob job) {
  // Closed forms charge every message the worst pair; beyond so many members they do.
  constexpr int most_simulated = 1 << 12;
  if (latency == Duration() || job.size() == 1) return {};
  job.share.total = Bytes(job.size());
  job.following.clear();
  job.block.reset();
  std::optional<Duration> own;
  if (job.network == nullptr || job.size() > most_simulated) own = closed_form_of(algorithm, job);
  if (!own && job.network != nullptr) {
    PlayOptions options = to_play(job.options);
    options.last_only = true;
    const Program program = schedule_of(algorithm, job);
    own = play(program, job.network->first(job.size()), options).last_end().since_start();
  }
  return own ? std::max(Duration(), latency - *own) : Duration();
}

std::string beyond_valid(const Program& program, const Cluster& cluster) {
  const MessageRange range = message_range(program);
  if (!range.any || cluster.valid.holds(range.least_B, range.most_B)) return {};
  const auto text = [](double size_B) { return to_text(Bytes::nearest(size_B)); };
  return "messages of " + text(range.least_B) +
         (range.most_B > range.least_B ? " to " + text(range.most_B) : "") +
         " reach beyond what the cluster was calibrated for, " + to_text(cluster.valid.from) +
         " to " + to_text(cluster.valid.to) + ": an extrapolation";
}

double bus_factor(Operation operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::allreduce:
      return 2 * others;
    case Operation::reduce_scatter:
    case Operation::allgather:
    case Operation::alltoall:
      return others;
    case Operation::broadcast:
    case Operation::reduce:
      return 1;
  }
  return 1;
}

CollectiveAnswer simulate_collective(const CollectiveQuestion& question, const Cluster& cluster,
                                     const std::string& where) {
  const int ranks = cluster.network.workers();
  if (!question.starts.empty() && static_cast<int>(question.starts.size()) != ranks)
    throw InputError(where, "expected " + std::to_string(ranks) +
                                " start times, one per rank, got " +
                                std::to_string(question.starts.size()));
  CollectiveAnswer answer;
  try {
    answer = question.algorithm == "auto"
                 ? cheapest(question, cluster)
                 : answer_with(algorithm_named(question.algorithm, ""), question, cluster);
  } catch (const NetworkStuck&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(where, error.what());
  }
  Bytes total;
  for (const Bytes size : question.messages) total += size;
  if (answer.time > Duration())
    answer.algbw_GBps = static_cast<double>(total.count()) / answer.time.s() / 1e9;
  answer.busbw_GBps = answer.algbw_GBps * bus_factor(question.operation, ranks);
  return answer;
}

}  // namespace sgdsim
