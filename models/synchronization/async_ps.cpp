// Asynchronous SGD with parameter servers: nobody waits for anybody, gradients are stale by about P
// - 1 updates. What is simulated and its closed form are in models/step/asynchronous.h.
#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::async_ps {
namespace {

struct Options {
  AsynchronousRule rule;
};

Fields fields_of(Options& o) { return {divide_by_staleness_field(o.rule.divides_by_staleness)}; }

Synchronization read(Object& fields) {
  return {.name = "", .rule = read_record<Options>(fields).rule, .transient = 20, .measured = 20};
}

}  // namespace

SynchronizationKind describe() {
  return {"async_ps", "every worker by itself, against parameter servers that update at once",
          options_of<Options>, read};
}

}  // namespace sgdsim::synchronization::async_ps
