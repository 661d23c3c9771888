// In which order a rank of a pipeline does its passes, schedule by schedule.
//
// 1F1B and the interleaved order are those of Megatron-LM (arXiv 2104.04473), ZB1P is ZB-H1 of Qi
// et al. (arXiv 2401.10241), DualPipe that of DeepSeek-V3 (arXiv 2412.19437). ZB-V is that of
// torchtitan (PyTorch's ZBVZeroBubble; Qi et al., arXiv 2405.15362): a rank has two chunks, and
// micro-batches come back by the ranks by which they went.
#pragma once

#include <vector>

#include "models/training/layout.h"

namespace sgdsim {

enum class Pass : uint8_t {
  forward,
  backward,  // all of it
  inputs,    // the part of a backward pass that the stage before waits for
  weights,   // the rest: gradients of weights
  both       // a forward pass and the whole backward pass of another micro-batch, overlapped
};

struct PassSlot {
  Pass pass = Pass::forward;
  int32_t chunk = 0;  // of the rank, from 0: a virtual stage, or with dualpipe a direction
  int32_t micro_batch = 0;
  int32_t backward_chunk = 0;  // of `both`
  int32_t backward_micro_batch = 0;

  bool has_forward() const { return pass == Pass::forward || pass == Pass::both; }
  // Gives the stage before what it waits for.
  bool has_backward() const {
    return pass == Pass::backward || pass == Pass::inputs || pass == Pass::both;
  }
  // Ends with the gradients of weights.
  bool has_weights() const { return pass != Pass::forward && pass != Pass::inputs; }
  // How many layers' weights it needs for each of its steps, with zero3: both passes of `both` need
  // others. Weights that are kept serve the backward pass as well.
  int fetches(bool keeps_weights) const {
    return (has_forward() ? 1 : 0) + (has_backward() && !keeps_weights ? 1 : 0);
  }
  bool operator==(const PassSlot&) const = default;
};

// The way of a micro-batch through the ranks. With dualpipe there are two, each with half of the
// micro-batches; otherwise one, which passes every rank `chunks` times, with zbv there and back.
struct PassPlace {
  int64_t rank = 0;
  int64_t chunk = 0;
};
int64_t ways_of(const Layout& layout);
int64_t way_length(const Layout& layout);
int64_t micro_batches_of_way(const Layout& layout);
int64_t chunks_of_rank(const Layout& layout);
PassPlace place_on_way(const Layout& layout, int64_t way, int64_t position);
struct WayPosition {
  int64_t way = 0;
  int64_t position = 0;
};
WayPosition position_of(const Layout& layout, PassPlace place);

// Over which boundary two ranks send to each other: rank i and the next one over the i-th, the last
// and the first, where chunks go around, over the last of all.
std::size_t boundary_between(int64_t rank, int64_t other, std::size_t boundaries);

// Whether a rank begins no pass while it sends. As the closed form has it: only where a rank has
// other passes to do, sends lie beside them.
bool sends_keep_rank(const Layout& layout);

// Forward passes of a rank before its first backward pass; behind them they take turns. Not of
// dualpipe.
int64_t forwards_ahead(const Layout& layout, int64_t rank);

// All passes of a step. The layout must fit its schedule (misfit_of).
std::vector<PassSlot> pass_order(const Layout& layout, int64_t rank);

}  // namespace sgdsim
