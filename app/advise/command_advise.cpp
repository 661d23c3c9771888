// `sgdsim advise`: what could be changed about a training step, best first.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/advise/advise_question.h"
#include "study/table.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct AdviseCommand {
  AdviseWords words;
  std::string out;
  bool force = false;
  int64_t lines = 10;
  std::string format = "table";
};

// What was recorded is an answer, too.
void show_facts(const AdviseCommand& arguments, const AdviceQuestion& question,
                const RecordedTruth& truth, Streams streams) {
  if (!arguments.out.empty())
    throw InputError("--out", "there is no experiment: " + why_no_gains(truth));
  if (arguments.format == "json")
    streams.out << facts_json(question, truth).dump(1) << '\n';
  else
    print_facts(streams.out, truth);
}

// Everything in one file, so that commands are short.
void write_whole(const AdviseCommand& arguments, const ResolvedExperiment& base,
                 AdviceQuestion& question, Streams streams) {
  Json whole = {{"schema", "sgdsim/experiment/1"}};
  whole.update(base.json);
  write_text(whole.dump(1) + "\n", arguments.out, streams.out);
  question.file = arguments.out;
  question.cluster.clear();
  question.settings.clear();
}

void advise(const AdviseCommand& arguments, Streams streams) {
  if (arguments.out == "-") throw InputError("--out", "commands name the file: expected one");
  Interrupt interrupt;
  const AdviseWords& words = arguments.words;
  AdviceQuestion question = advice_question(words);
  Stopper stopper([&] { interrupt.throw_if_asked(); });
  question.stopper = &stopper;
  question.tell = [&](std::size_t changes, double seconds) {
    constexpr double long_s = 10;
    if (static_cast<double>(changes) * seconds > long_s)
      streams.log << "sgdsim: note: " << changes << " changes will be simulated, and the step took "
                  << rounded(seconds, 2) << " s; --fidelity closed_form is faster\n";
  };
  OutputGuard({words.file, words.cluster, words.fit, words.training.goodput, words.wires.traffic},
              arguments.force)
      .claim("--out", arguments.out, {.schema = "sgdsim/experiment/1", .beginning = {}});
  AdviceBase base = base_or_facts(question);
  if (base.facts) return show_facts(arguments, question, *base.facts, streams);
  if (!arguments.out.empty()) write_whole(arguments, base.experiment, question, streams);
  const Advice advice = advice_on(question, std::move(base.experiment));
  if (arguments.format == "json")
    streams.out << advice_json(question, advice).dump(1) << '\n';
  else
    print(streams.out, question, advice, static_cast<std::size_t>(arguments.lines));
}

}  // namespace

void add_advise_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "advise", "What to change about a training step, and what that would gain, best first.");
  auto arguments = std::make_shared<AdviseCommand>();
  add_options(*command, advise_fields(arguments->words));
  command->add_option("-o,--out", arguments->out,
                      "write the experiment as it is, for the commands of all lines");
  add_force_option(*command, arguments->force);
  command->add_option("--lines", arguments->lines, "lines of each sort to print (default: 10)")
      ->check(within(int64_t{1}, int64_t{1000}));
  add_format_option(*command, arguments->format);
  command->footer(std::string("Example:\n  sgdsim advise resnet50_v100 -c 25gbe_16\n") +
                  which_command);
  command->callback([arguments, streams] { advise(*arguments, streams); });
}

}  // namespace sgdsim
