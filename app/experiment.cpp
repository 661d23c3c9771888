// Reading experiments.
#include "app/experiment.h"

#include <array>
#include <filesystem>
#include <openssl/sha.h>
#include <utility>

#include "app/override.h"
#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

constexpr char experiment_schema[] = "sgdsim/experiment/1";
constexpr int most_iterations = 10'000'000;

// Replaces a path by the content of its file, and says where it came from.
std::string put_in_place(Json& json, const std::string& field, const std::string& experiment) {
  if (!json.is_object() || !json.contains(field) || !json[field].is_string()) return {};
  const std::filesystem::path path = json[field].get<std::string>();
  const std::filesystem::path folder = std::filesystem::path(experiment).parent_path();
  const std::string found =
      (path.is_absolute() || experiment == "-" ? path : folder / path).lexically_normal().string();
  json[field] = Document::read(found).root().json();
  return found;
}

// A part of an experiment: errors name the part's own file if it has one.
Value part_of(const Value& root, const Json& json, const std::string& field,
              const std::string& file) {
  if (!file.empty()) return {json.at(field), file, ""};
  return root.child(field);
}

std::vector<Line> read_lines(Object& fields) {
  auto line = [](Object& one) {
    return Line{static_cast<double>(one.at("start_up").duration().ps()),
                one.at("per_byte").per_byte().ps()};
  };
  if (const auto lines = fields.find("lines")) {
    std::vector<Line> all;
    for (const Value& item : lines->items()) {
      Object one(item);
      all.push_back(line(one));
      one.done();
    }
    if (all.empty()) lines->fail("expected at least one line");
    return all;
  }
  return {line(fields)};
}

std::vector<CostSample> read_samples(const Value& value) {
  std::vector<CostSample> samples;
  for (const Value& item : value.items()) {
    Object one(item);
    samples.push_back({one.at("size").bytes(), one.at("time").duration()});
    one.done();
    for (std::size_t i = 0; i + 1 < samples.size(); ++i)
      if (samples[i].size == samples.back().size) item.fail("this size occurs twice");
  }
  if (samples.empty()) value.fail("expected at least one sample");
  return samples;
}

Job job_of(const Experiment& experiment, const CollectiveOptions& options,
           std::optional<Bytes> block, Operation operation) {
  Job job;
  job.operation = operation;
  job.team = {.size = experiment.cluster.network.workers(), .stride = 1};
  job.share = {.total = Bytes(1), .fractional = options.fractional_chunks, .split = {}};
  job.block = block;
  job.cost = worst_in_team(experiment.cluster.network, job.team);
  job.options = options;
  job.workers_per_node = experiment.cluster.workers_per_node;
  job.grid = experiment.cluster.grid;
  job.network = &experiment.cluster.network;
  return job;
}

// How one message is exchanged: by an algorithm, by constants, or by a measured curve.
void read_collective(Experiment& experiment, const std::optional<Value>& value) {
  static const Json ring = {{"algorithm", "ring"}};
  Object fields(value ? *value : Value(ring, experiment.file, "/collective"));
  if (fields.has("samples")) {
    experiment.collective = "measured curve";
    experiment.cost = MessageCost::of_samples(read_samples(fields.at("samples")));
    return fields.done();
  }
  if (fields.has("start_up") || fields.has("lines")) {
    experiment.collective = "a + bM";
    experiment.cost = MessageCost::of_lines(read_lines(fields));
    return fields.done();
  }
  const Value name = fields.at("algorithm");
  const Algorithm& algorithm = algorithm_named(name.text(), name.where());
  if (!algorithm.offers(Operation::allreduce))
    name.fail(std::string(algorithm.name) + " has no allreduce");
  CollectiveOptions options;
  if (const auto given = fields.find("options"))
    for (const auto& [key, option] : given->entries()) {
      const std::string text = option.json().is_string() ? option.text() : option.json().dump();
      set_option(options, key, text, option.where());
      check_option_applies(algorithm, options, key, option.where());
    }
  std::optional<Bytes> block;
  if (const auto given = fields.find("block")) block = given->bytes();
  fields.done();
  experiment.collective = algorithm.name;
  auto cost = [&](Operation operation) {
    const Job job = job_of(experiment, options, block, operation);
    if (job.size() > 1) schedule_of(algorithm, job);  // does it fit?
    return MessageCost::of_algorithm(algorithm, job);
  };
  try {
    experiment.cost = cost(Operation::allreduce);
  } catch (const InputError& error) {
    throw InputError(fields.value().where(), error.what());
  }
  for (auto [operation, place] : {std::pair(Operation::broadcast, &experiment.broadcast),
                                  std::pair(Operation::reduce, &experiment.reduce)}) {
    if (!algorithm.offers(operation)) continue;
    try {
      *place = cost(operation);
    } catch (const InputError&) {
      // Its parts may lack it; only bsp_lp with a root asks, and then says so.
    }
  }
}

// What read_collective would read again. The cost's network is where it was: in the experiment.
void keep_collective(Experiment& experiment, Experiment&& before) {
  experiment.collective = std::move(before.collective);
  experiment.cost = std::move(before.cost);
  experiment.broadcast = std::move(before.broadcast);
  experiment.reduce = std::move(before.reduce);
}

}  // namespace

ResolvedExperiment resolve_experiment(const std::string& file,
                                      const std::vector<std::string>& settings) {
  const Document document = Document::read(file);
  return resolve_experiment(document.root(), settings);
}

ResolvedExperiment resolve_experiment(const Value& value,
                                      const std::vector<std::string>& settings) {
  const std::string& file = value.file();
  ResolvedExperiment resolved;
  resolved.file = file;
  resolved.path = value.path();
  resolved.json = value.json();
  resolved.trace_file = put_in_place(resolved.json, "trace", file);
  resolved.cluster_file = put_in_place(resolved.json, "cluster", file);
  apply_settings(resolved.json, settings);
  // A setting may have named other files.
  if (const auto trace = put_in_place(resolved.json, "trace", file); !trace.empty())
    resolved.trace_file = trace;
  if (const auto cluster = put_in_place(resolved.json, "cluster", file); !cluster.empty())
    resolved.cluster_file = cluster;
  return resolved;
}

Experiment read_experiment(const ResolvedExperiment& resolved) {
  Experiment experiment;
  read_changes(experiment, resolved, {});
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
  if (unchanged.cluster && unchanged.collective)
    keep_collective(experiment, std::move(before));
  else
    read_collective(experiment, collective);
  if (const auto field = fields.find("strategy"))
    experiment.strategy = read_strategy(*field);
  else
    experiment.strategy = strategy_named("wfbp", root.where());
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
  fields.done();
}

StepQuestion Experiment::question() const {
  StepQuestion question;
  question.trace = &trace;
  question.cluster = &cluster;
  question.strategy = &strategy;
  question.cost = cost;
  if (broadcast) question.broadcast = *broadcast;
  if (reduce) question.reduce = *reduce;
  question.workers = workers;
  question.fidelity = fidelity;
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
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(canonical_text.data()), canonical_text.size(),
         digest.data());
  std::string id = "sha256:";
  constexpr char digits[] = "0123456789abcdef";
  for (const unsigned char byte : digest) {
    id += digits[byte >> 4U];
    id += digits[byte & 15U];
  }
  return id;
}

std::string id_of(const Json& inputs) { return id_of_text(canonical(inputs)); }

}  // namespace sgdsim
