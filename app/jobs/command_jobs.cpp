// `sgdsim jobs`: several jobs on one cluster, each against being alone on it.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/usage.h"
#include "study/jobs/jobs_answer.h"
#include "study/trace_events.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct JobsCommand {
  JobsWords words;
  std::string format = "table";
  std::string timeline;
  bool force = false;
};

void answer(JobsCommand& arguments, Streams streams) {
  check_apart(arguments.timeline, true, "");
  JobsWords& words = arguments.words;
  OutputGuard guard({words.file, words.wires.traffic}, arguments.force);
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
  words.wants_timeline = !arguments.timeline.empty();
  Interrupt interrupt;
  const JobsAnswer answer = answer_jobs(
      words, [&] { interrupt.throw_if_asked(); }, arguments.format == "table");
  if (words.wants_timeline) write_text(timeline_json(answer), arguments.timeline, streams.out);
  warnings_of(answer).print(streams.log, "jobs");
  if (arguments.format == "table")
    print(streams.out, answer);
  else
    streams.out << to_json(answer).dump(1) << '\n';
}

}  // namespace

void add_jobs_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "jobs", "Simulate jobs that share one cluster: training, layouts, schedules, collectives.");
  auto arguments = std::make_shared<JobsCommand>();
  add_options(*command, jobs_fields(arguments->words));
  add_format_option(*command, arguments->format);
  command->add_option("--timeline", arguments->timeline,
                      "write a Chrome trace of worker 0 of every experiment, and of all ranks of "
                      "anything else");
  add_force_option(*command, arguments->force);
  command->footer(
      "Example:\n  sgdsim jobs app/job_files/two_jobs.json --set jobs.1.placement=spread");
  command->callback([arguments, streams] { answer(*arguments, streams); });
}

}  // namespace sgdsim
