// Which layers the stages and chunks of a layout hold.
#include "models/training/layout.h"

#include <algorithm>
#include <numeric>

namespace sgdsim {
namespace {

// Of so many layers of a chunk.
int64_t layers_again(const Layout& layout, int64_t layers) {
  switch (layout.recompute) {
    case Recompute::none:
    case Recompute::selective:
    case Recompute::operations:
    case Recompute::modules:
      return 0;
    case Recompute::block:
      return std::min(layout.recompute_layers, layers);
    case Recompute::full:
    case Recompute::uniform:
      return layers;
  }
  return 0;
}

// Each has a layer as the last one. With block the first layers of a chunk are computed again,
// which they are not.
void add_predictions(const Transformer& model, const Layout& layout, StageLayers& held) {
  held.predictions = predictions_of(model, layout);
  if (held.predictions == 0) return;
  const std::size_t kind = model.layer(model.layers - 1).index();
  held.kinds[kind] += held.predictions;
  if (!computes_predictions_again(layout)) return;
  held.again[kind] += held.predictions;
  held.kept_inputs += held.predictions;
}

}  // namespace

int64_t predictions_of(const Transformer& model, const Layout& layout) {
  return layout.predictions.value_or(layout.lora.is_used() ? 0 : model.predictions);
}

bool computes_predictions_again(const Layout& layout) {
  return layout.recompute == Recompute::full || layout.recompute == Recompute::uniform;
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
  if (held.has_head) add_predictions(model, layout, held);
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
  predictions += other.predictions;
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
  return own.layers() + other.layers();
}

}  // namespace sgdsim
