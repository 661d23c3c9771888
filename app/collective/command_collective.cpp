// `sgdsim collective`: one collective, or a table of them over algorithms, ranks and sizes.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/collective/collective_report.h"
#include "app/collective/nccl_answer.h"
#include "app/commands.h"

namespace sgdsim {
namespace {

void answer_one(const CollectiveArguments& arguments, Streams streams) {
  const CollectivePoint point = single_point(arguments);
  print_warnings(streams.log, {point});
  if (arguments.format == "json") {
    streams.out << to_json(point, arguments).dump(2) << '\n';
    return;
  }
  print_point(streams.out, point);
  if (!point.nccl) return;
  streams.out << '\n';
  print_nccl_table(streams.out, *point.nccl);
}

void answer_sweep(const CollectiveArguments& arguments, Streams streams) {
  const std::vector<CollectivePoint> points = sweep_points(arguments);
  print_warnings(streams.log, points);
  if (arguments.format == "json")
    streams.out << to_json(points, arguments).dump(1) << '\n';
  else
    print_sweep(streams.out, points, algorithms_of(arguments).size());
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
      "  sgdsim collective -a nccl -n \"64 MiB\" -c topologies/data/dgx_h100_4.json\n"
      "  sgdsim collective --sweep -a all --op allreduce -p 2..64 -n \"4 KiB..64 MiB\" \\\n"
      "      -c topologies/data/10gbe_16.json --set nodes=64");
  command->callback([arguments, streams] {
    read_inputs(*arguments);
    if (arguments->sweep)
      answer_sweep(*arguments, streams);
    else
      answer_one(*arguments, streams);
  });
}

}  // namespace sgdsim
