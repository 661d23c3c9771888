// `sgdsim traffic`: plain flows on the wires of a cluster, and when they are done.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "study/table.h"
#include "study/traffic/traffic_answer.h"

namespace sgdsim {
namespace {

// Flows are printed one by one: there may be millions.
void print_json(std::ostream& out, const TrafficAnswer& answer, bool with_flows) {
  std::string text = to_json(answer).dump(1);
  if (with_flows) {
    constexpr std::size_t closing = 2;
    out << text.erase(text.size() - closing) << ",\n \"flows\": ";
    print_flows(out, answer.file, answer.played);
    text = "\n}";
  }
  out << text << '\n';
}

void answer(const TrafficWords& words, const std::string& format, Streams streams, int& exit_code) {
  Interrupt interrupt;
  const TrafficAnswer answer = answer_traffic(
      words, [&] { interrupt.throw_if_asked(); }, format == "table");
  if (format == "json") {
    print_json(streams.out, answer, words.flows);
  } else {
    streams.out << answer.file.name << ": " << answer.file.flows.size() << " flows, "
                << short_size(answer.completion.total_B) << ", on " << answer.cluster.name << " ("
                << answer.cluster.network.workers() << " workers)\n\n";
    print(streams.out, answer.completion);
  }
  if (!answer.is_stuck()) return;
  streams.log << "sgdsim: " << stuck_text(answer) << '\n';
  exit_code = exit_stuck;
}

}  // namespace

void add_traffic_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command =
      program.add_subcommand("traffic", "Simulate plain flows on the wires of a cluster.");
  auto words = std::make_shared<TrafficWords>();
  auto format = std::make_shared<std::string>("table");
  add_options(*command, traffic_fields(*words));
  add_format_option(*command, *format);
  command->footer(
      "Examples:\n"
      "  sgdsim traffic app/flows/poisson_half.json -c topologies/data/fat_tree_k8.json\n"
      "  sgdsim traffic app/flows/incast_4.csv -c topologies/data/10gbe_16.json "
      "--format json");
  command->callback(
      [words, format, streams, &exit_code] { answer(*words, *format, streams, exit_code); });
}

}  // namespace sgdsim
