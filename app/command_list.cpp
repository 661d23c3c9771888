// `sgdsim list`: everything that has a name, from the registries themselves; `sgdsim schema`.
#include <algorithm>
#include <memory>
#include <sstream>

#include "app/commands.h"
#include "app/schemas.h"
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
#include "study/collective/nccl_answer.h"
#include "study/goodput/failures_file.h"
#include "study/layout/shipped.h"
#include "study/shipped_inputs.h"
#include "topologies/export.h"
#include "topologies/registry.h"
#include "traces/measurement/registry.h"
#include "traces/registry.h"
#include "traces/steps/registry.h"

namespace sgdsim {

Fields fields_of(const OptionText& option) {
  return {Field("name", option.name, "the field").filled("letter"),
          Field("meaning", option.says, "what it says").filled("letter"),
          Field("values", option.values, "what it can be, if that is few or limited").if_any(),
          Field("default", option.usual, "what holds if it is not given").if_any(),
          Field("needed", option.is_needed, "whether it must be given").if_any()};
}

namespace {

struct Entry {
  std::string name;
  std::string meaning;
  std::vector<OptionText> options = {};
};

Fields fields_of(const Entry& entry) {
  return {Field("name", entry.name, "what to write").filled("letter"),
          Field("meaning", entry.meaning, "what it means, in a line").filled("letter"),
          Field("options", entry.options, "fields that it can have besides its name")
              .filled("option")
              .if_any()};
}

// Of a registry of parts.
std::vector<Entry> part_entries(const std::vector<PartText>& parts) {
  std::vector<Entry> entries;
  for (const PartText& part : parts)
    entries.push_back({part.name, part.summary, part.options.texts});
  return entries;
}

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

std::vector<Entry> shape_entries() { return part_entries(texts_of(shapes())); }

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

std::vector<Entry> strategy_entries() { return part_entries(texts_of(strategies())); }

std::vector<Entry> compression_entries() { return part_entries(texts_of(compressions())); }

std::vector<Entry> synchronization_entries() { return part_entries(texts_of(synchronizations())); }

std::vector<Entry> task_entries() { return part_entries(texts_of(learning::tasks())); }

std::vector<Entry> traffic_entries() { return part_entries(texts_of(traffic_generators())); }

std::vector<Entry> transport_entries() { return part_entries(transport_texts()); }

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

constexpr std::string_view asks = "ask-";  // schemas of questions

std::vector<Entry> schema_entries() {
  std::vector<Entry> entries;
  for (const Schema& schema : all_schemas())
    entries.push_back({schema.name, schema.json.value("title", std::string())});
  for (const std::string& question : question_names())
    entries.push_back({std::string(asks) + question, "The question " + question});
  return entries;
}

struct ListedKind {
  const char* name;
  std::vector<Entry> (*entries)();
  const char* says;
};

const std::vector<ListedKind>& kinds() {
  static const std::vector<ListedKind> table = {
      {"algorithms", algorithm_entries, "values of --algorithm"},
      {"operations", operation_entries, "values of --op"},
      {"options", option_entries, "keys of --option, with their values"},
      {"shapes", shape_entries, "values of the field shape of a cluster file"},
      {"trace_formats", trace_format_entries, "arguments of `sgdsim import` that read traces"},
      {"measurement_formats", measurement_format_entries,
       "values of --input of `sgdsim fit`, and what `sgdsim import` makes measurement files of"},
      {"steps_formats", steps_format_entries, "logs of steps that `sgdsim import` sums up"},
      {"strategies", strategy_entries, "values of the field strategy of an experiment"},
      {"compressions", compression_entries, "values of the field compression of an experiment"},
      {"synchronizations", synchronization_entries,
       "values of the field synchronization of an experiment"},
      {"tasks", task_entries, "what `sgdsim learn` trains"},
      {"traffic", traffic_entries, "generators of traffic"},
      {"transports", transport_entries, "values of the field transport"},
      {"clusters", cluster_entries, "clusters that ship, for --cluster and the field cluster"},
      {"traces", trace_entries,
       "traces that ship, for whatever takes an experiment, and the field trace"},
      {"models", model_entries, "models that ship, for `sgdsim model show` and `sgdsim layout`"},
      {"gpus", gpu_entries, "GPUs that ship, for `sgdsim layout --gpu`"},
      {"failures", failure_entries, "sources of failures that ship, for `sgdsim goodput`"},
      {"fidelities", fidelity_entries, "values of --fidelity"},
      {"schemas", schema_entries, "arguments of `sgdsim schema`"},
  };
  return table;
}

constexpr std::size_t list_width = 80;

// Words behind `line`, and in further lines, of at most 80 columns, behind a margin.
void print_words(std::string line, std::size_t margin, const std::string& text, std::ostream& out) {
  bool is_empty = true;  // of words
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!is_empty && line.size() + 1 + word.size() > list_width) {
      out << line << '\n';
      line.assign(margin, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + word;
    is_empty = false;
  }
  out << line << '\n';
}

// "order: ... (measured, static, reverse; default measured)"
std::string text_of(const OptionText& option) {
  std::string more = option.values;
  const auto add = [&](const std::string& words) { more += (more.empty() ? "" : "; ") + words; };
  if (option.is_needed) add("needed");
  if (!option.usual.empty()) add("default: " + option.usual);
  return option.says + (more.empty() ? "" : " (" + more + ")");
}

// Names, what they mean, and their options.
void print_entries(const std::vector<Entry>& entries, std::ostream& out) {
  constexpr std::size_t widest_name = 24;
  std::size_t width = 0;
  for (const Entry& entry : entries)
    if (entry.name.size() <= widest_name) width = std::max(width, entry.name.size());
  const std::string margin(width + 4, ' ');
  for (const Entry& entry : entries) {
    std::string line = "  " + entry.name;
    line.resize(std::max(line.size(), margin.size()), ' ');
    if (line.size() > margin.size()) out << std::exchange(line, margin) << '\n';
    print_words(line, margin.size(), entry.meaning, out);
    for (const OptionText& option : entry.options)
      print_words(margin, margin.size() + 2, option.name + ": " + text_of(option), out);
  }
}

Json schema_of_two_members() { return {{"minProperties", 2}}; }

// `kind`: of this one only.
Fields list_fields(const std::string& kind) {
  Fields fields = Fields{answer_kind("sgdsim/list/1")}.also(schema_of_two_members);
  for (const ListedKind& one : kinds()) {
    const bool is_asked = kind.empty() || kind == one.name;
    fields = std::move(fields) +
             Fields{Field(one.name, is_asked ? one.entries() : std::vector<Entry>{}, one.says)
                        .filled("name")
                        .if_any()};
  }
  return fields;
}

void list(const std::string& kind, const std::string& format, std::ostream& out) {
  std::vector<std::string> known;
  for (const ListedKind& one : kinds()) known.emplace_back(one.name);
  if (!kind.empty() && std::find(known.begin(), known.end(), kind) == known.end())
    throw InputError("list", unknown_name("kind", kind, known));
  if (format == "json") {
    out << written(list_fields(kind)).dump(2) << '\n';
    return;
  }
  bool is_first = true;
  for (const ListedKind& one : kinds()) {
    if (!kind.empty() && kind != one.name) continue;
    if (kind.empty()) out << (is_first ? "" : "\n") << one.name << '\n';
    is_first = false;
    print_entries(one.entries(), out);
  }
}

}  // namespace

Json schema_of_lists() { return record_schema(list_fields("none")); }

void add_list_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("list", "List every name you can use.");
  auto kind = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("table");
  std::string names;
  for (const ListedKind& one : kinds())
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  command->add_option("KIND", *kind, "one of " + names + " (default: all)");
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
    for (const Schema& schema : all_schemas()) {
      if (schema.name == *name) {
        streams.out << schema.json.dump(2) << '\n';
        return;
      }
      known.push_back(schema.name);
    }
    for (const std::string& question : question_names()) {
      known.push_back(std::string(asks) + question);
      if (known.back() != *name) continue;
      streams.out << question_schema(question).dump(2) << '\n';
      return;
    }
    throw InputError("schema", unknown_name("schema", *name, known));
  });
}

}  // namespace sgdsim
