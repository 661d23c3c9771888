// `sgdsim collective`: one collective, or a table of them over algorithms, ranks and sizes.
#include <CLI/CLI.hpp>
#include <memory>
#include <set>
#include <sstream>

#include "app/collective/collective_file.h"
#include "app/collective/collective_report.h"
#include "app/collective/collective_steps.h"
#include "app/collective/nccl_answer.h"
#include "app/commands.h"
#include "app/rank_picture.h"
#include "app/terminal.h"
#include "app/trace_events.h"
#include "app/write_text.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

std::string text_of(const CollectiveArguments& arguments, const CollectivePoint& point) {
  if (arguments.format == "json") return to_json(point, arguments).dump(2) + '\n';
  if (arguments.format == "csv") return csv_of({point});
  std::ostringstream out;
  print_point(out, point);
  if (point.nccl) {
    out << '\n';
    print_nccl_table(out, *point.nccl);
  }
  return out.str();
}

void answer_one(const CollectiveArguments& arguments, Streams streams, OutputGuard& guard) {
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format " + arguments.format);
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
  const CollectivePoint point = single_point(arguments);
  std::optional<RankSlices> steps;
  if (arguments.gantt || !arguments.timeline.empty()) steps = steps_of(arguments, point);
  print_warnings(streams.log, {point});
  std::string text = text_of(arguments, point);
  if (arguments.gantt) text += '\n' + rank_gantt(*steps, standard_output());
  if (!arguments.timeline.empty())
    write_text(rank_timeline(std::move(*steps)), arguments.timeline, streams.out);
  write_text(text, arguments.out, streams.out);
}

std::string text_of(const CollectiveArguments& arguments,
                    const std::vector<CollectivePoint>& points) {
  if (arguments.format == "json") return to_json(points, arguments).dump(1) + '\n';
  if (arguments.format == "csv") return csv_of(points);
  std::ostringstream out;
  print_sweep(out, points, algorithms_of(arguments).size());
  return out.str();
}

void answer_sweep(const CollectiveArguments& arguments, Streams streams) {
  if (arguments.gantt || !arguments.timeline.empty())
    throw InputError(arguments.gantt ? "--gantt" : "--timeline",
                     "shows one collective: leave out --sweep");
  const std::vector<CollectivePoint> points = sweep_points(arguments);
  print_warnings(streams.log, points);
  write_text(text_of(arguments, points), arguments.out, streams.out);
}

// What `--out` may replace.
OutputKind kind_of(const CollectiveArguments& arguments) {
  if (arguments.format == "csv") return {.schema = {}, .beginning = csv_beginning};
  if (arguments.format == "table") return {};
  return {.schema = arguments.sweep ? "sgdsim/collective-sweep/1" : "sgdsim/collective/1",
          .beginning = {}};
}

std::set<std::string> given_options(const CLI::App& command) {
  std::set<std::string> given;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) given.insert(option->get_name(false, false));
  return given;
}

void answer(CollectiveArguments& arguments, const CLI::App& command, Streams streams) {
  if (!arguments.file.empty())
    read_collective_file(arguments.file, given_options(command), arguments);
  if (arguments.bytes.empty()) throw CLI::RequiredError("--bytes");  // or a file that has it
  read_inputs(arguments);
  OutputGuard guard({arguments.file, arguments.cluster, arguments.transport, arguments.traffic},
                    arguments.force);
  guard.claim("--out", arguments.out, kind_of(arguments));
  if (arguments.sweep)
    answer_sweep(arguments, streams);
  else
    answer_one(arguments, streams, guard);
}

}  // namespace

void add_collective_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("collective", "Simulate one collective, or a table of them.");
  auto arguments = std::make_shared<CollectiveArguments>();
  add_options(*command, *arguments);
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
