// Words in; counts, and tables of them.
#include "study/layout/model_show.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "models/training/layer_times.h"
#include "models/training/training_flop.h"
#include "models/training/transformer_file.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/layout/layout_files.h"
#include "study/question_fields.h"
#include "study/table.h"

namespace sgdsim {
namespace {

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

// ---- what is told

struct ToldKind {
  int64_t count = 1;
  LayerKind kind = {};
};
Fields fields_of(const ToldKind& o) {
  return {Field("count", o.count, "layers of this kind").at_least(1),
          {"attention", o.kind.mixing, "how they mix positions"},
          {"mlp", o.kind.mlp, "what follows"}};
}

std::vector<ToldKind> kinds_of(const Transformer& model) {
  std::vector<ToldKind> told;
  const OfKinds<int64_t> kinds = model.kinds();
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (kinds[i] > 0) told.push_back({kinds[i], kind_at(i)});
  return told;
}

struct ToldFlop {
  double halved = 0;
  double whole = 0;
};
Fields fields_of(const ToldFlop& o) {
  return {Field("halved", o.halved, "with half of the scores of causal attention").at_least(0),
          Field("whole", o.whole, "with all scores").at_least(0)};
}
ToldFlop flop_of(const Transformer& model, int64_t sequence) {
  return {sequence_flop(model, sequence, FlopConvention::halved),
          sequence_flop(model, sequence, FlopConvention::whole)};
}

// Of a layout that trains something else than all weights of the model.
std::optional<ToldFlop> layout_flop(const ModelShown& shown) {
  if (!shown.layout) return std::nullopt;
  const Gpu any;
  const TrainingStep step{shown.model, *shown.layout, shown.sequence, any, Precision::bf16};
  const ToldFlop all = flop_of(shown.model, shown.sequence);
  const ToldFlop told{training_flop(step, FlopConvention::halved),
                      training_flop(step, FlopConvention::whole)};
  return told.halved == all.halved ? std::nullopt : std::optional(told);
}

// Modules that predict further tokens.
struct ToldPredictions {
  int64_t modules = 1;
  int64_t parameters = 0;
  ToldFlop flop = {};
};
Fields fields_of(const ToldPredictions& o) {
  return {Field("modules", o.modules, "how many are trained with the model").at_least(1),
          Field("parameters", o.parameters, "of one, beside those that it shares with the model")
              .at_least(0),
          {"flop", o.flop, "of one, of training on one sequence"}};
}

std::optional<ToldPredictions> predictions_of(const ModelShown& shown) {
  const Transformer& model = shown.model;
  const int64_t modules = predictions_of(model, shown.layout.value_or(Layout()));
  if (modules == 0) return std::nullopt;
  return ToldPredictions{modules,
                         prediction_parameters(model),
                         {prediction_flop(model, shown.sequence, FlopConvention::halved),
                          prediction_flop(model, shown.sequence, FlopConvention::whole)}};
}

struct ToldPeak {
  StageMemory stage = {};
};
Fields fields_of(const ToldPeak& o) {
  return {
      Field("pass", std::string(), "which kind of pass").constant("forward"),
      Field("micro_batch", o.stage.micro_batch, "from 0").at_least(0),
      Field("chunk", o.stage.chunk, "virtual stage, from 0").at_least(0),
      Field("in_flight", o.stage.in_flight, "forward passes whose backward pass is still to come")
          .at_least(1)};
}

double model_gib(double size_B) { return size_B / (1024.0 * 1024 * 1024); }

Field gib_field(const char* name, double size_B, const char* says) {
  return Field(name, model_gib(size_B), says).at_least(0);
}

struct ToldStage {
  StageMemory memory = {};
  int64_t layers = 0;
  std::optional<double> host_GiB = {};
};
Fields fields_of(const ToldStage& o) {
  const StageMemory& memory = o.memory;
  return {Field("stage", memory.stage, "from 0").at_least(0),
          Field("layers", o.layers, "layers of the stage").at_least(0),
          Field("parameters", memory.parameters.all(), "parameters of a rank").at_least(0),
          gib_field("weights_GiB", memory.weights_B, "weights"),
          gib_field("gradients_GiB", memory.all_gradients_B(),
                    "gradients, and what products hand on in their place"),
          gib_field("optimizer_GiB", memory.optimizer_B, "states of Adam"),
          gib_field("gathered_GiB", memory.gathered_B,
                    "layers that are whole for a moment with zero2 and zero3"),
          gib_field("activations_GiB", memory.activations_B, "activations of layers in flight"),
          gib_field("recomputed_GiB", memory.recomputed_B, "the one layer that is computed again"),
          gib_field("ends_GiB", memory.ends_B, "outputs of the embedding; logits"),
          gib_field("total_GiB", memory.total_B(), "all of them"),
          Field("host_GiB", o.host_GiB, "what its host keeps, with offload").at_least(0),
          {"peak", ToldPeak{memory}, "the end of which pass is the peak"}};
}

std::vector<ToldStage> told_stages(const ModelShown& shown) {
  std::vector<ToldStage> told;
  for (const StageMemory& stage : shown.stages) {
    told.push_back({stage, layers_of_stage(shown.model, *shown.layout, stage.stage).layers()});
    if (shown.layout->offload.is_used()) told.back().host_GiB = model_gib(stage.host_B);
  }
  return told;
}

// Of all layers and the head, each shape once, whole numbers: in the order in which they are met.
struct ToldProduct {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t inner = 1;
  int64_t groups = 1;
  bool operator==(const ToldProduct&) const = default;
};
Fields fields_of(const ToldProduct& o) {
  return {
      Field("rows", o.rows, "of the first matrix and of the product").at_least(1),
      Field("columns", o.columns, "of the second matrix and of the product").at_least(1),
      Field("inner", o.inner, "columns of the first, rows of the second").at_least(1),
      Field("groups", o.groups, "how many of them are one kernel: experts of a GPU").at_least(1)};
}

ToldProduct told(const LayerProduct& product) {
  const auto whole = [](double size) { return std::max<int64_t>(1, std::llround(size)); };
  return {whole(product.rows), whole(product.columns), whole(product.inner), whole(product.groups)};
}

std::vector<ToldProduct> products_of(const ModelShown& shown) {
  std::vector<ToldProduct> products;
  const auto add = [&](const LayerProduct& product) {
    if (std::find(products.begin(), products.end(), told(product)) == products.end())
      products.push_back(told(product));
  };
  const Gpu any;
  const TrainingStep step{shown.model, *shown.layout, shown.sequence, any, Precision::bf16};
  const OfKinds<int64_t> kinds = shown.model.kinds();
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (kinds[i] > 0)
      for (const LayerProduct& product : layer_products(step, kind_at(i))) add(product);
  add(head_product(step));
  return products;
}

// As sgdsim-calibrate takes them.
std::string shapes_text(const ModelShown& shown) {
  std::string text;
  for (const ToldProduct& one : products_of(shown)) {
    text += (text.empty() ? "" : ",") + std::to_string(one.rows) + "x" +
            std::to_string(one.columns) + "x" + std::to_string(one.inner);
    if (one.groups > 1) text += "x" + std::to_string(one.groups);
  }
  return text;
}

// ---- tables

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

void print_parameters(std::ostream& out, const Transformer& model) {
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
}

void print_flop(std::ostream& out, const Transformer& model, int64_t sequence) {
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
               gib(stage.weights_B), gib(stage.all_gradients_B()), gib(stage.optimizer_B),
               gib(stage.gathered_B), gib(stage.activations_B), gib(stage.recomputed_B),
               gib(stage.ends_B), gib(stage.total_B()), moment_text(layout, stage)});
  table.print(out);
  if (!layout.offload.is_used()) return;
  double most_B = 0;
  for (const StageMemory& stage : stages) most_B = std::max(most_B, stage.host_B);
  out << "Its host keeps up to " << gib(most_B) << " GiB for a GPU\n";
}

void print_predictions(std::ostream& out, const ModelShown& shown) {
  const auto told = predictions_of(shown);
  if (!told) return;
  out << '\n'
      << told->modules << (told->modules == 1 ? " module that predicts" : " modules that predict")
      << " further tokens: " << told->parameters << " parameters and "
      << rounded(told->flop.halved, 4) << " FLOP each, besides\n";
}

}  // namespace

Fields fields_of(const ParameterCount& o) {
  return {Field("total", o.total, "all parameters").at_least(0),
          Field("active", o.active, "those that one token meets").at_least(0),
          Field("embedding", o.embedding, "of the embedding").at_least(0),
          Field("positions", o.positions, "of learned positions").at_least(0),
          Field("attention", o.attention, "of attention").at_least(0),
          Field("mlp", o.mlp, "of dense MLPs and shared experts").at_least(0),
          Field("router", o.router, "of routers").at_least(0),
          Field("experts", o.experts, "of the experts that are chosen").at_least(0),
          Field("norms", o.norms, "of norms").at_least(0),
          Field("head", o.head, "of the head, 0 where it is tied").at_least(0)};
}
Fields fields_of(const ModelShown& o) {
  std::optional<std::string> layout;
  std::optional<int64_t> gpus;
  std::optional<std::vector<ToldStage>> stages;
  std::optional<std::vector<ToldProduct>> products;
  if (o.layout) {
    products = products_of(o);
    layout = to_text(*o.layout);
    gpus = o.layout->gpus();
    stages = told_stages(o);
  }
  return {answer_kind("sgdsim/model-show/1"),
          {"model", o.model.name, "its name"},
          {"layers", kinds_of(o.model), "kinds of layers"},
          {"parameters", parameters_of(o.model), "parameters by part"},
          Field("sequence", o.sequence, "tokens of a sequence").at_least(1),
          {"flop", flop_of(o.model, o.sequence), "of training on one sequence, by convention"},
          {"layout_flop", layout_flop(o),
           "the same as the layout trains it, with lora or predictions of further tokens"},
          {"predictions", predictions_of(o), "modules that predict further tokens, besides"},
          Field("warnings", o.warnings, "what is left out").if_any(),
          {"layout", std::move(layout), "the layout, as --layout takes it"},
          Field("gpus", std::move(gpus), "its GPUs").at_least(1),
          {"stages", std::move(stages), "what a GPU of each stage must hold"},
          {"products", std::move(products),
           "matrix products of forward passes of one micro-batch on a GPU, each shape once"}};
}

Json schema_of_model_shows() { return schema_of_record<ModelShown>(); }

Fields model_show_fields(ModelShowWords& words) {
  return {Field("model", words.model,
                "a model of `sgdsim list models`, a model file, or config.json of Hugging Face")
              .option("MODEL")
              .needed(),
          {"layout", words.layout,
           "how it is laid out over GPUs, as \"tp8 pp9 vp7 dp4 zero1 sp\", or a file"},
          Field("sequence", words.sequence,
                "tokens of a sequence (default: those of the layout's file, or the model's own)")
              .from(1, most_sequence),
          Field("gpus", words.gpus,
                "number of GPUs, for layouts of training programs that do not say it")
              .from(1, most_gpus),
          {"memory", words.memory, "memory of a GPU, which the layout must not exceed: 80GB"},
          {"reserve", words.reserve, "part of it that other things need (default: 2 GiB)"}};
}

ModelShown show_model(const ModelShowWords& words) {
  ModelShown shown{.model = load_model(words.model)};
  const Transformer& model = shown.model;
  if (words.memory.empty() && words.reserve != ModelShowWords().reserve)
    throw InputError("--reserve", "is a part of the memory of a GPU: give --memory with it");
  ForeignLayout found;
  if (words.layout.empty())
    refuse_idle({{"--gpus", words.gpus > 0}, {"--memory", !words.memory.empty()}},
                "without --layout");
  else
    found = load_layout(words.layout, "--layout", {.given = words.gpus}, model);
  const bool is_of_file = words.sequence == 0 && found.sequence;
  const int64_t usual = found.sequence.value_or(model.sequence);
  shown.sequence = words.sequence > 0 ? words.sequence : usual;
  check_sequence(model, shown.sequence, is_of_file ? "--layout" : "--sequence");
  shown.warnings = notes_on(model, shown.sequence);
  if (words.layout.empty()) return shown;
  shown.layout_notes = std::move(found.notes);
  shown.layout = found.layout;
  check_layout(model, *shown.layout, shown.sequence, "--layout");
  if (!words.memory.empty())
    check_memory(model, *shown.layout, shown.sequence, parse_bytes(words.memory, "--memory"),
                 parse_bytes(words.reserve, "--reserve"), "--layout");
  for (int64_t stage = 0; stage < shown.layout->pipeline; ++stage)
    shown.stages.push_back(stage_memory(model, *shown.layout, shown.sequence, stage));
  return shown;
}

void print(std::ostream& out, const ModelShown& shown) {
  print_parameters(out, shown.model);
  print_layers(out, shown.model);
  print_flop(out, shown.model, shown.sequence);
  print_predictions(out, shown);
  if (const auto told = layout_flop(shown))
    out << "As this layout trains it: " << rounded(told->halved, 4)
        << " FLOP with causal attention halved\n";
  if (!shown.layout) return;
  print_memory(out, shown.model, *shown.layout, shown.stages);
  out << "\nProducts of a GPU, for sgdsim-calibrate --probe product --shape:\n"
      << shapes_text(shown) << '\n';
}

Answer answer_model_show(const Value& question, const Watch&) {
  ModelShowWords words = words_of(question, model_show_fields);
  const ModelShown shown = show_model(words);
  Answer answer{to_json_by_fields(shown), shown.layout_notes};
  answer.warnings.insert(answer.warnings.end(), shown.warnings.begin(), shown.warnings.end());
  return answer;
}

}  // namespace sgdsim
