// How the layers of a model are shared out among the stages of a pipeline where these are not all
// alike: as evenly as possible, with a first or a last stage of its own length, or as a list.
//
// Chunks are counted through the whole pipeline, in the order in which a micro-batch meets them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sgdsim {

struct Layout;

// So many chunks, one behind the other, of so many layers each.
struct LayerRun {
  int64_t layers = 0;
  int64_t chunks = 0;
  bool operator==(const LayerRun&) const = default;
};

struct StageLengths {
  bool is_spread = false;             // some chunks have a layer less than the others
  std::vector<LayerRun> list = {};    // of every chunk; neighbouring runs differ
  std::optional<int64_t> first = {};  // layers of the first stage, over all its chunks
  std::optional<int64_t> last = {};
  bool operator==(const StageLengths&) const = default;
  bool are_even() const { return !is_spread && list.empty() && !first && !last; }
};

inline constexpr int64_t most_chunk_layers = 100'000;

// Of "even", "spread" or "4+5x13+3": 4 layers, then 13 chunks of 5, then 3.
void set_stages(StageLengths& stages, const std::string& value, const std::string& where);
std::string stages_text(const StageLengths& stages);
// As runs; neighbours that are alike become one.
StageLengths listed(const std::vector<int64_t>& layers_of_chunks);

// ---- of stages that are not even; the layout must fit so many layers

// The layer with which a chunk begins; behind the last chunk the number of layers.
int64_t first_layer_of_chunk(int64_t layers, const Layout& layout, int64_t position);
int64_t longest_chunk(int64_t layers, const Layout& layout);

// Whether stages=spread fits: at most the first and the last chunk are without a layer.
bool can_be_spread(int64_t layers, int64_t chunks);
// Why so many layers cannot be shared out so, in a sentence; empty if they can.
std::string unlike_stages_misfit(int64_t layers, const Layout& layout);

}  // namespace sgdsim
