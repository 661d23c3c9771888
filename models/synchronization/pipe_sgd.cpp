// Pipe-SGD (Li and others, NeurIPS 2018): the exchange of iteration t runs beside the computation
// of the next ones, and its sum is used K iterations later. With constant times T iterations take
// T max(l_c, l_m) + min(l_c, l_m) for any K >= 2, l_c being update, forward, backward and encoding,
// l_m the exchange: a larger K adds staleness and no speed. Where times vary, it can.
//
// The whole gradient goes in one message after backward (`sequential`); `layerwise` sends the
// strategy's messages, which costs more start-ups and gains nothing once exchanges overlap.
#include <algorithm>

#include "models/synchronization/registry.h"
#include "sim/core/error.h"

namespace sgdsim::synchronization::pipe_sgd {
namespace {

Synchronization read(Object& fields) {
  PipelineRule rule;
  rule.width = 2;
  if (const auto field = fields.find("width")) rule.width = static_cast<int>(field->whole(1, 1024));
  if (const auto field = fields.find("synchronous_iterations"))
    rule.synchronous = static_cast<int>(field->whole(0, 1'000'000'000));
  if (const auto field = fields.find("communication")) {
    rule.layerwise = field->text() == "layerwise";
    if (!rule.layerwise && field->text() != "sequential")
      field->fail(unknown_name("communication", field->text(), {"sequential", "layerwise"}));
  }
  if (const auto field = fields.find("until")) {
    rule.ends_with_computation = field->text() == "computation";
    if (!rule.ends_with_computation && field->text() != "exchange")
      field->fail(unknown_name("end", field->text(), {"exchange", "computation"}));
  }
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
  return {"pipe_sgd", "sums are used `width` (2) iterations later, exchanges overlap", read};
}

}  // namespace sgdsim::synchronization::pipe_sgd
