// The short text of a layout, and its JSON: one word or field for each member.
#include <algorithm>
#include <array>
#include <sstream>

#include "models/training/layout.h"
#include "models/training/word_values.h"
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
constexpr std::array<Size, 10> sizes{{
    {"tp", &Layout::tensor, most_gpus, "tensor-parallel ranks"},
    {"pp", &Layout::pipeline, most_gpus, "stages"},
    {"cp", &Layout::context, most_gpus, "context-parallel ranks"},
    {"vp", &Layout::chunks, 10'000, "virtual stages"},
    {"ep", &Layout::expert, most_gpus, "expert-parallel ranks"},
    {"etp", &Layout::expert_tensor, most_gpus, "ranks that split each expert"},
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
constexpr Named<bool, 2> graph_names{{{"on", false}, {"off", true}}};
constexpr std::array choice_names = {
    "recompute", "schedule", "context",   "reshard",     "attention", "ends",       "stages",
    "first",     "last",     "gradients", "overlap",     "sends",     "accumulate", "kernels",
    "lora",      "frozen",   "offload",   "cuda_graphs", "mtp",       "dispatch",   "experts"};

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

// "full", "block:4", or "modules:moe_act+mlp".
void set_recompute(Layout& layout, const std::string& value, const std::string& where) {
  const std::size_t colon = value.find(':');
  const std::string first = value.substr(0, value.find('+'));
  if (std::any_of(recomputed_modules.begin(), recomputed_modules.end(),
                  [&](const auto& one) { return one.first == first; }))
    throw InputError(where,
                     "recompute=" + value.substr(0, 80) +
                         ": modules are named behind modules:, as in recompute=modules:" + first);
  layout.recompute = named_in(recompute_names, "recompute", value.substr(0, colon), where);
  layout.recompute_layers = 0;
  layout.recompute_modules = {};
  if (layout.recompute == Recompute::modules) {
    if (colon == std::string::npos)
      throw InputError(where, "recompute=modules needs names, as in modules:moe_act+mla_up_proj");
    layout.recompute_modules = parse_modules(value.substr(colon + 1), where);
    return;
  }
  const bool counts = counts_layers(layout.recompute);
  if (counts != (colon != std::string::npos))
    throw InputError(
        where, counts ? "recompute=" + value + " needs a number of layers, as in " + value + ":4"
                      : "recompute=" + value.substr(0, colon) +
                            " takes no number; block:N computes N layers of each "
                            "chunk again, uniform:N all of them in units of N");
  if (counts) layout.recompute_layers = number_in(value, colon + 1, 1, most_chunk_layers, where);
}

// Of a word with "=" about what is trained, and what of the machine takes part.
bool set_later_choice(Layout& layout, const std::string& name, const std::string& value,
                      const std::string& where) {
  if (name == "lora")
    set_lora(layout.lora, value, where);
  else if (name == "frozen")
    layout.lora.frozen = named_in(frozen_formats, name, value, where);
  else if (name == "offload")
    set_offload(layout.offload, value, where);
  else if (name == "cuda_graphs")
    layout.host_launches = named_in(graph_names, name, value, where);
  else if (name == "dispatch")
    layout.dispatch = named_in(dispatch_names, name, value, where);
  else if (name == "experts")
    layout.experts = named_in(experts_under, name, value, where);
  else if (name == "mtp")
    layout.predictions = number_in(name + "=" + value, name.size() + 1, 0, most_predictions, where);
  else
    return false;
  return true;
}

// Interleaved stages are no schedule of their own here.
PipelineSchedule schedule_named(const std::string& value, const std::string& where) {
  if (value.find("nterleaved") != std::string::npos)
    throw InputError(where, "schedule=" + value.substr(0, 60) +
                                ": virtual stages make 1f1b interleaved; say vpN, as vp2, and "
                                "leave the schedule out");
  return named_in(pipeline_schedules, "schedule", value, where);
}

// What other programs call a word of ours; "" if it is none.
std::string word_meant_by(const std::string& name, const std::string& number) {
  if (name == "fsdp") return "dp" + number + " zero3";
  if (name == "ddp") return "dp" + number;
  return "";
}

// Of a word with "=". Whether it is one.
bool set_choice(Layout& layout, const std::string& name, const std::string& value,
                const std::string& where) {
  if (name == "recompute")
    set_recompute(layout, value, where);
  else if (name == "schedule")
    layout.schedule = schedule_named(value, where);
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
    return set_later_choice(layout, name, value, where);
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
  const bool has_number = digit != std::string::npos;
  if (const std::string meant = word_meant_by(name, has_number ? word.substr(digit) : "N");
      !meant.empty())
    throw InputError(where,
                     "unknown word of a layout \"" + word.substr(0, 60) + "\"; say " + meant);
  throw InputError(where, unknown_name("word of a layout", word, layout_words()));
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
  if (layout.recompute == Recompute::modules) text += ":" + to_text(layout.recompute_modules);
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

Layout parse_shared_words(const std::string& text, const std::string& where) {
  const Layout layout = parse_layout(text, where);
  Layout unused;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string name = set_word(unused, word, where);
    const bool is_size = std::any_of(sizes.begin(), sizes.end(), [&](const Size& size) {
      return name == size.name && size.member != &Layout::shard_copies &&
             size.member != &Layout::expert_tensor;
    });
    constexpr std::array others = {"zero", "sp", "recompute", "ends", "stages", "first", "last"};
    if (name == "recompute" && layout.recompute == Recompute::modules) continue;
    if (is_size || std::find(others.begin(), others.end(), name) != others.end())
      throw InputError(where, word +
                                  " is what a search tries itself; leave it out, or price one "
                                  "layout with --layout");
  }
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
  if (layout.dispatch != usual.dispatch) add("dispatch", name_in(dispatch_names, layout.dispatch));
  if (layout.experts != ExpertsUnder::alone) add("experts", name_in(experts_under, layout.experts));
  if (layout.lora.is_used()) add("lora", lora_text(layout.lora));
  if (layout.lora.frozen != usual.lora.frozen)
    add("frozen", name_in(frozen_formats, layout.lora.frozen));
  if (layout.offload.is_used()) add("offload", offload_text(layout.offload));
  if (layout.host_launches) add("cuda_graphs", name_in(graph_names, true));
  if (layout.predictions) add("mtp", std::to_string(*layout.predictions));
  return text;
}

namespace {

struct LayoutFile {
  std::string schema = {}, name = {}, description = {};
  Layout layout = {};
  std::string recompute = recompute_text(layout);
  std::string stages = stages_text(layout.stages);
  std::string lora = lora_text(layout.lora);
  std::string offload = offload_text(layout.offload);
};

Json schema_of_recompute() {
  return {{"type", "string"},
          {"pattern",
           "^(none|selective|full|operations|(block|uniform):[1-9][0-9]*|modules:[a-z_+]+)$"}};
}

Json schema_of_stages() {
  return {{"type", "string"},
          {"pattern", R"(^(even|spread|[0-9]+(x[1-9][0-9]*)?(\+[0-9]+(x[1-9][0-9]*)?)*)$)"}};
}

Json schema_of_lora() {
  return {{"type", "string"}, {"pattern", "^(none|[1-9][0-9]*(:(all|attention|mlp))?)$"}};
}

Json schema_of_offload() {
  return {{"type", "string"},
          {"pattern", "^(none|optimizer|(activations|both)(:[1-9][0-9]?[0-9]?)?)$"}};
}

Field choice(const char* name, bool& to, const Named<bool, 2>& names, const char* says) {
  return Field(name, to, says)
      .one_of({std::string(name_in(names, false)), std::string(name_in(names, true))});
}

// What is trained, and what of the machine takes part.
Fields later_fields(LayoutFile& file) {
  Layout& o = file.layout;
  return {Field("lora", file.lora,
                "fine-tuning with frozen weights: the rank of adapters, of all products, or as in "
                "16:attention or 16:mlp of these; none: all weights are trained")
              .like(schema_of_lora),
          {"frozen", o.lora.frozen, "with lora, how frozen matrices are kept"},
          Field("offload", file.offload,
                "what the host keeps: activations, the states of the optimizer (optimizer), or "
                "both; activations:40 is 40 percent of them")
              .like(schema_of_offload),
          {"dispatch", o.dispatch,
           "node: a token goes once to each node where it has experts, and from there to their "
           "GPUs"},
          {"experts", o.experts,
           "beside: with 1f1b, a forward and a backward pass of two micro-batches lie under each "
           "other, and what one exchanges with experts under what the other computes; shared: "
           "exchanges lie under what shared experts compute"},
          choice("cuda_graphs", o.host_launches, graph_names,
                 "off: the host launches every kernel, and passes wait for it where it is late"),
          Field("mtp", o.predictions,
                "layers that predict further tokens and are trained; those of the model if not "
                "given")
              .from(0, most_predictions)};
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
                   "layer and all that is element-wise, modules:moe_act+mlp these of each layer")
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
              "loss and of rotations are"}} +
         later_fields(file);
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
  if (value.json().contains("lora"))
    set_lora(file.layout.lora, file.lora, value.child("lora").where());
  if (value.json().contains("offload"))
    set_offload(file.layout.offload, file.offload, value.child("offload").where());
  check_sizes(file.layout, value.where());
  return file.layout;
}

Json to_json(const Layout& layout) {
  return to_json_by_fields(LayoutFile{.layout = layout,
                                      .recompute = recompute_text(layout),
                                      .stages = stages_text(layout.stages),
                                      .lora = lora_text(layout.lora),
                                      .offload = offload_text(layout.offload)});
}

}  // namespace sgdsim
