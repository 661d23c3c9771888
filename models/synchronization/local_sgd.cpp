// Local SGD: every worker takes `steps` steps by itself, then all average their parameters, which
// weigh as much as the gradients. The exchange comes after the last step's backward; what is
// averaged is dense, whatever a step's gradients are.
#include <algorithm>

#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::local_sgd {
namespace {

Synchronization read(Object& fields) {
  PipelineRule rule;
  rule.every = 4;
  rule.averages_parameters = true;
  if (const auto field = fields.find("steps"))
    rule.every = static_cast<int>(field->whole(1, 1 << 20));
  return {.name = "",
          .rule = rule,
          // One average before, to leave workers as far apart as averages do.
          .transient = rule.every > 1 ? std::min(rule.every, longest_transient) : 0,
          .measured = rule.every,
          .period = rule.every};
}

}  // namespace

SynchronizationKind describe() {
  return {"local_sgd", "`steps` (4) steps of every worker by itself, then an average", read};
}

}  // namespace sgdsim::synchronization::local_sgd
