// `sgdsim goodput`: the whole run, with its failures, saves and spares: days, cost and risk.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "study/goodput/goodput_output.h"
#include "study/goodput/goodput_words.h"

namespace sgdsim {
namespace {

void ask(const GoodputWords& words, const std::string& format, Streams streams) {
  const GoodputQuestion question = goodput_question(words);
  Interrupt interrupt;
  const GoodputAnswer answer =
      answer_goodput(question, threads_of(words), [&] { interrupt.throw_if_asked(); });
  for (const std::string& warning : answer.warnings) streams.log << "sgdsim: " << warning << '\n';
  if (format == "json")
    streams.out << to_json(question, answer).dump(2) << '\n';
  else
    print(streams.out, question, answer);
}

}  // namespace

void add_goodput_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "goodput", "When a training ends that fails, saves and restarts, and what it costs.");
  auto words = std::make_shared<GoodputWords>();
  auto format = std::make_shared<std::string>("table");
  add_options(*command, goodput_fields(*words));
  add_format_option(*command, *format);
  command->footer(
      "Examples:\n"
      "  sgdsim goodput app/goodput_questions/llama3_405b.json --until '60 days'\n"
      "  sgdsim goodput --step 8s --steps 100000 --nodes 256 --failures rsc1_a100 \\\n"
      "    --set save.stall=10s --set save.durable=1min");
  command->callback([words, format, streams] { ask(*words, *format, streams); });
}

}  // namespace sgdsim
