// Layers of traces at random, as files have them.
#pragma once

#include <string>

#include "sim/core/json.h"
#include "sim/core/random.h"

namespace sgdsim {

// Some, whose gradients are whole chunks for so many workers; times up to the two bounds.
inline Json random_layers(Random& random, int workers, uint64_t forward_ps, uint64_t backward_ps) {
  Json layers = Json::array();
  for (std::size_t l = 0; l < 1 + random.below(4); ++l)
    layers.push_back({{"name", "l" + std::to_string(l)},
                      {"parameters", (1 + random.below(9'000)) * static_cast<uint64_t>(workers)},
                      {"forward", std::to_string(random.below(forward_ps)) + " ps"},
                      {"backward", std::to_string(random.below(backward_ps)) + " ps"}});
  return layers;
}

}  // namespace sgdsim
