// One entry per log: how many steps, how long, and how regular.
#include "app/import/steps_imports.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/table.h"
#include "study/write_text.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

constexpr const char* steps_schema = "sgdsim/steps/1";

Json to_json(const StepRun& run, std::string_view format) {
  Json json = {{"file", run.file}, {"format", format}};
  if (!run.benchmark.empty()) json["benchmark"] = run.benchmark;
  if (run.global_batch) json["global_batch_size"] = *run.global_batch;
  if (run.accumulation) json["gradient_accumulation_steps"] = *run.accumulation;
  if (run.sequence_length) json["max_sequence_length"] = *run.sequence_length;
  json["steps"] = run.steps.size();
  if (!run.steps.empty()) {
    const StepSummary summary = summary_of(run);
    json["step_median_us"] = summary.median.us();
    json["step_p95_us"] = summary.p95.us();
    json["step_mean_us"] = summary.mean.us();
    if (summary.autocorrelation) json["step_autocorrelation"] = *summary.autocorrelation;
    if (summary.samples_per_s) json["samples_per_s"] = *summary.samples_per_s;
  }
  if (run.stated_samples_per_s) json["stated_samples_per_s"] = *run.stated_samples_per_s;
  if (run.run) json["run_us"] = run.run->us();
  for (const TensorExchange& one : run.exchanges) {
    json["exchanges"].push_back({{"name", one.name},
                                 {"count", one.count},
                                 {"wait_us", one.wait.us()},
                                 {"transfer_us", one.transfer.us()}});
    if (one.size) json["exchanges"].back()["size_B"] = one.size->count();
  }
  json["notes"] = run.notes;
  return json;
}

std::string text_or_dash(bool is_known, const std::string& text) { return is_known ? text : "-"; }

void print_runs(const std::vector<StepRun>& runs, std::ostream& out) {
  Table table({"file", "benchmark", "batch", "steps", "median", "p95", "mean", "autocorrelation",
               "samples/s", "run"});
  for (const StepRun& run : runs) {
    const bool has_steps = !run.steps.empty();
    const StepSummary summary = has_steps ? summary_of(run) : StepSummary{};
    const auto time = [&](Duration length) {
      return text_or_dash(has_steps, short_duration(length.us(), 5));
    };
    const auto& rate = summary.samples_per_s;
    table.add(
        {printable(run.file), text_or_dash(!run.benchmark.empty(), run.benchmark),
         text_or_dash(run.global_batch.has_value(), std::to_string(run.global_batch.value_or(0))),
         std::to_string(run.steps.size()), time(summary.median), time(summary.p95),
         time(summary.mean),
         text_or_dash(summary.autocorrelation.has_value(),
                      rounded(summary.autocorrelation.value_or(0), 3)),
         text_or_dash(rate.has_value(), rounded(rate.value_or(0))),
         text_or_dash(run.run.has_value(), short_duration(run.run.value_or(Duration{}).us(), 5))});
  }
  table.print(out, 2);
  for (const StepRun& run : runs) {
    if (run.exchanges.empty()) continue;
    Table exchanges({"tensor", "count", "size", "wait", "transfer"});
    for (const TensorExchange& one : run.exchanges)
      exchanges.add({one.name, std::to_string(one.count),
                     one.size ? short_size(static_cast<double>(one.size->count())) : "-",
                     short_duration(one.wait.us(), 5), short_duration(one.transfer.us(), 5)});
    out << '\n';
    exchanges.print(out);
  }
}

}  // namespace

void import_steps(const StepsFormat& format, const StepsImport& arguments, Streams streams) {
  OutputGuard(arguments.files, arguments.force)
      .claim("--out", arguments.out, {.schema = steps_schema, .beginning = {}});
  std::vector<StepRun> runs;
  for (const std::string& file : arguments.files) {
    runs.push_back(format.read({read_text(file), file, {}}));
    for (const std::string& note : runs.back().notes)
      streams.log << "sgdsim: note: " << printable(file) << ": " << note << '\n';
  }
  Json json = {{"schema", steps_schema}, {"runs", Json::array()}};
  for (const StepRun& run : runs) json["runs"].push_back(to_json(run, format.name));
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (!arguments.out.empty()) write_text(text, arguments.out, streams.out);
  if (arguments.out == "-") return;
  if (arguments.format == "json")
    streams.out << text;
  else
    print_runs(runs, streams.out);
}

void add_steps_imports(CLI::App& import, Streams streams) {
  for (const StepsFormat& format : steps_formats) {
    CLI::App* one = import.add_subcommand(std::string(format.name),
                                          std::string(format.description) + ", summed up.");
    auto arguments = std::make_shared<StepsImport>();
    one->add_option("FILE", arguments->files, "files to read; - is standard input")->required();
    one->add_option("-o,--out", arguments->out, "file to write the summary to, as JSON");
    add_force_option(*one, arguments->force);
    one->add_option("--format", arguments->format, "table (default) or json")
        ->check(one_of("format", {"table", "json"}));
    one->footer("Example:\n  sgdsim import " + std::string(format.name) + " " +
                std::string(format.example));
    one->callback([arguments, format, streams] { import_steps(format, *arguments, streams); });
  }
}

}  // namespace sgdsim
