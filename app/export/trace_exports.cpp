// A trace, or that of an experiment, as other programs read it; what they cannot hold is named.
#include "app/export/trace_exports.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/usage.h"
#include "sim/core/quantity.h"
#include "study/collective/ranges.h"
#include "study/shipped_inputs.h"
#include "study/step/experiment.h"
#include "study/step/override.h"
#include "study/traffic/traffic_file.h"
#include "study/write_text.h"
#include "topologies/cluster_file.h"
#include "traces/htsim_matrix.h"
#include "traces/trace_export.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

struct TraceExport {
  std::string file;
  std::string out = "-";
  std::vector<std::string> settings;
  bool force = false;
};

Trace trace_in(const TraceExport& arguments, std::vector<std::string>& inputs) {
  const Document document = trace_document(arguments.file);
  Json json = document.root().json();
  if (json.is_object() && json.contains("trace")) {
    const ResolvedExperiment resolved = resolve_experiment(document.root(), arguments.settings);
    inputs.insert(inputs.end(), resolved.inputs.begin(), resolved.inputs.end());
    return read_experiment(resolved).trace;
  }
  apply_settings(json, arguments.settings);
  return read_trace(Value(json, arguments.file, ""));
}

void export_trace(const TraceExport& arguments, bool is_table, Streams streams) {
  std::vector<std::string> inputs{arguments.file};
  const Trace trace = trace_in(arguments, inputs);
  const ExportedTrace exported =
      is_table ? to_layers_csv(trace, arguments.file) : to_astra_text(trace);
  OutputGuard(inputs, arguments.force)
      .claim("--out", arguments.out,
             {.schema = {}, .beginning = is_table ? "name,params,bytes,fwd_us,bwd_us" : "DATA\n"});
  for (const std::string& lost : exported.lost)
    streams.log << "sgdsim: note: not in the file: " << printable(lost) << '\n';
  write_text(exported.text, arguments.out, streams.out);
}

struct MatrixExport {
  std::string file;
  std::string cluster;
  std::string out = "-";
  std::string seed;
  std::vector<std::string> settings;
  bool force = false;
};

void export_matrix(const MatrixExport& arguments, Streams streams) {
  const Json json = cluster_json(arguments.cluster, arguments.settings);
  const Cluster cluster = read_cluster(Value(json, arguments.cluster, "")).cluster;
  std::optional<uint64_t> seed;
  if (!arguments.seed.empty())
    seed = static_cast<uint64_t>(parse_whole(arguments.seed, 0, int64_t{1} << 62, "--seed"));
  const auto wires = cluster.wires({});
  const TrafficFile traffic = read_traffic(arguments.file, cluster, *wires, seed);
  OutputGuard({arguments.file, arguments.cluster}, arguments.force)
      .claim("--out", arguments.out, {.schema = {}, .beginning = "Nodes "});
  if (!traffic.changes.empty())
    streams.log << "sgdsim: note: not in the file: what becomes of links\n";
  write_text(to_htsim_matrix(traffic.flows, cluster.network.workers()), arguments.out, streams.out);
}

void add_matrix_export(CLI::App& command, Streams streams) {
  CLI::App* one =
      command.add_subcommand("htsim", "Plain flows as a connection matrix of htsim (.cm).");
  auto arguments = std::make_shared<MatrixExport>();
  one->add_option("TRAFFIC", arguments->file, "as of sgdsim traffic; - is standard input")
      ->required();
  one->add_option("-c,--cluster", arguments->cluster, "cluster file")->required();
  make_repeatable(
      one->add_option("--set", arguments->settings, "change a field of the cluster: nodes=4"));
  one->add_option("--seed", arguments->seed, "of what is drawn, in place of the file's");
  one->add_option("-o,--out", arguments->out, "output file (default: standard output)");
  add_force_option(*one, arguments->force);
  one->footer(
      "Example:\n  sgdsim export htsim app/flows/incast_36.json -c "
      "topologies/data/leaf_spine_144.json");
  one->callback([arguments, streams] { export_matrix(*arguments, streams); });
}

}  // namespace

void add_trace_exports(CLI::App& command, Streams streams) {
  add_matrix_export(command, streams);
  for (const bool is_table : {true, false}) {
    CLI::App* one = command.add_subcommand(
        is_table ? "layers-csv" : "astra-text",
        is_table ? "A trace as a table of layers, which `sgdsim import layers-csv` reads back."
                 : "A trace as a workload of ASTRA-sim 1 and SimAI with data parallelism.");
    auto arguments = std::make_shared<TraceExport>();
    one->add_option("FILE", arguments->file, "a trace file or an experiment; - is standard input")
        ->required();
    one->add_option("-o,--out", arguments->out, "output file (default: standard output)");
    add_force_option(*one, arguments->force);
    make_repeatable(one->add_option("--set", arguments->settings,
                                    "change a field of the file: compute_scale=0.5"));
    one->footer(std::string("Example:\n  sgdsim export ") +
                (is_table ? "layers-csv" : "astra-text") + " traces/data/googlenet_k80.json");
    one->callback([arguments, is_table, streams] { export_trace(*arguments, is_table, streams); });
  }
}

}  // namespace sgdsim
