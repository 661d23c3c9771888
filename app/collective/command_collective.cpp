// `sgdsim collective`: one collective, or a table of them over algorithms, ranks and sizes.
#include <algorithm>
#include <memory>
#include <set>
#include <sstream>

#include "app/collective/collective_steps.h"
#include "app/commands.h"
#include "app/field_options.h"
#include "app/rank_picture.h"
#include "app/terminal.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/collective/collective_answer.h"
#include "study/collective/collective_report.h"
#include "study/collective/nccl_answer.h"
#include "study/trace_events.h"
#include "study/write_text.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

struct CollectiveCommand {
  CollectiveArguments words;
  std::string format = "table";
  std::string out = "-";
  std::string timeline;  // a file
  bool gantt = false;
  bool force = false;
};

void print_warnings(std::ostream& log, const std::vector<CollectivePoint>& points) {
  for (const std::string& warning : warnings_of(points))
    log << "sgdsim: warning: " << warning << '\n';
}

std::string text_of(const CollectiveCommand& arguments, const CollectivePoint& point) {
  if (arguments.format == "json") return to_json(point, arguments.words).dump(2) + '\n';
  if (arguments.format == "csv") return csv_of({point});
  std::ostringstream out;
  print_point(out, point);
  if (point.nccl) {
    out << '\n';
    print_nccl_table(out, *point.nccl);
  }
  return out.str();
}

void answer_one(const CollectiveCommand& arguments, Streams streams, OutputGuard& guard) {
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format " + arguments.format);
  check_apart(arguments.timeline, arguments.out == "-", "add --out FILE");
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
  const CollectivePoint point = single_point(arguments.words);
  std::optional<RankSlices> steps;
  if (arguments.gantt || !arguments.timeline.empty())
    steps = steps_of(arguments.words, point, arguments.gantt ? "--gantt" : "--timeline");
  print_warnings(streams.log, {point});
  std::string text = text_of(arguments, point);
  if (arguments.gantt) text += '\n' + rank_gantt(*steps, standard_output());
  if (!arguments.timeline.empty())
    write_text(rank_timeline(std::move(*steps)), arguments.timeline, streams.out);
  write_text(text, arguments.out, streams.out);
}

std::string text_of(const CollectiveCommand& arguments,
                    const std::vector<CollectivePoint>& points) {
  if (arguments.format == "json") return to_json(points, arguments.words).dump(1) + '\n';
  if (arguments.format == "csv") return csv_of(points);
  std::ostringstream out;
  print_sweep(out, points, columns_of(arguments.words));
  return out.str();
}

void answer_sweep(const CollectiveCommand& arguments, Streams streams) {
  if (arguments.gantt || !arguments.timeline.empty())
    throw InputError(arguments.gantt ? "--gantt" : "--timeline",
                     "shows one collective: leave out --sweep");
  const std::vector<CollectivePoint> points = sweep_points(arguments.words);
  print_warnings(streams.log, points);
  write_text(text_of(arguments, points), arguments.out, streams.out);
}

// Once, for people; who gives an alpha rule knows.
void say_what_is_assumed(const CollectiveCommand& arguments, Streams streams) {
  const CollectiveArguments& words = arguments.words;
  const bool is_alpha_given =
      std::any_of(words.options.begin(), words.options.end(),
                  [](const std::string& option) { return option_key(option) == "alpha"; });
  if (arguments.format != "table" || !words.cluster_read || is_alpha_given ||
      words.fidelity == "packet")
    return;
  const std::string assumed = assumed_network(*words.cluster_read, "--set network=tcp");
  if (!assumed.empty()) streams.log << "sgdsim: note: " << printable(assumed) << '\n';
}

// What `--out` may replace.
OutputKind kind_of(const CollectiveCommand& arguments) {
  if (arguments.format == "csv") return {.schema = {}, .beginning = csv_beginning};
  if (arguments.format == "table") return {};
  return {.schema = arguments.words.sweep ? "sgdsim/collective-sweep/1" : "sgdsim/collective/1",
          .beginning = {}};
}

std::set<std::string> given_options(const CLI::App& command) {
  std::set<std::string> given;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) given.insert(option->get_name(false, false).substr(2));
  return given;
}

void answer(CollectiveCommand& arguments, const CLI::App& command, Streams streams) {
  CollectiveArguments& words = arguments.words;
  if (words.file.empty() && words.bytes.empty()) throw CLI::RequiredError("--bytes");
  const bool wants_messages = arguments.gantt || !arguments.timeline.empty();
  complete(words, given_options(command), wants_messages);
  words.splits_time = arguments.format == "table";
  OutputGuard guard({words.file, words.cluster, words.transport, words.traffic}, arguments.force);
  guard.claim("--out", arguments.out, kind_of(arguments));
  if (words.sweep)
    answer_sweep(arguments, streams);
  else
    answer_one(arguments, streams, guard);
  say_what_is_assumed(arguments, streams);
}

}  // namespace

void add_collective_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("collective", "Simulate one collective, or a table of them.");
  auto arguments = std::make_shared<CollectiveCommand>();
  add_options(*command, collective_fields(arguments->words));
  add_format_option(*command, arguments->format, {"table", "json", "csv"});
  command->add_option("--out", arguments->out, "write the answer to this file");
  command->add_option("--timeline", arguments->timeline,
                      "write every message as a Chrome trace, for Perfetto");
  command->add_flag("--gantt", arguments->gantt, "print what every rank does as text");
  add_force_option(*command, arguments->force);
  command->footer(
      "Examples:\n"
      "  sgdsim collective -a lp --op broadcast -p 8 -n \"244 MB\" --alpha \"10 us\" --beta "
      "\"0.1 ns/B\"\n"
      "  sgdsim collective -a lp --op reduce -p 3 -n 4B --block 1B --alpha 0us --beta \"1 us/B\" "
      "--gantt\n"
      "  sgdsim collective -a nccl -n \"64 MiB\" -c topologies/data/dgx_h100_4.json\n"
      "  sgdsim collective --sweep -a all --op allreduce -p 2..64 -n \"4 KiB..64 MiB\" \\\n"
      "      -c topologies/data/10gbe_16.json --set nodes=64\n"
      "  sgdsim collective papers/lp/broadcasts.json --format csv --out points.csv");
  command->callback([arguments, streams, command] { answer(*arguments, *command, streams); });
}

}  // namespace sgdsim
