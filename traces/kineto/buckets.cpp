// DDP reduces a bucket from the hook of its last gradient, that is from a thread of the backward
// pass, behind an AccumulateGrad. What an operator of the backward pass launches (tensor parallel
// layers, normalisation over ranks) is none. Where no hook reduces (Horovod's own thread, loops
// over gradients after backward), all-reduces of the other threads after the beginning of backward
// are taken, and where no gradient is seen at all, those of any thread; but not those that the
// forward pass has alike: same group, same size.
#include "traces/kineto/buckets.h"

#include <algorithm>
#include <set>
#include <utility>

#include "traces/kineto/collective_kind.h"

namespace sgdsim::profiler {
namespace {

// The last operator of the backward pass that the thread began before; null: none.
const BackwardOperator* last_operator(const OpenStep& open, int32_t thread, int64_t at_ns) {
  auto after =
      std::upper_bound(open.operators.begin(), open.operators.end(), at_ns,
                       [](int64_t at, const BackwardOperator& one) { return at < one.at_ns; });
  while (after != open.operators.begin())
    if ((--after)->thread == thread) return &*after;
  return nullptr;
}

bool is_bucket_of_hook(const OpenStep& open, const StepMessage& message) {
  const BackwardOperator* last = last_operator(open, message.launch_thread, message.launch_ns);
  return last != nullptr && last->kind == BackwardKind::gradient;
}

}  // namespace

void mark_buckets(const OpenStep& open, ProfiledStep& step) {
  if (open.operators.empty() && !open.is_training) return;
  const int64_t backward_ns =
      open.operators.empty() ? open.window.start_ns : open.operators.front().at_ns;
  std::set<std::pair<std::string, int64_t>> of_forward;
  std::vector<StepMessage*> reductions;
  for (StepMessage& message : step.messages) {
    if (kind_of(message.facts, message.kernel) != all_reduce) continue;
    if (message.launch_ns >= backward_ns)
      reductions.push_back(&message);
    else if (message.facts.elements >= 0)
      of_forward.emplace(message.facts.group, message.facts.elements);
  }
  bool from_hooks = false;
  for (StepMessage* message : reductions) {
    message->is_bucket = is_bucket_of_hook(open, *message);
    from_hooks = from_hooks || message->is_bucket;
  }
  if (from_hooks) return;
  const bool sees_gradients =
      std::any_of(open.operators.begin(), open.operators.end(),
                  [](const auto& one) { return one.kind == BackwardKind::gradient; });
  for (StepMessage* message : reductions)
    message->is_bucket = (!sees_gradients || last_operator(open, message->launch_thread,
                                                           message->launch_ns) == nullptr) &&
                         !of_forward.contains({message->facts.group, message->facts.elements});
}

}  // namespace sgdsim::profiler
