// Iterations whose exchanges overlap with the computation of later ones, or are left out.
#pragma once

#include "models/step/step.h"

namespace sgdsim {

struct PipelineRule {
  int width = 1;           // K: iteration t waits for the exchange of t - K; 1 is synchronous
  int synchronous = 0;     // the first iterations, with width 1
  int every = 1;           // H: only every H-th iteration ends with an exchange
  bool layerwise = false;  // the strategy's messages, as soon as they are ready; else one message
  bool ends_with_computation = false;  // an iteration ends when its computation does
};

// Both fidelities. Per worker, with Cs and Ce the start and end of the computation and Ae the end
// of the exchange,
//
//   Cs_t = max(Ce_(t-1), Ae_(t-K))     Ae_t = max(Ae_(t-1), ready_t) + exchange
//
// where the computation is the update with the sums of t - K, forward, backward and encoding.
StepResult play_pipeline(const StepQuestion& question, const PipelineRule& rule);

}  // namespace sgdsim
