// `sgdsim trace`: looking at traces, and making traces from traces.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "app/commands.h"
#include "app/trace/trace_diff.h"
#include "app/trace/trace_show.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/shipped_inputs.h"
#include "study/write_text.h"
#include "traces/trace_edit.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

// Of every command that writes a trace.
struct EditArguments {
  std::string file;
  std::string out = "-";
  std::string name;
  std::string device;
  bool force = false;
  double compute = 1;
  double faster = 1;
  int64_t batch = 0;
  std::string least;
  int parts = 0;
};

void add_edit(CLI::App& command, const std::shared_ptr<EditArguments>& arguments, Streams streams,
              std::function<Trace(Trace, const EditArguments&)> edit) {
  command.add_option("FILE", arguments->file, "a trace, by file or name; - is standard input")
      ->required();
  command.add_option("-o,--out", arguments->out, "trace file to write (default: standard output)");
  add_force_option(command, arguments->force);
  command.add_option("--name", arguments->name, "name of the new trace (default: as before)");
  command.callback([arguments, streams, edit = std::move(edit)] {
    OutputGuard({arguments->file}, arguments->force)
        .claim("--out", arguments->out, {.schema = trace_schema, .beginning = {}});
    Trace trace = edit(read_trace(trace_document(arguments->file).root()), *arguments);
    if (!arguments->name.empty()) trace.name = arguments->name;
    if (!arguments->device.empty()) trace.device = arguments->device;
    write_text(to_text(trace), arguments->out, streams.out);
  });
}

void add_scale(CLI::App& parent, Streams streams) {
  CLI::App* command = parent.add_subcommand(
      "scale", "Another device, or another batch: times in proportion, sizes as they are.");
  auto arguments = std::make_shared<EditArguments>();
  add_edit(*command, arguments, streams, [](Trace given, const EditArguments& one) {
    if (one.batch == 0 && one.compute == 1 && one.faster == 1)
      throw InputError("trace scale", "nothing changes; expected --batch, --compute or --faster");
    if (one.batch != 0) given = with_batch(std::move(given), one.batch);
    return with_compute(std::move(given), one.compute / one.faster);
  });
  const auto factor = within(1e-6, 1e6);
  command->add_option("--compute", arguments->compute, "how many times as long computation takes")
      ->check(factor);
  command->add_option("--faster", arguments->faster, "how many times as fast the device is")
      ->check(factor);
  command->add_option("--batch", arguments->batch, "samples per worker and iteration")
      ->check(within(int64_t{1}, int64_t{1'000'000'000}));
  command->add_option("--device", arguments->device, "name of the new device");
  command->footer(
      "Example:\n  sgdsim trace scale traces/data/resnet50_v100.json --batch 64 --faster 2.2 "
      "--device A100");
}

void add_merge(CLI::App& parent, Streams streams) {
  CLI::App* command = parent.add_subcommand("merge-layers", "Fewer layers: neighbours become one.");
  auto arguments = std::make_shared<EditArguments>();
  add_edit(*command, arguments, streams, [](Trace given, const EditArguments& one) {
    if (one.least.empty() == (one.parts == 0))
      throw InputError("--least", "expected one of --least and --by-name");
    if (one.parts > 0) return merged_by_name(given, one.parts);
    return merged_to(given, parse_bytes(one.least, "--least"));
  });
  command->add_option("--least", arguments->least,
                      "from the last layer forwards, until each gradient has this size: 1MiB");
  command
      ->add_option("--by-name", arguments->parts,
                   "those whose names begin with the same N parts: 1 makes conv1 of "
                   "conv1.weight and conv1.bias")
      ->check(within(1, 100));
  command->footer(
      "Example:\n  sgdsim trace merge-layers traces/data/resnet50_v100.json --least 1MiB");
}

void add_diff(CLI::App& parent, Streams streams, int& exit_code) {
  CLI::App* command = parent.add_subcommand("diff", "How two traces differ, layer by layer.");
  struct Arguments {
    std::string first;
    std::string second;
    double within = -1;
    std::string format = "table";
  };
  auto arguments = std::make_shared<Arguments>();
  command->add_option("FIRST", arguments->first, "a trace, by file or name")->required();
  command->add_option("SECOND", arguments->second, "another one")->required();
  command
      ->add_option("--within", arguments->within,
                   "percent that times may differ by; beyond it, or where layers or sizes differ, "
                   "the exit code is 5")
      ->check(within(0.0, 100.0));
  command->add_option("--format", arguments->format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->footer(
      "Example:\n  sgdsim trace diff traces/data/resnet50_v100.json "
      "traces/data/resnet50_a100_ddp.json");
  command->callback([arguments, streams, &exit_code] {
    const Trace first = read_trace(trace_document(arguments->first).root());
    const Trace second = read_trace(trace_document(arguments->second).root());
    const TraceDifference difference = difference_of(first, second);
    if (arguments->format == "json")
      streams.out << to_json(difference, first, second).dump(1) << '\n';
    else
      print(streams.out, difference, first, second);
    const bool is_beyond = arguments->within >= 0 &&
                           (!difference.is_alike || difference.most_percent > arguments->within);
    if (is_beyond) exit_code = exit_beyond_tolerance;
  });
}

void add_check(CLI::App& parent, Streams streams) {
  CLI::App* command =
      parent.add_subcommand("check", "Read a trace, and say what a reader would doubt.");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "a trace, by file or name; - is standard input")->required();
  command->footer("Example:\n  sgdsim trace check traces/data/googlenet_k80.json");
  command->callback([file, streams] {
    const Trace trace = read_trace(trace_document(*file).root());
    const std::vector<std::string> doubts = doubts_about(trace);
    for (const std::string& doubt : doubts) streams.out << "doubt: " << doubt << '\n';
    for (const std::string& note : trace.notes) streams.out << "note: " << note << '\n';
    streams.out << trace.layers.size() << " layers can be simulated"
                << (doubts.empty() ? ", and nothing about them is unusual\n" : "\n");
  });
}

}  // namespace

void add_trace_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand("trace", "Look at traces, and make others of them.");
  command->require_subcommand(1);
  command->footer("Example:\n  sgdsim trace show traces/data/googlenet_k80.json");
  add_trace_show(*command, streams);
  add_scale(*command, streams);
  add_merge(*command, streams);
  add_diff(*command, streams, exit_code);
  add_check(*command, streams);
}

}  // namespace sgdsim
