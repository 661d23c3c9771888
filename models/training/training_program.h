// What training programs can do, as far as the search tries it: the layouts that somebody can start
// today.
#pragma once

#include <string>
#include <vector>

#include "models/training/layout.h"

namespace sgdsim {

// Megatron-LM splits the optimizer (zero1), not gradients or weights. torchtitan splits everything
// by FSDP (zero3), or copies the model if replicas are all there is; its tensor parallelism always
// splits sequences, too.
enum class TrainingProgram : uint8_t { any, megatron, torchtitan };
inline constexpr Named<TrainingProgram, 3> training_programs{
    {{"any", TrainingProgram::any},
     {"megatron", TrainingProgram::megatron},
     {"torchtitan", TrainingProgram::torchtitan}}};
std::string_view title_of(TrainingProgram program);  // "Megatron-LM"

bool can_do(TrainingProgram program, const Layout& layout);
// torchtitan compiles each layer.
Kernels kernels_of(TrainingProgram program);

// Which kinds of parallelism a layout has: "tp + pp + fsdp"; "replicas" if none.
std::string family_of(const Layout& layout);

// What of a layout goes beyond published runs, one short sentence each: nothing here was compared
// with such steps.
std::vector<std::string> beyond_published(const Transformer& model, const Layout& layout,
                                          int64_t sequence);

}  // namespace sgdsim
