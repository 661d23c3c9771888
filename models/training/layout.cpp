// The short text of a layout, its JSON, and which layers its stages hold.
#include "models/training/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <sstream>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "sim/core/product.h"

namespace sgdsim {
namespace {

struct Size {
  const char* name;
  int64_t Layout::*member;
  int64_t most;
  const char* word;  // for people
};
constexpr std::array<Size, 9> sizes{{
    {"tp", &Layout::tensor, most_gpus, "tensor-parallel ranks"},
    {"pp", &Layout::pipeline, most_gpus, "stages"},
    {"cp", &Layout::context, most_gpus, "context-parallel ranks"},
    {"vp", &Layout::chunks, 10'000, "virtual stages"},
    {"ep", &Layout::expert, most_gpus, "expert-parallel ranks"},
    {"dp", &Layout::replicas, most_gpus, "replicas"},
    {"mbs", &Layout::micro_batch, most_micro_batch_size, "sequences of a micro-batch"},
    {"ga", &Layout::micro_batches, most_micro_batches, "micro-batches"},
    {"hsdp", &Layout::shard_copies, most_gpus, "copies of the shards"},
}};

bool counts_layers(Recompute recompute) {
  return recompute == Recompute::block || recompute == Recompute::uniform;
}

constexpr Named<bool, 2> attentions{{{"flash", false}, {"unfused", true}}};
constexpr Named<bool, 2> ends_names{{{"apart", false}, {"layers", true}}};
constexpr Named<bool, 2> gradient_names{{{"fp32", false}, {"bf16", true}}};
constexpr Named<bool, 2> overlap_names{{{"on", true}, {"off", false}}};
constexpr Named<bool, 2> reshard_names{{{"on", false}, {"off", true}}};
constexpr Named<bool, 2> send_names{{{"whole", false}, {"split", true}}};
constexpr Named<bool, 2> accumulate_names{{{"fused", false}, {"apart", true}}};
constexpr std::array choice_names = {"recompute", "schedule", "context",    "reshard", "attention",
                                     "ends",      "stages",   "first",      "last",    "gradients",
                                     "overlap",   "sends",    "accumulate", "kernels"};

const std::vector<std::string>& layout_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all;
    for (const Size& size : sizes) all.push_back(std::string(size.name) + "N");
    all.insert(all.end(), {"zeroN", "sp"});
    for (const char* name : choice_names) all.push_back(std::string(name) + "=");
    return all;
  }();
  return words;
}

int64_t number_in(const std::string& word, std::size_t from, int64_t least, int64_t most,
                  const std::string& where) {
  int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stopped, problem] = std::from_chars(word.data() + from, end, value);
  if (problem != std::errc() || stopped != end || value < least || value > most)
    throw InputError(where, "\"" + word.substr(0, 40) + "\": expected a whole number from " +
                                std::to_string(least) + " to " + std::to_string(most) +
                                " after \"" + word.substr(0, from) + "\"");
  return value;
}

// "full", or "block:4".
void set_recompute(Layout& layout, const std::string& value, const std::string& where) {
  const std::size_t colon = value.find(':');
  layout.recompute = named_in(recompute_names, "recompute", value.substr(0, colon), where);
  layout.recompute_layers = 0;
  const bool counts = counts_layers(layout.recompute);
  if (counts != (colon != std::string::npos))
    throw InputError(
        where, counts ? "recompute=" + value + " needs a number of layers, as in " + value + ":4"
                      : "recompute=" + value.substr(0, colon) +
                            " takes no number; block:N computes N layers of each "
                            "chunk again, uniform:N all of them in units of N");
  if (counts) layout.recompute_layers = number_in(value, colon + 1, 1, most_chunk_layers, where);
}

// Of a word with "=". Whether it is one.
bool set_choice(Layout& layout, const std::string& name, const std::string& value,
                const std::string& where) {
  if (name == "recompute")
    set_recompute(layout, value, where);
  else if (name == "schedule")
    layout.schedule = named_in(pipeline_schedules, name, value, where);
  else if (name == "context")
    layout.context_by = named_in(context_names, name, value, where);
  else if (name == "reshard")
    layout.keeps_weights = named_in(reshard_names, name, value, where);
  else if (name == "attention")
    layout.keeps_scores = named_in(attentions, name, value, where);
  else if (name == "ends")
    layout.ends_are_layers = named_in(ends_names, name, value, where);
  else if (name == "stages")
    set_stages(layout.stages, value, where);
  else if (name == "first" || name == "last")
    (name == "first" ? layout.stages.first : layout.stages.last) =
        number_in(name + "=" + value, name.size() + 1, 1, most_chunk_layers, where);
  else if (name == "gradients")
    layout.half_gradients = named_in(gradient_names, name, value, where);
  else if (name == "overlap")
    layout.overlaps = named_in(overlap_names, name, value, where);
  else if (name == "sends")
    layout.splits_sends = named_in(send_names, name, value, where);
  else if (name == "kernels")
    layout.kernels = named_in(kernel_names, name, value, where);
  else if (name == "accumulate")
    layout.adds_apart = named_in(accumulate_names, name, value, where);
  else
    return false;
  return true;
}

// What the word sets, for finding repetitions.
std::string set_word(Layout& layout, const std::string& word, const std::string& where) {
  if (word == "sp") {
    layout.sequence_parallel = true;
    return word;
  }
  if (const std::size_t equals = word.find('='); equals != std::string::npos) {
    std::string name = word.substr(0, equals);
    if (set_choice(layout, name, word.substr(equals + 1), where)) return name;
  }
  const std::size_t digit = word.find_first_of("0123456789");
  std::string name = word.substr(0, digit);
  if (digit != std::string::npos) {
    if (name == "zero") {
      layout.zero = static_cast<int>(number_in(word, digit, 0, 3, where));
      return name;
    }
    for (const Size& size : sizes) {
      if (name != size.name) continue;
      layout.*size.member = number_in(word, digit, 1, size.most, where);
      return name;
    }
  }
  throw InputError(where, unknown_name("word of a layout", word, layout_words()));
}

// Of so many layers of a chunk.
int64_t layers_again(const Layout& layout, int64_t layers) {
  switch (layout.recompute) {
    case Recompute::none:
    case Recompute::selective:
    case Recompute::operations:
      return 0;
    case Recompute::block:
      return std::min(layout.recompute_layers, layers);
    case Recompute::full:
    case Recompute::uniform:
      return layers;
  }
  return 0;
}

}  // namespace

void check_sizes(const Layout& layout, const std::string& where) {
  for (const Size& size : sizes)
    if (layout.*size.member < 1 || layout.*size.member > size.most)
      throw InputError(where, std::string(size.name) + std::to_string(layout.*size.member) +
                                  ": expected 1 to " + std::to_string(size.most) + " " + size.word);
  if (!product_up_to(most_gpus, {layout.tensor, layout.pipeline, layout.context, layout.replicas}))
    throw InputError(where, "tp x pp x cp x dp is above " + std::to_string(most_gpus) +
                                " GPUs, the most that is modelled");
  if (!product_up_to(most_global_batch,
                     {layout.micro_batch, layout.micro_batches, layout.replicas}))
    throw InputError(where, "mbs x ga x dp is above " + std::to_string(most_global_batch) +
                                " sequences of a step, the most that is modelled");
}

std::string recompute_text(const Layout& layout) {
  std::string text(name_in(recompute_names, layout.recompute));
  if (counts_layers(layout.recompute)) text += ":" + std::to_string(layout.recompute_layers);
  return text;
}

Layout parse_layout(const std::string& text, const std::string& where) {
  Layout layout;
  std::vector<std::string> seen;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string name = set_word(layout, word, where);
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      throw InputError(where, "\"" + name + "\" occurs twice");
    seen.push_back(name);
  }
  if (seen.empty())
    throw InputError(where, "expected a layout as \"tp8 pp9 cp2 vp7 dp4 mbs1 ga63 zero1 sp\"");
  check_sizes(layout, where);
  return layout;
}

Layout completed(Layout layout, const std::string& text, int64_t gpus, int64_t batch) {
  auto says = [&](const std::string& name) {
    std::istringstream words(text);
    for (std::string word; words >> word;)
      if (word.substr(0, word.find_first_of("0123456789")) == name) return true;
    return false;
  };
  auto follow = [&](const char* name, int64_t Layout::*size, int64_t whole, int64_t others) {
    if (!says(name) && whole > 0 && whole % others == 0) layout.*size = whole / others;
  };
  follow("dp", &Layout::replicas, gpus, layout.gpus());
  follow("ga", &Layout::micro_batches, batch, layout.batch());
  return layout;
}

std::string to_text(const Layout& layout) {
  std::string text;
  for (const Size& size : sizes)
    if (size.member != &Layout::shard_copies && layout.*size.member > 1)
      text += std::string(size.name) + std::to_string(layout.*size.member) + " ";
  text += "zero" + std::to_string(layout.zero);
  if (layout.sequence_parallel) text += " sp";
  if (layout.shard_copies > 1) text += " hsdp" + std::to_string(layout.shard_copies);
  const Layout usual;
  auto add = [&](const char* name, std::string_view value) {
    text += " " + std::string(name) + "=" + std::string(value);
  };
  if (layout.recompute != usual.recompute) add("recompute", recompute_text(layout));
  if (layout.schedule != usual.schedule)
    add("schedule", name_in(pipeline_schedules, layout.schedule));
  if (layout.context_by != usual.context_by)
    add("context", name_in(context_names, layout.context_by));
  if (layout.keeps_weights) add("reshard", name_in(reshard_names, true));
  if (layout.keeps_scores) add("attention", name_in(attentions, true));
  if (layout.ends_are_layers) add("ends", name_in(ends_names, true));
  if (layout.stages.is_spread || !layout.stages.list.empty())
    add("stages", stages_text(layout.stages));
  if (layout.stages.first) add("first", std::to_string(*layout.stages.first));
  if (layout.stages.last) add("last", std::to_string(*layout.stages.last));
  if (layout.half_gradients) add("gradients", name_in(gradient_names, true));
  if (!layout.overlaps) add("overlap", name_in(overlap_names, false));
  if (layout.splits_sends) add("sends", name_in(send_names, true));
  if (layout.adds_apart) add("accumulate", name_in(accumulate_names, true));
  if (layout.kernels != usual.kernels) add("kernels", name_in(kernel_names, layout.kernels));
  return text;
}

namespace {

struct LayoutFile {
  std::string schema = {}, name = {}, description = {};
  Layout layout = {};
  std::string recompute = recompute_text(layout);
  std::string stages = stages_text(layout.stages);
};

Json schema_of_recompute() {
  return {{"type", "string"},
          {"pattern", "^(none|selective|full|operations|(block|uniform):[1-9][0-9]*)$"}};
}

Json schema_of_stages() {
  return {{"type", "string"},
          {"pattern", R"(^(even|spread|[0-9]+(x[1-9][0-9]*)?(\+[0-9]+(x[1-9][0-9]*)?)*)$)"}};
}

Field choice(const char* name, bool& to, const Named<bool, 2>& names, const char* says) {
  return Field(name, to, says)
      .one_of({std::string(name_in(names, false)), std::string(name_in(names, true))});
}

Fields fields_of(LayoutFile& file) {
  Layout& o = file.layout;
  Fields fields = {
      Field("schema", file.schema, "kind and version of this file").constant(layout_schema),
      {"name", file.name, "for people"},
      {"description", file.description, "what it is for"}};
  for (const Size& size : sizes)
    fields =
        std::move(fields) + Fields{Field(size.name, o.*size.member, size.word).from(1, size.most)};
  return std::move(fields) +
         Fields{
             Field("zero", o.zero, "stage of ZeRO").from(0, 3),
             {"sp", o.sequence_parallel, "sequence parallelism"},
             Field("recompute", file.recompute,
                   "what the backward pass computes again; block:N is N layers of each chunk, "
                   "uniform:N all layers in units of N, operations every second product of each "
                   "layer and all that is element-wise")
                 .like(schema_of_recompute),
             {"schedule", o.schedule, "order of passes; 1f1b is interleaved with vp above 1"},
             {"context", o.context_by, "how context-parallel ranks come by keys and values"},
             choice("reshard", o.keeps_weights, reshard_names,
                    "with zero3, whether weights are dropped between a forward pass and its "
                    "backward pass"),
             choice("attention", o.keeps_scores, attentions, "flash keeps no scores"),
             choice("ends", o.ends_are_layers, ends_names,
                    "layers: embedding and loss count as a layer each"),
             Field("stages", file.stages,
                   "layers of chunks: even; spread, where some have one less; or of every chunk "
                   "in order, as in 4+5x13+3")
                 .like(schema_of_stages),
             Field("first", o.stages.first,
                   "layers of the first stage; the others share the rest evenly")
                 .from(1, most_chunk_layers),
             Field("last", o.stages.last,
                   "layers of the last stage; the others share the rest evenly")
                 .from(1, most_chunk_layers),
             choice("gradients", o.half_gradients, gradient_names,
                    "how gradients are kept and exchanged"),
             choice("overlap", o.overlaps, overlap_names,
                    "off: replicas exchange before the first pass and after the last one"),
             choice("sends", o.splits_sends, send_names,
                    "split: without sp, too, each tensor-parallel rank sends its part to the next "
                    "stage, where they gather it"),
             choice("accumulate", o.adds_apart, accumulate_names,
                    "apart: kernels of their own add the gradients of each micro-batch to those "
                    "that are kept"),
             {"kernels", o.kernels,
              "eager: each element-wise operation is a kernel of its own; compiled: those of the "
              "loss and of rotations are"}};
}

}  // namespace

Json schema_of_layouts() { return schema_of_record<LayoutFile>(); }

Layout read_layout(const Value& value) {
  if (value.json().is_string()) return parse_layout(value.text(), value.where());
  auto file = read_record<LayoutFile>(value);
  if (value.json().contains("recompute"))
    set_recompute(file.layout, file.recompute, value.child("recompute").where());
  if (value.json().contains("stages"))
    set_stages(file.layout.stages, file.stages, value.child("stages").where());
  check_sizes(file.layout, value.where());
  return file.layout;
}

Json to_json(const Layout& layout) {
  return to_json_by_fields(LayoutFile{
      .layout = layout, .recompute = recompute_text(layout), .stages = stages_text(layout.stages)});
}

ChunkLayers chunk_layers(const Transformer& model, const Layout& layout, int64_t position) {
  if (!layout.stages.are_even()) {
    const int64_t from = first_layer_of_chunk(model.layers, layout, position);
    const int64_t to = first_layer_of_chunk(model.layers, layout, position + 1);
    return {from, to, from + layers_again(layout, to - from)};
  }
  const int64_t first = layout.ends_are_layers ? 1 : 0;  // the unit before the first layer
  const int64_t units = (model.layers + 2 * first) / layout.chunks_in_all();
  const int64_t from = std::max<int64_t>(position * units - first, 0);
  const int64_t to = std::min((position + 1) * units - first, model.layers);
  return {from, to, from + layers_again(layout, to - from)};
}

StageLayers layers_of_chunk(const Transformer& model, const Layout& layout, int64_t position) {
  const int64_t chunks = layout.chunks_in_all();
  const ChunkLayers layers = chunk_layers(model, layout, position);
  StageLayers held{.kinds = model.kinds(layers.from, layers.to),
                   .again = {},  // set below: searches ask this by the million
                   .embeds = position == 0,
                   .has_head = position == chunks - 1};
  if (layers.again == layers.to)
    held.again = held.kinds;
  else if (layers.again > layers.from)
    held.again = model.kinds(layers.from, layers.again);
  // ZB-V turns round on the last stage, where nothing is sent.
  const int64_t turn = layout.schedule == PipelineSchedule::zbv ? layout.pipeline : 0;
  held.from_before = position == turn || position == 0 ? 0 : 1;
  held.from_behind = position + 1 == turn || position + 1 == chunks ? 0 : 1;
  const int64_t unit = layout.recompute == Recompute::uniform ? layout.recompute_layers : 1;
  held.kept_inputs = (layers.again - layers.from + unit - 1) / unit;
  return held;
}

int64_t StageLayers::layers() const {
  return std::accumulate(kinds.begin(), kinds.end(), int64_t{0});
}

StageLayers& StageLayers::operator+=(const StageLayers& other) {
  for (std::size_t i = 0; i < most_kinds; ++i) {
    kinds[i] += other.kinds[i];
    again[i] += other.again[i];
  }
  kept_inputs += other.kept_inputs;
  from_before += other.from_before;
  from_behind += other.from_behind;
  embeds = embeds || other.embeds;
  has_head = has_head || other.has_head;
  return *this;
}

int64_t chunk_position(const Layout& layout, int64_t stage, int64_t chunk) {
  if (layout.schedule == PipelineSchedule::zbv && chunk == 1)
    return 2 * layout.pipeline - 1 - stage;
  return chunk * layout.pipeline + stage;
}

StageLayers layers_of_stage(const Transformer& model, const Layout& layout, int64_t stage) {
  StageLayers held = layers_of_chunk(model, layout, chunk_position(layout, stage, 0));
  for (int64_t chunk = 1; chunk < layout.chunks; ++chunk)
    held += layers_of_chunk(model, layout, chunk_position(layout, stage, chunk));
  return held;
}

int64_t exchanged_layers(const Transformer& model, const Layout& layout, int64_t stage,
                         const StageLayers& own) {
  if (layout.schedule != PipelineSchedule::dualpipe) return own.layers();
  const StageLayers other = layers_of_stage(model, layout, layout.pipeline - 1 - stage);
  return (own.layers() + other.layers() + 1) / 2;
}

}  // namespace sgdsim
