// `sgdsim layout`: the fastest parallel layout that fits, or what a given one costs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/layout/gpu_picture.h"
#include "app/layout/layout_files.h"
#include "app/layout/layout_output.h"
#include "app/layout/layout_sweep.h"
#include "app/layout/pipeline_picture.h"
#include "app/step/override.h"
#include "app/trace_events.h"
#include "app/transport_choice.h"
#include "app/usage.h"
#include "app/wire_use.h"
#include "app/write_text.h"
#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "models/transport/transport.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

// Layouts of the search that are played: those that are fastest in closed form.
constexpr int64_t played_layouts = 100;
constexpr int usual_iterations = 20;  // where GPUs are random

int64_t lines_of(const LayoutArguments& arguments) {
  return arguments.lines.value_or(arguments.axes.empty() ? 11 : 1);
}

ClusterFile cluster_of(const LayoutArguments& arguments, int64_t gpus) {
  Json json = Document::read(arguments.cluster).root().json();
  apply_settings(json, arguments.settings);
  return cluster_in(Value(json, arguments.cluster, ""), gpus);
}

// What a given layout says about GPUs and batch must be what the options say.
void check_given(const LayoutArguments& arguments, const Layout& layout) {
  if (arguments.gpus > 0 && layout.gpus() != arguments.gpus)
    throw InputError("--layout", "tp x pp x cp x dp is " + std::to_string(layout.gpus()) +
                                     ", but --gpus is " + std::to_string(arguments.gpus));
  if (arguments.batch > 0 && layout.batch() != arguments.batch)
    throw InputError("--layout", "dp x mbs x ga is " + std::to_string(layout.batch()) +
                                     ", but --global-batch is " + std::to_string(arguments.batch));
  if (arguments.gradients != "fp32")
    throw InputError("--gradients", "has no effect with --layout; say gradients=bf16 there");
}

LayoutQuestion question_of(const LayoutArguments& arguments, const Transformer& model,
                           const ForeignLayout* given) {
  const int64_t gpus = given != nullptr ? given->layout.gpus() : arguments.gpus;
  LayoutQuestion question{
      .model = model, .cluster = cluster_of(arguments, gpus), .gpu = load_gpu(arguments.gpu)};
  question.precision = precision_named(arguments.precision, "--precision");
  if (question.precision == Precision::fp8 && question.gpu.fp8_flops == 0)
    throw InputError("--precision", "the GPU " + question.gpu.name + " has no FP8");
  LayoutSpace& space = question.space;
  space.gpus = gpus > 0 ? gpus : question.cluster.cluster.network.workers();
  if (space.gpus > most_gpus)
    throw InputError("--gpus", "expected at most " + std::to_string(most_gpus) + " GPUs, got " +
                                   std::to_string(space.gpus));
  const int64_t usual =
      given != nullptr ? given->sequence.value_or(model.sequence) : model.sequence;
  space.sequence = arguments.sequence > 0 ? arguments.sequence : usual;
  if (given != nullptr) question.notes = given->notes;
  check_sequence(question.model, space.sequence, "--sequence");
  space.batch = given != nullptr      ? given->layout.batch()
                : arguments.batch > 0 ? arguments.batch
                                      : space.gpus;
  space.memory =
      arguments.memory.empty() ? question.gpu.memory : parse_bytes(arguments.memory, "--memory");
  space.reserve = parse_bytes(arguments.reserve, "--reserve");
  if (space.reserve >= space.memory)
    throw InputError("--reserve", "expected less than the memory of " + to_text(space.memory) +
                                      ", got " + to_text(space.reserve));
  space.half_gradients = arguments.gradients == "bf16";
  return question;
}

LayoutLine line_of(const LayoutQuestion& question, GroupTimes& groups, const Layout& layout,
                   Fidelity fidelity, bool wants_slices) {
  const int64_t sequence = question.space.sequence;
  const TrainingStep step{question.model, layout, sequence, question.gpu, question.precision};
  LayoutLine line;
  if (is_on_wires(fidelity)) {
    StepWires wires = question.wires;
    wires.traffic = question.traffic.flows;
    wires.changes = question.traffic.changes;
    wires.wants_slices = wants_slices;
    line.on_wires = play_on_wires(step, question.cluster.cluster, groups, wires, question.play);
    line.step = line.on_wires->step;
  } else if (fidelity == Fidelity::message) {
    line.played = play_step(step, groups, question.play, wants_slices);
    line.step = line.played->step;
  } else {
    line.step = hybrid_step(step, groups);
  }
  line.found = {layout, line.step.time, line.step.mfu,
                largest_memory(question.model, layout, sequence).total_B(), line.step.limit};
  return line;
}

// The one layout that was given.
LayoutAnswer price(const LayoutQuestion& question, const Layout& layout, bool wants_slices) {
  const LayoutSpace& space = question.space;
  check_layout(question.model, layout, space.sequence, "--layout");
  check_memory(question.model, layout, space.sequence, space.memory, space.reserve, "--layout");
  check_workers(question.play.workers, layout, "--workers");
  GroupTimes groups(question.cluster.cluster, space.gpus);
  LayoutAnswer answer{.candidates = 1, .fitting = 1, .is_given = true, .best = {}};
  answer.best.push_back(line_of(question, groups, layout, question.fidelity, wants_slices));
  answer.played = question.plays() ? 1 : 0;
  return answer;
}

template <class T>
void keep_first(std::vector<T>& list, int64_t most) {
  if (static_cast<int64_t>(list.size()) > most) list.resize(static_cast<std::size_t>(most));
}

// The fastest first, and so many of them.
void rank(std::vector<LayoutLine>& lines, int64_t most) {
  std::stable_sort(lines.begin(), lines.end(), [](const LayoutLine& a, const LayoutLine& b) {
    return a.found.time < b.found.time;
  });
  keep_first(lines, most);
}

// Those that were found by their passes, once more.
void play_on_wires(const LayoutQuestion& question, GroupTimes& groups, LayoutAnswer& answer) {
  answer.by_passes = answer.played;
  std::vector<LayoutLine> lines;
  double effort = 0;
  for (const LayoutLine& one : answer.best) {
    if (effort >= 1) {
      answer.notes.push_back("only " + std::to_string(lines.size()) +
                             " layouts were played on wires, because these took as many messages "
                             "as are played in one search");
      break;
    }
    try {
      lines.push_back(line_of(question, groups, one.found.layout, question.fidelity, false));
      effort += lines.back().on_wires->effort;
    } catch (const StuckStep&) {
      throw;
    } catch (const InputError& error) {
      if (&one == &answer.best.back() && lines.empty()) throw;
      answer.notes.push_back(to_text(one.found.layout) + " was not played: " + error.what());
    }
  }
  answer.best = std::move(lines);
  answer.played = static_cast<int64_t>(answer.best.size());
  rank(answer.best, answer.played);
}

LayoutAnswer search(const LayoutArguments& arguments, const LayoutQuestion& question) {
  const LayoutSpace& space = question.space;
  LayoutSearch found = search_layouts(question.model, question.gpu, question.precision,
                                      question.cluster.cluster, space, question.play.stopper);
  if (found.candidates == 0)
    throw InputError("layout", "no layout of " + question.model.name + " divides by " +
                                   std::to_string(space.gpus) + " GPUs and a global batch of " +
                                   std::to_string(space.batch) +
                                   "; numbers with more small divisors would");
  if (found.fitting.empty()) {
    const double room = static_cast<double>((space.memory - space.reserve).count());
    throw InputError("layout", "none of " + std::to_string(found.candidates) +
                                   " layouts fits into " + to_text(space.memory) + " less " +
                                   to_text(space.reserve) + "; the smallest, " +
                                   to_text(found.smallest) + ", needs " +
                                   gib_text(found.smallest_B) + ", " +
                                   gib_text(found.smallest_B - room) + " too much");
  }
  LayoutAnswer answer{.candidates = found.candidates,
                      .fitting = static_cast<int64_t>(found.fitting.size()),
                      .best = {}};
  const int64_t lines = lines_of(arguments);
  GroupTimes groups(question.cluster.cluster, space.gpus);
  if (!question.plays()) {
    keep_first(found.fitting, lines);
    for (const FoundLayout& one : found.fitting)
      answer.best.push_back(line_of(question, groups, one.layout, Fidelity::closed_form, false));
    return answer;
  }
  keep_first(found.fitting, std::max(lines, played_layouts));
  for (const FoundLayout& one : found.fitting)
    answer.best.push_back(line_of(question, groups, one.layout, Fidelity::message, false));
  answer.played = static_cast<int64_t>(answer.best.size());
  rank(answer.best, lines);
  if (is_on_wires(question.fidelity)) play_on_wires(question, groups, answer);
  return answer;
}

// What only a played step can show.
void check_play(const LayoutArguments& arguments) {
  const bool plays = arguments.fidelity != "closed_form";
  const bool is_packets = arguments.fidelity == "packet";
  const bool on_wires = is_packets || arguments.fidelity == "flow";
  const bool is_given = !arguments.layout.empty();
  const bool shows = arguments.gantt || !arguments.timeline.empty();
  const char* show = arguments.gantt ? "--gantt" : "--timeline";
  auto refuse = [](const char* option, const char* why) { throw InputError(option, why); };
  constexpr const char* no_play = "has no effect without --fidelity message";
  if (!plays && !arguments.workers.empty()) refuse("--workers", no_play);
  if (!plays && arguments.iterations > 0) refuse("--iterations", no_play);
  if (!plays && arguments.seed) refuse("--seed", no_play);
  if (!plays && shows) refuse(show, no_play);
  if (!plays && arguments.limits.any()) refuse(arguments.limits.given(), no_play);
  if (on_wires && arguments.interval)
    refuse("--interval", "is not known on shared wires: no published step was compared with them");
  if (arguments.fidelity != "flow" && !arguments.routing.empty())
    refuse("--routing", is_packets ? "packets go as their transport says: spray=per_flow, ..."
                                   : "has no effect without --fidelity flow");
  if (!is_packets && !arguments.transport.empty())
    refuse("--transport", "has no effect without --fidelity packet");
  if (!on_wires && !arguments.traffic.empty())
    refuse("--traffic", "needs wires that are shared: --fidelity flow or packet");
  if (!is_given && shows) refuse(show, "needs the one --layout to show");
  if (!is_given && !arguments.workers.empty())
    refuse("--workers", "numbers GPUs of one layout: give it with --layout");
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format json");
}

// Whether wires draw something.
bool draws_routes(const LayoutArguments& arguments) {
  return arguments.fidelity == "packet" || arguments.routing == "hashed";
}

LayoutPlay play_options(const LayoutArguments& arguments) {
  LayoutPlay options;
  constexpr const char* no_dice = "has no effect without random --workers";
  const bool no_seed = arguments.seed && !draws_routes(arguments);
  if (arguments.workers.empty()) {
    if (no_seed) throw InputError("--seed", no_dice);
    if (arguments.iterations > 1)
      throw InputError("--iterations", "all iterations are alike without random --workers");
    return options;
  }
  const Document document = arguments.workers.front() == '{'
                                ? Document::parse(arguments.workers, "--workers")
                                : Document::read(arguments.workers);
  options.workers = read_workers(document.root());
  const bool is_random = options.workers.is_random();
  if (!is_random && no_seed) throw InputError("--seed", no_dice);
  options.seed = arguments.seed.value_or(0);
  if (!is_random && arguments.iterations > 1)
    throw InputError("--iterations", "all iterations are alike: --workers says nothing random");
  if (is_random)
    options.iterations = arguments.iterations > 0 ? arguments.iterations : usual_iterations;
  return options;
}

// How messages go, and what else is on the wires.
void read_wires(const LayoutArguments& arguments, LayoutQuestion& question) {
  if (!is_on_wires(question.fidelity)) return;
  StepWires& wires = question.wires;
  if (arguments.seed) wires.routes.seed = *arguments.seed;
  if (!arguments.routing.empty())
    wires.routes.routing = routing_named(arguments.routing, "--routing");
  if (question.fidelity == Fidelity::packet) {
    const Json json = transport_in(arguments.transport);
    const Value transport(json, "--transport", "");
    wires.carrier = carrier_of(transport, {}, wires.routes.seed);
    wires.payload_B = payload_B_of(transport);
    question.transport = name_of_transport(transport);
  }
  if (arguments.traffic.empty()) return;
  const Cluster& cluster = question.cluster.cluster;
  question.traffic =
      read_meanwhile(arguments.traffic, "--traffic", cluster, *cluster.wires(wires.routes));
}

ForeignLayout given_layout(const LayoutArguments& arguments, const Transformer& model) {
  ForeignLayout given;
  if (arguments.layout.empty()) return given;
  const int64_t usual = cluster_of(arguments, 0).cluster.network.workers();
  given =
      load_layout(arguments.layout, "--layout", {.given = arguments.gpus, .usual = usual}, model);
  check_given(arguments, given.layout);
  return given;
}

AnsweredLayouts answer_of(const LayoutArguments& arguments, Stopper& stopper) {
  check_play(arguments);
  const bool is_given = !arguments.layout.empty();
  const Transformer model = load_model(arguments.model);
  const ForeignLayout given = given_layout(arguments, model);
  LayoutQuestion question = question_of(arguments, model, is_given ? &given : nullptr);
  question.fidelity = fidelity_named(arguments.fidelity, "--fidelity");
  read_wires(arguments, question);
  question.wants_interval = arguments.interval;
  question.play = play_options(arguments);
  question.play.stopper = &stopper;
  const bool wants_slices = arguments.gantt || !arguments.timeline.empty();
  LayoutAnswer answer =
      is_given ? price(question, given.layout, wants_slices) : search(arguments, question);
  return {std::move(question), std::move(answer)};
}

void answer_layout(const LayoutArguments& arguments, Streams streams, int& exit_code) {
  OutputGuard guard({arguments.cluster}, arguments.force);
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(arguments.limits));
  if (!arguments.axes.empty()) {
    for (const auto& [option, is_there] :
         {std::pair{"--gantt", arguments.gantt}, {"--timeline", !arguments.timeline.empty()}})
      if (is_there) throw InputError(option, "shows one step; it does not go with --axis");
    exit_code = sweep_layouts(
        arguments, streams, [&](const auto& one) { return answer_of(one, stopper); }, stopper);
    return;
  }
  const auto [question, answer] = answer_of(arguments, stopper);
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

void add_options(CLI::App& command, LayoutArguments& arguments) {
  command
      .add_option("MODEL", arguments.model,
                  "a model of `sgdsim list models`, a model file, or config.json of Hugging Face")
      ->required();
  command
      .add_option("-c,--cluster", arguments.cluster,
                  "cluster file; boxes at one switch grow to the GPUs asked for")
      ->required();
  make_repeatable(command.add_option("--set", arguments.settings,
                                     "change a field of the cluster: nic.bandwidth=\"100 Gbps\""));
  make_repeatable(
      command.add_option("--axis", arguments.axes,
                         "answer for every value, and every combination of several: gpus=64..1024, "
                         "cluster.nic.bandwidth=\"100 Gbps,400 Gbps\""));
  command.add_option("--gpus", arguments.gpus, "number of GPUs (default: those of the cluster)")
      ->check(CLI::Range(int64_t{1}, most_gpus).description(""));
  command.add_option("--gpu", arguments.gpu,
                     "a GPU of `sgdsim list gpus`, or a GPU file (default: h100)");
  command
      .add_option("--sequence", arguments.sequence,
                  "tokens of a sequence (default: the model's own)")
      ->check(CLI::Range(int64_t{1}, most_sequence).description(""));
  command
      .add_option("--global-batch", arguments.batch,
                  "sequences of a step (default: one for each GPU)")
      ->check(CLI::Range(int64_t{1}, most_global_batch).description(""));
  command
      .add_option("--precision", arguments.precision,
                  "of matrix products in layers: bf16 (default) or fp8")
      ->check(one_of("precision", {"bf16", "fp8"}));
  command
      .add_option("--gradients", arguments.gradients,
                  "how gradients are kept and exchanged: fp32 (default) or bf16")
      ->check(one_of("gradients", {"fp32", "bf16"}));
  command.add_option("--memory", arguments.memory,
                     "memory of a GPU (default: that of the GPU file)");
  command.add_option("--reserve", arguments.reserve,
                     "part of it for CUDA, NCCL and fragmentation (default: 2 GiB)");
  command.add_option("--layout", arguments.layout,
                     "price this layout only, as \"tp8 pp9 vp7 dp4 zero1 sp\" or a file");
  command
      .add_option("--lines", arguments.lines,
                  "layouts to print (default: 11, the best one and the next ten; 1 with --axis)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}).description(""));
  command.add_option("--format", arguments.format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
}

void add_play_options(CLI::App& command, LayoutArguments& arguments) {
  command
      .add_option("--fidelity", arguments.fidelity,
                  "closed_form (default); message: passes and sends of every rank are played; "
                  "flow: every message of every GPU, on wires that they share; packet: and every "
                  "packet of it")
      ->check(one_of("fidelity", {"closed_form", "message", "flow", "packet"}));
  add_routing_option(command, arguments.routing);
  add_transport_option(command, arguments.transport);
  add_traffic_option(command, arguments.traffic);
  command.add_option("--workers", arguments.workers,
                     "slow or jittering GPUs, as `workers` of an experiment: JSON or a file");
  command.add_option("--seed", arguments.seed,
                     "of random workers (default: 0), and of what packets and routes draw");
  command
      .add_option("--iterations", arguments.iterations,
                  "steps to play where workers are random (default: 20)")
      ->check(CLI::Range(1, 100'000).description(""));
  command.add_flag("--interval", arguments.interval,
                   "where a published step would be, by those that ship as cases");
  command.add_option("--timeline", arguments.timeline,
                     "write the timeline as a Chrome trace, for Perfetto");
  command.add_flag("--gantt", arguments.gantt, "print what every rank, or every GPU, does as text");
  add_limit_options(command, arguments.limits);
  add_force_option(command, arguments.force);
}

}  // namespace

void add_layout_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "layout", "Find the fastest parallel layout of a model that fits, or play one.");
  auto arguments = std::make_shared<LayoutArguments>();
  add_options(*command, *arguments);
  add_play_options(*command, *arguments);
  command->footer(
      "Example:\n  sgdsim layout llama3.1_70b -c topologies/data/dgx_h100_4.json --gpus 64 "
      "--global-batch 256");
  command->callback([arguments, streams, &exit_code] {
    try {
      answer_layout(*arguments, streams, exit_code);
    } catch (const StuckStep& stuck) {
      streams.log << "sgdsim: " << stuck.what() << '\n';
      exit_code = exit_stuck;
    }
  });
}

}  // namespace sgdsim
