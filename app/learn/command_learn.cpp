// `sgdsim learn`: small real training inside the simulated schedule, methods side by side.
#include <memory>
#include <mutex>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/plot/figure.h"
#include "app/points.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/learn/learn_answer.h"
#include "study/learn/learn_batches.h"
#include "study/learn/learn_fields.h"
#include "study/learn/learn_sweep.h"
#include "study/learn/learned_convergence.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct LearnCommand {
  LearnWords words;
  std::string format = "table";
  std::string out;
  std::string svg;
  std::string convergence;
  bool force = false;
};

// Loss over simulated time, a curve for each method: the first seed's.
std::string learned_svg(const LearnQuestion& question, const Learned& learned) {
  PlotData data;
  data.x = {"simulated time", "s", 1};
  data.y = {"loss", "", 1};
  data.panels.emplace_back();
  for (std::size_t i = 0; i < learned.methods.size(); ++i) {
    data.names.push_back(question.methods[i].label);
    PlotCurve curve;
    curve.name = i;
    for (const learning::CurvePoint& point : learned.methods[i].chosen().lessons.front()->curve)
      curve.spots.push_back(
          {question.methods[i].ends_us[static_cast<std::size_t>(point.iteration)] / 1e6,
           point.loss});
    data.panels.front().curves.push_back(std::move(curve));
  }
  PlotRequest request;
  request.title = question.name + ": " + question.task.name;
  request.x_spacing = request.y_spacing = Spacing::linear;
  return svg_of(figure_of(data, request));
}

int learn_points(const LearnCommand& arguments, const Watch& watch, Streams streams) {
  for (const auto& [option, value] :
       {std::pair("--svg", &arguments.svg), std::pair("--convergence", &arguments.convergence)})
    if (!value->empty())
      throw InputError(option, "is of one experiment; it does not go with --axis");
  std::vector<std::string> inputs;
  LearnSweep sweep(arguments.words, watch, inputs);
  OutputGuard guard(inputs, arguments.force);
  claim_points(guard, arguments.out, "sgdsim/learn-point/1", sweep.points(),
               [&](int64_t number) { return sweep.values_at(number); });
  const int code = print_points({sweep.titles(), sweep.axes(), sweep.points(),
                                 [&](int64_t number) { return sweep.answer(number); }},
                                arguments.format, arguments.out, streams);
  if (arguments.format != "json") streams.out << '\n' << sweep.summary();
  return code;
}

// Iterations over samples, a curve for each target.
std::string batches_svg(const LearnedBatches& learned) {
  PlotData data;
  data.x = {"samples of an iteration", "", 1};
  data.y = {"iterations", "", 1};
  data.panels.emplace_back();
  for (const BatchTarget& target : learned.targets) {
    PlotCurve curve;
    curve.name = data.names.size();
    data.names.push_back("to " + goal_text(target.target));
    for (const BatchLesson& lesson : target.lessons)
      if (lesson.is_reached())
        curve.spots.push_back({static_cast<double>(lesson.samples), lesson.over_seeds.median});
    if (!curve.spots.empty()) data.panels.front().curves.push_back(std::move(curve));
  }
  if (data.panels.front().curves.empty())
    throw InputError("--svg", "no target was reached, so there is nothing to draw");
  PlotRequest request;
  request.title = learned.name + ": " + learned.task_name;
  request.x_spacing = request.y_spacing = Spacing::logarithmic;
  return svg_of(figure_of(data, request));
}

int learn_over_batches(const LearnCommand& arguments, const Watch& watch, Streams streams) {
  if (!arguments.convergence.empty())
    throw InputError("--convergence", "is of methods; it does not go with --batches");
  std::vector<std::string> inputs;
  BatchQuestion question = read_batch_question(arguments.words, inputs);
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = "sgdsim/learn-batches/1", .beginning = {}});
  guard.claim("--svg", arguments.svg, {.schema = {}, .beginning = picture_beginning});
  const LearnedBatches learned = learn_batches(std::move(question), watch);
  if (!arguments.svg.empty()) write_text(batches_svg(learned), arguments.svg, streams.out);
  give_answer(batches_json(learned), arguments.out, arguments.format, streams,
              [&] { print_batches(streams.out, learned); });
  return 0;
}

int answer_learn(const LearnCommand& arguments, Streams streams) {
  Interrupt interrupt;
  std::mutex one_at_a_time;
  const std::function<void()> watch = [&] {
    const std::lock_guard lock(one_at_a_time);
    interrupt.throw_if_asked();
  };
  if (!arguments.words.batches.empty()) return learn_over_batches(arguments, watch, streams);
  if (!arguments.words.axes.empty()) return learn_points(arguments, watch, streams);
  Stopper stopper(watch, {});
  std::vector<std::string> inputs;
  const LearnQuestion question = read_learn_question(arguments.words, &stopper, inputs);
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = "sgdsim/learn/1", .beginning = {}});
  guard.claim("--svg", arguments.svg, {.schema = {}, .beginning = picture_beginning});
  guard.claim("--convergence", arguments.convergence,
              {.schema = "sgdsim/convergence/1", .beginning = {}});
  const Learned learned = learn_all(question, watch);
  if (!arguments.convergence.empty()) {
    const LearnedConvergence convergence = convergence_of(question, learned);
    for (const std::string& sentence : convergence.said)
      streams.log << "sgdsim: warning: " << sentence << '\n';
    write_text(convergence.file.dump(2) + '\n', arguments.convergence, streams.out);
  }
  if (!arguments.svg.empty())
    write_text(learned_svg(question, learned), arguments.svg, streams.out);
  give_answer(learned_json(question, learned), arguments.out, arguments.format, streams,
              [&] { print_learned(streams.out, question, learned); });
  return 0;
}

}  // namespace

void add_learn_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "learn", "Train small models in the simulated schedule: time to accuracy.");
  auto arguments = std::make_shared<LearnCommand>();
  add_options(*command, learn_fields(arguments->words));
  command->add_option("--svg", arguments->svg,
                      "draw loss over simulated time; with --batches, iterations over samples");
  command->add_option("--convergence", arguments->convergence,
                      "write factors on iterations, which experiments read as `convergence`");
  command->add_option("-o,--out", arguments->out,
                      "write the answer (JSON); with --axis, one object per line");
  add_force_option(*command, arguments->force);
  add_format_option(*command, arguments->format);
  command->footer(
      "Examples:\n  sgdsim learn app/experiments/alexnet_gtopk_1gbe.json --target accuracy=0.66 "
      "\\\n"
      "      --also \"late: synchronization=pipe_sgd, width=2\" --seeds 3\n"
      "  sgdsim learn app/experiments/bert_base_10gbe.json --also gtopk --also qsgd --seeds 3 \\\n"
      "      --axis cluster.nodes=4,8 --axis 'cluster.nic.bandwidth=1Gbps..100Gbps'\n"
      "  sgdsim learn app/experiments/bert_base_10gbe.json --set cluster.nodes=8 --batches 8..256 "
      "\\\n"
      "      --target accuracy=0.6,0.66");
  command->callback(
      [arguments, streams, &exit_code] { exit_code = answer_learn(*arguments, streams); });
}

}  // namespace sgdsim
