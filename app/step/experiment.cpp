// Reading experiments.
#include "app/step/experiment.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/beside.h"
#include "app/import/profile_trace.h"
#include "app/step/collective_field.h"
#include "app/step/digest.h"
#include "app/step/override.h"
#include "app/transport_choice.h"
#include "sim/core/error.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

constexpr char experiment_schema[] = "sgdsim/experiment/1";
constexpr int most_iterations = 10'000'000;

// The content of a file; a profile becomes a trace.
Json content_of(const std::string& field, const std::string& file) {
  if (field == "trace" && file != "-" && is_profile(file)) return to_json(trace_of_profile(file));
  return Document::read(file).root().json();
}

// Replaces a path by the content of its file, and says where it came from.
std::string put_in_place(ResolvedExperiment& resolved, const std::string& field) {
  Json& json = resolved.json;
  if (!json.is_object() || !json.contains(field) || !json[field].is_string()) return {};
  const std::string found = beside(resolved.file, json[field].get<std::string>());
  json[field] = content_of(field, found);
  resolved.inputs.push_back(found);
  return found;
}

// The trace, which may be {"file": path, "compute_scale": 0.5}: its file with that scale, and
// likewise "gradient_scale".
std::string put_trace_in_place(ResolvedExperiment& resolved) {
  Json& json = resolved.json;
  if (!json.is_object() || !json.contains("trace") || !json["trace"].is_object() ||
      !json["trace"].contains("file"))
    return put_in_place(resolved, "trace");
  const Json given = std::move(json["trace"]);
  Object fields(Value(given, resolved.file, "/trace"));
  json["trace"] = fields.at("file").text();
  Json scales = Json::object();
  for (const char* name : {"compute_scale", "gradient_scale"})
    if (const auto scale = fields.find(name)) scales[name] = scale->json();
  fields.done();
  const std::string found = put_in_place(resolved, "trace");
  if (json["trace"].is_object()) json["trace"].update(scales);
  return found;
}

// A part of an experiment: errors name the part's own file if it has one.
Value part_of(const Value& root, const Json& json, const std::string& field,
              const std::string& file) {
  if (!file.empty()) return {json.at(field), file, ""};
  return root.child(field);
}

// "none" is as good as no field, so that a sweep can compare with it.
bool is_none(const Value& value) {
  return value.json().is_string() && value.json().get<std::string>() == "none";
}

// What is sent in place of the gradients, over the compression's own collective, the one that it
// is made for, or the experiment's.
void read_compression(Experiment& experiment, const Value& value, CollectiveField collective) {
  const Json named = {{"name", value.json()}};
  Object fields(value.json().is_string() ? Value(named, value.file(), value.path()) : value);
  const auto own = fields.find("collective");
  const Network& network = experiment.cluster.network;
  Compression compression =
      read_compression(fields, {experiment.trace, network.workers(), network.worst()});
  fields.done();
  if (own) {
    collective = read_collective(*own);
  } else if (!compression.algorithm.empty()) {
    collective = collective.replaced_by(compression.algorithm, value.where());
  }
  experiment.notes = compression.notes;
  experiment.compression = compression.name;
  experiment.collective = collective.name;
  experiment.cost = MessageCost::compressed(
      collective.cost(experiment.cluster, compression.operation), std::move(compression));
}

// Where several GPUs of a node have several network cards, people run NCCL. Its model knows
// machines that are alike, and no grids.
Json usual_collective(const Cluster& cluster) {
  const bool several_nodes = cluster.network.workers() > cluster.workers_per_node;
  const bool alike = cluster.network.ports().empty() && cluster.grid.empty();
  const bool nccl = several_nodes && alike && cluster.cards_per_node() > 1;
  return {{"algorithm", nccl ? "nccl" : "ring"}};
}

void read_exchange(Experiment& experiment, const std::optional<Value>& given,
                   const std::optional<Value>& compression) {
  const Json usual = usual_collective(experiment.cluster);
  const CollectiveField collective =
      read_collective(given ? *given : Value(usual, experiment.file, "/collective"));
  experiment.collective = collective.name;
  if (compression && !is_none(*compression))
    read_compression(experiment, *compression, collective);
  else
    experiment.cost = collective.cost(experiment.cluster, Operation::allreduce);
  if (std::string why = collective.beyond_measured(experiment.cluster); !why.empty())
    experiment.notes.push_back(std::move(why));
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
  experiment.notes = std::move(before.notes);
  experiment.collective = std::move(before.collective);
  experiment.cost = std::move(before.cost);
  experiment.broadcast = std::move(before.broadcast);
  experiment.reduce = std::move(before.reduce);
}

// The experiment as its file has it; its parts are put in place.
ResolvedExperiment begin_with(const Value& value, const std::vector<std::string>& settings) {
  ResolvedExperiment resolved;
  resolved.file = value.file();
  resolved.path = value.path();
  resolved.json = value.json();
  resolved.inputs.push_back(value.file());
  resolved.settings = settings;
  return resolved;
}

void put_parts_in_place(ResolvedExperiment& resolved) {
  if (auto trace = put_trace_in_place(resolved); !trace.empty()) resolved.trace_file = trace;
  if (auto cluster = put_in_place(resolved, "cluster"); !cluster.empty())
    resolved.cluster_file = cluster;
  put_in_place(resolved, "collective");
}

ResolvedExperiment with_parts(ResolvedExperiment resolved) {
  put_parts_in_place(resolved);
  apply_settings(resolved.json, resolved.settings);
  put_parts_in_place(resolved);  // a setting may have named other files
  return resolved;
}

}  // namespace

ResolvedExperiment resolve_experiment(const std::string& file,
                                      const std::vector<std::string>& settings,
                                      const std::string& cluster) {
  const Json json = content_of("trace", file);
  ResolvedExperiment resolved = begin_with(Value(json, file, ""), settings);
  if (json.is_object() && json.value("schema", Json()) == trace_schema) {
    resolved.json = {{"name", json.value("name", "")}, {"trace", json}};
    resolved.trace_file = file;
    if (cluster.empty())
      throw InputError(file, "is a trace: name a cluster with --cluster, or an experiment");
  }
  if (!cluster.empty()) {
    resolved.json["cluster"] = Document::read(cluster).root().json();
    resolved.cluster_file = cluster;
    resolved.inputs.push_back(cluster);
  }
  return with_parts(std::move(resolved));
}

ResolvedExperiment resolve_experiment(const Value& value,
                                      const std::vector<std::string>& settings) {
  return with_parts(begin_with(value, settings));
}

ResolvedExperiment with_settings(ResolvedExperiment resolved,
                                 const std::vector<std::string>& settings) {
  apply_settings(resolved.json, settings);
  put_parts_in_place(resolved);
  resolved.settings.insert(resolved.settings.end(), settings.begin(), settings.end());
  return resolved;
}

Experiment read_experiment(const ResolvedExperiment& resolved) {
  Experiment experiment;
  try {
    read_changes(experiment, resolved, {});
  } catch (const InputError& error) {
    blame_setting(error, resolved.settings,
                  {{"trace", resolved.trace_file}, {"cluster", resolved.cluster_file}},
                  resolved.file + ": " + resolved.path);
    throw;
  }
  experiment.inputs = resolved.json;
  return experiment;
}

void read_changes(Experiment& experiment, const ResolvedExperiment& resolved, Unchanged unchanged) {
  Experiment before = std::exchange(experiment, {});
  experiment.file = resolved.file;
  const Value root(resolved.json, resolved.file, resolved.path);
  Object fields(root);
  if (const auto schema = fields.find("schema"); schema && schema->text() != experiment_schema)
    schema->fail("expected \"" + std::string(experiment_schema) + "\", got \"" + schema->text() +
                 "\"");
  if (const auto name = fields.find("name")) experiment.name = name->text();
  for (const char* text : {"description", "source"})
    if (const auto field = fields.find(text)) field->text();
  fields.at("trace");
  fields.at("cluster");
  if (unchanged.trace)
    experiment.trace = std::move(before.trace);
  else
    experiment.trace = read_trace(part_of(root, resolved.json, "trace", resolved.trace_file));
  if (unchanged.cluster)
    experiment.cluster = std::move(before.cluster);
  else
    experiment.cluster =
        read_cluster(part_of(root, resolved.json, "cluster", resolved.cluster_file)).cluster;
  const auto collective = fields.find("collective");
  const auto compression = fields.find("compression");
  if (unchanged.exchange)
    keep_exchange(experiment, std::move(before));
  else
    read_exchange(experiment, collective, compression);
  if (const auto field = fields.find("strategy"))
    experiment.strategy = read_strategy(*field);
  else
    experiment.strategy = strategy_named("wfbp", root.where());
  if (const auto field = fields.find("synchronization"); field && !is_none(*field))
    experiment.synchronization = read_synchronization(*field);
  if (experiment.synchronization) {
    experiment.iterations = experiment.synchronization->measured;
    experiment.warm_up = std::max(experiment.warm_up, experiment.synchronization->transient);
  }
  if (const auto field = fields.find("convergence"))
    experiment.convergence = read_convergence(*field);
  if (const auto field = fields.find("fidelity"))
    experiment.fidelity = fidelity_named(field->text(), field->where());
  if (const auto field = fields.find("iterations"))
    experiment.iterations = static_cast<int>(field->whole(1, most_iterations));
  if (const auto field = fields.find("warm_up"))
    experiment.warm_up = static_cast<int>(field->whole(0, most_iterations));
  if (const auto field = fields.find("seed"))
    experiment.seed = static_cast<uint64_t>(field->whole(0, int64_t{1} << 62));
  if (const auto field = fields.find("channels"))
    experiment.channels = static_cast<int>(field->whole(1, 1024));
  if (const auto field = fields.find("interference"))
    experiment.interference = field->number(1, 1000);
  if (const auto field = fields.find("workers")) {
    experiment.workers = read_workers(*field);
    for (const Slowness& slow : experiment.workers.slowness)
      if (slow.worker >= experiment.cluster.network.workers())
        field->fail("worker " + std::to_string(slow.worker) + " does not exist: there are " +
                    std::to_string(experiment.cluster.network.workers()));
  }
  const auto transport = fields.find("transport");
  const Json ideal = "ideal";
  experiment.carrier = {};
  if (transport && experiment.fidelity != Fidelity::packet)
    transport->fail("has no effect without fidelity packet");
  if (experiment.fidelity == Fidelity::packet) {
    experiment.carrier = carrier_of(
        transport ? *transport : Value(ideal, root.file(), "/transport"), {}, experiment.seed);
  }
  fields.done();
}

StepQuestion Experiment::question() const {
  StepQuestion question;
  question.trace = &trace;
  question.cluster = &cluster;
  question.strategy = &strategy;
  if (synchronization) question.synchronization = &*synchronization;
  // An experiment that was moved has another network than when its costs were read.
  question.cost = cost.on(cluster.network);
  if (broadcast) question.broadcast = broadcast->on(cluster.network);
  if (reduce) question.reduce = reduce->on(cluster.network);
  question.workers = workers;
  question.fidelity = fidelity;
  question.carrier = carrier;
  question.iterations = iterations;
  question.warm_up = warm_up;
  question.seed = seed;
  question.channels = channels;
  question.interference = interference;
  return question;
}

// nlohmann::json keeps keys sorted, unlike the ordered form that files are read into.
std::string canonical(const Json& json) { return nlohmann::json(json).dump(); }

std::string id_of_text(const std::string& canonical_text) {
  return "sha256:" + sha256_of(canonical_text);
}

std::string id_of(const Json& inputs) { return id_of_text(canonical(inputs)); }

}  // namespace sgdsim
