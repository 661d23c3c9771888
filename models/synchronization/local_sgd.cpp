// Local SGD: every worker takes `steps` steps by itself, then all average their parameters, which
// weigh as much as the gradients. The exchange comes after the last step's backward; what is
// averaged is dense, whatever a step's gradients are.
#include <algorithm>

#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::local_sgd {
namespace {

struct Options {
  int steps = 4;
};

Fields fields_of(Options& o) {
  return {Field("steps", o.steps, "steps of every worker between two averages").from(1, 1 << 20)};
}

Synchronization read(Object& fields) {
  PipelineRule rule;
  rule.every = read_record<Options>(fields).steps;
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
