// `sgdsim learn`: small real training inside the simulated schedule, methods side by side.
#include <memory>
#include <mutex>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/interrupt.h"
#include "app/learn/learn_answer.h"
#include "app/usage.h"
#include "app/write_text.h"
#include "models/learning/registry.h"

namespace sgdsim {
namespace {

void answer_learn(const LearnArguments& arguments, Streams streams) {
  Interrupt interrupt;
  std::mutex one_at_a_time;
  const std::function<void()> watch = [&] {
    const std::lock_guard lock(one_at_a_time);
    interrupt.throw_if_asked();
  };
  Stopper stopper(watch, {});
  std::vector<std::string> inputs;
  const LearnQuestion question = read_learn_question(arguments, &stopper, inputs);
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = "sgdsim/learn/1", .beginning = {}});
  guard.claim("--svg", arguments.svg, {.schema = {}, .beginning = picture_beginning});
  const Learned learned = learn_all(question, watch);
  if (!arguments.svg.empty())
    write_text(learned_svg(question, learned), arguments.svg, streams.out);
  give_answer(learned_json(question, learned), arguments.out, arguments.format, streams,
              [&] { print_learned(streams.out, question, learned); });
}

}  // namespace

void add_learn_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "learn", "Train small models in the simulated schedule: time to accuracy.");
  auto arguments = std::make_shared<LearnArguments>();
  add_experiment(*command, "EXPERIMENT",
                 "an experiment file, a profile, or a trace (a file or a name) with --cluster",
                 arguments->experiment, arguments->cluster);
  make_repeatable(command->add_option("--set", arguments->settings,
                                      "change a field: cluster.nodes=8, strategy=wfbp"));
  make_repeatable(command->add_option(
      "--also", arguments->also,
      "one more method, beside dense and the experiment's own: compression=gtopk, or \"late: "
      "synchronization=pipe_sgd, width=4\""));
  std::string names;
  for (const learning::TaskKind& kind : learning::tasks())
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  command->add_option("--task", arguments->task,
                      "what is learned: " + names + " (default: teacher_mlp), or its JSON");
  command->add_option("--target", arguments->target,
                      "accuracy=0.66 or loss=0.9 (default: the loss that dense has after half of "
                      "its iterations)");
  command->add_option("--rate", arguments->rate,
                      "learning rate: base (default), a number, or best: of five rates, each "
                      "method its own");
  command->add_option("--momentum", arguments->momentum, "momentum of the sum (default: 0)");
  command->add_option("--seeds", arguments->seeds, "how many seeds (default: 5)");
  command->add_option("--seed", arguments->first_seed, "the first seed (default: 1)");
  command->add_option("--iterations", arguments->iterations,
                      "how many at most (default: the task's, 1,000)");
  command->add_option("--samples", arguments->samples,
                      "of a worker in an iteration (default: 64 of all workers)");
  command->add_option("-j,--jobs", arguments->threads, "threads (default: all cores)");
  command->add_option("--svg", arguments->svg, "draw loss over simulated time");
  command->add_option("-o,--out", arguments->out, "write the answer (JSON)");
  add_force_option(*command, arguments->force);
  command->add_option("--format", arguments->format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->footer(
      "Example:\n  sgdsim learn app/experiments/alexnet_gtopk_1gbe.json --target accuracy=0.66 \\\n"
      "      --also \"late: synchronization=pipe_sgd, width=2\" --seeds 3");
  command->callback([arguments, streams] { answer_learn(*arguments, streams); });
}

}  // namespace sgdsim
