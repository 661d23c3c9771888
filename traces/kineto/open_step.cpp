// What was launched within a window belongs to it, whenever the device does it.
#include "traces/kineto/open_step.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace sgdsim::profiler {
namespace {

// Sorted by time; windows that overlap end where the next begins.
std::vector<OpenStep> open_steps(const ProfileRecords& records) {
  std::vector<StepWindow> windows = records.windows;
  std::sort(windows.begin(), windows.end(), [](const StepWindow& a, const StepWindow& b) {
    return std::tie(a.start_ns, a.number) < std::tie(b.start_ns, b.number);
  });
  std::vector<OpenStep> steps;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (i + 1 < windows.size())
      windows[i].end_ns = std::min(windows[i].end_ns, windows[i + 1].start_ns);
    steps.emplace_back().window = windows[i];
  }
  return steps;
}

OpenStep* step_at(std::vector<OpenStep>& steps, int64_t at_ns) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), at_ns,
                       [](int64_t at, const OpenStep& step) { return at < step.window.start_ns; });
  if (after == steps.begin()) return nullptr;
  OpenStep& step = *(after - 1);
  return at_ns < step.window.end_ns ? &step : nullptr;
}

// Marks the calls that launched something.
class LaunchMarks {
 public:
  explicit LaunchMarks(const ProfileRecords& records)
      : first_(records.launches.data()), used_(records.launches.size()) {}
  void mark(const LaunchCall* call) { used_[static_cast<std::size_t>(call - first_)] = true; }
  bool is_marked(std::size_t i) const { return used_[i]; }

 private:
  const LaunchCall* first_;
  std::vector<bool> used_;
};

void add_message(const ProfileRecords& records, const DeviceWork& work, const LaunchCall* launch,
                 std::vector<OpenStep>& steps) {
  OpenStep* step = step_at(steps, launch != nullptr ? launch->at_ns : work.start_ns);
  if (step == nullptr) return;
  const DeviceMessage& message = records.messages[static_cast<std::size_t>(work.message)];
  step->messages.push_back({.kernel = message.kernel,
                            .facts = message.facts,
                            .start_ns = work.start_ns,
                            .end_ns = work.end_ns,
                            .launch_ns = launch != nullptr ? launch->at_ns : work.start_ns,
                            .launch_thread = launch != nullptr ? launch->thread : message.thread,
                            .is_ahead = message.thread >= 0 && !step->is_on_host});
}

bool is_of_host(const ProfileRecords& records, const DeviceWork& work) {
  return work.message != no_message &&
         records.messages[static_cast<std::size_t>(work.message)].thread >= 0;
}

void add_computing(const DeviceWork& work, const LaunchCall* launch, std::vector<OpenStep>& steps) {
  const int64_t launch_ns = launch != nullptr ? launch->at_ns : work.start_ns;
  if (OpenStep* step = step_at(steps, launch_ns))
    (work.is_copy ? step->copying : step->computing)
        .push_back(
            {launch != nullptr ? launch->thread : -1, launch_ns, work.start_ns, work.end_ns});
}

void add_host_work(const ProfileRecords& records, std::vector<OpenStep>& steps) {
  for (const HostWork& work : records.host)
    if (OpenStep* step = step_at(steps, work.start_ns))
      step->computing.push_back({work.thread, work.start_ns, work.start_ns, work.end_ns});
}

void add_work(const ProfileRecords& records, const Launches& launches, std::size_t compute_stream,
              SortedProfile& sorted) {
  std::vector<OpenStep>& steps = sorted.steps;
  LaunchMarks marks(records);
  for (const DeviceWork& work : records.work) {
    const LaunchCall* launch = launches.of(work.correlation);
    if (launch != nullptr) {
      marks.mark(launch);
    } else if (sorted.has_launches && !is_of_host(records, work)) {
      ++sorted.unlaunched;
      if (OpenStep* step = step_at(steps, work.start_ns)) ++step->missing;
    }
    if (work.message != no_message)
      add_message(records, work, launch, steps);
    else if (static_cast<std::size_t>(work.stream) == compute_stream &&
             (launch != nullptr || !sorted.has_launches))
      add_computing(work, launch, steps);
  }
  for (std::size_t i = 0; i < records.launches.size(); ++i) {
    if (!records.launches[i].is_kernel || marks.is_marked(i)) continue;
    OpenStep* step = step_at(steps, records.launches[i].at_ns);
    if (step == nullptr) continue;
    ++step->missing;
    ++sorted.workless;
  }
}

void add_operators(const ProfileRecords& records, std::vector<OpenStep>& steps) {
  for (const BackwardOperator& one : records.operators)
    if (OpenStep* step = step_at(steps, one.at_ns)) step->operators.push_back(one);
}

// An AccumulateGrad within another one is the same gradient, and knows its size.
void fold_inner(std::vector<BackwardOperator>& operators) {
  const bool has_outer = std::any_of(operators.begin(), operators.end(), [](const auto& one) {
    return one.kind == BackwardKind::gradient;
  });
  std::map<int16_t, std::size_t> outer;  // the last one of each thread
  std::size_t kept = 0;
  for (BackwardOperator one : operators) {
    if (one.kind == BackwardKind::inner_gradient && has_outer) {
      const auto around = outer.find(one.thread);
      if (around == outer.end() || operators[around->second].elements >= 0) continue;
      operators[around->second].elements = one.elements;
      operators[around->second].element_B = one.element_B;
      continue;
    }
    if (one.kind == BackwardKind::inner_gradient) one.kind = BackwardKind::gradient;
    if (one.kind == BackwardKind::gradient) outer[one.thread] = kept;
    operators[kept++] = one;
  }
  operators.resize(kept);
}

void sort_all(std::vector<OpenStep>& steps) {
  for (OpenStep& step : steps) {
    for (auto* all : {&step.computing, &step.copying})
      std::stable_sort(all->begin(), all->end(), [](auto& a, auto& b) {
        return std::tie(a.thread, a.launch_ns, a.end_ns) <
               std::tie(b.thread, b.launch_ns, b.end_ns);
      });
    std::stable_sort(step.operators.begin(), step.operators.end(), [](auto& a, auto& b) {
      return std::tie(a.at_ns, a.thread) < std::tie(b.at_ns, b.thread);
    });
    fold_inner(step.operators);
    std::stable_sort(step.messages.begin(), step.messages.end(),
                     [](auto& a, auto& b) { return a.start_ns < b.start_ns; });
  }
}

}  // namespace

int64_t OpenStep::zero_ns() const {
  int64_t zero = std::numeric_limits<int64_t>::max();
  for (const ComputeWork& work : computing) zero = std::min(zero, work.start_ns);
  return zero;
}

SortedProfile sorted_into_steps(const ProfileRecords& records, const Launches& launches,
                                std::size_t compute_stream) {
  SortedProfile sorted;
  sorted.steps = open_steps(records);
  sorted.has_launches = !records.launches.empty();
  for (OpenStep& step : sorted.steps) {
    step.is_on_host = records.is_on_host;
    step.has_launches = sorted.has_launches;
    step.is_training = !records.marks.empty() || records.has_backward_kernels;
  }
  if (records.is_on_host) add_host_work(records, sorted.steps);
  add_work(records, launches, compute_stream, sorted);
  add_operators(records, sorted.steps);
  sort_all(sorted.steps);
  return sorted;
}

}  // namespace sgdsim::profiler
