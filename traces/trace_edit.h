// Traces made from traces: on another device, with another batch, with coarser layers.
#pragma once

#include "sim/work/trace.h"

namespace sgdsim {

// Computation takes `compute` times as long, as with the field compute_scale of a file.
Trace with_compute(Trace trace, double compute);
// So many samples at once: forward, backward, ready and load grow in proportion, the update stays.
// InputError if the trace does not state its batch.
Trace with_batch(Trace trace, int64_t batch);
// A step of so many micro-batches, of which only the last one's gradients are exchanged: what the
// others compute is a last layer without parameters, so that it lies behind the first forward pass
// and before the last backward pass. Batch and load are those of all.
Trace accumulated(Trace trace, int64_t passes);
// Neighbours become one layer, from the last one forwards, until its gradient has `least` bytes, or
// by the first `parts` parts of their names: conv1.weight and conv1.bias are conv1.
Trace merged_to(const Trace& trace, Bytes least);
Trace merged_by_name(const Trace& trace, int parts);

// Sentences about what a reader would doubt: layers that take no time, sizes that no type has,
// names that occur twice, a layer that is most of a step.
std::vector<std::string> doubts_about(const Trace& trace);

}  // namespace sgdsim
