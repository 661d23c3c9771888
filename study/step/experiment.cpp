// Reading experiments whose parts are in place.
#include "study/step/experiment.h"

#include <algorithm>
#include <utility>

#include "models/collective/algorithm_choice.h"
#include "models/collective/nccl_box.h"
#include "models/collective/network_defaults.h"
#include "models/training/gpu.h"
#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/step/collective_field.h"
#include "study/step/digest.h"
#include "study/step/experiment_fields.h"
#include "study/step/override.h"
#include "study/step/part_names.h"
#include "study/transport_choice.h"
#include "traces/trace_edit.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

// A part of an experiment: errors name the part's own file if it has one.
Value part_of(const Value& root, const Json& json, const std::string& field,
              const std::string& file) {
  if (!file.empty()) return {json.at(field), file, ""};
  return root.child(field);
}

// On the wires that the step will have; all else of the experiment is read.
void read_traffic_of(Experiment& experiment, const Value& traffic) {
  if (experiment.fidelity == Fidelity::closed_form)
    traffic.fail("needs messages that it can meet: fidelity message, flow or packet");
  const StepQuestion on_wires = on_its_wires(experiment.question());
  experiment.traffic = std::make_shared<const TrafficFile>(
      read_traffic(traffic, experiment.cluster, *on_wires.wires, std::nullopt));
}

Json usual_algorithm_field(const Cluster& cluster) {
  return {{"algorithm", usual_algorithm(cluster, Operation::allreduce)}};
}
bool is_asynchronous(const Experiment& experiment) {
  const auto& synchronization = experiment.synchronization;
  return synchronization && std::holds_alternative<AsynchronousRule>(synchronization->rule);
}
// Workers that do not wait for each other have only servers to exchange with: each is one, as
// programs with servers are launched.
Json usual_collective(const Experiment& experiment) {
  if (!is_asynchronous(experiment)) return usual_algorithm_field(experiment.cluster);
  const Json servers = {{"servers", experiment.cluster.network.workers()},
                        {"placement", "co_located"}};
  return {{"parameter_server", servers}};
}

void note_times(Experiment& experiment, const CollectiveField& collective) {
  if (std::string note = collective.note_on(experiment.cluster); !note.empty())
    experiment.notes.push_back(std::move(note));
}

// What is sent in place of the gradients, over the compression's own collective, the one that it
// is made for, or the experiment's.
void read_compression(Experiment& experiment, const Value& value, CollectiveField collective) {
  const Json named = {{"name", value.json()}};
  Object fields(value.json().is_string() ? Value(named, value.file(), value.path()) : value);
  const auto own = read_record<OwnCollective>(fields).collective;
  const Network& network = experiment.cluster.network;
  Compression compression =
      read_compression(fields, {experiment.trace, network.workers(), network.worst()});
  fields.done();
  if (own) {
    CollectiveField read = read_collective(*own, usual_algorithm_field(experiment.cluster));
    read.take_options_of(collective);
    collective = std::move(read);
  } else if (!compression.algorithm.empty()) {
    if (collective.servers)
      compression.notes.push_back("compression: " + compression.name + " goes over " +
                                  compression.algorithm +
                                  ", without the parameter servers of `collective`");
    collective = collective.replaced_by(compression.algorithm, value.where());
  }
  experiment.notes = compression.notes;
  note_times(experiment, collective);
  experiment.numbers = compression.numbers;
  experiment.compression = compression.name;
  experiment.collective = collective.name;
  experiment.cost = MessageCost::compressed(
      collective.cost(experiment.cluster, compression.operation), std::move(compression));
}

void read_exchange(Experiment& experiment, const std::optional<Value>& given,
                   const std::optional<Value>& compression) {
  const Json usual = usual_collective(experiment);
  const CollectiveField collective =
      read_collective(given ? *given : Value(usual, experiment.file, "/collective"), usual);
  experiment.collective = collective.name;
  if (compression && !is_none(*compression)) {
    read_compression(experiment, *compression, collective);
  } else {
    note_times(experiment, collective);
    experiment.cost = collective.cost(experiment.cluster, Operation::allreduce);
  }
  if (!given && is_asynchronous(experiment))
    experiment.notes.emplace_back(
        "`collective` is not given: every worker is a parameter server, too; --set "
        "collective=parameter_server has one, on a machine of its own");
  for (auto [operation, place] : {std::pair(Operation::broadcast, &experiment.broadcast),
                                  std::pair(Operation::reduce, &experiment.reduce)}) {
    if (!collective.offers(operation)) continue;
    try {
      *place = collective.cost(experiment.cluster, operation);
    } catch (const InputError&) {
      // Its parts may lack it; only bsp_lp with a root asks, and then says so.
    }
  }
}

// What read_exchange would read again. The cost's network is where it was: in the experiment.
void keep_exchange(Experiment& experiment, Experiment&& before) {
  experiment.compression = std::move(before.compression);
  experiment.numbers = std::move(before.numbers);
  experiment.notes = std::move(before.notes);
  experiment.collective = std::move(before.collective);
  experiment.cost = std::move(before.cost);
  experiment.broadcast = std::move(before.broadcast);
  experiment.reduce = std::move(before.reduce);
}

}  // namespace

void blame_setting(const InputError& error, const ResolvedExperiment& resolved,
                   const std::vector<std::string>& settings) {
  blame_setting(error, settings,
                {{"trace", resolved.trace_file}, {"cluster", resolved.cluster_file}},
                resolved.file + ": " + resolved.path, resolved.options);
}

Experiment read_experiment(const ResolvedExperiment& resolved) {
  Experiment experiment;
  try {
    read_changes(experiment, resolved, {});
  } catch (const InputError& error) {
    blame_setting(error, resolved, resolved.settings);
    throw;
  }
  for (const std::string& setting : resolved.settings)
    if (path_of_setting(setting) == batch_field) experiment.notes.emplace_back(batch_note);
  experiment.inputs = resolved.json;
  experiment.method = resolved.method;
  return experiment;
}

void read_changes(Experiment& experiment, const ResolvedExperiment& resolved, Unchanged unchanged) {
  Experiment before = std::exchange(experiment, {});
  experiment.file = resolved.file;
  const Value root(resolved.json, resolved.file, resolved.path);
  check_names(root);
  const auto given = read_record<ExperimentFields>(root);
  experiment.name = given.head.name;
  experiment.accumulation = given.accumulation.value_or(1);
  if (unchanged.trace)
    experiment.trace = std::move(before.trace);
  else
    experiment.trace =
        accumulated(read_trace(part_of(root, resolved.json, "trace", resolved.trace_file)),
                    experiment.accumulation);
  if (unchanged.cluster)
    experiment.cluster = std::move(before.cluster);
  else
    experiment.cluster =
        read_cluster(part_of(root, resolved.json, "cluster", resolved.cluster_file)).cluster;
  if (given.synchronization && !is_none(*given.synchronization))
    experiment.synchronization = read_synchronization(*given.synchronization);
  if (unchanged.exchange) {
    keep_exchange(experiment, std::move(before));
  } else {
    read_exchange(experiment, given.collective, given.compression);
    if (std::string note = resolved.cluster_changes.check(experiment.cost); !note.empty())
      experiment.notes.push_back(std::move(note));
  }
  const bool has_strategy =
      !experiment.synchronization || experiment.synchronization->plays_strategy();
  experiment.strategy =
      given.strategy ? read_strategy(*given.strategy)
                     : strategy_named(has_strategy ? usual_strategy : "sync_easgd", root.where());
  if (experiment.synchronization) {
    experiment.synchronization->send_on(given.channels.value_or(1));
    experiment.iterations = experiment.synchronization->measured;
    experiment.warm_up = std::max(experiment.warm_up, experiment.synchronization->transient);
  }
  experiment.convergence = given.convergence;
  experiment.fidelity = given.fidelity;
  experiment.iterations = given.iterations.value_or(experiment.iterations);
  experiment.warm_up = given.warm_up.value_or(experiment.warm_up);
  experiment.seed = given.seed;
  experiment.given_channels = given.channels;
  experiment.given_interference = given.interference;
  experiment.alone = given.alone;
  if (given.workers) {
    experiment.workers = read_workers(*given.workers);
    for (const Slowness& slow : experiment.workers.slowness)
      if (slow.worker >= experiment.cluster.network.workers())
        given.workers->fail("worker " + std::to_string(slow.worker) +
                            " does not exist: there are " +
                            std::to_string(experiment.cluster.network.workers()));
  }
  Sent sent =
      sent_on(experiment.cluster, experiment.fidelity,
              {experiment.cost.job().options.routing, experiment.seed}, given.transport, root);
  experiment.carrier = std::move(sent.carrier);
  experiment.transport = std::move(sent.transport);
  if (given.traffic && !is_none(*given.traffic)) read_traffic_of(experiment, *given.traffic);
}

// If nobody says otherwise: two all-reduces of DDP of PyTorch over gloo; and real servers take what
// is pushed when it comes. Papers that say nothing of it count one message after the other.
int Experiment::channels() const {
  constexpr int threads_of_gloo = 2;
  if (given_channels) return *given_channels;
  if (synchronization || strategy.takes_turns) return 1;
  if (cost.servers() != nullptr) return starts_in_flight(cluster.kind) ? most_channels : 1;
  return cluster.kind == NetworkKind::gloo && strategy.name == "ddp" ? threads_of_gloo : 1;
}

Duration Experiment::one_worker() const {
  return alone.value_or(std::max(trace.forward() + trace.backward() + trace.update, trace.load));
}

std::optional<double> Experiment::unsaid_interference() const {
  if (given_interference || trace.beside_exchanges || cluster.kind != NetworkKind::nccl ||
      cluster.network.workers() == 1)
    return std::nullopt;
  const bool is_asynchronous =
      synchronization && std::holds_alternative<AsynchronousRule>(synchronization->rule);
  const bool has_no_formula = strategy.takes_turns || synchronization;
  if (is_asynchronous || (fidelity == Fidelity::closed_form && has_no_formula)) return std::nullopt;
  return with_digits(std::min(usual_interference.products, nccl_slowdown(cluster, trace.device)),
                     3);
}

StepQuestion Experiment::question() const {
  StepQuestion question;
  question.trace = &trace;
  question.cluster = &cluster;
  question.strategy = &strategy;
  if (synchronization) question.synchronization = &*synchronization;
  // An experiment that was moved has another network than when its costs were read.
  const auto moved = [&](const MessageCost& one) {
    MessageCost on_cluster = one.on(cluster.network);
    if (fidelity != Fidelity::message) return on_cluster;
    if (meets_others_at_ports()) on_cluster = on_cluster.among_others();
    return on_cluster.on_ports(cluster);
  };
  question.cost = moved(cost);
  if (is_on_wires(fidelity)) question.cost = question.cost.with_messages();
  if (broadcast) question.broadcast = moved(*broadcast);
  if (reduce) question.reduce = moved(*reduce);
  question.workers = workers;
  question.fidelity = fidelity;
  question.carrier = carrier;
  if (traffic) question.meanwhile = traffic->meanwhile();
  question.iterations = iterations;
  question.warm_up = warm_up;
  question.seed = seed;
  question.channels = channels();
  question.interference = given_interference.value_or(1);
  return question;
}

// nlohmann::json keeps keys sorted, unlike the ordered form that files are read into.
std::string canonical(const Json& json) { return nlohmann::json(json).dump(); }

std::string id_of_text(const std::string& canonical_text) {
  return "sha256:" + sha256_of(canonical_text);
}

std::string text_in_id(const Json& field) {
  constexpr std::size_t longest = 1024;
  const std::string text = canonical(field);
  return text.size() <= longest ? text : '"' + id_of_text(text) + '"';
}

std::string id_of_fields(const std::map<std::string, std::string>& texts) {
  std::vector<std::string_view> parts;
  for (const auto& [field, text] : texts)
    parts.insert(parts.end(), {parts.empty() ? "{\"" : ",\"", field, "\":", text});
  parts.emplace_back(parts.empty() ? "{}" : "}");
  return "sha256:" + sha256_of(parts);
}

Json schema_of_ids() { return {{"type", "string"}, {"pattern", "^sha256:[0-9a-f]{64}$"}}; }

std::string id_of(const Json& inputs) {
  if (!inputs.is_object()) return id_of_text(canonical(inputs));
  std::map<std::string, std::string> texts;
  for (const auto& [field, value] : inputs.items()) texts[field] = text_in_id(value);
  return id_of_fields(texts);
}

}  // namespace sgdsim
