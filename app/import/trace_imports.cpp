// What a log does not know (model, device, batch, forward time) can be given beside it.
#include "app/import/trace_imports.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/import/kineto_import.h"
#include "app/usage.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "study/write_text.h"
#include "traces/registry.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

void add_options(CLI::App& one, TraceImport& arguments) {
  one.add_option("FILE", arguments.file, "file to read; - is standard input")->required();
  one.add_option("-o,--out", arguments.out, "trace file to write (default: standard output)");
  add_force_option(one, arguments.force);
  one.add_option("--forward", arguments.forward,
                 "time of the forward pass, e.g. \"90 ms\" (default: half of backward)");
  one.add_option("--name", arguments.name, "name of the trace (default: the name of the file)");
  one.add_option("--model", arguments.model, "name of the neural network");
  one.add_option("--device", arguments.device, "name of the GPU that was measured");
  one.add_option("--batch", arguments.batch, "samples per worker and iteration")
      ->check(within(int64_t{1}, int64_t{1'000'000'000}));
}

Trace trace_of(const TraceFormat& format, const TraceImport& arguments) {
  LogText log{read_log(arguments.file), arguments.file, {}};
  if (!arguments.forward.empty()) log.forward = parse_duration(arguments.forward, "--forward");
  Trace trace = format.read(log);
  if (!arguments.name.empty()) trace.name = arguments.name;
  if (!arguments.model.empty()) trace.model = arguments.model;
  if (!arguments.device.empty()) trace.device = arguments.device;
  trace.batch = arguments.batch;
  return trace;
}

}  // namespace

void import_trace(const TraceFormat& format, const TraceImport& arguments, Streams streams) {
  OutputGuard({arguments.file}, arguments.force)
      .claim("--out", arguments.out, {.schema = "sgdsim/trace/1", .beginning = {}});
  const Trace trace = trace_of(format, arguments);
  for (const std::string& note : trace.notes) streams.log << "sgdsim: note: " << note << '\n';
  write_text(to_text(trace), arguments.out, streams.out);
}

void add_trace_imports(CLI::App& import, Streams streams) {
  add_kineto_import(import, streams);
  for (const TraceFormat& format : trace_formats) {
    if (format.has_own_command) continue;
    CLI::App* one = import.add_subcommand(std::string(format.name),
                                          std::string(format.description) + ", as a trace file.");
    auto arguments = std::make_shared<TraceImport>();
    add_options(*one, *arguments);
    one->footer("Example:\n  sgdsim import " + std::string(format.name) + " " +
                std::string(format.example) + " --batch 32");
    one->callback([arguments, format, streams] { import_trace(format, *arguments, streams); });
  }
}

}  // namespace sgdsim
