// Ids are looked up in sorted lists; what is filled in is counted.
#include "traces/kineto/execution_link.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/error.h"

namespace sgdsim::profiler {
namespace {

template <class Node>
std::map<int64_t, const Node*> by_function(const std::vector<Node>& nodes) {
  std::map<int64_t, const Node*> found;
  for (const Node& node : nodes)
    if (node.function_id > 0) found.emplace(node.function_id, &node);
  return found;
}

class Linking {
 public:
  Linking(const ExecutionTrace& trace, ProfileRecords& records)
      : trace_(trace),
        records_(records),
        gradients_(by_function(trace.gradients)),
        collectives_(by_function(trace.collectives)) {}

  void all();

 private:
  [[noreturn]] void other_run(const std::string& why) const;
  void check_absent(int64_t function_id, const char* what) const;
  void gradient(BackwardOperator& one);
  void collective(int64_t function_id, CommunicationFacts& facts);

  const ExecutionTrace& trace_;
  ProfileRecords& records_;
  std::map<int64_t, const TracedGradient*> gradients_;
  std::map<int64_t, const TracedCollective*> collectives_;
  int64_t met_ = 0;
};

void Linking::other_run(const std::string& why) const {
  throw InputError(trace_.file, why +
                                    ": they are of different runs; record both in one, with "
                                    "torch.profiler.profile(..., execution_trace_observer="
                                    "ExecutionTraceObserver().register_callback(\"et.json\"))");
}

// The id may lie outside of what was observed, but it stands for nothing else there.
void Linking::check_absent(int64_t function_id, const char* what) const {
  if (std::binary_search(trace_.function_ids.begin(), trace_.function_ids.end(), function_id))
    other_run("its rf_id " + std::to_string(function_id) + " is no " + what + ", but that of " +
              records_.file + " is one");
}

void Linking::gradient(BackwardOperator& one) {
  const auto found = gradients_.find(one.function_id);
  if (found == gradients_.end()) return check_absent(one.function_id, "gradient");
  const TracedGradient& traced = *found->second;
  if (traced.kind != one.kind) return check_absent(one.function_id, "gradient of that kind");
  ++met_;
  if (traced.elements < 0) return;
  if (one.elements < 0) {
    one.elements = traced.elements;
    one.element_B = traced.element_B;
    ++records_.linked.gradients;
  } else if (one.elements != traced.elements || one.element_B != traced.element_B) {
    other_run("its gradient of rf_id " + std::to_string(one.function_id) + " has " +
              std::to_string(traced.elements) + " elements of " + std::to_string(traced.element_B) +
              " bytes, that of " + records_.file + " has " + std::to_string(one.elements) + " of " +
              std::to_string(one.element_B));
  }
}

void Linking::collective(int64_t function_id, CommunicationFacts& facts) {
  if (function_id <= 0) return;
  const auto found = collectives_.find(function_id);
  if (found == collectives_.end()) return;  // what only waits is kept nowhere
  ++met_;
  const CommunicationFacts before = facts;
  fill_in(facts, found->second->facts);
  const auto told = [](const CommunicationFacts& one) {
    return std::tie(one.collective, one.type, one.elements, one.group_size);
  };
  if (told(before) != told(facts)) ++records_.linked.collectives;
}

void Linking::all() {
  records_.linked.file = trace_.file;
  for (BackwardOperator& one : records_.operators)
    if (one.kind != BackwardKind::other && one.function_id > 0) gradient(one);
  for (CollectiveCall& call : records_.calls) collective(call.function_id, call.facts);
  for (HostMessage& message : records_.host_messages)
    collective(message.function_id, message.message.facts);
  if (met_ == 0)
    other_run("no gradient and no collective of it (rf_id) is one of " + records_.file +
              " (Record function id)");
}

// ---- steps that are alike

bool knows_gradients(const OpenStep& step) {
  bool has_some = false;
  for (const BackwardOperator& one : step.operators) {
    if (one.kind != BackwardKind::gradient) continue;
    if (one.elements < 0) return false;
    has_some = true;
  }
  return has_some;
}

bool knows_messages(const OpenStep& step) {
  return !step.messages.empty() &&
         std::all_of(step.messages.begin(), step.messages.end(),
                     [](const StepMessage& one) { return one.facts.elements >= 0; });
}

std::vector<BackwardOperator*> gradients_in(OpenStep& step) {
  std::vector<BackwardOperator*> all;
  for (BackwardOperator& one : step.operators)
    if (one.kind == BackwardKind::gradient) all.push_back(&one);
  return all;
}

std::vector<StepMessage*> launched_in_order(OpenStep& step) {
  std::vector<StepMessage*> all;
  for (StepMessage& one : step.messages) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(), [](const StepMessage* a, const StepMessage* b) {
    return std::tie(a->launch_thread, a->launch_ns) < std::tie(b->launch_thread, b->launch_ns);
  });
  return all;
}

// Whether something was filled in; what contradicts is left as it is.
bool take_gradients(OpenStep& from, OpenStep& step) {
  const auto known = gradients_in(from);
  const auto own = gradients_in(step);
  const auto fits = [](const BackwardOperator* a, const BackwardOperator* b) {
    return b->elements < 0 || (a->elements == b->elements && a->element_B == b->element_B);
  };
  if (!std::equal(known.begin(), known.end(), own.begin(), own.end(), fits)) return false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i]->elements = known[i]->elements;
    own[i]->element_B = known[i]->element_B;
  }
  return true;
}

bool take_messages(OpenStep& from, OpenStep& step) {
  const auto known = launched_in_order(from);
  const auto own = launched_in_order(step);
  const auto fits = [](const StepMessage* a, const StepMessage* b) {
    return a->kernel == b->kernel && a->launch_thread == b->launch_thread &&
           (b->facts.elements < 0 || a->facts.elements == b->facts.elements);
  };
  if (!std::equal(known.begin(), known.end(), own.begin(), own.end(), fits)) return false;
  for (std::size_t i = 0; i < own.size(); ++i) fill_in(own[i]->facts, known[i]->facts);
  return true;
}

}  // namespace

void link_with(const ExecutionTrace& trace, ProfileRecords& records) {
  Linking(trace, records).all();
}

int64_t fill_in_alike(std::vector<OpenStep>& steps) {
  const auto sized = std::find_if(steps.begin(), steps.end(), knows_gradients);
  const auto told = std::find_if(steps.begin(), steps.end(), knows_messages);
  int64_t filled = 0;
  for (OpenStep& step : steps) {
    const bool has_sizes =
        sized != steps.end() && !knows_gradients(step) && take_gradients(*sized, step);
    const bool has_facts = told != steps.end() && !step.messages.empty() && !knows_messages(step) &&
                           take_messages(*told, step);
    if (has_sizes || has_facts) ++filled;
  }
  return filled;
}

std::size_t unknown_messages(const std::vector<OpenStep>& steps) {
  std::size_t unknown = 0;
  for (const OpenStep& step : steps)
    for (const StepMessage& message : step.messages)
      if (lacks_facts(message.facts, message.kernel)) ++unknown;
  return unknown;
}

}  // namespace sgdsim::profiler
