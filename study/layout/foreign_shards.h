// Weights that PyTorch shards, and scores of attention that are kept, as programs around
// Megatron-LM say them.
#pragma once

#include <optional>

#include "study/layout/foreign_layout.h"

namespace sgdsim {

// PyTorch's own sharding: `fsdp` of NeMo 1, `use_torch_fsdp2` of Megatron-LM and Megatron-Bridge.
// The stage of zero; nothing where no file says so.
std::optional<int> zero_of_torch(const FlatSettings& settings);

// Whether it keeps weights from a forward pass to its backward pass.
bool keeps_torch_weights(const FlatSettings& settings);

// Whether the backend of attention writes scores to memory.
bool writes_scores(const FlatSettings& settings);

}  // namespace sgdsim
