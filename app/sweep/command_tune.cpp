// `sgdsim tune`: the best values of an experiment's fields.
#include <memory>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/usage.h"
#include "study/sweep/sweep_question.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct TuneCommand {
  TuneWords words;
  std::string out;
  bool force = false;
  std::string format = "table";
};

int tune(const TuneCommand& arguments, Streams streams) {
  Sweep sweep = sweep_of(arguments.words);
  OutputGuard(sweep.inputs, arguments.force)
      .claim("--out", arguments.out, {.schema = "sgdsim/tune/1", .beginning = {}});
  Interrupt interrupt;
  const TuneAnswer answer =
      answer_tune(arguments.words, std::move(sweep), [&] { return interrupt.asked(); });
  const Tuned& tuned = answer.tuned;
  if (tuned.interrupted)
    streams.log << "sgdsim: interrupted; " << tuned.evaluated << " of " << answer.sweep.points
                << " points were evaluated\n";
  const int exit_code = tuned.interrupted ? exit_interrupted : 0;
  if (tuned.best.is_null()) return exit_code;
  for (const std::string& warning : tuned.warnings)
    streams.log << "sgdsim: warning: " << warning << '\n';
  give_answer(to_json(answer), arguments.out, arguments.format, streams,
              [&] { print(streams.out, answer); });
  return exit_code;
}

}  // namespace

void add_tune_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "tune", "Find the best values of an experiment's fields: bucket size, block, strategy, ...");
  auto arguments = std::make_shared<TuneCommand>();
  add_options(*command, tune_fields(arguments->words));
  command->add_option("-o,--out", arguments->out, "write the answer as JSON to this file");
  add_force_option(*command, arguments->force);
  add_format_option(*command, arguments->format);
  command->footer(std::string("Example:\n"
                              "  sgdsim tune app/experiments/bert_base_10gbe.json --set "
                              "strategy=fixed_buckets\n") +
                  which_command);
  command->callback([arguments, streams, &exit_code] { exit_code = tune(*arguments, streams); });
}

}  // namespace sgdsim
