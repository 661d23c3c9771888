// An optimizer's step ends a training step; without one, the forward pass of DDP begins one. Where
// nothing marks steps, a file with one backward pass is one step, and one with several is refused:
// between two backward passes nobody knows where the optimizer ends. One without backward passes is
// a step if its all-reduces do not repeat (passes.h).
#include "traces/kineto/windows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "traces/kineto/passes.h"

namespace sgdsim::profiler {
namespace {

Span whole_of(const ProfileRecords& records) {
  Span all{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  const auto take = [&](int64_t start_ns, int64_t end_ns) {
    all.start_ns = std::min(all.start_ns, start_ns);
    all.end_ns = std::max(all.end_ns, end_ns);
  };
  for (const LaunchCall& one : records.launches) take(one.at_ns, one.at_ns);
  for (const DeviceWork& one : records.work) take(one.start_ns, one.end_ns);
  for (const HostWork& one : records.host) take(one.start_ns, one.end_ns);
  for (const HostMessage& one : records.host_messages) take(one.span.start_ns, one.span.end_ns);
  for (const StepMark& one : records.marks) take(one.span.start_ns, one.span.end_ns);
  ++all.end_ns;  // so that what begins last is in it
  return all;
}

std::vector<BackwardOperator> gradient_operators(const ProfileRecords& records) {
  std::vector<BackwardOperator> gradients;
  for (const BackwardOperator& one : records.operators)
    if (one.kind != BackwardKind::other) gradients.push_back(one);
  std::sort(gradients.begin(), gradients.end(), [](auto& a, auto& b) {
    return std::tie(a.at_ns, a.thread) < std::tie(b.at_ns, b.thread);
  });
  return gradients;
}

bool any_between(const std::vector<BackwardOperator>& gradients, int64_t from_ns, int64_t to_ns) {
  const auto first =
      std::lower_bound(gradients.begin(), gradients.end(), from_ns,
                       [](const BackwardOperator& one, int64_t at) { return one.at_ns < at; });
  return first != gradients.end() && first->at_ns < to_ns;
}

// Moments that part steps: of marks of one sign with no gradient between them, the last end of
// optimizers, the first start of forward passes.
std::vector<int64_t> borders_of(const ProfileRecords& records, StepSign sign,
                                const std::vector<BackwardOperator>& gradients) {
  std::vector<Span> marks;
  for (const StepMark& mark : records.marks)
    if (mark.sign == sign) marks.push_back(mark.span);
  std::sort(marks.begin(), marks.end(),
            [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  std::vector<int64_t> borders;
  int64_t before_ns = std::numeric_limits<int64_t>::min();
  for (const Span& mark : marks) {
    const bool is_new = any_between(gradients, before_ns, mark.start_ns);
    before_ns = mark.start_ns;
    if (sign == StepSign::optimizer) {
      if (!is_new && !borders.empty()) borders.pop_back();
      borders.push_back(mark.end_ns);
    } else if (is_new || borders.empty()) {
      borders.push_back(mark.start_ns);
    }
  }
  return borders;
}

void set_windows(ProfileRecords& records, const std::vector<int64_t>& edges, bool is_open) {
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    records.windows.push_back({edges[i], edges[i + 1], static_cast<int64_t>(i + 1)});
  records.windows.front().is_open = is_open;
}

// Backward passes, each on a thread of its own: what other threads launch lies between them.
std::size_t passes_of(const ProfileRecords& records,
                      const std::vector<BackwardOperator>& gradients) {
  if (gradients.empty()) return 0;
  std::map<int16_t, bool> is_backward;
  for (const BackwardOperator& one : gradients) is_backward[one.thread] = true;
  std::vector<int64_t> others_ns;
  for (const LaunchCall& one : records.launches)
    if (one.is_kernel && !is_backward.contains(one.thread)) others_ns.push_back(one.at_ns);
  std::sort(others_ns.begin(), others_ns.end());
  std::vector<int64_t> gradients_ns;
  for (const BackwardOperator& one : gradients) gradients_ns.push_back(one.at_ns);
  return later_passes(gradients_ns, others_ns).size() + 1;
}

// Whether forward passes on the gradients' own thread would go unnoticed.
bool is_on_one_thread(const ProfileRecords& records,
                      const std::vector<BackwardOperator>& gradients) {
  const auto on_it = [&](int16_t thread) {
    return std::any_of(gradients.begin(), gradients.end(),
                       [&](const BackwardOperator& one) { return one.thread == thread; });
  };
  return !gradients.empty() &&
         std::none_of(records.launches.begin(), records.launches.end(),
                      [&](const LaunchCall& one) { return !on_it(one.thread); });
}

}  // namespace

WindowSearch find_windows(ProfileRecords& records) {
  if (!records.windows.empty()) return {};
  if (!records.device_windows.empty()) {
    records.windows = records.device_windows;
    return {"ProfilerStep#N of the device", {}};
  }
  const auto gradients = gradient_operators(records);
  const Span all = whole_of(records);
  std::vector<int64_t> edges = borders_of(records, StepSign::optimizer, gradients);
  const bool optimizes = !edges.empty();
  if (!optimizes) edges = borders_of(records, StepSign::forward, gradients);
  if (edges.size() > 1 || (optimizes && edges.size() == 1)) {
    // The first step may have begun before the file; it is left out if there are others. Where a
    // step ends that no forward pass follows is not known: it counts only if it is the only one.
    if (optimizes) edges.insert(edges.begin(), std::min(all.start_ns, edges.front()));
    set_windows(records, edges, optimizes);
    return {
        optimizes ? "the ends of Optimizer.step" : "the starts of DistributedDataParallel.forward",
        {}};
  }
  if (all.end_ns <= all.start_ns) return {{}, "the file has no operator and no kernel"};
  if (edges.empty() && is_on_one_thread(records, gradients))
    return {{}, "nothing in it marks steps, and forward and backward run on one thread"};
  const std::size_t passes = passes_of(records, gradients);
  if (passes > 1)
    return {{},
            "it has " + std::to_string(passes) + " backward passes, and nothing in it marks steps"};
  records.windows.push_back({all.start_ns, all.end_ns, 1, true});
  return {"the whole file, which has " + std::string(passes == 0 ? "no" : "one") + " backward pass",
          {},
          passes == 0};
}

}  // namespace sgdsim::profiler
