// Reading experiments.
#include "study/step/experiment.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "models/collective/network_defaults.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/refusal.h"
#include "study/beside.h"
#include "study/import/profile_trace.h"
#include "study/shipped_inputs.h"
#include "study/step/collective_field.h"
#include "study/step/digest.h"
#include "study/step/experiment_fields.h"
#include "study/step/override.h"
#include "study/step/part_names.h"
#include "study/transport_choice.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

// What a field names: something that ships, or a file whose path counts from the folder of another.
struct NamedFile {
  Json json;
  std::string file;
  bool ships = false;
};

// A profile becomes a trace.
Json content_of(const std::string& field, const std::string& file) {
  if (field == "trace" && file != "-" && is_profile(file)) return to_json(trace_of_profile(file));
  return Document::read(file).root().json();
}

NamedFile named(const std::string& field, const std::string& name, const std::string& from) {
  if (field == "trace")
    if (const auto shipped = shipped_trace(name)) return {shipped->root().json(), name, true};
  if (field == "cluster") {
    std::string place;
    Json json = cluster_document_in(from, name, place).root().json();
    return {std::move(json), std::move(place), shipped_cluster(name).has_value()};
  }
  std::string found = beside(from, name);
  std::error_code none;
  if (name.find_first_of("./") == std::string::npos && !std::filesystem::exists(found, none)) {
    if (const std::string why = unknown_trace(name); field == "trace" && !why.empty())
      throw InputError("", why);
  }
  return {content_of(field, found), std::move(found)};
}

// Replaces a name by what it names, and says where that came from. Paths count from the folder of
// `from`, or from the working folder if that is empty.
std::string put_in_place(ResolvedExperiment& resolved, const std::string& field,
                         const std::string& from) {
  Json& json = resolved.json;
  if (!json.is_object() || !json.contains(field) || !json[field].is_string()) return {};
  NamedFile found = named(field, json[field].get<std::string>(), from);
  json[field] = std::move(found.json);
  if (!found.ships) resolved.inputs.push_back(found.file);
  return found.file;
}

// The trace, which may be {"file": path, "compute_scale": 0.5}: its file with that scale, and
// likewise "gradient_scale".
std::string put_trace_in_place(ResolvedExperiment& resolved, const std::string& from) {
  Json& json = resolved.json;
  if (!json.is_object() || !json.contains("trace") || !json["trace"].is_object() ||
      !json["trace"].contains("file"))
    return put_in_place(resolved, "trace", from);
  const Json given = std::move(json["trace"]);
  const auto scaled = read_record<ScaledTrace>(Value(given, resolved.file, "/trace"));
  json["trace"] = scaled.file;
  Json scales = to_json_by_fields(scaled);
  scales.erase("file");
  const std::string found = put_in_place(resolved, "trace", from);
  if (json["trace"].is_object()) json["trace"].update(scales);
  return found;
}

// A collective by its name, or the path of a file that `sgdsim fit` wrote.
void put_collective_in_place(ResolvedExperiment& resolved, const std::string& from) {
  Json& json = resolved.json;
  if (!json.is_object()) return;
  if (json.contains("compression") && json["compression"].is_object() &&
      json["compression"].contains("collective")) {
    Json& own = json["compression"]["collective"];
    own = named_collective(std::move(own));
  }
  if (!json.contains("collective")) return;
  json["collective"] = named_collective(std::move(json["collective"]));
  if (!json["collective"].is_string()) return;
  const auto name = json["collective"].get<std::string>();
  // A word that is neither a name nor a file was probably meant as a name.
  std::error_code none;
  if (name.find_first_of("./") == std::string::npos &&
      !std::filesystem::exists(beside(from, name), none)) {
    const Value field = Value(json, resolved.file, resolved.path).child("collective");
    check_name(field, "collective");
    read_collective(field);
  }
  put_in_place(resolved, "collective", from);
}

// A part of an experiment: errors name the part's own file if it has one.
Value part_of(const Value& root, const Json& json, const std::string& field,
              const std::string& file) {
  if (!file.empty()) return {json.at(field), file, ""};
  return root.child(field);
}

// "none" is as good as no field, so that a sweep can compare with it.
bool is_none(const Json& json) { return json.is_string() && json.get<std::string>() == "none"; }
bool is_none(const Value& value) { return is_none(value.json()); }

// On the wires that the step will have; all else of the experiment is read.
void read_traffic_of(Experiment& experiment, const Value& traffic) {
  if (!is_on_wires(experiment.fidelity))
    traffic.fail("needs wires that are shared: fidelity flow or packet");
  const StepQuestion on_wires = on_its_wires(experiment.question());
  experiment.traffic = std::make_shared<const TrafficFile>(
      read_traffic(traffic, experiment.cluster, *on_wires.wires, std::nullopt));
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
    collective = read_collective(*own);
  } else if (!compression.algorithm.empty()) {
    collective = collective.replaced_by(compression.algorithm, value.where());
  }
  experiment.notes = compression.notes;
  experiment.numbers = compression.numbers;
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
  experiment.numbers = std::move(before.numbers);
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

void put_parts_in_place(ResolvedExperiment& resolved, const std::string& from) {
  if (auto trace = put_trace_in_place(resolved, from); !trace.empty()) resolved.trace_file = trace;
  if (auto cluster = put_in_place(resolved, "cluster", from); !cluster.empty())
    resolved.cluster_file = cluster;
  put_collective_in_place(resolved, from);
  if (resolved.json.is_object() && !is_none(resolved.json.value("traffic", Json())))
    put_in_place(resolved, "traffic", from);
  put_in_place(resolved, "convergence", from);
}

// One setting may name another file, and the next one change a field of it.
void apply_in_turn(ResolvedExperiment& resolved, const std::vector<std::string>& settings,
                   const std::string& from) {
  for (const std::string& setting : outer_first(settings)) {
    apply_settings(resolved.json, {setting});
    put_parts_in_place(resolved, from);
  }
}

ResolvedExperiment with_parts(ResolvedExperiment resolved) {
  put_parts_in_place(resolved, resolved.file);
  apply_in_turn(resolved, resolved.settings, "");
  return resolved;
}

// The trace that ships under this name, or the content of a file.
NamedFile named_experiment(const std::string& file) {
  if (const auto shipped = shipped_trace(file)) return {shipped->root().json(), file, true};
  if (const std::string why = unknown_trace(file); !why.empty()) throw InputError("", why);
  if (place_of(file) != file) return {Document::read(file).root().json(), place_of(file)};
  return {content_of("trace", file), file};
}

void put_cluster(ResolvedExperiment& resolved, const std::string& cluster) {
  if (cluster.empty()) return;
  const Document document = cluster_document(cluster);
  resolved.json["cluster"] = document.root().json();
  resolved.cluster_file = place_of(cluster);
  if (!shipped_cluster(cluster) && resolved.cluster_file == cluster)
    resolved.inputs.push_back(cluster);
}

// The recorded step; on a cluster, its all-reduces are simulated.
ResolvedExperiment resolve_profile(const std::string& file,
                                   const std::vector<std::string>& settings,
                                   const std::string& cluster) {
  const auto recorded = std::make_shared<const RecordedStep>(recorded_step(file));
  if (!recorded->why_no_replay().empty()) throw NoReplay(recorded);
  const Json json = experiment_of(*recorded, cluster.empty());
  ResolvedExperiment resolved = begin_with(Value(json, file, ""), settings);
  resolved.trace_file = file;
  resolved.recorded = recorded;
  put_cluster(resolved, cluster);
  return with_parts(std::move(resolved));
}

}  // namespace

ResolvedExperiment resolve_experiment(const std::string& file,
                                      const std::vector<std::string>& settings,
                                      const std::string& cluster) {
  const bool sets_cluster = std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    return path_of_setting(setting) == "cluster";
  });
  if (sets_cluster && !cluster.empty())
    throw InputError("--cluster", "--set says cluster, too; give one of them");
  const std::string place = place_of(file);
  const bool is_inline = place != file;
  const bool is_file =
      file != "-" && !is_inline && !shipped_trace(file) && unknown_trace(file).empty();
  if (is_file && is_profile(file)) return resolve_profile(file, settings, cluster);
  const NamedFile given = named_experiment(file);
  const Json& json = given.json;
  ResolvedExperiment resolved = begin_with(Value(json, place, ""), settings);
  if (given.ships || is_inline) resolved.inputs.clear();
  if (text_member(json, "schema") == trace_schema) {
    resolved.json = {{"name", text_member(json, "name")}, {"trace", json}};
    resolved.trace_file = place;
    if (cluster.empty() && !sets_cluster)
      throw InputError(place,
                       "is a trace: name a cluster with --cluster or --set cluster=NAME (one of "
                       "`sgdsim list clusters`, or a file), or an experiment");
  }
  if (!resolved.json.is_object())
    throw InputError(place, "expected an experiment, which is an object, got " +
                                resolved.json.dump().substr(0, 60));
  put_cluster(resolved, cluster);
  return with_parts(std::move(resolved));
}

ResolvedExperiment resolve_experiment(const Value& value,
                                      const std::vector<std::string>& settings) {
  return with_parts(begin_with(value, settings));
}

ResolvedExperiment with_settings(ResolvedExperiment resolved,
                                 const std::vector<std::string>& settings) {
  return with_settings_of("", std::move(resolved), settings);
}

ResolvedExperiment with_settings_of(const std::string& file, ResolvedExperiment resolved,
                                    const std::vector<std::string>& settings) {
  apply_in_turn(resolved, settings, file);
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
  if (unchanged.trace)
    experiment.trace = std::move(before.trace);
  else
    experiment.trace = read_trace(part_of(root, resolved.json, "trace", resolved.trace_file));
  if (unchanged.cluster)
    experiment.cluster = std::move(before.cluster);
  else
    experiment.cluster =
        read_cluster(part_of(root, resolved.json, "cluster", resolved.cluster_file)).cluster;
  if (unchanged.exchange)
    keep_exchange(experiment, std::move(before));
  else
    read_exchange(experiment, given.collective, given.compression);
  if (given.synchronization && !is_none(*given.synchronization))
    experiment.synchronization = read_synchronization(*given.synchronization);
  const bool has_strategy =
      !experiment.synchronization || experiment.synchronization->plays_strategy();
  experiment.strategy =
      given.strategy ? read_strategy(*given.strategy)
                     : strategy_named(has_strategy ? usual_strategy : "sync_easgd", root.where());
  if (experiment.synchronization) {
    experiment.iterations = experiment.synchronization->measured;
    experiment.warm_up = std::max(experiment.warm_up, experiment.synchronization->transient);
  }
  experiment.convergence = given.convergence;
  experiment.fidelity = given.fidelity;
  experiment.iterations = given.iterations.value_or(experiment.iterations);
  experiment.warm_up = given.warm_up.value_or(experiment.warm_up);
  experiment.seed = given.seed;
  experiment.given_channels = given.channels;
  experiment.interference = given.interference;
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

StepQuestion Experiment::question() const {
  StepQuestion question;
  question.trace = &trace;
  question.cluster = &cluster;
  question.strategy = &strategy;
  if (synchronization) question.synchronization = &*synchronization;
  // An experiment that was moved has another network than when its costs were read.
  const auto moved = [&](const MessageCost& one) {
    const MessageCost on_cluster = one.on(cluster.network);
    return fidelity == Fidelity::message ? on_cluster.on_ports(cluster) : on_cluster;
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
  question.interference = interference;
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
