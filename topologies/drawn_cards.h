// How many network cards the GPUs of a node have where a file draws its links one by one.
#pragma once

#include "sim/net/resources.h"

namespace sgdsim {

// As many as leave those of a node that share one link out of it, or into the next, with a card
// each: of the node that has the fewest. `per_node` consecutive workers share a node, and there are
// several nodes.
int drawn_cards(Resources& wires, int workers, int per_node);

}  // namespace sgdsim
