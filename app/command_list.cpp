// `sgdsim list`: everything that has a name, from the registries themselves; `sgdsim schema`.
#include <algorithm>
#include <memory>
#include <sstream>

#include "app/collective/nccl_answer.h"
#include "app/commands.h"
#include "app/goodput/failures_file.h"
#include "app/layout/shipped.h"
#include "app/schemas.h"
#include "app/shipped_inputs.h"
#include "app/usage.h"
#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "models/compression/registry.h"
#include "models/learning/registry.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "models/traffic/registry.h"
#include "models/transport/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "topologies/export.h"
#include "topologies/registry.h"
#include "traces/measurement/registry.h"
#include "traces/registry.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

struct Entry {
  std::string name;
  std::string meaning;
};

std::vector<Entry> algorithm_entries() {
  std::vector<Entry> entries;
  for (const Algorithm& algorithm : algorithms()) {
    std::string operations;
    for (const Operation operation : algorithm.operations)
      operations += (operations.empty() ? "" : ", ") + std::string(name_of(operation));
    entries.push_back(
        {std::string(algorithm.name), std::string(algorithm.summary) + " [" + operations + "]"});
  }
  entries.push_back({"auto", "the cheapest of the above"});
  entries.push_back({"nccl", "NCCL's own tuning model and choice"});
  return entries;
}

std::vector<Entry> operation_entries() {
  return {{"broadcast", "every rank gets what the root has"},
          {"reduce", "the root gets the sum of all"},
          {"allreduce", "every rank gets the sum of all"},
          {"reduce_scatter", "every rank gets one part of the sum"},
          {"allgather", "every rank gets the parts of all"},
          {"alltoall", "every rank sends a different part to every other"}};
}

std::vector<Entry> option_entries() {
  std::vector<Entry> entries;
  for (const auto* keys : {&option_keys(), &nccl_option_keys()})
    for (const OptionKey& key : *keys)
      entries.push_back(
          {std::string(key.name) + "=" + std::string(key.values), std::string(key.meaning)});
  return entries;
}

std::vector<Entry> shape_entries() {
  std::vector<Entry> entries;
  for (const Shape& shape : shapes)
    entries.push_back({std::string(shape.name), std::string(shape.description)});
  return entries;
}

std::vector<Entry> trace_format_entries() {
  std::vector<Entry> entries;
  for (const TraceFormat& format : trace_formats)
    entries.push_back({std::string(format.name), std::string(format.description)});
  return entries;
}

std::vector<Entry> steps_format_entries() {
  std::vector<Entry> entries;
  for (const StepsFormat& format : steps_formats)
    entries.push_back({std::string(format.name), std::string(format.description)});
  return entries;
}

std::vector<Entry> measurement_format_entries() {
  std::vector<Entry> entries;
  for (const MeasurementFormat& format : measurement_formats)
    entries.push_back({std::string(format.name), std::string(format.description)});
  return entries;
}

std::vector<Entry> strategy_entries() {
  std::vector<Entry> entries;
  for (const StrategyKind& kind : strategies())
    entries.push_back({std::string(kind.name), std::string(kind.summary)});
  return entries;
}

std::vector<Entry> compression_entries() {
  std::vector<Entry> entries;
  for (const CompressionKind& kind : compressions())
    entries.push_back({std::string(kind.name), std::string(kind.summary)});
  return entries;
}

std::vector<Entry> synchronization_entries() {
  std::vector<Entry> entries;
  for (const SynchronizationKind& kind : synchronizations())
    entries.push_back({std::string(kind.name), std::string(kind.summary)});
  return entries;
}

std::vector<Entry> task_entries() {
  std::vector<Entry> entries;
  for (const learning::TaskKind& kind : learning::tasks())
    entries.push_back({std::string(kind.name), std::string(kind.summary)});
  return entries;
}

std::vector<Entry> traffic_entries() {
  std::vector<Entry> entries;
  for (const TrafficGenerator& generator : traffic_generators())
    entries.push_back({std::string(generator.name), std::string(generator.summary)});
  return entries;
}

std::vector<Entry> transport_entries() {
  std::vector<Entry> entries;
  for (const Transport& transport : transports())
    entries.push_back({std::string(transport.name), std::string(transport.summary)});
  return entries;
}

std::vector<Entry> shipped_entries(std::span<const ShippedFile> files) {
  std::vector<Entry> entries;
  for (const ShippedFile& file : files)
    entries.push_back({std::string(file.name), Json::parse(file.text).value("description", "")});
  return entries;
}

std::vector<Entry> trace_entries() {
  std::vector<Entry> entries;
  for (const ShippedFile& file : shipped_traces()) {
    const Json json = Json::parse(file.text);
    std::string meaning = json.value("model", "") + " on " + json.value("device", "");
    if (json.contains("batch")) meaning += ", batch " + json["batch"].dump();
    entries.push_back({std::string(file.name), std::move(meaning)});
  }
  return entries;
}
std::vector<Entry> cluster_entries() { return shipped_entries(shipped_clusters()); }
std::vector<Entry> model_entries() { return shipped_entries(shipped_models()); }
std::vector<Entry> failure_entries() { return shipped_entries(shipped_failures()); }
std::vector<Entry> gpu_entries() { return shipped_entries(shipped_gpus()); }

std::vector<Entry> fidelity_entries() {
  return {{"closed_form", "the published formula"},
          {"message", "every message of every worker"},
          {"flow", "every message as a flow over its route; links are shared max-min fairly"},
          {"packet", "every packet of every message, with queues and a transport"}};
}

std::vector<Entry> schema_entries() {
  std::vector<Entry> entries;
  for (const EmbeddedSchema& schema : embedded_schemas())
    entries.push_back(
        {std::string(schema.name), Json::parse(schema.text).value("title", std::string())});
  return entries;
}

struct ListedKind {
  std::string name;
  std::vector<Entry> (*entries)();
};

const std::vector<ListedKind>& kinds() {
  static const std::vector<ListedKind> table = {
      {"algorithms", algorithm_entries},
      {"operations", operation_entries},
      {"options", option_entries},
      {"shapes", shape_entries},
      {"trace_formats", trace_format_entries},
      {"measurement_formats", measurement_format_entries},
      {"steps_formats", steps_format_entries},
      {"strategies", strategy_entries},
      {"compressions", compression_entries},
      {"synchronizations", synchronization_entries},
      {"tasks", task_entries},
      {"traffic", traffic_entries},
      {"transports", transport_entries},
      {"clusters", cluster_entries},
      {"traces", trace_entries},
      {"models", model_entries},
      {"gpus", gpu_entries},
      {"failures", failure_entries},
      {"fidelities", fidelity_entries},
      {"schemas", schema_entries},
  };
  return table;
}

// Names, and beside them what they mean, in lines of at most 80 columns.
void print_entries(const std::vector<Entry>& entries, std::ostream& out) {
  constexpr std::size_t line_width = 80;
  constexpr std::size_t widest_name = 24;
  std::size_t width = 0;
  for (const Entry& entry : entries)
    if (entry.name.size() <= widest_name) width = std::max(width, entry.name.size());
  const std::string margin(width + 4, ' ');
  for (const Entry& entry : entries) {
    std::string line = "  " + entry.name;
    bool is_empty = true;  // of meaning
    line.resize(std::max(line.size(), margin.size()), ' ');
    if (line.size() > margin.size()) {
      out << line << '\n';
      line = margin;
    }
    std::istringstream words(entry.meaning);
    for (std::string word; words >> word;) {
      if (!is_empty && line.size() + 1 + word.size() > line_width) {
        out << line << '\n';
        line = margin;
        is_empty = true;
      }
      line += (is_empty ? "" : " ") + word;
      is_empty = false;
    }
    out << line << '\n';
  }
}

void list(const std::string& kind, const std::string& format, std::ostream& out) {
  std::vector<std::string> known;
  for (const ListedKind& one : kinds()) known.push_back(one.name);
  Json json = {{"schema", "sgdsim/list/1"}};
  bool found = false;
  for (const ListedKind& one : kinds()) {
    if (!kind.empty() && kind != one.name) continue;
    if (format == "table" && kind.empty()) out << (found ? "\n" : "") << one.name << '\n';
    found = true;
    for (const Entry& entry : one.entries())
      json[one.name].push_back({{"name", entry.name}, {"meaning", entry.meaning}});
    if (format == "table") print_entries(one.entries(), out);
  }
  if (!found) throw InputError("list", unknown_name("kind", kind, known));
  if (format == "json") out << json.dump(2) << '\n';
}

}  // namespace

void add_list_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("list", "List every name you can use.");
  auto kind = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("table");
  command->add_option(
      "KIND", *kind,
      "algorithms, operations, options, shapes, trace_formats, measurement_formats, steps_formats, "
      "strategies, compressions, synchronizations, tasks, clusters, traces, models, gpus, "
      "failures, "
      "fidelities or schemas (default: all)");
  command->add_option("--format", *format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->footer("Example:\n  sgdsim list algorithms");
  command->callback([kind, format, streams] { list(*kind, *format, streams.out); });
}

void add_schema_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("schema", "Print the JSON Schema of a kind of file.");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "one of `sgdsim list schemas`")->required();
  command->footer("Example:\n  sgdsim schema cluster");
  command->callback([name, streams] {
    std::vector<std::string> known;
    for (const EmbeddedSchema& schema : embedded_schemas()) {
      if (schema.name == *name) {
        streams.out << schema.text;
        return;
      }
      known.emplace_back(schema.name);
    }
    throw InputError("schema", unknown_name("schema", *name, known));
  });
}

}  // namespace sgdsim
