// `sgdsim model`: parameters and FLOP of a model, and the memory of a layout.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/layout/model_laws.h"
#include "app/usage.h"
#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/layout/layout_files.h"
#include "study/table.h"

namespace sgdsim {
namespace {

struct ModelArguments {
  std::string model;
  std::string layout;
  std::string memory;
  std::string reserve = "2 GiB";
  int64_t sequence = 0;
  int64_t gpus = 0;
  std::string format = "table";
};

struct CountedPart {
  const char* name;
  const char* key;
  int64_t ParameterCount::*member;
};
constexpr CountedPart counted_parts[] = {
    {"embedding", "embedding", &ParameterCount::embedding},
    {"learned positions", "positions", &ParameterCount::positions},
    {"attention", "attention", &ParameterCount::attention},
    {"MLP, and shared experts", "mlp", &ParameterCount::mlp},
    {"routers", "router", &ParameterCount::router},
    {"experts", "experts", &ParameterCount::experts},
    {"norms", "norms", &ParameterCount::norms},
    {"head", "head", &ParameterCount::head}};

double model_gib(double size_B) { return size_B / (1024.0 * 1024 * 1024); }

Json stage_json(const Transformer& model, const Layout& layout, const StageMemory& stage) {
  const StageLayers held = layers_of_stage(model, layout, stage.stage);
  return {{"stage", stage.stage},
          {"layers", held.layers()},
          {"parameters", stage.parameters.all()},
          {"weights_GiB", model_gib(stage.weights_B)},
          {"gradients_GiB", model_gib(stage.gradients_B)},
          {"optimizer_GiB", model_gib(stage.optimizer_B)},
          {"gathered_GiB", model_gib(stage.gathered_B)},
          {"activations_GiB", model_gib(stage.activations_B)},
          {"recomputed_GiB", model_gib(stage.recomputed_B)},
          {"ends_GiB", model_gib(stage.ends_B)},
          {"total_GiB", model_gib(stage.total_B())},
          {"peak",
           {{"pass", "forward"},
            {"micro_batch", stage.micro_batch},
            {"chunk", stage.chunk},
            {"in_flight", stage.in_flight}}}};
}

Json layers_json(const Transformer& model) {
  Json layers = Json::array();
  const OfKinds<int64_t> kinds = model.kinds();
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (kinds[i] > 0)
      layers.push_back({{"count", kinds[i]},
                        {"attention", name_in(mixings, kind_at(i).mixing)},
                        {"mlp", name_in(mlps, kind_at(i).mlp)}});
  return layers;
}

Json model_json(const Transformer& model, int64_t sequence) {
  const ParameterCount count = parameters_of(model);
  Json parameters = {{"total", count.total}, {"active", count.active}};
  for (const CountedPart& part : counted_parts) parameters[part.key] = count.*part.member;
  Json json = {{"schema", "sgdsim/model-show/1"},
               {"model", model.name},
               {"layers", layers_json(model)},
               {"parameters", std::move(parameters)},
               {"sequence", sequence},
               {"flop",
                {{"halved", sequence_flop(model, sequence, FlopConvention::halved)},
                 {"whole", sequence_flop(model, sequence, FlopConvention::whole)}}}};
  const auto notes = notes_on(model, sequence);
  if (!notes.empty()) json["warnings"] = notes;
  return json;
}

std::string share_text(int64_t part, int64_t whole) {
  return rounded(100 * static_cast<double>(part) / static_cast<double>(whole), 3) + " %";
}

std::string attention_text(const Transformer& model, Mixing mixing) {
  switch (mixing) {
    case Mixing::full:
      return model.indexer ? "attention to " + std::to_string(model.indexer->top) +
                                 " positions that an indexer chooses"
                           : "full attention";
    case Mixing::window:
      return "attention to " + std::string(model.window->in_blocks ? "a block of " : "the last ") +
             std::to_string(model.window->size) + " positions";
    case Mixing::linear:
      return "linear attention (" + std::string(name_in(linear_kinds, model.linear->kind)) + ")";
    case Mixing::none:
      break;
  }
  return "";
}

std::string mlp_text(Mlp mlp) {
  switch (mlp) {
    case Mlp::dense:
      return "a dense MLP";
    case Mlp::experts:
      return "experts";
    case Mlp::none:
      break;
  }
  return "";
}

// Where not every layer is full attention and a dense MLP.
void print_layers(std::ostream& out, const Transformer& model) {
  const OfKinds<int64_t> kinds = model.kinds();
  if (kinds[LayerKind{}.index()] == model.layers && !model.indexer) return;
  out << "\nLayers\n";
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (kinds[i] == 0) continue;
    const std::string first = attention_text(model, kind_at(i).mixing);
    const std::string second = mlp_text(kind_at(i).mlp);
    out << "  " << kinds[i] << " of " << first << (first.empty() || second.empty() ? "" : " and ")
        << second << '\n';
  }
}

void print_model(std::ostream& out, const Transformer& model, int64_t sequence) {
  const ParameterCount count = parameters_of(model);
  Table table({model.name, "parameters", "part"});
  for (const CountedPart& part : counted_parts)
    if (count.*part.member > 0)
      table.add({part.name, std::to_string(count.*part.member),
                 share_text(count.*part.member, count.total)});
  table.add({"total", std::to_string(count.total), "100 %"});
  if (count.active != count.total)
    table.add({"that one token meets", std::to_string(count.active),
               share_text(count.active, count.total)});
  table.print(out);
  print_layers(out, model);
  out << "\nFLOP of training on one sequence of " << sequence << ", nothing computed again\n";
  const double halved = sequence_flop(model, sequence, FlopConvention::halved);
  const double whole = sequence_flop(model, sequence, FlopConvention::whole);
  if (!model.causal) {
    out << "  " << rounded(whole, 4) << '\n';
    return;
  }
  out << "  " << rounded(halved, 4) << " with causal attention halved\n";
  out << "  " << rounded(whole, 4) << " with all scores counted\n";
}

std::string moment_text(const Layout& layout, const StageMemory& stage) {
  std::string text = "forward of micro-batch " + std::to_string(stage.micro_batch);
  if (layout.chunks > 1) text += ", chunk " + std::to_string(stage.chunk);
  return text;
}

void print_memory(std::ostream& out, const Transformer& model, const Layout& layout,
                  const std::vector<StageMemory>& stages) {
  out << "\nMemory of a GPU in GiB, " << to_text(layout) << " on " << layout.gpus()
      << " GPUs; CUDA, NCCL and fragmentation (1 to 3 GiB) come on top\n\n";
  Table table({"stage", "layers", "weights", "gradients", "optimizer", "gathered", "activations",
               "recomputed", "ends", "total", "peak at the end of"});
  auto gib = [](double size_B) { return rounded(model_gib(size_B), 4); };
  for (const StageMemory& stage : stages)
    table.add({std::to_string(stage.stage),
               std::to_string(layers_of_stage(model, layout, stage.stage).layers()),
               gib(stage.weights_B), gib(stage.gradients_B), gib(stage.optimizer_B),
               gib(stage.gathered_B), gib(stage.activations_B), gib(stage.recomputed_B),
               gib(stage.ends_B), gib(stage.total_B()), moment_text(layout, stage)});
  table.print(out);
}

void show(const ModelArguments& arguments, Streams streams) {
  const Transformer model = load_model(arguments.model);
  const int64_t sequence = arguments.sequence > 0 ? arguments.sequence : model.sequence;
  check_sequence(model, sequence, "--sequence");
  if (arguments.gpus > 0 && arguments.layout.empty())
    throw InputError("--gpus", "has no effect without --layout");
  if (!arguments.memory.empty() && arguments.layout.empty())
    throw InputError("--memory", "has no effect without --layout");
  Json json = model_json(model, sequence);
  std::vector<StageMemory> stages;
  Layout layout;
  if (!arguments.layout.empty()) {
    const ForeignLayout found =
        load_layout(arguments.layout, "--layout", {.given = arguments.gpus}, model);
    for (const std::string& note : found.notes)
      streams.log << "sgdsim: note: " << printable(note) << '\n';
    layout = found.layout;
    check_layout(model, layout, sequence, "--layout");
    if (!arguments.memory.empty())
      check_memory(model, layout, sequence, parse_bytes(arguments.memory, "--memory"),
                   parse_bytes(arguments.reserve, "--reserve"), "--layout");
    json["layout"] = to_text(layout);
    json["gpus"] = layout.gpus();
    json["stages"] = Json::array();
    for (int64_t stage = 0; stage < layout.pipeline; ++stage) {
      stages.push_back(stage_memory(model, layout, sequence, stage));
      json["stages"].push_back(stage_json(model, layout, stages.back()));
    }
  }
  for (const std::string& note : notes_on(model, sequence))
    streams.log << "sgdsim: warning: " << printable(note) << '\n';
  if (arguments.format == "json") {
    streams.out << json.dump(1) << '\n';
    return;
  }
  print_model(streams.out, model, sequence);
  if (!stages.empty()) print_memory(streams.out, model, layout, stages);
}

}  // namespace

void add_model_command(CLI::App& program, Streams streams) {
  CLI::App* model = program.add_subcommand("model", "Inspect transformer models.");
  model->require_subcommand(1);
  model->footer("Example:\n  sgdsim model show llama3.1_405b");
  CLI::App* command = model->add_subcommand(
      "show", "Parameters and FLOP of a model; with a layout, the memory of every stage.");
  auto arguments = std::make_shared<ModelArguments>();
  command
      ->add_option("MODEL", arguments->model,
                   "a model of `sgdsim list models`, a model file, or config.json of Hugging Face")
      ->required();
  command->add_option("--layout", arguments->layout,
                      "how it is laid out over GPUs, as \"tp8 pp9 vp7 dp4 zero1 sp\", or a file");
  command
      ->add_option("--sequence", arguments->sequence,
                   "tokens of a sequence (default: the model's own)")
      ->check(CLI::Range(int64_t{1}, most_sequence).description(""));
  command
      ->add_option("--gpus", arguments->gpus,
                   "number of GPUs, for layouts of training programs that do not say it")
      ->check(CLI::Range(int64_t{1}, most_gpus).description(""));
  command->add_option("--memory", arguments->memory,
                      "memory of a GPU, which the layout must not exceed: 80GB");
  command->add_option("--reserve", arguments->reserve,
                      "part of it that other things need (default: 2 GiB)");
  command->add_option("--format", arguments->format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->footer(
      "Example:\n  sgdsim model show llama3.1_405b --layout \"tp8 pp9 cp2 vp7 dp4 mbs1 ga63 zero1 "
      "sp\"");
  command->callback([arguments, streams] { show(*arguments, streams); });
  add_model_laws(*model, streams);
}

}  // namespace sgdsim
