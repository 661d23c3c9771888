// `sgdsim export`: a cluster's graph for other programs. `sgdsim import`: other programs' files as
// ours.
#include <memory>

#include "app/commands.h"
#include "app/step/override.h"
#include "app/trace_imports.h"
#include "app/usage.h"
#include "app/write_text.h"
#include "sim/core/json.h"
#include "topologies/cluster_file.h"
#include "topologies/export.h"
#include "topologies/nccl_xml.h"

namespace sgdsim {
namespace {

struct ExportArguments {
  std::string cluster;
  std::string out = "-";
  std::vector<std::string> settings;
};

}  // namespace

void add_export_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("export", "Write a cluster's graph for other programs.");
  command->require_subcommand(1);
  command->footer("Example:\n  sgdsim export dot topologies/data/fat_tree_k8.json | dot -Tsvg");
  for (const GraphFormat& format : graph_formats) {
    CLI::App* one =
        command->add_subcommand(std::string(format.name), std::string(format.description));
    auto arguments = std::make_shared<ExportArguments>();
    one->add_option("CLUSTER", arguments->cluster, "a cluster file")->required();
    one->add_option("-o,--out", arguments->out, "a file; default: standard output");
    make_repeatable(
        one->add_option("--set", arguments->settings, "change a field of the cluster: nodes=4"));
    one->footer("Example:\n  sgdsim export " + std::string(format.name) +
                " topologies/data/dgx_h100_4.json --set nodes=1 --out box." +
                std::string(format.name));
    one->callback([arguments, format, streams] {
      Json json = Document::read(arguments->cluster).root().json();
      apply_settings(json, arguments->settings);
      const ClusterFile cluster = read_cluster(Value(json, arguments->cluster, ""));
      write_text(format.write(cluster.graph(), cluster.cluster.name), arguments->out, streams.out);
    });
  }
}

void add_import_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("import", "Read other programs' files.");
  command->require_subcommand(1);
  command->footer("Example:\n  sgdsim import nccl-topology tests/data/nccl_regular.xml --nodes 4");
  struct Arguments {
    std::string file;
    std::string out = "-";
    NcclImportOptions options;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* one = command->add_subcommand(
      "nccl-topology", "A topology file of NCCL (NCCL_TOPO_DUMP_FILE) as a cluster file.");
  one->add_option("FILE", arguments->file, "the XML file; - is standard input")->required();
  one->add_option("-o,--out", arguments->out, "the cluster file; default: standard output");
  one->add_option("--nodes", arguments->options.nodes, "how many such machines; default 1");
  one->add_option("--name", arguments->options.name, "of the cluster");
  one->footer("Example:\n  sgdsim import nccl-topology tests/data/nccl_regular.xml --nodes 4");
  one->callback([arguments, streams] {
    const NcclImport import =
        import_nccl_xml(read_text(arguments->file), arguments->file, arguments->options);
    for (const std::string& note : import.notes) streams.log << "sgdsim: note: " << note << '\n';
    write_text(import.cluster.dump(2) + "\n", arguments->out, streams.out);
  });
  add_trace_imports(*command, streams);
}

}  // namespace sgdsim
