// `sgdsim need`: the value of a field with which a target is met.
#include <memory>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/usage.h"
#include "study/need/need_question.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct NeedCommand {
  NeedWords words;
  std::string out;
  bool force = false;
  std::string format = "table";
};

void need(const NeedCommand& arguments, Streams streams) {
  OutputGuard({arguments.words.experiment, arguments.words.cluster}, arguments.force)
      .claim("--out", arguments.out, {.schema = "sgdsim/need/1", .beginning = {}});
  Interrupt interrupt;
  const NeedAnswer answer =
      answer_need(arguments.words, Watch([&] { interrupt.throw_if_asked(); }));
  for (const std::string& warning : answer.warnings)
    streams.log << "sgdsim: warning: " << printable(warning) << '\n';
  give_answer(to_json(answer), arguments.out, arguments.format, streams,
              [&] { print(streams.out, answer); });
}

}  // namespace

void add_need_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "need", "What bandwidth, size or count a target needs: the value of a field, by bisection.");
  auto arguments = std::make_shared<NeedCommand>();
  add_options(*command, need_fields(arguments->words));
  command->add_option("-o,--out", arguments->out, "write the answer as JSON to this file");
  add_force_option(*command, arguments->force);
  add_format_option(*command, arguments->format);
  command->footer(
      "Example:\n  sgdsim need app/experiments/googlenet_k80.json --axis "
      "cluster.nic.bandwidth=1Gbps..100Gbps \\\n      --target efficiency=0.9");
  command->callback([arguments, streams] { need(*arguments, streams); });
}

}  // namespace sgdsim
