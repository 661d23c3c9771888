// Backward passes run on a thread of their own (with a GPU), so that kernels of the thread of the
// forward pass lie between two of them; or sizes tell that the gradients repeat.
#include "traces/kineto/passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "traces/kineto/buckets.h"

namespace sgdsim::profiler {
namespace {

std::vector<BackwardOperator> summed_gradients(const OpenStep& step) {
  std::vector<BackwardOperator> gradients;
  for (const BackwardOperator& one : step.operators)
    if (one.kind == BackwardKind::gradient) gradients.push_back(one);
  return gradients;
}

// The thread that launched most before the first gradient, if none of the backward pass.
std::optional<int32_t> forward_thread(const OpenStep& step,
                                      const std::vector<BackwardOperator>& gradients) {
  std::map<int32_t, int64_t> launched;
  for (const ComputeWork& work : step.computing)
    if (work.launch_ns < gradients.front().at_ns) ++launched[work.thread];
  for (const BackwardOperator& one : step.operators) launched.erase(one.thread);
  if (launched.empty()) return std::nullopt;
  return std::max_element(launched.begin(), launched.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// When this thread launched something, sorted.
std::vector<int64_t> launches_of(const OpenStep& step, int32_t thread) {
  std::vector<int64_t> times_ns;
  for (const ComputeWork& work : step.computing)
    if (work.thread == thread) times_ns.push_back(work.launch_ns);
  return times_ns;
}

std::vector<int64_t> times_of(const std::vector<BackwardOperator>& gradients) {
  std::vector<int64_t> times_ns;
  for (const BackwardOperator& one : gradients) times_ns.push_back(one.at_ns);
  return times_ns;
}

// Whether each pass has the gradients of the others: as many of the same sizes.
bool are_passes_alike(const std::vector<BackwardOperator>& gradients,
                      const std::vector<int64_t>& later_ns) {
  std::set<std::vector<int64_t>> kinds;
  std::vector<int64_t> sizes;
  auto next = later_ns.begin();
  for (const BackwardOperator& one : gradients) {
    if (next != later_ns.end() && one.at_ns > *next) {
      kinds.insert(std::exchange(sizes, {}));
      ++next;
    }
    sizes.push_back(one.elements);
  }
  kinds.insert(sizes);
  return kinds.size() == 1;
}

std::vector<StepMessage> buckets_of(const OpenStep& step) {
  ProfiledStep marked;
  marked.messages = step.messages;
  mark_buckets(step, marked);
  return marked.buckets();
}

// By the thread of the forward pass: where each pass but the first begins.
std::vector<int64_t> passes_by_thread(const OpenStep& step,
                                      const std::vector<BackwardOperator>& gradients) {
  const auto thread = forward_thread(step, gradients);
  if (!thread) return {};
  std::vector<int64_t> later = later_passes(times_of(gradients), launches_of(step, *thread));
  return are_passes_alike(gradients, later) ? later : std::vector<int64_t>();
}

// By sizes: the gradients repeat, and what is exchanged has those of one pass.
std::vector<int64_t> passes_by_size(const std::vector<BackwardOperator>& gradients,
                                    const std::vector<StepMessage>& buckets) {
  // In 128 bits: a file may say anything of sizes.
  __extension__ using Sum = __int128;
  Sum exchanged = 0;
  for (const StepMessage& one : buckets) exchanged += std::max<int64_t>(one.facts.elements, 0);
  Sum elements = 0;
  std::size_t of_pass = 0;  // gradients, from the last one on
  for (; of_pass < gradients.size() && elements < exchanged; ++of_pass) {
    const int64_t more = gradients[gradients.size() - 1 - of_pass].elements;
    if (more < 0) return {};
    elements += more;
  }
  if (of_pass == 0 || elements != exchanged || gradients.size() % of_pass != 0) return {};
  std::vector<int64_t> later;
  for (std::size_t i = of_pass; i < gradients.size(); ++i) {
    if (gradients[i].elements != gradients[i - of_pass].elements) return {};
    if (i % of_pass == 0) later.push_back(gradients[i - 1].at_ns);
  }
  return later;
}

bool are_alike(const StepMessage& a, const StepMessage& b) {
  return a.facts.elements == b.facts.elements && a.facts.type == b.facts.type &&
         a.facts.group == b.facts.group && a.facts.group_size == b.facts.group_size;
}

// After how many messages each is like the one before, the least: `same[i]` is the length of the
// longest beginning that the first i + 1 messages end with, other than themselves.
std::size_t least_period(const std::vector<StepMessage>& all) {
  std::vector<std::size_t> same(all.size());
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::size_t length = same[i - 1];
    while (length > 0 && !are_alike(all[i], all[length])) length = same[length - 1];
    same[i] = are_alike(all[i], all[length]) ? length + 1 : 0;
  }
  return all.empty() ? 0 : all.size() - same.back();
}

}  // namespace

std::vector<int64_t> later_passes(const std::vector<int64_t>& gradients_ns,
                                  const std::vector<int64_t>& forward_ns) {
  std::vector<int64_t> later;
  for (std::size_t i = 1; i < gradients_ns.size(); ++i) {
    const auto next = std::lower_bound(forward_ns.begin(), forward_ns.end(), gradients_ns[i]);
    if (next != forward_ns.begin() && *(next - 1) > gradients_ns[i - 1])
      later.push_back(*(next - 1));
  }
  return later;
}

std::size_t repeats_of_exchanges(const OpenStep& step) {
  const std::vector<StepMessage> all = buckets_of(step);
  const std::size_t period = least_period(all);
  return period < 2 || all.size() < 2 * period ? 1 : all.size() / period;
}

std::size_t keep_last_pass(OpenStep& step) {
  if (!step.has_launches && !step.is_on_host) return 1;
  const std::vector<BackwardOperator> gradients = summed_gradients(step);
  if (gradients.empty()) return 1;
  const std::vector<StepMessage> buckets = buckets_of(step);
  std::vector<int64_t> later = passes_by_thread(step, gradients);
  if (later.empty()) later = passes_by_size(gradients, buckets);
  if (later.empty()) return 1;
  const int64_t last_ns = later.back();
  for (const StepMessage& bucket : buckets)
    if (bucket.launch_ns < last_ns) return 1;
  std::erase_if(step.operators, [&](const BackwardOperator& one) { return one.at_ns <= last_ns; });
  return later.size() + 1;
}

}  // namespace sgdsim::profiler
