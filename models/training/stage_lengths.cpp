// Where each chunk begins is a formula, or a walk over the runs of a list.
#include "models/training/stage_lengths.h"

#include <algorithm>
#include <charconv>

#include "models/training/layout.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

void append_run(std::vector<LayerRun>& runs, LayerRun run) {
  if (!runs.empty() && runs.back().layers == run.layers)
    runs.back().chunks += run.chunks;
  else
    runs.push_back(run);
}

std::string runs_text(const std::vector<LayerRun>& runs) {
  std::string text;
  for (const LayerRun& run : runs) {
    text += (text.empty() ? "" : "+") + std::to_string(run.layers);
    if (run.chunks > 1) text += "x" + std::to_string(run.chunks);
  }
  return text;
}

// "5x13", or "4". Nothing if it is none.
std::optional<LayerRun> read_run(const std::string& text) {
  LayerRun run{0, 1};
  const char* end = text.data() + text.size();
  auto [stopped, problem] = std::from_chars(text.data(), end, run.layers);
  if (problem == std::errc() && stopped != end && *stopped == 'x') {
    const auto count = std::from_chars(stopped + 1, end, run.chunks);
    stopped = count.ptr;
    problem = count.ec;
  }
  const bool is_one = problem == std::errc() && stopped == end && run.layers >= 0 &&
                      run.layers <= most_chunk_layers && run.chunks >= 1 &&
                      run.chunks <= most_chunk_layers;
  return is_one ? std::optional(run) : std::nullopt;
}

// ---- stages=spread

// Chunks that have a layer less: the last one, which has the head; then the first one, which has
// the embedding; then from the last but one backwards.
struct Spread {
  int64_t chunks = 1;
  int64_t longer = 1;  // layers of the others
  int64_t fewer = 0;   // chunks with one less

  Spread(int64_t layers, int64_t of_chunks)
      : chunks(of_chunks),
        longer((layers + chunks - 1) / chunks),
        fewer(longer * chunks - layers) {}
  int64_t begin(int64_t position) const {
    const int64_t at_front = fewer >= 2 && position > 0 ? 1 : 0;
    const int64_t at_end = fewer >= 2 ? fewer - 1 : fewer;
    return position * longer - at_front - std::max<int64_t>(0, position - (chunks - at_end));
  }
  std::string text() const {
    std::vector<LayerRun> runs;
    for (int64_t i = 0; i < chunks; ++i) append_run(runs, {begin(i + 1) - begin(i), 1});
    return "stages=" + runs_text(runs);
  }
};

// ---- first=, last=

// Layers of each chunk of the first stage, of the last one and of the others.
struct NamedEnds {
  int64_t first = 0;
  int64_t last = 0;
  int64_t other = 0;

  NamedEnds(int64_t layers, const Layout& layout) {
    const StageLengths& stages = layout.stages;
    const int64_t others = others_of(layout);
    const int64_t rest = layers - stages.first.value_or(0) - stages.last.value_or(0);
    other = others > 0 ? rest / (others * layout.chunks) : 0;
    first = stages.first ? *stages.first / layout.chunks : other;
    last = stages.last ? *stages.last / layout.chunks : other;
  }
  static int64_t others_of(const Layout& layout) {
    return layout.pipeline - (layout.stages.first ? 1 : 0) - (layout.stages.last ? 1 : 0);
  }
};

bool ends_fit(int64_t layers, const Layout& layout) {
  const StageLengths& stages = layout.stages;
  for (const auto& named : {stages.first, stages.last})
    if (named && (*named < 1 || *named % layout.chunks != 0)) return false;
  const int64_t rest = layers - stages.first.value_or(0) - stages.last.value_or(0);
  const int64_t chunks = NamedEnds::others_of(layout) * layout.chunks;
  return chunks == 0 ? rest == 0 : rest >= chunks && rest % chunks == 0;
}

// "first=5 would fit", the nearest one; empty if no other one does.
std::string fitting_end(int64_t layers, Layout layout, const char* name,
                        std::optional<int64_t> StageLengths::*member) {
  if (!(layout.stages.*member)) return "";
  const int64_t given = *(layout.stages.*member);
  for (int64_t away = 1; away <= std::max(given, layers); ++away)
    for (const int64_t near : {given - away, given + away}) {
      if (near < 1 || near > layers) continue;
      layout.stages.*member = near;
      if (ends_fit(layers, layout)) return std::string(name) + std::to_string(near) + " would fit";
    }
  return "";
}

std::string ends_text(const StageLengths& stages) {
  std::string text;
  if (stages.first) text = "first=" + std::to_string(*stages.first);
  if (stages.first && stages.last) text += " and ";
  if (stages.last) text += "last=" + std::to_string(*stages.last);
  return text;
}

std::string ends_misfit(int64_t layers, const Layout& layout) {
  if (ends_fit(layers, layout)) return "";
  const StageLengths& stages = layout.stages;
  const bool are_both = stages.first && stages.last;
  const int64_t rest = layers - stages.first.value_or(0) - stages.last.value_or(0);
  const int64_t others = NamedEnds::others_of(layout);
  std::string text = ends_text(stages);
  if (rest < 0 || (others == 0 && rest != 0))
    text += std::string(are_both ? " are " : " is ") + std::to_string(layers - rest) +
            " layers, but the model has " + std::to_string(layers);
  else if (others > 0 && rest >= others * layout.chunks && rest % (others * layout.chunks) != 0)
    text += std::string(are_both ? " leave " : " leaves ") + std::to_string(rest) +
            " layers, which do not divide by the " + std::to_string(others) +
            " other stages x vp = " + std::to_string(others * layout.chunks);
  else if (others > 0 && rest < others * layout.chunks)
    text += std::string(are_both ? " leave " : " leaves ") + std::to_string(rest) +
            " layers to the " + std::to_string(others * layout.chunks) +
            " chunks of the other stages, each of which needs one";
  else
    text += std::string(are_both ? " do" : " does") + " not divide by vp" +
            std::to_string(layout.chunks) + ", over which the layers of a stage go evenly";
  for (const std::string& other : {fitting_end(layers, layout, "first=", &StageLengths::first),
                                   fitting_end(layers, layout, "last=", &StageLengths::last)})
    if (!other.empty()) return text + "; " + other;
  if (!can_be_spread(layers, layout.chunks_in_all())) return text + "; leave it out";
  return text + "; " + Spread(layers, layout.chunks_in_all()).text() + " would fit";
}

// ---- a list

std::string list_misfit(int64_t layers, const Layout& layout) {
  const std::string name = "stages=" + stages_text(layout.stages);
  const int64_t chunks = layout.chunks_in_all();
  const std::string fits =
      can_be_spread(layers, chunks) ? "; " + Spread(layers, chunks).text() + " would fit" : "";
  int64_t sum = 0;
  int64_t count = 0;
  for (const LayerRun& run : layout.stages.list) {
    sum += run.layers * run.chunks;
    count += run.chunks;
  }
  if (count != chunks)
    return name + " names " + std::to_string(count) + " chunks, but pp x vp is " +
           std::to_string(chunks) + fits;
  if (sum != layers)
    return "the layers of " + name + " are " + std::to_string(sum) + " in all, but the model has " +
           std::to_string(layers) + fits;
  int64_t from = 0;
  for (const LayerRun& run : layout.stages.list) {
    const int64_t to = from + run.chunks;
    // Behind the last layer Megatron-LM may have a chunk of further predictions, then the head.
    const bool is_allowed = to == 1 || (to == chunks && run.chunks <= 2);
    if (run.layers == 0 && !is_allowed)
      return name +
             " has chunks without a layer; only the first one, which has the embedding, "
             "the last one, which has the head, and one before such a last one can be so" +
             fits;
    from = to;
  }
  return "";
}

}  // namespace

void set_stages(StageLengths& stages, const std::string& value, const std::string& where) {
  stages.is_spread = value == "spread";
  stages.list.clear();
  if (value == "even" || stages.is_spread) return;
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t to = std::min(value.find('+', from), value.size());
    const auto run = read_run(value.substr(from, to - from));
    if (!run)
      throw InputError(where, "\"stages=" + value.substr(0, 60) +
                                  "\": expected even, spread, or the layers of every chunk of the "
                                  "pipeline in order, as in stages=4+5x13+3 (4, then 13 chunks of "
                                  "5, then 3), each from 0 to " +
                                  std::to_string(most_chunk_layers));
    append_run(stages.list, *run);
    from = to + 1;
  }
}

std::string stages_text(const StageLengths& stages) {
  if (stages.is_spread) return "spread";
  return stages.list.empty() ? "even" : runs_text(stages.list);
}

StageLengths listed(const std::vector<int64_t>& layers_of_chunks) {
  StageLengths stages;
  for (const int64_t layers : layers_of_chunks) append_run(stages.list, {layers, 1});
  return stages;
}

int64_t first_layer_of_chunk(int64_t layers, const Layout& layout, int64_t position) {
  const StageLengths& stages = layout.stages;
  const int64_t chunks = layout.chunks_in_all();
  if (position >= chunks) return layers;
  if (stages.is_spread) return Spread(layers, chunks).begin(position);
  if (!stages.list.empty()) {
    int64_t begin = 0;
    for (const LayerRun& run : stages.list) {
      const int64_t count = std::min(run.chunks, position);
      begin += count * run.layers;
      position -= count;
    }
    return begin;
  }
  // Every round over the stages has as many layers; that of zbv which comes back begins with the
  // last stage.
  const NamedEnds ends(layers, layout);
  const int64_t round = position / layout.pipeline;
  const int64_t place = position % layout.pipeline;
  const bool comes_back = layout.schedule == PipelineSchedule::zbv && round == 1;
  const int64_t before =
      place == 0 ? 0 : (comes_back ? ends.last : ends.first) + (place - 1) * ends.other;
  return round * (layers / layout.chunks) + before;
}

int64_t longest_chunk(int64_t layers, const Layout& layout) {
  const StageLengths& stages = layout.stages;
  if (stages.is_spread) return Spread(layers, layout.chunks_in_all()).longer;
  int64_t longest = 0;
  for (const LayerRun& run : stages.list) longest = std::max(longest, run.layers);
  if (!stages.list.empty()) return longest;
  const NamedEnds ends(layers, layout);
  return std::max({ends.first, ends.last, ends.other});
}

bool can_be_spread(int64_t layers, int64_t chunks) { return chunks > 1 && chunks <= layers + 2; }

std::string unlike_stages_misfit(int64_t layers, const Layout& layout) {
  const StageLengths& stages = layout.stages;
  const bool has_ends = stages.first || stages.last;
  const bool has_stages = stages.is_spread || !stages.list.empty();
  const std::string name = has_stages ? "stages=" + stages_text(stages) : ends_text(stages);
  const std::string has = !has_stages && stages.first && stages.last ? " have" : " has";
  if (layout.pipeline == 1) return name + has + " no effect with pp1; leave it out";
  if (has_stages && has_ends)
    return name + " and " + ends_text(stages) +
           " contradict each other: the first says the layers of every chunk; leave one of them "
           "out";
  if (layout.ends_are_layers)
    return "ends=layers spreads layers evenly, with embedding and loss as a layer each, and " +
           name + " does not; leave one of them out";
  if (has_ends) return ends_misfit(layers, layout);
  if (!stages.list.empty()) return list_misfit(layers, layout);
  if (can_be_spread(layers, layout.chunks_in_all())) return "";
  return "there are more stages than layers: pp x vp is " + std::to_string(layout.chunks_in_all()) +
         ", and " + std::to_string(layers) +
         " layers are to be spread; only the first and the last chunk can be without, so that up "
         "to " +
         std::to_string(layers + 2) + " would fit";
}

}  // namespace sgdsim
