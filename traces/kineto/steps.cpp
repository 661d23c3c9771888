// One step after another, from what happened in its window.
#include "traces/kineto/steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/core/error.h"
#include "traces/kineto/buckets.h"
#include "traces/kineto/execution_link.h"
#include "traces/kineto/open_step.h"
#include "traces/kineto/parts.h"
#include "traces/kineto/passes.h"
#include "traces/kineto/windows.h"

namespace sgdsim::profiler {
namespace {

constexpr int64_t longest_step_ns = 3'600'000'000'000;

// ---- streams

std::vector<StreamUse> stream_uses(const ProfileRecords& records) {
  std::vector<StreamUse> uses;
  for (const std::string& name : records.streams) uses.push_back({name, 0, 0});
  for (const DeviceWork& work : records.work) {
    if (work.is_copy) continue;
    StreamUse& use = uses[static_cast<std::size_t>(work.stream)];
    int64_t& sum = work.message == no_message ? use.computing_ns : use.communicating_ns;
    // What overflows is longer than any step anyway.
    if (__builtin_add_overflow(sum, work.end_ns - work.start_ns, &sum))
      sum = std::numeric_limits<int64_t>::max();
  }
  return uses;
}

// ---- one step

// Of what the thread had launched by then; it is sorted, so that it is the last.
const ComputeWork* last_launched(const std::vector<ComputeWork>& all, int32_t thread,
                                 int64_t by_ns) {
  const auto after = std::upper_bound(all.begin(), all.end(), std::pair(thread, by_ns),
                                      [](const auto& wanted, const ComputeWork& work) {
                                        return wanted < std::pair(work.thread, work.launch_ns);
                                      });
  if (after == all.begin() || (after - 1)->thread != thread) return nullptr;
  return &*(after - 1);
}

// When the stream has done what the thread had launched by then; nothing: no kernel.
std::optional<int64_t> done_ns(const OpenStep& step, int32_t thread, int64_t by_ns) {
  const ComputeWork* kernel = last_launched(step.computing, thread, by_ns);
  if (kernel == nullptr) return std::nullopt;
  const ComputeWork* copy = last_launched(step.copying, thread, by_ns);
  return copy == nullptr ? kernel->end_ns : std::max(kernel->end_ns, copy->end_ns);
}

// The first kernel that the thread launched in or after its first operator of the backward pass.
std::optional<int64_t> backward_start(const OpenStep& step) {
  const BackwardOperator& first = step.operators.front();
  if (step.is_on_host) return first.at_ns;
  std::optional<int64_t> start;
  for (const ComputeWork& work : step.computing)
    if (work.thread == first.thread && work.launch_ns >= first.at_ns)
      start = std::min(start.value_or(work.start_ns), work.start_ns);
  return start;
}

// Why a step cannot be used; empty: it can.
struct Reading {
  ProfiledStep step;
  std::size_t raised = 0;  // gradients that were ready before the one before them
  std::string problem;
};

Reading read_gradients(const OpenStep& open, Reading reading) {
  if (!open.has_launches && !open.is_on_host) return reading;  // nothing links them to kernels
  const int64_t zero = open.zero_ns();
  int64_t latest = 0;
  for (const BackwardOperator& one : open.operators) {
    if (one.kind != BackwardKind::gradient) continue;
    int64_t ready = one.at_ns - zero;  // on the CPU, all before is done
    if (!open.is_on_host) {
      const auto done = done_ns(open, one.thread, one.at_ns);
      if (!done) {
        reading.problem = "a gradient has no kernel before it";
        return reading;
      }
      ready = *done - zero;
    }
    if (ready < latest) ++reading.raised;
    latest = std::max(latest, ready);
    reading.step.ready_ns.push_back(latest);
    reading.step.sizes.push_back({one.elements, one.element_B});
  }
  return reading;
}

// The end of the last work of the compute stream before the message began.
int64_t last_end(const OpenStep& open, int64_t before_ns) {
  int64_t end = open.zero_ns();
  for (const auto* all : {&open.computing, &open.copying})
    for (const ComputeWork& work : *all)
      if (work.end_ns <= before_ns) end = std::max(end, work.end_ns);
  return end;
}

// Each bucket stands for its gradients.
void read_ready_of_buckets(const OpenStep& open, ProfiledStep& step) {
  step.is_ready_by_bucket = true;
  const int64_t zero = open.zero_ns();
  int64_t latest = 0;
  for (StepMessage& message : step.messages) {
    if (!message.is_bucket) continue;
    latest = std::max(latest, last_end(open, message.start_ns + zero) - zero);
    step.ready_ns.push_back(latest);
    step.sizes.emplace_back();
    message.gradients_before = step.ready_ns.size();
  }
}

void read_messages(const OpenStep& open, ProfiledStep& step) {
  const int64_t zero = open.zero_ns();
  step.messages = open.messages;
  mark_buckets(open, step);
  std::vector<int64_t> gradients_ns;
  for (const BackwardOperator& one : open.operators)
    if (one.kind == BackwardKind::gradient) gradients_ns.push_back(one.at_ns);
  for (StepMessage& message : step.messages) {
    message.gradients_before = static_cast<std::size_t>(
        std::upper_bound(gradients_ns.begin(), gradients_ns.end(), message.launch_ns) -
        gradients_ns.begin());
    message.start_ns -= zero;
    message.end_ns -= zero;
    message.launch_ns -= zero;
  }
}

// What is called ahead of the device on the CPU (gloo) waits there for its last gradient first.
void hold_back_host(ProfiledStep& step) {
  for (StepMessage& message : step.messages) {
    if (!message.is_ahead) continue;
    const std::size_t before = std::min(message.gradients_before, step.ready_ns.size());
    const int64_t ready_ns = before == 0 ? 0 : step.ready_ns[before - 1];
    message.start_ns = std::min(message.end_ns, std::max(message.start_ns, ready_ns));
  }
}

// To the next step, if that one has kernels; else as long as the CPU's window, but not shorter than
// what the device still did.
void read_iteration(const OpenStep& open, const OpenStep* next, ProfiledStep& step) {
  const int64_t zero = open.zero_ns();
  step.has_next =
      next != nullptr && next->window.number == open.window.number + 1 && !next->computing.empty();
  if (step.has_next) {
    step.iteration_ns = next->zero_ns() - zero;
    return;
  }
  step.iteration_ns = open.window.is_open ? 0 : open.window.end_ns - open.window.start_ns;
  for (const auto* all : {&open.computing, &open.copying})
    for (const ComputeWork& work : *all)
      step.iteration_ns = std::max(step.iteration_ns, work.end_ns - zero);
  step.iteration_ns = std::max(step.iteration_ns, step.communicated_ns());
}

void read_forward(const OpenStep& open, ProfiledStep& step) {
  const auto start = open.operators.empty() ? std::nullopt : backward_start(open);
  step.backward_ns = start ? *start - open.zero_ns() : step.ready_ns.front();
  step.backward_ns = std::clamp<int64_t>(step.backward_ns, 0, step.ready_ns.front());
}

Reading read_step(const OpenStep& open, const OpenStep* next, bool is_cut_off) {
  Reading reading;
  reading.step.number = open.window.number;
  if (open.computing.empty()) {
    reading.problem = open.is_on_host ? "no operator runs in it" : "no kernel was launched in it";
    return reading;
  }
  if (is_cut_off && open.missing > 0) {
    reading.problem = "the file ends too early, and kernels or their launches are missing";
    return reading;
  }
  reading = read_gradients(open, std::move(reading));
  if (!reading.problem.empty()) return reading;
  ProfiledStep& step = reading.step;
  step.start_ns = open.zero_ns();
  read_messages(open, step);
  hold_back_host(step);
  if (step.ready_ns.empty() && open.missing > 0 && !step.buckets().empty()) {
    reading.problem = "no gradient (AccumulateGrad) is in it, and launches or kernels are missing";
    return reading;
  }
  if (step.ready_ns.empty()) read_ready_of_buckets(open, step);
  if (!step.ready_ns.empty()) read_forward(open, step);
  read_iteration(open, next, step);
  for (const StepMessage& message : step.messages)
    if (message.is_bucket && message.start_ns < 0)
      reading.problem = "an all-reduce of its gradients starts before its first kernel";
  if (step.iteration_ns <= 0) reading.problem = "it takes no time";
  if (step.iteration_ns > longest_step_ns) reading.problem = "it takes more than an hour";
  if (step.update_ns() < 0)
    reading.problem = "its gradients were exchanged after the next step had begun";
  return reading;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what;
}

// What a step has, to be compared with others: gradients, computing kernels, elements of buckets.
using StepShape = std::tuple<std::size_t, std::size_t, std::vector<int64_t>>;

StepShape shape_of(const ProfiledStep& step, const OpenStep& open) {
  std::vector<int64_t> elements;
  for (const StepMessage& message : step.messages)
    if (message.is_bucket) elements.push_back(message.facts.elements);
  return {step.ready_ns.size(), open.computing.size(), elements};
}

// Where a file ends too early, parts of a step may be missing that nothing else refers to. So a
// step counts only if another one is like it.
void refuse_single(const std::vector<OpenStep>& open, std::vector<Reading>& readings) {
  std::map<StepShape, int> counts;
  for (std::size_t i = 0; i < open.size(); ++i)
    if (readings[i].problem.empty()) ++counts[shape_of(readings[i].step, open[i])];
  for (std::size_t i = 0; i < open.size(); ++i)
    if (readings[i].problem.empty() && counts[shape_of(readings[i].step, open[i])] < 2)
      readings[i].problem = "the file ends too early, and no other step is like it";
}

void read_steps(std::vector<OpenStep>& open, const Activity& activity, bool keep_first,
                RankProfile& profile) {
  const bool is_cut_off = profile.is_cut_off;
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const OpenStep* next = i + 1 < open.size() && !is_cut_off ? &open[i + 1] : nullptr;
    const std::size_t passes = keep_last_pass(open[i]);
    readings.push_back(read_step(open[i], next, is_cut_off));
    readings.back().step.passes = passes;
  }
  if (is_cut_off) refuse_single(open, readings);
  std::size_t raised = 0;
  for (std::size_t i = open.size() > 1 && !keep_first ? 1 : 0; i < open.size(); ++i) {
    Reading& reading = readings[i];
    if (reading.problem.empty()) {
      raised += reading.raised;
      activity.divide(open[i].zero_ns(), reading.step);
      profile.steps.push_back(std::move(reading.step));
    } else {
      profile.warnings.push_back("step " + std::to_string(open[i].window.number) +
                                 " is left out: " + reading.problem);
    }
  }
  if (raised > 0)
    profile.warnings.push_back(counted(raised,
                                       "gradients seem to be ready before the one before them; "
                                       "they are taken to be ready together"));
}

// Work beside the compute stream is not looked at; much of it makes ready times doubtful.
void warn_of_streams(const StreamUse& compute, RankProfile& profile) {
  constexpr int64_t few = 10;  // a tenth
  for (const StreamUse& use : profile.streams)
    if (use.name != compute.name && use.computing_ns > compute.computing_ns / few)
      profile.warnings.push_back(use.name + " computes too; gradients are taken to wait for " +
                                 compute.name + " only");
}

// Where no kernel communicates, gloo may.
void take_host_messages(ProfileRecords& records) {
  if (!records.messages.empty() || records.host_messages.empty()) return;
  constexpr uint32_t no_launch = std::numeric_limits<uint32_t>::max();
  const auto stream = static_cast<int32_t>(records.streams.size());
  records.streams.emplace_back("CPU, gloo");
  for (HostMessage& one : records.host_messages) {
    records.work.push_back({.start_ns = one.span.start_ns,
                            .end_ns = one.span.end_ns,
                            .correlation = no_launch,
                            .stream = stream,
                            .message = static_cast<int32_t>(records.messages.size())});
    records.messages.push_back(std::move(one.message));
  }
}

// Neither a device nor a call for one: what a GPU did was not left out.
bool works_on_host(const ProfileRecords& records) {
  const bool calls_nccl = !records.calls.empty() && records.host_messages.empty();
  return records.work.empty() && records.launches.empty() && !records.host.empty() && !calls_nccl &&
         records.job.backend != "nccl";
}

// Everything at once, so that a second recording has it all.
std::string missing_text(const ProfileRecords& records, const WindowSearch& search, bool computes) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (!search.problem.empty())
    add("no training step in " + std::to_string(records.events) +
        " events: expected ProfilerStep#N, which torch.profiler writes when step() is called after "
        "every iteration, or Optimizer.step (" +
        search.problem + ")");
  if (!computes && !records.is_on_host)
    add("no kernel of a GPU that computes, and no operator of a CPU in its place; expected a trace "
        "that was recorded with ProfilerActivity.CUDA");
  if (records.operators.empty())
    add("no backward pass (autograd::engine::evaluate_function); expected ProfilerActivity.CPU and "
        "loss.backward() within the recording");
  return text;
}

// What is one step only for want of marks may be several.
void refuse_repeats(const ProfileRecords& records, const SortedProfile& sorted,
                    WindowSearch search) {
  const std::size_t repeats = search.is_guess ? repeats_of_exchanges(sorted.steps.front()) : 1;
  if (repeats < 2) return;
  search.problem = "its all-reduces repeat " + std::to_string(repeats) +
                   " times, as those of several steps, and nothing in it marks steps";
  throw InputError(records.file, missing_text(records, search, true));
}

void warn_of_ways(const ProfileRecords& records, const SortedProfile& sorted,
                  RankProfile& profile) {
  if (!profile.told_by.empty())
    profile.warnings.push_back("has no ProfilerStep#N; steps are told apart by " + profile.told_by);
  if (records.is_on_host)
    profile.warnings.emplace_back("has no kernel of a GPU; operators of the CPU are the work");
  else if (!sorted.has_launches)
    profile.warnings.emplace_back(
        "has no launches of kernels; a kernel belongs to the step in which it runs");
}

constexpr auto no_stream = std::numeric_limits<std::size_t>::max();

}  // namespace

int64_t StepMessage::size_B() const {
  const int64_t size = bytes_of_type(facts.type);
  return facts.elements < 0 || size == 0 ? -1 : facts.elements * size;
}

std::vector<StepMessage> ProfiledStep::buckets() const {
  std::vector<StepMessage> all;
  for (const StepMessage& message : messages)
    if (message.is_bucket) all.push_back(message);
  return all;
}

int64_t ProfiledStep::communicated_ns() const {
  int64_t end = last_ready_ns();
  for (const StepMessage& message : messages)
    if (message.is_bucket) end = std::max(end, message.end_ns);
  return end;
}

int64_t ProfiledStep::exposed_ns() const {
  return std::max<int64_t>(0, communicated_ns() - last_ready_ns() - parts.others_between_ns);
}

RankProfile profile_of(ProfileRecords records, bool keep_first) {
  RankProfile profile;
  profile.file = records.file;
  profile.job = records.job;
  profile.events = records.events;
  profile.is_cut_off = records.is_cut_off;
  for (const auto& [what, count] : records.oddities)
    profile.warnings.push_back(counted(static_cast<std::size_t>(count), what));
  if (records.is_cut_off) profile.warnings.emplace_back("the file ends too early");
  const bool computes = std::any_of(records.work.begin(), records.work.end(), [](auto& work) {
    return work.message == no_message && !work.is_copy && work.end_ns > work.start_ns;
  });
  records.is_on_host = works_on_host(records);
  profile.is_on_host = records.is_on_host;
  const WindowSearch search = find_windows(records);
  profile.told_by = search.told_by;
  if (!search.problem.empty() || (!computes && !records.is_on_host))
    throw InputError(records.file, missing_text(records, search, computes));
  take_host_messages(records);
  profile.streams = stream_uses(records);
  const auto compute =
      std::max_element(profile.streams.begin(), profile.streams.end(),
                       [](auto& a, auto& b) { return a.computing_ns < b.computing_ns; });
  if (computes) {
    profile.compute_stream = compute->name;
    warn_of_streams(*compute, profile);
  }
  const Launches launches(records);
  std::size_t incomplete = complete_facts(records, launches);
  SortedProfile sorted = sorted_into_steps(
      records, launches,
      computes ? static_cast<std::size_t>(compute - profile.streams.begin()) : no_stream);
  profile.linked = records.linked;
  if (!profile.linked.file.empty()) profile.linked.steps = fill_in_alike(sorted.steps);
  refuse_repeats(records, sorted, search);
  if (profile.linked.steps > 0) incomplete = unknown_messages(sorted.steps);
  if (launches.repeated() > 0)
    profile.warnings.push_back(
        counted(launches.repeated(), "launches with a correlation of another one"));
  if (sorted.unlaunched > 0)
    profile.warnings.push_back(
        counted(sorted.unlaunched, "kernels and copies whose launch is missing"));
  if (sorted.workless > 0)
    profile.warnings.push_back(counted(sorted.workless, "launches whose kernel is missing"));
  if (incomplete > 0)
    profile.warnings.push_back(counted(incomplete, "collectives of unknown kind or size"));
  warn_of_ways(records, sorted, profile);
  read_steps(sorted.steps, Activity(records), keep_first, profile);
  if (profile.steps.empty()) {
    std::string reasons;
    for (const std::string& warning : profile.warnings) reasons += "; " + warning;
    throw InputError(records.file, "no step can be used" + reasons);
  }
  return profile;
}

}  // namespace sgdsim::profiler
