// `sgdsim export chakra`: a training step as execution traces of Chakra, one file per rank.
#pragma once

#include "app/commands.h"

namespace sgdsim {

void add_chakra_export(CLI::App& command, Streams streams);

}  // namespace sgdsim
