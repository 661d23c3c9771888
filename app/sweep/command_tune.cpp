// `sgdsim tune`: the best values of an experiment's fields.
#include <cmath>
#include <memory>

#include "app/advise/apart.h"
#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/import/profile_trace.h"
#include "app/shipped_inputs.h"
#include "app/step/result_json.h"
#include "app/sweep/columns.h"
#include "app/sweep/sweep_options.h"
#include "app/sweep/sweep_point.h"
#include "app/sweep/tune.h"
#include "app/table.h"
#include "app/tie.h"
#include "app/usage.h"
#include "app/write_text.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

struct TuneArguments {
  std::string file;
  std::string cluster;
  std::vector<std::string> methods;
  std::string out;
  bool force = false;
  std::vector<std::string> axes;
  std::vector<std::string> settings;
  std::string objective = "metrics.iteration_us";
  int64_t most = 2000;
  std::string threads;
  std::string format = "table";
};

// What there is to tune where nobody says it: the sizes of the strategy, of the collective's
// blocks, the compression's density; without any of them, the strategy itself.
std::vector<std::string> usual_axes(const Json& experiment) {
  const std::vector<std::pair<std::string, std::string>> sizes = {
      {"ddp", "strategy.bucket"},
      {"fixed_buckets", "strategy.bucket"},
      {"horovod", "strategy.threshold"},
      {"bytescheduler", "strategy.partition"},
      {"p3", "strategy.slice"}};
  auto named = [&](const char* field, const char* key) -> std::string {
    const Json value = experiment.value(field, Json());
    if (value.is_string()) return value.get<std::string>();
    const Json name = value.is_object() ? value.value(key, Json()) : Json();
    return name.is_string() ? name.get<std::string>() : "";
  };
  std::vector<std::string> axes;
  for (const auto& [strategy, field] : sizes)
    if (named("strategy", "name") == strategy)
      axes.push_back(field +
                     R"(={"from": "64 KiB", "to": "1 GiB", "count": 225, "spacing": "log"})");
  if (named("collective", "algorithm") == "lp")
    axes.emplace_back(
        R"(collective.block={"from": "1 KiB", "to": "16 MiB", "count": 225, "spacing": "log"})");
  const Json compression = experiment.value("compression", Json());
  if (compression.is_object() && compression.contains("density"))
    axes.emplace_back(
        R"(compression.density={"from": 0.0001, "to": 0.5, "count": 100, "spacing": "log"})");
  if (!axes.empty()) return axes;
  std::string all = "strategy=";
  for (const StrategyKind& kind : strategies())
    if (!kind.is_bound) all += (all.back() == '=' ? "" : ",") + std::string(kind.name);
  return {all};
}

// The objective of the experiment as it stands; nothing if it cannot be played.
std::optional<double> as_it_stands(const Sweep& sweep, const std::string& objective) {
  try {
    const Experiment experiment = read_experiment(sweep.base);
    const StepResult result = simulate_step(experiment.question());
    const double value = number_in(summary_json(experiment, result), objective);
    if (!std::isnan(value)) return value;
  } catch (const InputError&) {
    // Only with the values of the axes does it make sense.
  }
  return std::nullopt;
}

// Sizes of many bytes in a unit that can be read; the JSON has them exactly.
std::string shown(const Json& value) {
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  constexpr int64_t many_B = 10'000;
  if (text.ends_with(" B")) {
    const double size_B = static_cast<double>(parse_bytes(text, "").count());
    if (size_B >= many_B) return short_size(size_B) + " (" + text + ")";
  }
  return text;
}

// What all axes change together.
Apart apart_of(const Sweep& sweep, const std::string& objective) {
  std::vector<std::string> fields;
  for (const Axis& axis : sweep.axes)
    for (const std::string& field : fields_of(sweep, axis.field())) fields.push_back(field);
  return apart_by(fields, objective);
}

void print(std::ostream& out, const Sweep& sweep, const Tuned& tuned, const std::string& objective,
           std::optional<double> before) {
  auto amount = [&](double value) {
    return objective.ends_with("_us") ? short_duration(value, 5) : rounded(value, 5);
  };
  if (tuned.best.empty()) {
    out << "Nothing that was tried is better than the experiment as it stands.\n";
  } else {
    Table table({"field", "best"});
    for (const auto& [field, value] : tuned.best.items()) table.add({field, shown(value)});
    table.print(out, 1);
  }
  out << '\n' << objective << ": " << amount(tuned.value);
  if (before && is_tie(*before, tuned.value) && !tuned.best.empty())
    out << ", the same as the experiment as it stands";
  else if (before && *before > tuned.value)
    out << "; as the experiment stands: " << amount(*before) << " ("
        << rounded(100 * (*before / tuned.value - 1), 3) << " % more)";
  const Apart apart = apart_of(sweep, objective);
  if (before && *before > tuned.value && !is_tie(*before, tuned.value) &&
      apart.is_as_good(*before, tuned.value))
    out << "\nThat is within " << error_text(apart)
        << ", the error of such predictions: nothing is surely better; this is the likeliest";
  if (tuned.bound) out << "\nbound, which no program reaches: " << amount(*tuned.bound);
  out << '\n'
      << tuned.evaluated << " of " << sweep.points << " points evaluated"
      << (tuned.interrupted  ? ", then interrupted"
          : tuned.exhaustive ? ": all of them"
                             : ", one axis at a time, by golden section");
  if (tuned.failed > 0) out << "; " << tuned.failed << " have no result";
  out << '\n';
}

// An experiment, a trace or a profile: whatever is no sweep with axes of its own.
bool has_axes(const std::string& file) {
  if (shipped_trace(file) || !unknown_trace(file).empty() || is_profile(file)) return false;
  const Document document = Document::read(file);
  return document.root().json().is_object() && document.root().json().contains("axes");
}

Sweep sweep_of(const TuneArguments& arguments) {
  SweepWords words{arguments.settings, arguments.axes, {}, arguments.cluster};
  for (const std::string& text : arguments.methods) words.methods.push_back(method_in(text));
  if (words.axes.empty() && words.methods.empty() && !has_axes(arguments.file))
    words.axes =
        usual_axes(resolve_experiment(arguments.file, arguments.settings, arguments.cluster).json);
  return read_sweep(arguments.file, words);
}

int tune(const TuneArguments& arguments, Streams streams) {
  const int threads = threads_of(arguments.threads);
  const Sweep sweep = sweep_of(arguments);
  OutputGuard(sweep.inputs, arguments.force)
      .claim("--out", arguments.out, {.schema = "sgdsim/tune/1", .beginning = {}});
  check_axes(sweep);
  Tuned tuned = tune(sweep, arguments.objective, arguments.most, threads);
  if (tuned.interrupted)
    streams.log << "sgdsim: interrupted; " << tuned.evaluated << " of " << sweep.points
                << " points were evaluated\n";
  const int exit_code = tuned.interrupted ? exit_interrupted : 0;
  if (tuned.best.is_null() && tuned.interrupted) return exit_code;
  if (tuned.best.is_null()) throw InputError(arguments.file, "no point has a result");
  std::optional<double> before;
  if (!tuned.interrupted) before = as_it_stands(sweep, arguments.objective);
  if (before && *before < tuned.value && !is_tie(*before, tuned.value)) {
    tuned.best = Json::object();
    tuned.value = *before;
    tuned.warnings.clear();
  }
  for (const std::string& warning : tuned.warnings)
    streams.log << "sgdsim: warning: " << warning << '\n';
  Json json = {{"schema", "sgdsim/tune/1"},
               {"objective", arguments.objective},
               {"best", tuned.best},
               {"value", tuned.value},
               {"method", tuned.exhaustive ? "exhaustive" : "coordinates"},
               {"evaluated", tuned.evaluated},
               {"failed", tuned.failed},
               {"points", sweep.points}};
  if (before) json["before"] = *before;
  if (!tuned.warnings.empty()) json["warnings"] = tuned.warnings;
  if (tuned.bound) json["bound"] = *tuned.bound;
  if (const Apart apart = apart_of(sweep, arguments.objective); apart.error > 0)
    json["error_percent"] = 100 * apart.error;
  if (tuned.interrupted) json["interrupted"] = true;
  give_answer(json, arguments.out, arguments.format, streams,
              [&] { print(streams.out, sweep, tuned, arguments.objective, before); });
  return exit_code;
}

}  // namespace

void add_tune_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "tune", "Find the best values of an experiment's fields: bucket size, block, strategy, ...");
  auto arguments = std::make_shared<TuneArguments>();
  add_experiment(*command, "FILE",
                 "an experiment, a sweep, or a trace (a file or a name) with --cluster",
                 arguments->file, arguments->cluster);
  add_method_option(*command, arguments->methods);
  make_repeatable(command->add_option(
      "--axis", arguments->axes,
      "field to tune, e.g. strategy.bucket=1MiB..256MiB (default: the sizes of the strategy, the "
      "collective and the compression)"));
  make_repeatable(
      command->add_option("--set", arguments->settings, "change a field of the experiment"));
  command->add_option("--minimize", arguments->objective,
                      "column to minimize (default: metrics.iteration_us)");
  command
      ->add_option("--most", arguments->most,
                   "evaluate at most this many points (default: 2000); smaller sweeps are searched "
                   "exhaustively")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40).description(""));
  command->add_option("-j,--threads", arguments->threads, "number of threads (default: all cores)");
  command->add_option("-o,--out", arguments->out, "write the answer as JSON to this file");
  add_force_option(*command, arguments->force);
  command->add_option("--format", arguments->format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->footer(std::string("Example:\n"
                              "  sgdsim tune app/experiments/bert_base_10gbe.json --set "
                              "strategy=fixed_buckets\n") +
                  which_command);
  command->callback([arguments, streams, &exit_code] { exit_code = tune(*arguments, streams); });
}

}  // namespace sgdsim
