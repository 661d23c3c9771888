// `sgdsim sweep`: every point of a what-if question. `sgdsim merge`: shards put together.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <tuple>
#include <utility>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/sweep/picture.h"
#include "app/sweep/progress.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/collective/ranges.h"
#include "study/sweep/best.h"
#include "study/sweep/columns.h"
#include "study/sweep/emit.h"
#include "study/sweep/sweep_options.h"
#include "study/sweep/sweep_point.h"
#include "study/sweep/sweep_question.h"
#include "study/sweep/sweep_run.h"
#include "study/table.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct SweepArguments {
  SweepQuestionWords words;
  std::string shard = "0/1";
  std::string columns;
  std::string format;
  std::string picture;
  bool dry_run = false;
  std::string emit;
  std::string tasks;
  std::string image;
  std::string time;
  std::string memory;
  std::string partition;
  SweepOptions options;
  bool quiet = false;
};

void dry_run(const Sweep& sweep, const SweepOptions& options, std::ostream& out) {
  const int64_t count = Points::count(sweep, options.shard);
  out << sweep.name << ": " << sweep.points << " points";
  if (sweep.points != sweep.product) out << " of a product of " << sweep.product;
  if (options.shard.count > 1) out << ", " << count << " in this shard";
  out << "\n\n";
  Table table({"axis", "values", "from", "to"});
  for (const auto& group : sweep.groups)
    for (const std::size_t a : group) {
      const Axis& axis = sweep.axes[a];
      const bool joins = a != group.front();
      auto shown = [&](int64_t index) {
        const Json value = axis.value(index);
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        return text.size() <= 40 ? text : text.substr(0, 37) + "...";
      };
      table.add({(joins ? "  with " : "") + axis.field(), std::to_string(axis.size()), shown(0),
                 shown(axis.size() - 1)});
    }
  table.print(out, 1);
  const double each = seconds_per_point(sweep);
  out << "\nabout " << short_duration(each * 1e6)
      << " a point: " << readable_time(each * static_cast<double>(count) / options.threads)
      << " with " << options.threads << (options.threads == 1 ? " thread\n" : " threads\n");
}

void report(const SweepOutcome& outcome, const SweepOptions& options, std::ostream& log) {
  log << "sgdsim: " << outcome.done << " of " << outcome.points << " points in "
      << readable_time(outcome.seconds);
  if (outcome.failed > 0) log << ", " << outcome.failed << " failed";
  if (outcome.interrupted)
    log << (outcome.kept_old ? "; interrupted, " + options.out + " is as it was before"
                             : "; interrupted, continue with --resume");
  log << '\n';
  outcome.warnings.print(log, "points");
}

// Options without effect are mistakes.
void check_options(const SweepArguments& arguments) {
  const SweepOptions& options = arguments.options;
  const bool emits = !arguments.emit.empty();
  for (const auto& [option, value, kind] :
       {std::tuple("--tasks", &arguments.tasks, ""), std::tuple("--image", &arguments.image, "k8s"),
        std::tuple("--time", &arguments.time, "slurm"),
        std::tuple("--mem", &arguments.memory, "slurm"),
        std::tuple("--partition", &arguments.partition, "slurm")}) {
    const std::string needed = kind;
    if (!value->empty() && (!emits || (!needed.empty() && arguments.emit != needed)))
      throw no_effect(option, "without --emit" + (needed.empty() ? "" : " " + needed));
  }
  if (emits)
    refuse_idle({{"--columns", !arguments.columns.empty()},
                 {"--minimize", !arguments.words.minimize.empty()},
                 {"--maximize", !arguments.words.maximize.empty()},
                 {"--over", !arguments.words.over.empty()},
                 {"--picture", !arguments.picture.empty()},
                 {"--resume", options.resume},
                 {"--force", options.force},
                 {"--dry-run", arguments.dry_run}},
                "with --emit");
  if (objective_of(arguments.words).column.empty())
    refuse_idle({{"--format", !arguments.format.empty()},
                 {"--over", !arguments.words.over.empty()},
                 {"--picture", !arguments.picture.empty()}},
                "without --minimize or --maximize");
  check_picture_name(arguments.picture);
}

void check_outputs(const SweepArguments& arguments, const Sweep& sweep) {
  const SweepOptions& options = arguments.options;
  OutputGuard guard(sweep.inputs, options.force);
  if (options.columns.empty())
    guard.claim("--out", options.out);  // what it may hold: sweep_run.cpp
  else
    guard.claim("--out", options.out, {.schema = {}, .beginning = csv_row(options.columns)});
  guard.claim("--picture", arguments.picture, {.schema = {}, .beginning = picture_beginning});
}

// The job script of a sweep that is played elsewhere.
void emit(const SweepArguments& arguments, const Sweep& sweep, Streams streams) {
  constexpr double start_of_a_task_s = 0.7;
  constexpr double most_overhead = 0.05;
  constexpr int64_t most_tasks = 1'000'000;
  const SweepOptions& options = arguments.options;
  if (options.out == "-") throw needs("--emit", "--out, the file of points");
  if (options.shard.count > 1) throw InputError("--emit", "makes shards itself");
  EmitRequest request;
  request.kind = arguments.emit;
  request.name = sweep.name;
  std::error_code problem;
  request.program = "sgdsim";
  if (request.kind != "k8s") {
    const auto self = std::filesystem::read_symlink("/proc/self/exe", problem);
    if (!problem) request.program = self.string();
  }
  request.folder = std::filesystem::current_path(problem).string();
  if (problem) throw InputError("--emit", "this folder has no name: " + problem.message());
  request.words = {arguments.words.sweep};
  if (!arguments.words.cluster.empty())
    request.words.push_back("--cluster=" + arguments.words.cluster);
  for (const std::string& method : arguments.words.methods)
    request.words.push_back("--method=" + method);
  for (const std::string& axis : arguments.words.axes) request.words.push_back("--axis=" + axis);
  for (const std::string& setting : with_options(arguments.words.settings, arguments.words.wires))
    request.words.push_back("--set=" + setting);
  request.out = options.out;
  request.threads = options.threads;
  request.image = arguments.image.empty() ? "sgdsim" : arguments.image;
  request.time = arguments.time;
  request.memory = arguments.memory;
  request.partition = arguments.partition;
  check_can_emit(request);
  const double seconds =
      seconds_per_point(sweep) * static_cast<double>(sweep.points) / options.threads;
  request.tasks = arguments.tasks.empty() ? tasks_for(seconds, sweep.points)
                                          : parse_whole(arguments.tasks, 1, most_tasks, "--tasks");
  const double of_a_task = seconds / static_cast<double>(request.tasks);
  streams.log << "sgdsim: " << sweep.points << " points in " << request.tasks << " tasks of about "
              << readable_time(of_a_task) << '\n';
  const double overhead = start_of_a_task_s / (start_of_a_task_s + of_a_task);
  if (request.tasks > 1 && overhead > most_overhead)
    streams.log << "sgdsim: warning: starting tasks would take " << rounded(100 * overhead, 2)
                << " % of the time; fewer tasks are better\n";
  streams.out << emit_script(request);
}

// With a bar, or lines, of progress.
SweepOutcome run(const SweepArguments& arguments, const Sweep& sweep, Streams streams,
                 const std::function<void(DonePoint&&)>& each) {
  Interrupt interrupt;
  std::optional<Progress> progress;
  const SweepWatch watch{.is_interrupted = [&] { return interrupt.asked(); },
                         .finishes =
                             [&] {
                               if (progress) progress->end();
                               streams.log << "sgdsim: interrupted; finishing the points that have "
                                              "begun"
                                           << std::endl;
                             },
                         .reached =
                             [&](int64_t done, int64_t there, int64_t total) {
                               if (!progress)
                                 progress.emplace(streams.log, arguments.quiet, total, there);
                               progress->update(done);
                             }};
  const SweepOutcome outcome = run_sweep(sweep, arguments.options, streams.out, each, watch);
  if (progress) progress->end();
  return outcome;
}

int sweep(SweepArguments& arguments, Streams streams) {
  SweepOptions& options = arguments.options;
  check_options(arguments);
  options.threads = threads_of(arguments.words.threads);
  options.shard = parse_shard(arguments.shard);
  if (!arguments.columns.empty()) options.columns = split_list(arguments.columns);
  const Sweep sweep = sweep_of(arguments.words);
  if (!arguments.dry_run) check_outputs(arguments, sweep);
  for (const std::string& warning : check_axes(sweep))
    streams.log << "sgdsim: warning: " << warning << '\n';
  if (arguments.dry_run) {
    dry_run(sweep, options, streams.out);
    return 0;
  }
  if (!arguments.emit.empty()) {
    emit(arguments, sweep, streams);
    return 0;
  }
  std::optional<Best> best;
  std::function<void(DonePoint &&)> each;
  options.objective = objective_of(arguments.words);
  if (!options.objective.column.empty()) {
    if (options.shard.count > 1)
      throw InputError(options.objective.option(),
                       "a shard has not all points of a group; merge first");
    best.emplace(sweep, options.objective.column, split_list(arguments.words.over));
    if (const std::string warning = best->warning(sweep); !warning.empty())
      streams.log << "sgdsim: warning: " << warning << '\n';
    if (!arguments.picture.empty()) check_can_be_drawn(best->others().size());
    each = [&](DonePoint&& point) { best->add(std::move(point)); };
  }
  if (best && options.out == "-") options.out.clear();  // standard output is for the best
  const SweepOutcome outcome = run(arguments, sweep, streams, each);
  if (!arguments.quiet) report(outcome, options, streams.log);
  if (outcome.interrupted) return exit_interrupted;
  if (best) best->print(streams.out, arguments.format == "json");
  if (best && !arguments.picture.empty())
    write_text(winners_svg(best->json(), sweep.name), arguments.picture, streams.out);
  return outcome.failed > 0 ? exit_point_failed : 0;
}

}  // namespace

void add_sweep_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "sweep", "Simulate an experiment for all combinations of values of its fields.");
  auto arguments = std::make_shared<SweepArguments>();
  SweepOptions& options = arguments->options;
  add_options(*command, sweep_fields(arguments->words));
  command->add_option("-o,--out", options.out,
                      "output file, one JSON object per line, or a SQLite database if its name "
                      "ends in .db (default: standard output)");
  command->add_option("--shard", arguments->shard,
                      "run only every N-th point, starting at I, given as I/N");
  command->add_flag("--resume", options.resume, "continue an unfinished output file");
  add_force_option(*command, options.force);
  command->add_flag("--dry-run", arguments->dry_run, "only count the points and estimate the time");
  command->add_option("--columns", arguments->columns,
                      "write a CSV table of these columns instead: cluster.nodes,strategy,...");
  command
      ->add_option("--format", arguments->format,
                   "format of the best values: table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->add_option("--picture", arguments->picture,
                      "draw the best values over the one or two other axes (SVG file)");
  command
      ->add_option("--emit", arguments->emit,
                   "print a job script and run nothing: slurm, parallel, shell or k8s")
      ->check(one_of("script", {"slurm", "parallel", "shell", "k8s"}));
  command->add_option("--tasks", arguments->tasks,
                      "number of tasks of --emit (default: about a minute of work each)");
  command->add_option("--image", arguments->image,
                      "k8s: container image that has sgdsim (default: sgdsim)");
  command->add_option("--time", arguments->time, "slurm: time limit of a task, e.g. 1:00:00");
  command->add_option("--mem", arguments->memory, "slurm: memory of a task, e.g. 4G");
  command->add_option("--partition", arguments->partition, "slurm: partition to run in");
  command->add_flag("-q,--quiet", arguments->quiet, "no progress, and no warnings of points");
  command->footer(
      std::string(
          "Example:\n"
          "  sgdsim sweep app/sweeps/nodes_bandwidth.json --minimize metrics.iteration_us\n"
          "Exit code 1: points failed (their lines have the field error). 130: interrupted.\n") +
      which_command);
  command->callback([arguments, streams, &exit_code] { exit_code = sweep(*arguments, streams); });
}

}  // namespace sgdsim
