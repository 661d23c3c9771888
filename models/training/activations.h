// What a layer keeps between its forward and its backward pass, on one rank and of one micro-batch.
#pragma once

#include "models/training/layout.h"

namespace sgdsim {

// Activations of one layer and micro-batch that stay until its backward pass, unless it is computed
// again.
double layer_activations_B(const Transformer& model, const Layout& layout, int64_t sequence,
                           LayerKind kind);
// What is there for a moment while recompute=selective or operations computes a part of it again.
double layer_again_B(const Transformer& model, const Layout& layout, int64_t sequence,
                     LayerKind kind);
// The input of a layer: what stays of one that is computed again.
double layer_inputs_B(const Transformer& model, const Layout& layout, int64_t sequence);
double micro_batch_tokens(const Layout& layout, int64_t sequence);

}  // namespace sgdsim
