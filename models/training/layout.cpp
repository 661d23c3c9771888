// The short text of a layout, its JSON, and what must divide what.
#include "models/training/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "sim/core/error.h"

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
    {"mbs", &Layout::micro_batch, 65'536, "sequences of a micro-batch"},
    {"ga", &Layout::micro_batches, most_micro_batches, "micro-batches"},
    {"hsdp", &Layout::shard_copies, most_gpus, "copies of the shards"},
}};

constexpr int64_t most_layers = 100'000;  // of a chunk

bool counts_layers(Recompute recompute) {
  return recompute == Recompute::block || recompute == Recompute::uniform;
}

constexpr Named<bool, 2> attentions{{{"flash", false}, {"unfused", true}}};
constexpr Named<bool, 2> ends_names{{{"apart", false}, {"layers", true}}};
constexpr Named<bool, 2> gradient_names{{{"fp32", false}, {"bf16", true}}};
constexpr Named<bool, 2> overlap_names{{{"on", true}, {"off", false}}};
constexpr Named<bool, 2> reshard_names{{{"on", false}, {"off", true}}};
constexpr std::array choice_names = {"recompute", "schedule", "context",   "reshard",
                                     "attention", "ends",     "gradients", "overlap"};

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
  if (counts) layout.recompute_layers = number_in(value, colon + 1, 1, most_layers, where);
}
std::string recompute_text(const Layout& layout) {
  std::string text(name_in(recompute_names, layout.recompute));
  if (counts_layers(layout.recompute)) text += ":" + std::to_string(layout.recompute_layers);
  return text;
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
  else if (name == "gradients")
    layout.half_gradients = named_in(gradient_names, name, value, where);
  else if (name == "overlap")
    layout.overlaps = named_in(overlap_names, name, value, where);
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

void check_gpus(const Layout& layout, const std::string& where) {
  const double gpus = static_cast<double>(layout.tensor) * static_cast<double>(layout.pipeline) *
                      static_cast<double>(layout.context) * static_cast<double>(layout.replicas);
  if (gpus > static_cast<double>(most_gpus))
    throw InputError(where, "tp x pp x cp x dp is above " + std::to_string(most_gpus) +
                                " GPUs, the most that is modelled");
}

// "126 layers do not divide by 8 ranks" with a value that would.
std::string no_divisor(const std::string& what, int64_t whole, const std::string& by,
                       int64_t divisor) {
  int64_t near = std::min(divisor, whole);
  while (near > 1 && whole % near != 0) --near;
  return "the " + std::to_string(whole) + " " + what + " do not divide by " + by +
         std::to_string(divisor) + "; the next smaller divisor is " + std::to_string(near);
}

std::string stage_misfit(const Transformer& model, const Layout& layout, int64_t units) {
  const int64_t chunks = layout.chunks_in_all();
  const std::string layers = layout.ends_are_layers ? "layers with both ends" : "layers";
  if (chunks > units)
    return "there are more stages than layers: pp x vp is " + std::to_string(chunks) + ", and " +
           std::to_string(units) + " " + layers + " are to be spread";
  if (units % chunks != 0) {
    const bool ends_fit = !layout.ends_are_layers && (model.layers + 2) % chunks == 0;
    return no_divisor(layers, units, "pp x vp = ", chunks) +
           (ends_fit ? "; ends=layers, where embedding and loss count as a layer each, would fit"
                     : "");
  }
  return "";
}

std::string schedule_misfit(const Layout& layout) {
  const auto pp = std::to_string(layout.pipeline);
  if (layout.schedule != PipelineSchedule::one_f_one_b) {
    const std::string name(name_in(pipeline_schedules, layout.schedule));
    const bool is_v = layout.schedule == PipelineSchedule::zbv;
    if (is_v && layout.chunks != 2) return "schedule=zbv has two virtual stages on a rank; say vp2";
    if (layout.chunks > 1 && !is_v)
      return "virtual stages (vp) belong to schedule=1f1b, not to " + name;
    if (layout.pipeline == 1) return "schedule=" + name + " needs stages; give pp2 or more";
  }
  if (layout.chunks > 1 && layout.pipeline == 1) return "virtual stages (vp) need pp2 or more";
  if (layout.schedule == PipelineSchedule::zbv) {
    const int64_t least = 2 * layout.pipeline - 1;
    if (layout.micro_batches >= least) return "";
    return "zbv with pp" + pp + " needs at least " + std::to_string(least) +
           " micro-batches, not ga" + std::to_string(layout.micro_batches);
  }
  if (layout.chunks > 1 && layout.micro_batches % layout.pipeline != 0)
    return "with virtual stages the micro-batches go in groups of pp" + pp + ", but ga" +
           std::to_string(layout.micro_batches) + " does not divide by it";
  if (layout.schedule == PipelineSchedule::dualpipe) {
    if (layout.pipeline % 2 != 0) return "dualpipe needs an even number of stages, not pp" + pp;
    if (layout.micro_batches % 2 != 0 || layout.micro_batches < 2 * layout.pipeline)
      return "dualpipe needs an even number of micro-batches, at least twice pp" + pp + ", not ga" +
             std::to_string(layout.micro_batches);
  }
  return "";
}

std::string expert_misfit(const Transformer& model, const Layout& layout) {
  const std::string ep = "ep" + std::to_string(layout.expert);
  if (!model.experts) return layout.expert > 1 ? "the model has no experts to spread by " + ep : "";
  if (model.experts->count % layout.expert != 0)
    return no_divisor("experts", model.experts->count, "ep", layout.expert);
  const int64_t ranks = layout.tensor * layout.context * layout.replicas;
  if (ranks % layout.expert != 0)
    return no_divisor("ranks tp x cp x dp", ranks, "ep", layout.expert);
  if (layout.tensor > 1 && !layout.sequence_parallel)
    return "experts with tensor parallelism need sp: otherwise every rank would send the same "
           "tokens";
  return "";
}

std::string context_misfit(const Transformer& model, const Layout& layout) {
  if (layout.context_by == ContextBy::ring) return "";
  const std::string name = "context=" + std::string(name_in(context_names, layout.context_by));
  if (layout.context == 1) return name + " has no effect with cp1; leave it out";
  if (layout.context_by == ContextBy::gather) return "";
  if (model.latent)
    return name + " is not modelled for latent attention, whose keys all heads share";
  const int64_t ranks = layout.tensor * layout.context;
  for (const int64_t heads : {model.heads, model.kv_heads})
    if (heads % ranks != 0)
      return no_divisor(heads == model.heads ? "heads" : "heads of keys and values", heads,
                        name + " with tp x cp = ", ranks);
  return "";
}

std::string shards_misfit(const Layout& layout) {
  if (layout.keeps_weights && layout.zero != 3)
    return "reshard=off belongs to zero3, which alone gathers weights in every pass";
  if (layout.shard_copies == 1) return "";
  const std::string name = "hsdp" + std::to_string(layout.shard_copies);
  if (layout.zero == 0) return name + " copies shards, and zero0 has none; leave it out";
  const int64_t ranks = layout.context * layout.replicas;
  if (ranks % layout.shard_copies != 0)
    return no_divisor("ranks cp x dp", ranks, "hsdp", layout.shard_copies);
  if (ranks == layout.shard_copies) return name + " leaves one rank for all shards: that is zero0";
  const int64_t of_experts = layout.tensor * ranks / layout.expert;
  if (layout.expert > 1 && of_experts % layout.shard_copies != 0)
    return no_divisor("ranks with the same experts", of_experts, "hsdp", layout.shard_copies);
  return "";
}

std::string recompute_misfit(const Layout& layout, int64_t units) {
  const int64_t of_chunk = units / layout.chunks_in_all();
  if (counts_layers(layout.recompute) && layout.recompute_layers > of_chunk)
    return "recompute=" + recompute_text(layout) + " is more than the " + std::to_string(of_chunk) +
           " layers of a chunk; recompute=full computes all of them";
  if (layout.recompute == Recompute::selective && !layout.keeps_scores)
    return "recompute=selective drops the scores of attention, which attention=flash never keeps; "
           "leave it out, or say attention=unfused";
  return "";
}

// Of so many layers of a chunk.
int64_t layers_again(const Layout& layout, int64_t layers) {
  switch (layout.recompute) {
    case Recompute::none:
    case Recompute::selective:
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
  check_gpus(layout, where);
  return layout;
}

std::string to_text(const Layout& layout) {
  std::string text;
  for (const Size& size : sizes)
    if (size.member != &Layout::shard_copies)
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
  if (layout.half_gradients) add("gradients", name_in(gradient_names, true));
  if (!layout.overlaps) add("overlap", name_in(overlap_names, false));
  return text;
}

Layout read_layout(const Value& value) {
  if (value.json().is_string()) return parse_layout(value.text(), value.where());
  Object fields(value);
  if (const auto schema = fields.find("schema"); schema && schema->text() != layout_schema)
    schema->fail("expected \"" + std::string(layout_schema) + "\", got \"" + schema->text() + "\"");
  for (const char* name : {"name", "description"})
    if (const auto text = fields.find(name)) text->text();
  Layout layout;
  for (const Size& size : sizes)
    if (const auto field = fields.find(size.name)) layout.*size.member = field->whole(1, size.most);
  if (const auto zero = fields.find("zero")) layout.zero = static_cast<int>(zero->whole(0, 3));
  if (const auto sp = fields.find("sp")) layout.sequence_parallel = sp->flag();
  for (const char* name : choice_names)
    if (const auto field = fields.find(name))
      set_choice(layout, name, field->text(), field->where());
  fields.done();
  check_gpus(layout, value.where());
  return layout;
}

Json to_json(const Layout& layout) {
  Json json = {{"schema", layout_schema}};
  for (const Size& size : sizes) json[size.name] = layout.*size.member;
  json["zero"] = layout.zero;
  json["sp"] = layout.sequence_parallel;
  json["recompute"] = recompute_text(layout);
  json["schedule"] = name_in(pipeline_schedules, layout.schedule);
  json["context"] = name_in(context_names, layout.context_by);
  json["reshard"] = name_in(reshard_names, layout.keeps_weights);
  json["attention"] = name_in(attentions, layout.keeps_scores);
  json["ends"] = name_in(ends_names, layout.ends_are_layers);
  json["gradients"] = name_in(gradient_names, layout.half_gradients);
  json["overlap"] = name_in(overlap_names, layout.overlaps);
  return json;
}

StageLayers layers_of_chunk(const Transformer& model, const Layout& layout, int64_t position) {
  const int64_t first = layout.ends_are_layers ? 1 : 0;  // the unit before the first layer
  const int64_t chunks = layout.chunks_in_all();
  const int64_t units = (model.layers + 2 * first) / chunks;
  const int64_t from = std::max<int64_t>(position * units - first, 0);
  const int64_t to = std::min((position + 1) * units - first, model.layers);
  const int64_t dense = std::clamp<int64_t>(model.dense_layers() - from, 0, to - from);
  StageLayers held{.dense = dense,
                   .with_experts = to - from - dense,
                   .embeds = position == 0,
                   .has_head = position == chunks - 1};
  const int64_t again = layers_again(layout, to - from);
  held.dense_again = std::min(again, dense);
  held.with_experts_again = again - held.dense_again;
  const int64_t unit = layout.recompute == Recompute::uniform ? layout.recompute_layers : 1;
  held.kept_inputs = (again + unit - 1) / unit;
  return held;
}

StageLayers& StageLayers::operator+=(const StageLayers& other) {
  dense += other.dense;
  with_experts += other.with_experts;
  dense_again += other.dense_again;
  with_experts_again += other.with_experts_again;
  kept_inputs += other.kept_inputs;
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
  StageLayers held;
  for (int64_t chunk = 0; chunk < layout.chunks; ++chunk)
    held += layers_of_chunk(model, layout, chunk_position(layout, stage, chunk));
  return held;
}

std::string misfit_of(const Transformer& model, const Layout& layout, int64_t sequence) {
  const int64_t tp = layout.tensor;
  if (model.heads % tp != 0) return no_divisor("heads", model.heads, "tp", tp);
  if (!model.latent && model.kv_heads % tp != 0)
    return no_divisor("heads of keys and values", model.kv_heads, "tp", tp);
  if (model.dense_layers() > 0 && model.mlp_width % tp != 0)
    return no_divisor("columns of the MLP", model.mlp_width, "tp", tp);
  if (model.experts && model.experts->shared > 0 &&
      model.experts->shared * model.experts->width % tp != 0)
    return no_divisor("columns of the shared experts", model.experts->shared * model.experts->width,
                      "tp", tp);
  if (layout.context > 1 && sequence % (2 * layout.context) != 0)
    return no_divisor("positions of a sequence", sequence, "2 x cp = ", 2 * layout.context);
  if (layout.sequence_parallel && tp == 1) return "sp has no effect with tp1; leave it out";
  if (layout.sequence_parallel && sequence / layout.context % tp != 0)
    return no_divisor("positions of a rank", sequence / layout.context, "tp", tp);
  if (!layout.overlaps && layout.zero >= 2)
    return "overlap=off belongs to zero0 and zero1; zero2 and zero3 exchange layer by layer";
  if (layout.ends_are_layers && layout.pipeline == 1)
    return "ends=layers has no effect with pp1; leave it out";
  const int64_t units = model.layers + (layout.ends_are_layers ? 2 : 0);
  for (const std::string& sentence :
       {stage_misfit(model, layout, units), schedule_misfit(layout), expert_misfit(model, layout),
        context_misfit(model, layout), shards_misfit(layout), recompute_misfit(layout, units)})
    if (!sentence.empty()) return sentence;
  return "";
}

}  // namespace sgdsim
