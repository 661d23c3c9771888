// One entry per log: how many steps, how long, and how regular.
#include "app/import/steps_imports.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "study/table.h"
#include "study/write_text.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

constexpr const char* steps_schema = "sgdsim/steps/1";

std::optional<double> in_us(const std::optional<Duration>& time) {
  return time ? std::optional(time->us()) : std::nullopt;
}
std::optional<int64_t> in_B(const std::optional<Bytes>& size) {
  return size ? std::optional(size->count()) : std::nullopt;
}

// Of a tensor.
struct ToldExchange {
  TensorExchange of = {};
};
Fields fields_of(const ToldExchange& told) {
  return {{"name", told.of.name, "the tensor"},
          Field("count", told.of.count, "how often it was exchanged").at_least(1),
          Field("wait_us", told.of.wait.us(), "from the first rank that had it to the last")
              .at_least(0),
          Field("transfer_us", told.of.transfer.us(),
                "time of the all-reduce in which it went, maybe with other tensors in one buffer")
              .at_least(0),
          {"size_B", in_B(told.of.size), "bytes of the tensor, where the timeline tells them"}};
}

struct ToldRun {
  std::string format = {};
  StepRun run = {};
};
Fields fields_of(const ToldRun& told) {
  const StepRun& run = told.run;
  std::optional<StepSummary> steps;
  if (!run.steps.empty()) steps = summary_of(run);
  const auto length = [&](Duration StepSummary::*of) {
    return steps ? std::optional(((*steps).*of).us()) : std::nullopt;
  };
  const auto number = [&](std::optional<double> StepSummary::*of) {
    return steps ? (*steps).*of : std::nullopt;
  };
  std::vector<ToldExchange> exchanges;
  for (const TensorExchange& one : run.exchanges) exchanges.push_back({one});
  return {
      {"file", run.file, "the log"},
      {"format", told.format, "how it was read"},
      Field("benchmark", run.benchmark, "as the log names it").if_any(),
      Field("global_batch_size", run.global_batch, "samples of a step, over all workers")
          .at_least(1),
      Field("gradient_accumulation_steps", run.accumulation, "batches of a worker in one step")
          .at_least(1),
      Field("max_sequence_length", run.sequence_length, "tokens of a sample").at_least(1),
      {"steps", steps_of(run), "how many steps were timed"},
      {"times", run.steps.size(),
       "how many times the log has of them: fewer, where a time is the mean of several steps"},
      Field("step_median_us", length(&StepSummary::median), "the median of the steps").at_least(0),
      Field("step_p95_us", length(&StepSummary::p95),
            "the least time that 95 % of the steps do not exceed")
          .at_least(0),
      Field("step_mean_us", length(&StepSummary::mean),
            "the mean of the steps, without those that warm up")
          .at_least(0),
      Field("warm_up_steps",
            steps && steps->warm_up > 0 ? std::optional(steps->warm_up) : std::nullopt,
            "the first ones, at most a tenth of the times or one, that took more than one and a "
            "half times the median")
          .at_least(1),
      Field(
          "step_autocorrelation", number(&StepSummary::autocorrelation),
          "between neighbouring steps (lag 1): near 1 if slow steps follow slow ones; left out if "
          "all steps take the same time")
          .from(-1, 1),
      Field("samples_per_s", number(&StepSummary::samples_per_s),
            "global batch size over that mean")
          .at_least(0),
      Field("stated_samples_per_s", run.stated_samples_per_s,
            "the median of the throughputs that the log states, in its own unit (mostly samples "
            "per second)")
          .at_least(0),
      Field("run_us", in_us(run.run), "from the start of the run to its stop").at_least(0),
      Field("exchanges", std::move(exchanges),
            "of a timeline: the all-reduces of each tensor, medians over the steps")
          .if_any(),
      {"notes", run.notes, "what a reader of the numbers must know"}};
}

struct ToldSteps {
  std::vector<ToldRun> runs = {};
};
Fields fields_of(const ToldSteps& told) {
  return {answer_kind(steps_schema), Field("runs", told.runs, "one per file").filled("run")};
}

void note_warm_up(StepRun& run) {
  if (run.steps.empty()) return;
  const StepSummary summary = summary_of(run);
  if (summary.warm_up == 0) return;
  run.notes.push_back(
      (summary.warm_up == 1 ? "the first step"
                            : "the first " + std::to_string(summary.warm_up) + " steps") +
      std::string(" took more than one and a half times the median: warm-up, which is no part of "
                  "the mean and of samples/s"));
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
         std::to_string(steps_of(run)), time(summary.median), time(summary.p95), time(summary.mean),
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

Json schema_of_steps() { return schema_of_record<ToldSteps>(); }

void import_steps(const StepsFormat& format, const StepsImport& arguments, Streams streams) {
  OutputGuard(arguments.files, arguments.force)
      .claim("--out", arguments.out, {.schema = steps_schema, .beginning = {}});
  std::vector<StepRun> runs;
  for (const std::string& file : arguments.files) {
    runs.push_back(
        format.read({read_log(file), file, {}, arguments.batch, arguments.tokens_per_gpu}));
    note_warm_up(runs.back());
    for (const std::string& note : runs.back().notes)
      streams.log << "sgdsim: note: " << printable(file) << ": " << note << '\n';
  }
  ToldSteps told;
  for (const StepRun& run : runs) told.runs.push_back({std::string(format.name), run});
  const std::string text =
      to_json_by_fields(told).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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
    if (format.takes_batch) {
      constexpr int64_t most = int64_t{1} << 52;
      one->add_option("--batch", arguments->batch,
                      "samples of a step over all workers (default: as the log says)")
          ->check(within(int64_t{1}, most));
      one->add_option("--tokens", arguments->tokens_per_gpu,
                      "of torchtitan: tokens of a step and GPU, which are the global batch size "
                      "times the sequence length over the GPUs (default: as the log says)")
          ->check(within(int64_t{1}, most));
    }
    one->footer("Example:\n  sgdsim import " + std::string(format.name) + " " +
                std::string(format.example));
    one->callback([arguments, format, streams] { import_steps(format, *arguments, streams); });
  }
}

}  // namespace sgdsim
