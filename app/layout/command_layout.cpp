// `sgdsim layout`: the fastest parallel layout that fits, or what a given one costs.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/layout/layout_files.h"
#include "app/table.h"
#include "app/usage.h"
#include "models/training/layout_search.h"
#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr double bytes_of_gib = 1024.0 * 1024 * 1024;

struct LayoutArguments {
  std::string model;
  std::string cluster;
  std::string gpu = "h100";
  std::string precision = "bf16";
  std::string gradients = "fp32";
  std::string memory;
  std::string reserve = "2 GiB";
  std::string layout;
  int64_t gpus = 0;
  int64_t sequence = 0;
  int64_t batch = 0;
  int64_t lines = 11;  // the best one and the next ten
  std::string format = "table";
};

// Everything that is asked, read and checked.
struct LayoutQuestion {
  Transformer model;
  ClusterFile cluster;
  Gpu gpu;
  Precision precision = Precision::bf16;
  LayoutSpace space = {};
};

struct LayoutAnswer {
  int64_t candidates = 0;
  int64_t fitting = 0;
  std::vector<FoundLayout> best;
  std::vector<HybridStep> steps;  // of them
};

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

LayoutQuestion question_of(const LayoutArguments& arguments, const Layout* given) {
  const int64_t gpus = given != nullptr ? given->gpus() : arguments.gpus;
  LayoutQuestion question{.model = load_model(arguments.model),
                          .cluster = load_cluster(arguments.cluster, gpus),
                          .gpu = load_gpu(arguments.gpu)};
  question.precision = precision_named(arguments.precision, "--precision");
  if (question.precision == Precision::fp8 && question.gpu.fp8_flops == 0)
    throw InputError("--precision", "the GPU " + question.gpu.name + " has no FP8");
  LayoutSpace& space = question.space;
  space.gpus = gpus > 0 ? gpus : question.cluster.cluster.network.workers();
  if (space.gpus > most_gpus)
    throw InputError("--gpus", "expected at most " + std::to_string(most_gpus) + " GPUs, got " +
                                   std::to_string(space.gpus));
  space.sequence = arguments.sequence > 0 ? arguments.sequence : question.model.sequence;
  check_sequence(question.model, space.sequence, "--sequence");
  space.batch = given != nullptr      ? given->batch()
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

// The one layout that was given.
LayoutAnswer price(const LayoutQuestion& question, const Layout& layout) {
  const LayoutSpace& space = question.space;
  check_layout(question.model, layout, space.sequence, "--layout");
  check_memory(question.model, layout, space.sequence, space.memory, space.reserve, "--layout");
  GroupTimes groups(question.cluster.cluster, space.gpus);
  const HybridStep step = hybrid_step(
      {question.model, layout, space.sequence, question.gpu, question.precision}, groups);
  const double memory_B = largest_memory(question.model, layout, space.sequence).total_B();
  return {1, 1, {{layout, step.time, step.mfu, memory_B, step.limit}}, {step}};
}

LayoutAnswer search(const LayoutArguments& arguments, const LayoutQuestion& question) {
  Interrupt interrupt;
  const LayoutSpace& space = question.space;
  LayoutSearch found =
      search_layouts(question.model, question.gpu, question.precision, question.cluster.cluster,
                     space, [&] { interrupt.throw_if_asked(); });
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
  LayoutAnswer answer{found.candidates, static_cast<int64_t>(found.fitting.size()), {}, {}};
  if (static_cast<int64_t>(found.fitting.size()) > arguments.lines)
    found.fitting.resize(static_cast<std::size_t>(arguments.lines));
  answer.best = std::move(found.fitting);
  GroupTimes groups(question.cluster.cluster, space.gpus);
  for (const FoundLayout& one : answer.best)
    answer.steps.push_back(hybrid_step(
        {question.model, one.layout, space.sequence, question.gpu, question.precision}, groups));
  return answer;
}

std::vector<std::string> warnings_of(const LayoutQuestion& question) {
  std::vector<std::string> all = question.model.notes;
  const auto& notes = question.cluster.cluster.notes;
  all.insert(all.end(), notes.begin(), notes.end());
  return all;
}

Json answer_json(const LayoutQuestion& question, const LayoutAnswer& answer) {
  const LayoutSpace& space = question.space;
  Json json = {{"schema", "sgdsim/layouts/1"},
               {"fidelity", "closed_form"},
               {"model", question.model.name},
               {"cluster", question.cluster.cluster.name},
               {"gpu", question.gpu.name},
               {"precision", name_of(question.precision)},
               {"gpus", space.gpus},
               {"sequence", space.sequence},
               {"global_batch", space.batch},
               {"memory_B", space.memory.count()},
               {"reserve_B", space.reserve.count()},
               {"flop_convention", "halved"},
               {"candidates", answer.candidates},
               {"fitting", answer.fitting},
               {"layouts", Json::array()}};
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const FoundLayout& one = answer.best[i];
    Json parts = Json::object();
    for (const NamedPart& part : step_parts())
      parts[part.key] = answer.steps[i].parts.*part.member * 1e6;
    json["layouts"].push_back({{"layout", to_text(one.layout)},
                               {"step_us", one.time.us()},
                               {"step_ps", one.time.ps()},
                               {"mfu", one.mfu},
                               {"memory_GiB", one.memory_B / bytes_of_gib},
                               {"limit", one.limit},
                               {"parts", std::move(parts)}});
  }
  if (const auto warnings = warnings_of(question); !warnings.empty()) json["warnings"] = warnings;
  return json;
}

void print_parts(std::ostream& out, const HybridStep& step) {
  Table table({"part", "time", "of the step"});
  const double all = step.parts.all();
  for (const NamedPart& part : step_parts()) {
    const double seconds = step.parts.*part.member;
    if (seconds > 0)
      table.add(
          {part.name, short_duration(seconds * 1e6, 4), rounded(100 * seconds / all, 3) + " %"});
  }
  table.print(out);
}

void print(std::ostream& out, const LayoutQuestion& question, const LayoutAnswer& answer,
           bool is_given) {
  const LayoutSpace& space = question.space;
  out << question.model.name << " on " << space.gpus << " x " << question.gpu.name << " ("
      << question.cluster.cluster.name << "), " << name_of(question.precision) << ", "
      << space.batch << " sequences of " << space.sequence << " a step\n"
      << "Times are of the closed form; MFU counts causal attention halved\n";
  if (!is_given)
    out << answer.candidates << " layouts divide, " << answer.fitting << " of them fit into "
        << to_text(space.memory) << " less " << to_text(space.reserve) << '\n';
  out << '\n';
  Table table({"layout", "step", "MFU", "memory", "largest part"});
  for (const FoundLayout& one : answer.best)
    table.add({to_text(one.layout), short_duration(one.time.us(), 5),
               rounded(100 * one.mfu, 3) + " %", gib_text(one.memory_B), one.limit});
  table.print(out);
  out << "\nThe step of " << (is_given ? "this layout" : "the fastest one") << "\n\n";
  print_parts(out, answer.steps.front());
}

void answer_layout(const LayoutArguments& arguments, Streams streams) {
  const bool is_given = !arguments.layout.empty();
  Layout given;
  if (is_given) {
    given = load_layout(arguments.layout, "--layout");
    check_given(arguments, given);
  }
  const LayoutQuestion question = question_of(arguments, is_given ? &given : nullptr);
  const LayoutAnswer answer = is_given ? price(question, given) : search(arguments, question);
  for (const std::string& warning : warnings_of(question))
    streams.log << "sgdsim: warning: " << printable(warning) << '\n';
  if (arguments.format == "json")
    streams.out << answer_json(question, answer).dump(1) << '\n';
  else
    print(streams.out, question, answer, is_given);
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
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}).description(""));
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
  command.add_option("--lines", arguments.lines, "layouts to print (default: 11)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}).description(""));
  command.add_option("--format", arguments.format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
}

}  // namespace

void add_layout_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "layout", "Find the fastest parallel layout of a model that fits, in closed form.");
  auto arguments = std::make_shared<LayoutArguments>();
  add_options(*command, *arguments);
  command->footer(
      "Example:\n  sgdsim layout llama3.1_70b -c topologies/data/dgx_h100_4.json --gpus 64 "
      "--global-batch 256");
  command->callback([arguments, streams] { answer_layout(*arguments, streams); });
}

}  // namespace sgdsim
