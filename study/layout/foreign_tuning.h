// What NeMo's files say of fine-tuning and of the host.
#pragma once

#include "study/layout/foreign_layout.h"

namespace sgdsim {

// Adapters with frozen weights: `peft`.
void read_adapters(const FlatSettings& settings, ForeignLayout& found);

// What goes to the host: `cpu_offloading` of layers, and the optimizer. The stages are known.
void read_offload(const FlatSettings& settings, const Transformer& model, ForeignLayout& found);

}  // namespace sgdsim
