// `sgdsim goodput`: the whole run, with its failures, saves and spares: days, cost and risk.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/points.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/goodput/goodput_output.h"
#include "study/goodput/goodput_sweep.h"
#include "study/goodput/goodput_words.h"

namespace sgdsim {
namespace {

struct GoodputCommand {
  GoodputWords words;
  std::string format = "table";
  std::string out;
  bool force = false;
};

int ask_points(const GoodputCommand& arguments, Streams streams) {
  const GoodputSweep sweep(arguments.words);
  OutputGuard guard({arguments.words.file}, arguments.force);
  claim_points(guard, arguments.out, "sgdsim/goodput-point/1", sweep.points(),
               [&](int64_t number) { return sweep.values_at(number); });
  Interrupt interrupt;
  return print_points(
      {sweep.titles(), sweep.axes(), sweep.points(),
       [&](int64_t number) { return sweep.answer(number, [&] { interrupt.throw_if_asked(); }); }},
      arguments.format, arguments.out, streams);
}

int ask(const GoodputCommand& arguments, Streams streams) {
  if (!arguments.words.axes.empty()) return ask_points(arguments, streams);
  if (!arguments.out.empty())
    throw InputError("--out",
                     "is for the points of --axis; of one training write the output of "
                     "--format json to a file");
  Interrupt interrupt;
  const auto look = [&] { interrupt.throw_if_asked(); };
  const GoodputQuestion question = goodput_question(arguments.words, look);
  const GoodputAnswer answer = answer_goodput(question, threads_of(arguments.words), look);
  for (const std::string& warning : answer.warnings) streams.log << "sgdsim: " << warning << '\n';
  if (arguments.format == "json")
    streams.out << to_json(question, answer).dump(2) << '\n';
  else
    print(streams.out, question, answer);
  return 0;
}

}  // namespace

void add_goodput_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "goodput", "When a training ends that fails, saves and restarts, and what it costs.");
  auto arguments = std::make_shared<GoodputCommand>();
  add_options(*command, goodput_fields(arguments->words));
  command->add_option("-o,--out", arguments->out,
                      "with --axis: write the points to this file, one JSON object per line");
  add_force_option(*command, arguments->force);
  add_format_option(*command, arguments->format);
  command->footer(
      "Examples:\n"
      "  sgdsim goodput app/goodput_questions/llama3_405b.json --until '60 days'\n"
      "  sgdsim goodput app/goodput_questions/llama3_405b.json --runs 1000 \\\n"
      "    --axis nodes=512..2048\n"
      "  sgdsim goodput --step 8s --steps 100000 --nodes 256 --failures rsc1_a100 \\\n"
      "    --set save.stall=10s --set save.durable=1min");
  command->callback([arguments, streams, &exit_code] { exit_code = ask(*arguments, streams); });
}

}  // namespace sgdsim
