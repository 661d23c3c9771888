// `sgdsim replay`: a schedule of what every rank does, or a Chakra trace, on a network.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/replay/schedule_slices.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/replay/replay_answer.h"
#include "study/trace_events.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct ReplayCommand {
  ReplayWords words;
  std::string format = "table";
  std::string timeline;
  bool gantt = false;
  bool force = false;
};

void replay(const ReplayCommand& arguments, Streams streams, int& exit_code) {
  const ReplayWords& words = arguments.words;
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format json");
  check_apart(arguments.timeline, true, "");
  std::vector<std::string> inputs = words.files;
  inputs.insert(inputs.end(), {words.cluster, words.groups, words.traffic});
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
  const bool is_shown = arguments.gantt || !arguments.timeline.empty();
  Interrupt interrupt;
  const ReplayAnswer answer = answer_replay(words, is_shown, [&] { interrupt.throw_if_asked(); });
  for (const std::string& note : answer.notes) streams.log << "sgdsim: note: " << note << '\n';
  for (const std::string& warning : answer.warnings)
    streams.log << "sgdsim: warning: " << warning << '\n';
  if (answer.played) {
    const auto slices = [&] { return slices_of(answer.name, answer.schedule(), *answer.played); };
    if (!arguments.timeline.empty())
      write_text(rank_timeline(slices()), arguments.timeline, streams.out);
    if (arguments.format == "json")
      streams.out << to_json(answer).dump(1) << '\n';
    else
      print(streams.out, answer);
    if (arguments.gantt) streams.out << '\n' << rank_gantt(slices(), standard_output());
  }
  if (answer.problem.empty()) return;
  streams.log << "sgdsim: " << answer.problem << '\n';
  exit_code = exit_stuck;
}

}  // namespace

void add_replay_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "replay", "Simulate a schedule, or a Chakra trace, of what every rank does.");
  auto arguments = std::make_shared<ReplayCommand>();
  add_options(*command, replay_fields(arguments->words));
  add_format_option(*command, arguments->format);
  command->add_option("--timeline", arguments->timeline,
                      "write the timeline as a Chrome trace, for Perfetto");
  command->add_flag("--gantt", arguments->gantt, "print what every rank does as text");
  add_force_option(*command, arguments->force);
  command->footer(
      "Examples:\n"
      "  sgdsim replay app/schedules/two_processors.goal --L 2000 --G 1\n"
      "  sgdsim replay app/schedules/ring_4.goal -c topologies/data/10gbe_16.json --format json");
  command->callback([arguments, streams, &exit_code] { replay(*arguments, streams, exit_code); });
}

}  // namespace sgdsim
