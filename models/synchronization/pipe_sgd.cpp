// Pipe-SGD (Li and others, NeurIPS 2018): the exchange of iteration t runs beside the computation
// of the next ones, and its sum is used K iterations later. With constant times T iterations take
// T max(l_c, l_m) + min(l_c, l_m) for any K >= 2, l_c being update, forward, backward and encoding,
// l_m the exchange: a larger K adds staleness and no speed. Where times vary, it can.
//
// The whole gradient goes in one message after backward (`sequential`); `layerwise` sends the
// strategy's messages, which costs more start-ups and gains nothing once exchanges overlap.
#include <algorithm>

#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::pipe_sgd {
namespace {

struct Options {
  PipelineRule rule{.width = 2};
};

Fields fields_of(Options& o) {
  return {Field("width", o.rule.width, "iterations after which a sum is used; 1 is synchronous")
              .from(1, 1024),
          Field("synchronous_iterations", o.rule.synchronous,
                "iterations with width 1 at the beginning")
              .from(0, 1'000'000'000),
          Field("communication", o.rule.layerwise,
                "the whole gradient in one message, or the strategy's messages")
              .one_of({"sequential", "layerwise"}),
          Field("until", o.rule.ends_with_computation,
                "an iteration ends with its exchange, or with its computation")
              .one_of({"exchange", "computation"})
              .called("end")};
}

Synchronization read(Object& fields) {
  const PipelineRule rule = read_record<Options>(fields).rule;
  // Computation may run ahead by the width, which takes the longer the more alike computation and
  // exchange are: within 1/20 of each other it has not ended here.
  const int64_t filling = int64_t{rule.width} * (rule.ends_with_computation ? 20 : 2);
  const int64_t transient = rule.width > 1 ? rule.synchronous + filling : 0;
  return {.name = "",
          .rule = rule,
          .transient = static_cast<int>(std::min<int64_t>(transient, longest_transient))};
}

}  // namespace

SynchronizationKind describe() {
  return {"pipe_sgd", "sums are used `width` (2) iterations later, exchanges overlap",
          options_of<Options>, read};
}

}  // namespace sgdsim::synchronization::pipe_sgd
