// `sgdsim compare`: what was measured beside what is predicted, once or as records come.
#include <CLI/CLI.hpp>
#include <memory>
#include <thread>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/diagnose/compare_answer.h"
#include "study/diagnose/follow.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct CompareArguments {
  std::vector<std::string> files;  // RECORD EXPERIMENT, or EXPERIMENT with --follow
  CompareWords words;
  std::string follow;
  std::string format = "table";
  diagnose::AlarmRule rule;
  bool once = false;
};

void compare_once(CompareWords words, const CompareArguments& arguments, Streams streams) {
  words.record = arguments.files[0];
  words.experiment = arguments.files[1];
  const auto [prediction, comparison] = answer_compare(words);
  if (arguments.format == "json")
    streams.out << to_json(comparison, prediction).dump(2) << '\n';
  else if (arguments.format == "prometheus")
    print_prometheus(streams.out, comparison, prediction);
  else
    print(streams.out, comparison, prediction);
}

// A record that cannot be read is said and passed over: the job goes on.
bool follow_file(Follower& follower, const CompareArguments& arguments, const std::string& file,
                 Streams streams) {
  try {
    return follower.add(read_record(file, arguments.words.of));
  } catch (const InputError& error) {
    streams.log << "sgdsim: " << printable(error.what()) << "; this file is passed over\n";
    return false;
  }
}

void follow(const CompareArguments& arguments, Streams streams, int& exit_code) {
  if (arguments.format == "json")
    throw InputError("--format", "with --follow, table or prometheus; got json");
  const PredictedSteps prediction = read_prediction(arguments.files.back(), arguments.words);
  std::ostream nowhere(nullptr);
  Follower follower(prediction, arguments.rule,
                    arguments.format == "table" ? streams.out : nowhere);
  Interrupt interrupt;
  std::set<std::string> seen;
  if (arguments.files.size() == 2)
    follow_file(follower, arguments, arguments.files.front(), streams);
  while (!follower.has_alarm()) {
    for (const std::string& file : new_files(arguments.follow, seen)) {
      interrupt.throw_if_asked();
      if (follow_file(follower, arguments, file, streams)) break;
    }
    streams.out.flush();
    if (arguments.once || follower.has_alarm()) break;
    interrupt.throw_if_asked();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  if (arguments.format == "prometheus") follower.print_prometheus(streams.out);
  if (follower.has_alarm()) {
    (arguments.format == "table" ? streams.out : streams.log)
        << "alarm: " << follower.alarm_text() << '\n';
    exit_code = exit_beyond_tolerance;
  } else if (follower.steps() < arguments.rule.reference) {
    streams.log << "sgdsim: " << follower.steps() << " steps are fewer than the "
                << arguments.rule.reference
                << " of the reference (--reference); no alarm was possible\n";
  }
}

// What is of records that come one after the other, and of the alarm that they raise.
void check_once(const CLI::App& command) {
  for (const char* option : {"--once", "--threshold", "--slack", "--reference", "--least"})
    if (command.count(option) != 0)
      throw InputError(option, "is of --follow DIR, which is missing");
}

void compare_command(const CompareArguments& arguments, const CLI::App& command, Streams streams,
                     int& exit_code) {
  if (arguments.follow.empty() && arguments.files.size() != 2)
    throw InputError("compare",
                     "expected RECORD EXPERIMENT, got one file; --follow DIR takes the "
                     "place of RECORD");
  if (arguments.follow.empty()) check_once(command);
  if (arguments.follow.empty())
    compare_once(arguments.words, arguments, streams);
  else
    follow(arguments, streams, exit_code);
}

}  // namespace

void add_compare_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "compare", "Compare recorded steps with predicted ones; raise an alarm when they drift.");
  auto arguments = std::make_shared<CompareArguments>();
  command
      ->add_option("FILES", arguments->files,
                   "RECORD EXPERIMENT: recorded steps (see sgdsim diagnose), and an experiment or "
                   "another record; with --follow, EXPERIMENT is enough")
      ->required()
      ->expected(1, 2);
  command->add_option("--follow", arguments->follow,
                      "folder whose records are read as they come, in the order of their names");
  command->add_flag("--once", arguments->once,
                    "with --follow: end when the records that are there have been read");
  add_options(*command, comparison_fields(arguments->words));
  command
      ->add_option("--threshold", arguments->rule.h,
                   "CUSUM at which the alarm is raised, in spreads of a step (default: 10)")
      ->check(within(1.0, 1e6));
  command
      ->add_option("--slack", arguments->rule.k,
                   "what a step may differ without counting, in spreads (default: 0.5)")
      ->check(within(0.0, 100.0));
  command
      ->add_option("--reference", arguments->rule.reference,
                   "first steps, which say what is usual (default: 200)")
      ->check(within(10, 1'000'000));
  command
      ->add_option("--least", arguments->rule.least,
                   "shift of steps that is worth an alarm, as a part of a step (default: 0.02)")
      ->check(within(0.0, 10.0));
  add_format_option(*command, arguments->format, {"table", "json", "prometheus"});
  command->footer(
      "Exit code 5: the alarm was raised.\n"
      "Examples:\n"
      "  sgdsim compare tests/data/slow_host.json.gz tests/data/usual_host.json.gz\n"
      "  sgdsim compare tests/data/usual_host.json.gz --follow results --once");
  command->callback([arguments, command, streams, &exit_code] {
    compare_command(*arguments, *command, streams, exit_code);
  });
}

}  // namespace sgdsim
