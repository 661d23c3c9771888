// `sgdsim layout`: the fastest parallel layout that fits, or what a given one costs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/layout/gpu_picture.h"
#include "app/layout/layout_answer.h"
#include "app/layout/layout_files.h"
#include "app/layout/layout_output.h"
#include "app/layout/layout_sweep.h"
#include "app/layout/pipeline_picture.h"
#include "app/shipped_inputs.h"
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

constexpr int usual_iterations = 20;  // where GPUs are random

constexpr int64_t wired_layouts = 11;  // of a search, each of which is played on wires

// Nothing: the best of each family.
std::optional<int64_t> lines_of(const LayoutArguments& arguments) {
  if (arguments.lines) return arguments.lines;
  if (!arguments.axes.empty()) return 1;
  if (is_on_wires(fidelity_named(arguments.fidelity, "--fidelity"))) return wired_layouts;
  return std::nullopt;
}

ClusterFile cluster_of(const LayoutArguments& arguments, int64_t gpus) {
  Json json = cluster_document(arguments.cluster).root().json();
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
  if (arguments.program != "any")
    throw InputError("--program", "is about a search; it has no effect with --layout");
}

LayoutQuestion question_of(const LayoutArguments& arguments, const Transformer& model,
                           const ForeignLayout* given) {
  const int64_t gpus = given != nullptr ? given->layout.gpus() : arguments.gpus;
  LayoutQuestion question{
      .model = model, .cluster = cluster_of(arguments, gpus), .gpu = load_gpu(arguments.gpu)};
  question.precision = precision_named(arguments.precision, "--precision");
  check_precision(question.gpu, question.precision, "--precision");
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
  space.reserve =
      arguments.reserve.empty() ? usual_reserve : parse_bytes(arguments.reserve, "--reserve");
  if (space.reserve >= space.memory)
    throw InputError("--reserve", "expected less than the memory of " + to_text(space.memory) +
                                      ", got " + to_text(space.reserve));
  space.half_gradients = arguments.gradients == "bf16";
  space.program = named_in(training_programs, "program", arguments.program, "--program");
  for (const std::string& algorithm : arguments.algorithms)
    question.algorithms.add(algorithm, "--algorithm");
  if (!arguments.tokens.empty()) question.tokens = parse_tokens(arguments.tokens, "--tokens");
  return question;
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
  if (arguments.fidelity != "flow" && !arguments.routing.empty())
    refuse("--routing", is_packets ? "packets go as their transport says: spray=per_flow, ..."
                                   : "has no effect without --fidelity flow");
  if (!is_packets && !arguments.transport.empty())
    refuse("--transport", "has no effect without --fidelity packet");
  check_traffic_option(arguments.traffic, on_wires);
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
  if (arguments.seed) options.seed = *arguments.seed;
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
  if (given.is_text) {
    given.layout = completed(given.layout, arguments.layout, arguments.gpus, arguments.batch);
    check_sizes(given.layout, "--layout");
  }
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
  question.play = play_options(arguments);
  question.play.stopper = &stopper;
  const bool wants_slices = arguments.gantt || !arguments.timeline.empty();
  LayoutAnswer answer = is_given ? price_layout(question, given.layout, wants_slices)
                                 : find_layouts(question, lines_of(arguments));
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
  make_repeatable(command.add_option(
      "-a,--algorithm", arguments.algorithms,
      "algorithm of the collectives, or of one operation: allreduce=double_binary_tree; auto: for "
      "every size the one that takes least (default: ring, alltoall=direct)"));
  command.add_option("--tokens", arguments.tokens,
                     "tokens to train on, as 15T or 300B: adds days and GPU-hours");
  command
      .add_option("--program", arguments.program,
                  "layouts that a program can do: any (default), megatron, torchtitan")
      ->check(one_of("program", {"any", "megatron", "torchtitan"}));
  command.add_option("--memory", arguments.memory,
                     "memory of a GPU (default: that of the GPU file)");
  command.add_option("--reserve", arguments.reserve,
                     "part of it for CUDA, NCCL and fragmentation (default: 2 GiB)");
  command.add_option("--layout", arguments.layout,
                     "price this layout only, as \"tp8 pp9 vp7 zero1 sp\" or a file; dp follows "
                     "from --gpus, ga from --global-batch");
  command
      .add_option(
          "--lines", arguments.lines,
          "how many of the fastest to print (default: the best of each kind; 1 with --axis)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}).description(""));
  command.add_option("--format", arguments.format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
}

void add_play_options(CLI::App& command, LayoutArguments& arguments) {
  command
      .add_option("--fidelity", arguments.fidelity,
                  "closed_form (default); message: passes and sends of every rank are simulated; "
                  "flow: every message of every GPU, on wires that they share; packet: and every "
                  "packet of it")
      ->check(one_of("fidelity", {"closed_form", "message", "flow", "packet"}));
  add_routing_option(command, arguments.routing);
  add_transport_option(command, arguments.transport);
  add_traffic_option(command, arguments.traffic);
  command.add_option("--workers", arguments.workers,
                     "slow or jittering GPUs, as `workers` of an experiment: JSON or a file");
  command.add_option("--seed", arguments.seed,
                     "of random workers, and of what packets and routes draw (default: 1)");
  command
      .add_option("--iterations", arguments.iterations,
                  "steps to simulate where workers are random (default: 20)")
      ->check(CLI::Range(1, 100'000).description(""));
  command.add_option("--timeline", arguments.timeline,
                     "write the timeline as a Chrome trace, for Perfetto");
  command.add_flag("--gantt", arguments.gantt, "print what every rank, or every GPU, does as text");
  add_limit_options(command, arguments.limits);
  add_force_option(command, arguments.force);
}

}  // namespace

void add_layout_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "layout", "Find the fastest parallel layout of a model that fits, or simulate one.");
  auto arguments = std::make_shared<LayoutArguments>();
  add_options(*command, *arguments);
  add_play_options(*command, *arguments);
  command->footer(
      "Example:\n  sgdsim layout llama3.1_70b -c topologies/data/dgx_h100_4.json --gpus 512 "
      "--tokens 15T");
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
