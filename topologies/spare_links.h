// Links that a cluster can lose one of, because messages have another way.
#pragma once

#include <optional>
#include <string>

#include "topologies/graph.h"

namespace sgdsim {

// The first connection of this class, if whichever of them is gone leaves a way between its ends
// and, for a vertex that passes nothing on, to all that it reached before. A link whose loss parts
// vertices without workers counts as needed, too.
std::optional<int> first_spare(const Graph& graph, const std::string& link_class);

}  // namespace sgdsim
