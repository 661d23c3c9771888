// `sgdsim layout`: the fastest parallel layout that fits, or what a given one costs.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/layout/gpu_picture.h"
#include "app/layout/pipeline_picture.h"
#include "app/points.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/layout/layout_question.h"
#include "study/layout/layout_sweep.h"
#include "study/trace_events.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct LayoutCommand {
  LayoutWords words;
  std::string format = "table";
  std::string timeline;
  bool gantt = false;
  bool force = false;
  bool shows() const { return gantt || !timeline.empty(); }
};

// What only one simulated step can show.
void check_pictures(const LayoutCommand& arguments) {
  const char* show = arguments.gantt ? "--gantt" : "--timeline";
  const LayoutWords& words = arguments.words;
  if (arguments.shows() && !words.axes.empty())
    throw InputError(show, "shows one step; it does not go with --axis");
  if (arguments.shows() && words.fidelity == "closed_form")
    throw no_effect(show, "without --fidelity message");
  if (arguments.shows() && words.layout.empty()) throw needs(show, "the one --layout to show");
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format json");
}

int print_all(const LayoutCommand& arguments, Streams streams, Stopper& stopper) {
  LayoutSweep sweep(arguments.words);
  return print_points({sweep.titles(), sweep.axes(), sweep.points(),
                       [&](int64_t) { return sweep.next_answer(stopper); }},
                      arguments.format, "", streams);
}

void print_one(const LayoutCommand& arguments, Streams streams, Stopper& stopper) {
  const auto [question, answer] = answer_layouts(arguments.words, arguments.shows(), stopper);
  const LayoutLine& best = answer.best.front();
  if (!arguments.timeline.empty())
    write_text(best.on_wires ? gpu_timeline(best.found.layout, best.on_wires->slices)
                             : pipeline_timeline(best.found.layout, best.played->slices),
               arguments.timeline, streams.out);
  for (const std::string& warning : warnings_of(question, answer))
    streams.log << "sgdsim: warning: " << printable(warning) << '\n';
  if (arguments.format == "json")
    streams.out << to_json(question, answer).dump(1) << '\n';
  else
    print(streams.out, question, answer);
  if (arguments.gantt)
    streams.out << '\n'
                << (best.on_wires
                        ? gpu_gantt(best.found.layout, best.on_wires->slices, standard_output())
                        : pipeline_gantt(best.played->slices, standard_output()));
}

int answer(const LayoutCommand& arguments, Streams streams) {
  check_pictures(arguments);
  check_apart(arguments.timeline, true, "");
  OutputGuard guard({arguments.words.cluster}, arguments.force);
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(arguments.words.limits));
  if (!arguments.words.axes.empty()) return print_all(arguments, streams, stopper);
  try {
    print_one(arguments, streams, stopper);
  } catch (const StuckStep& stuck) {
    streams.log << "sgdsim: " << stuck.what() << '\n';
    return exit_stuck;
  }
  return 0;
}

}  // namespace

void add_layout_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "layout", "Find the fastest parallel layout of a model that fits, or simulate one.");
  auto arguments = std::make_shared<LayoutCommand>();
  add_options(*command, layout_fields(arguments->words));
  add_format_option(*command, arguments->format);
  command->add_option("--timeline", arguments->timeline,
                      "write the timeline as a Chrome trace, for Perfetto");
  command->add_flag("--gantt", arguments->gantt,
                    "print what every rank, or every GPU, does as text");
  add_force_option(*command, arguments->force);
  command->footer(
      "Example:\n  sgdsim layout llama3.1_70b -c topologies/data/dgx_h100_4.json --gpus 512 "
      "--tokens 15T");
  command->callback([arguments, streams, &exit_code] { exit_code = answer(*arguments, streams); });
}

}  // namespace sgdsim
