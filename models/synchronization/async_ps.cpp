// Asynchronous SGD with parameter servers: nobody waits for anybody, gradients are stale by about P
// - 1 updates. What is simulated and its closed form are in models/step/asynchronous.h.
#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::async_ps {
namespace {

Synchronization read(Object&) {
  return {.name = "", .rule = AsynchronousRule{}, .transient = 20, .measured = 20};
}

}  // namespace

SynchronizationKind describe() {
  return {"async_ps", "every worker by itself, against parameter servers that update at once",
          no_options, read};
}

}  // namespace sgdsim::synchronization::async_ps
