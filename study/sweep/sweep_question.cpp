// From words to points.
#include "study/sweep/sweep_question.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <sstream>

#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "sim/core/refusal.h"
#include "study/import/profile_trace.h"
#include "study/shipped_inputs.h"
#include "study/step/result_json.h"
#include "study/sweep/columns.h"
#include "study/sweep/gains.h"
#include "study/sweep/said_twice.h"
#include "study/sweep/step_samples.h"
#include "study/sweep/sweep_options.h"
#include "study/sweep/sweep_point.h"
#include "study/sweep/sweep_run.h"
#include "study/table.h"
#include "study/tie.h"

namespace sgdsim {
namespace {

Fields common_fields(std::vector<std::string>& methods, std::string& threads) {
  return {
      {"method", methods,
       "a way of exchanging gradients with a label: \"gTop-k: compression=gtopk, "
       "density=0.001\""},
      Field("threads", threads, "number of threads (default: all cores)").option("-j,--threads")};
}

Field cluster_field(std::string& cluster) {
  return Field("cluster", cluster,
               "cluster: a file, or a name of `sgdsim list clusters`; in place of the "
               "experiment's")
      .option("-c,--cluster");
}

// What a watch throws ends a sweep in order, and is thrown behind it.
class Interruption {
 public:
  explicit Interruption(const Watch& watch) : look_(watch) {}
  std::function<bool()> asked() {
    return [this] {
      try {
        if (look_ && thrown_ == nullptr) look_();
      } catch (...) {
        thrown_ = std::current_exception();
        ended_ = true;
      }
      return thrown_ != nullptr;
    };
  }
  // For threads amid a point.
  std::function<void()> amid() {
    return [this] {
      if (ended_) throw Interrupted();
    };
  }
  // What ended it, unless that was only somebody who does not wait any longer.
  void rethrow_failure() const {
    try {
      rethrow();
    } catch (const Interrupted&) {
    }
  }
  void rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  const Watch& look_;
  std::exception_ptr thrown_;
  std::atomic<bool> ended_ = false;
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

// Of all points none is an answer.
InputError no_best(const TuneWords& words, const Tuned& tuned) {
  if (!tuned.bound) return {words.file, "no point has a result"};
  return {words.file,
          "all points with a result are bounds, which no program simulates and which are never the "
          "best; give a strategy beside them, as in --axis strategy=wfbp,mg_wfbp,optimal, or ask "
          "`sgdsim run --set strategy=optimal` for the bound"};
}

Objective objective_in(const std::string& minimize, const std::string& maximize) {
  if (!minimize.empty() && !maximize.empty())
    throw InputError("--maximize", "--minimize asks for other points; give one of them");
  return maximize.empty() ? Objective{minimize, false} : Objective{maximize, true};
}

// Without a word: the shortest step, or where steps have different numbers of samples, most of
// them a second.
Objective objective_of(const TuneWords& words, const StepSamples& samples) {
  if (!words.minimize.empty() || !words.maximize.empty())
    return objective_in(words.minimize, words.maximize);
  if (samples.differ && samples.are_known) return {throughput_column, true};
  return {usual_objective, false};
}

// An experiment, a trace or a profile: whatever is no sweep with axes of its own.
bool has_axes(const std::string& file) {
  if (shipped_trace(file) || !unknown_trace(file).empty()) return false;
  if (file != "-" && is_profile(file)) return false;
  const Document document = Document::read(file);
  return document.root().json().is_object() && document.root().json().contains("axes");
}

template <class Words>
SweepWords words_of(const Words& words) {
  SweepWords of_sweep{with_options(words.settings, words.wires), words.axes, {}, words.cluster};
  for (const std::string& text : words.methods) of_sweep.methods.push_back(method_in(text));
  return of_sweep;
}

// What an answer with columns says beside them.
struct ColumnsAbout {
  std::string sweep = {};
  std::string id = {};
  int64_t points = 0;
  int64_t done = 0;
  int64_t failed = 0;
};
Fields fields_of(const ColumnsAbout& o) {
  return {answer_kind("sgdsim/columns/1"),
          {"sweep", o.sweep, "name of the sweep"},
          {"id", o.id, "of the sweep, as its points have it"},
          Field("points", o.points, "how many there are").at_least(0),
          Field("done", o.done, "rows of the columns").at_least(0),
          Field("failed", o.failed, "of those: have no result").at_least(0)};
}

}  // namespace

Json schema_of_columns() { return schema_of_record<ColumnsAbout>(); }

Fields sweep_fields(SweepQuestionWords& words) {
  return Fields{Field("sweep", words.sweep,
                      "a sweep file, or with --axis or --method an experiment, or a trace (a file "
                      "or a name) with --cluster")
                    .needed()
                    .option("SWEEP"),
                cluster_field(words.cluster)} +
         common_fields(words.methods, words.threads) +
         Fields{{"axis", words.axes, "one more axis: cluster.nodes=2..256, strategy=wfbp,mg_wfbp"},
                {"set", words.settings, "change a field of the base experiment"},
                {"minimize", words.minimize,
                 "print the least values of a column, e.g. metrics.iteration_us"},
                {"maximize", words.maximize,
                 "print the largest values of a column, e.g. metrics.throughput_samples_per_s"},
                {"over", words.over,
                 "axes whose best value is chosen, for each combination of the other axes "
                 "(default: method or strategy)"}} +
         wire_fields(words.wires);
}

Fields sweep_question_fields(SweepQuestionWords& words) {
  return sweep_fields(words) + Fields{{"as_columns", words.as_columns,
                                       "answer with columns instead of JSON: sgdsim_columns"}};
}

Sweep sweep_of(const SweepQuestionWords& words) {
  Sweep sweep = read_sweep(words.sweep, words_of(words));
  note_options(sweep, words.wires);
  check_settings(sweep, words.settings);
  return sweep;
}

Objective objective_of(const SweepQuestionWords& words) {
  return objective_in(words.minimize, words.maximize);
}

Answer answer_sweep(const Value& question, const Watch& watch) {
  SweepQuestionWords words = words_of(question, sweep_question_fields);
  const Objective objective = objective_of(words);
  const bool asks_best = !objective.column.empty();
  if (!words.over.empty() && !asks_best)
    throw no_effect("--over", "without --minimize or --maximize");
  if (words.as_columns && asks_best)
    throw InputError(objective.option(),
                     "gives the best points and no columns; leave as_columns out");
  const Sweep sweep = sweep_of(words);
  Answer answer;
  answer.warnings = check_axes(sweep);
  SweepOptions options;
  options.threads = threads_of(words.threads);
  std::optional<Best> best;
  std::function<void(DonePoint &&)> each;
  std::ostringstream lines;
  const auto columns = std::make_shared<TypedColumns>();
  if (words.as_columns) {
    options.wants_rows = true;
    options.out.clear();
    each = [&](DonePoint&& point) { columns->add(point.row); };
  }
  if (asks_best) {
    best.emplace(sweep, objective.column, split_list(words.over));
    if (std::string warning = best->warning(sweep); !warning.empty())
      answer.warnings.push_back(std::move(warning));
    options.objective = objective;
    options.out.clear();
    each = [&](DonePoint&& point) { best->add(std::move(point)); };
  }
  Interruption interruption(watch);
  const SweepOutcome outcome = run_sweep(sweep, options, lines, each,
                                         {.is_interrupted = interruption.asked(),
                                          .amid = interruption.amid(),
                                          .reached = [&](int64_t done, int64_t, int64_t total) {
                                            if (watch.reached) watch.reached(done, total);
                                          }});
  interruption.rethrow_failure();
  for (const std::string& line : outcome.warnings.lines("points")) answer.warnings.push_back(line);
  if (best) {
    answer.json = best->json();
  } else if (words.as_columns) {
    answer.json = to_json_by_fields(
        ColumnsAbout{sweep.name, sweep.id, outcome.points, outcome.done, outcome.failed});
    answer.columns = columns;
  } else {
    answer.json = {{"sweep", sweep.name}, {"points", Json::array()}};
    std::istringstream all(lines.str());
    for (std::string line; std::getline(all, line);)
      answer.json["points"].push_back(Json::parse(line));
  }
  if (outcome.interrupted) {
    answer.code = exit_interrupted;
    answer.problem = "interrupted: " + std::to_string(outcome.done) + " of " +
                     std::to_string(outcome.points) + " points are there";
    return answer;
  }
  if (outcome.failed == 0) return answer;
  answer.code = exit_point_failed;
  answer.problem =
      std::to_string(outcome.failed) + " of " + std::to_string(outcome.points) + " points failed";
  return answer;
}

// ---- tune

Fields tune_fields(TuneWords& words) {
  return Fields{Field("file", words.file,
                      "an experiment, a sweep, or a trace (a file or a name) with --cluster")
                    .needed()
                    .option("FILE"),
                cluster_field(words.cluster)} +
         common_fields(words.methods, words.threads) +
         Fields{{"axis", words.axes,
                 "field to tune, e.g. strategy.bucket=1MiB..256MiB (default: the sizes of the "
                 "strategy, the collective and the compression)"},
                {"set", words.settings, "change a field of the experiment"},
                {"minimize", words.minimize,
                 "column to minimize (default: metrics.iteration_us, but samples a second where "
                 "steps have different numbers of samples)"},
                {"maximize", words.maximize,
                 "column to maximize, e.g. metrics.throughput_samples_per_s"},
                Field("most", words.most,
                      "evaluate at most this many points (default: 2000); smaller sweeps are "
                      "searched exhaustively")
                    .from(1, int64_t{1} << 40)} +
         wire_fields(words.wires);
}

Sweep sweep_of(const TuneWords& asked) {
  SweepWords words = words_of(asked);
  if (words.axes.empty() && words.methods.empty() && !has_axes(asked.file))
    words.axes = usual_axes(resolve_experiment(asked.file, words.settings, asked.cluster).json);
  Sweep sweep = read_sweep(asked.file, words);
  check_settings(sweep, asked.settings, true);
  note_options(sweep, asked.wires);
  return sweep;
}

TuneAnswer answer_tune(const TuneWords& words, Sweep sweep,
                       const std::function<bool()>& is_interrupted) {
  const int threads = threads_of(words.threads);
  check_axes(sweep);
  const StepSamples samples = step_samples_beside_base(sweep);
  const Objective objective = objective_of(words, samples);
  const std::string& column = objective.column;
  TuneAnswer answer{std::move(sweep), {}, {}, {}, column};
  answer.is_by_samples = words.minimize.empty() && words.maximize.empty() && objective.is_most;
  Tuned& tuned = answer.tuned;
  tuned = tune(answer.sweep, objective, words.most, threads, is_interrupted);
  answer.apart = apart_by(fields_of(answer.sweep), column);
  if (tuned.best.is_null() && tuned.interrupted) return answer;
  if (tuned.best.is_null()) throw no_best(words, tuned);
  if (!tuned.interrupted && answer.sweep.stands_alone)
    answer.before = as_it_stands(answer.sweep, column);
  if (answer.before && as_cost(column, *answer.before) < as_cost(column, tuned.value) &&
      !is_tie(*answer.before, tuned.value)) {
    tuned.best = Json::object();
    tuned.value = *answer.before;
    tuned.warnings.clear();
  }
  if (std::string warning = warn_of_samples(column, samples); !warning.empty())
    tuned.warnings.push_back(std::move(warning));
  answer.notes = notes_of(answer.sweep, tuned.best);
  return answer;
}

Answer answer_tune(const Value& question, const Watch& watch) {
  TuneWords words = words_of(question, tune_fields);
  Interruption interruption(watch);
  const TuneAnswer answer = answer_tune(words, sweep_of(words), interruption.asked());
  interruption.rethrow();
  return {to_json(answer), answer.tuned.warnings};
}

}  // namespace sgdsim
