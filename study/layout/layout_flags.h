// Flags of Megatron-LM, and of programs that share them, by which a command says a layout.
#pragma once

#include <array>
#include <string_view>

namespace sgdsim {

inline constexpr std::array<std::string_view, 13> layout_flags = {
    "tensor-model-parallel-size",
    "pipeline-model-parallel-size",
    "context-parallel-size",
    "expert-model-parallel-size",
    "expert-tensor-parallel-size",
    "ds-sequence-parallel-size",
    "moe-expert-parallel-size",
    "micro-batch-size",
    "global-batch-size",
    "sequence-parallel",
    "use-distributed-optimizer",
    "recompute-granularity",
    "num-layers-per-virtual-pipeline-stage"};

}  // namespace sgdsim
