// Local SGD: every worker takes `steps` steps by itself, then all average their parameters, which
// weigh as much as the gradients. The exchange comes after the last step's backward; what is
// averaged is dense, whatever a step's gradients are; with compression every worker sends what is
// left of its change since the last average, and keeps the rest for the next one
// (Qsparse-local-SGD, Basu and others 2019). With an outer rate and momentum the mean
// change is a gradient of its own (DiLoCo, Douillard and others 2023): lessons know it, times do
// not.
#include <algorithm>

#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::local_sgd {
namespace {

struct Options {
  int steps = 4;
  double outer_rate = 1;
  double outer_momentum = 0;
};

Fields fields_of(Options& o) {
  return {Field("steps", o.steps, "steps of every worker between two averages").from(1, 1 << 20),
          Field("outer_rate", o.outer_rate,
                "sgdsim learn: part of the mean change that becomes the new parameters")
              .from(0., 10.),
          Field("outer_momentum", o.outer_momentum,
                "sgdsim learn: Nesterov momentum of the mean change")
              .from(0., 0.9999)};
}

Synchronization read(Object& fields) {
  PipelineRule rule;
  const auto options = read_record<Options>(fields);
  rule.every = options.steps;
  rule.outer_rate = options.outer_rate;
  rule.outer_momentum = options.outer_momentum;
  rule.averages_parameters = true;
  return {.name = "",
          .rule = rule,
          // One average before, to leave workers as far apart as averages do.
          .transient = rule.every > 1 ? std::min(rule.every, longest_transient) : 0,
          .measured = rule.every,
          .period = rule.every};
}

}  // namespace

SynchronizationKind describe() {
  return {"local_sgd", "`steps` (4) steps of every worker by itself, then an average",
          options_of<Options>, read};
}

}  // namespace sgdsim::synchronization::local_sgd
