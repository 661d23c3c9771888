// `sgdsim sweep`: every point of a what-if question. `sgdsim merge`: shards put together.
#include <algorithm>
#include <memory>
#include <thread>

#include "app/best.h"
#include "app/commands.h"
#include "app/progress.h"
#include "app/ranges.h"
#include "app/sweep_point.h"
#include "app/sweep_run.h"
#include "app/table.h"
#include "app/usage.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

struct SweepArguments {
  std::string sweep;
  std::vector<std::string> axes;
  std::vector<std::string> settings;
  std::string threads;
  std::string shard = "0/1";
  std::string columns;
  std::string minimize;
  std::string over;
  std::string format = "table";
  bool dry_run = false;
  SweepOptions options;
};

int threads_of(const std::string& text) {
  constexpr int64_t most_threads = 4096;
  if (text.empty()) return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(parse_whole(text, 1, most_threads, "-j"));
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos)
    throw InputError("--shard", "expected I/N, as in 0/7, got \"" + text.substr(0, 60) + "\"");
  Shard shard;
  shard.count = parse_whole(text.substr(slash + 1), 1, int64_t{1} << 40, "--shard");
  shard.index = parse_whole(text.substr(0, slash), 0, shard.count - 1, "--shard");
  return shard;
}

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
  if (options.quiet) return;
  log << "sgdsim: " << outcome.done << " of " << outcome.points << " points in "
      << readable_time(outcome.seconds);
  if (outcome.failed > 0) log << ", " << outcome.failed << " failed";
  if (outcome.interrupted) log << "; interrupted, --resume goes on";
  log << '\n';
}

int sweep(SweepArguments& arguments, Streams streams) {
  SweepOptions& options = arguments.options;
  options.threads = threads_of(arguments.threads);
  options.shard = parse_shard(arguments.shard);
  if (!arguments.columns.empty()) options.columns = split_list(arguments.columns);
  const Sweep sweep = read_sweep(arguments.sweep, arguments.settings, arguments.axes);
  for (const std::string& warning : check_axes(sweep))
    streams.log << "sgdsim: warning: " << warning << '\n';
  if (arguments.dry_run) {
    dry_run(sweep, options, streams.out);
    return 0;
  }
  std::optional<Best> best;
  std::function<void(DonePoint &&)> each;
  if (!arguments.minimize.empty()) {
    if (options.shard.count > 1)
      throw InputError("--minimize", "a shard has not all points of a group; merge first");
    best.emplace(sweep, arguments.minimize, split_list(arguments.over));
    options.objective = arguments.minimize;
    each = [&](DonePoint&& point) { best->add(std::move(point)); };
  } else if (!arguments.over.empty()) {
    throw InputError("--over", "goes with --minimize");
  }
  if (best && options.out == "-") options.out.clear();  // standard output is for the best
  const SweepOutcome outcome = run_sweep(sweep, options, streams.out, streams.log, each);
  report(outcome, options, streams.log);
  if (outcome.interrupted) return exit_interrupted;
  if (best) best->print(streams.out, arguments.format == "json");
  return outcome.failed > 0 ? exit_point_failed : 0;
}

}  // namespace

void add_sweep_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "sweep", "Simulate an experiment for all combinations of values of its fields.");
  auto arguments = std::make_shared<SweepArguments>();
  SweepOptions& options = arguments->options;
  command->add_option("SWEEP", arguments->sweep, "a sweep file, or an experiment with --axis")
      ->required();
  make_repeatable(command->add_option(
      "--axis", arguments->axes, "one more axis: cluster.nodes=2..256, strategy=wfbp,mg_wfbp"));
  make_repeatable(
      command->add_option("--set", arguments->settings, "change a field of the base experiment"));
  command->add_option("-o,--out", options.out, "file of lines (JSON); default standard output");
  command->add_option("-j,--threads", arguments->threads, "threads; default all cores");
  command->add_option("--shard", arguments->shard, "play points I, I+N, I+2N, ... only, as I/N");
  command->add_flag("--resume", options.resume, "go on with the file where it ends");
  command->add_flag("--dry-run", arguments->dry_run, "count points and estimate the time");
  command->add_option("--columns", arguments->columns,
                      "write a table (CSV) of these columns instead: cluster.nodes,strategy,...");
  command->add_option("--minimize", arguments->minimize,
                      "print the best values: metrics.iteration_us, for one");
  command->add_option("--over", arguments->over,
                      "axes to choose from, for every combination of the others; default strategy");
  command->add_option("--format", arguments->format, "of the best values: table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->add_flag("-q,--quiet", options.quiet, "no progress");
  command->footer(
      "Example:\n"
      "  sgdsim sweep app/sweeps/nodes_bandwidth.json --minimize metrics.iteration_us\n"
      "Exit code 1: points failed (their lines have the field error). 130: interrupted.");
  command->callback([arguments, streams, &exit_code] { exit_code = sweep(*arguments, streams); });
}

}  // namespace sgdsim
