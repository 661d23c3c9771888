// One pass over the file; what nodes say of each other is checked behind it.
#include "traces/kineto/execution_trace.h"

#include <algorithm>
#include <limits>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/kineto/collective_kind.h"
#include "traces/kineto/event_fields.h"
#include "traces/kineto/execution_node.h"

namespace sgdsim::profiler {
namespace {

constexpr std::size_t most_nodes = 8'000'000;
constexpr std::size_t most_traced_collectives = 1'000'000;

struct NodeLink {
  int64_t id = 0;
  int64_t parent = -1;  // -1: none
};

bool is_wait(const CommunicationFacts& facts) {
  return facts.collective == "wait" || facts.collective == "init";
}

std::optional<CallLevel> call_level(std::string_view name) {
  if (name == "record_param_comms") return CallLevel::communication;
  for (const char* backend : {"nccl:", "rccl:", "gloo:", "mpi:"})
    if (name.starts_with(backend)) return CallLevel::backend;
  if (name.starts_with("c10d") || name.starts_with("_c10d")) return CallLevel::dispatcher;
  return std::nullopt;
}

std::optional<BackwardKind> gradient_kind(std::string_view name) {
  constexpr std::string_view inner = "torch::autograd::AccumulateGrad";
  constexpr std::string_view outer = "autograd::engine::evaluate_function: ";
  if (name == inner) return BackwardKind::inner_gradient;
  if (name.starts_with(outer) && name.substr(outer.size()) == inner) return BackwardKind::gradient;
  return std::nullopt;
}

class NodeCollector {
 public:
  explicit NodeCollector(ExecutionTrace& trace) : trace_(trace) {}

  void take(const NodeFields& fields);
  void finish();

 private:
  int64_t number(const std::string& text, const char* what, int64_t otherwise) const;
  void take_gradient(const NodeFields& fields, const NodeLink& link, int64_t function_id,
                     BackwardKind kind);
  void check_ids();
  void check_parents() const;
  void sort_by_node();

  ExecutionTrace& trace_;
  std::string where_;
  std::vector<NodeLink> links_;
};

int64_t NodeCollector::number(const std::string& text, const char* what, int64_t otherwise) const {
  if (text.empty() || text.front() == '[') return otherwise;
  const auto value = whole_number(text);
  if (!value || *value < 0)
    throw InputError(where_, std::string("expected a whole number from 0 for ") + what + ", got " +
                                 printable(text.substr(0, 40)));
  return *value;
}

void NodeCollector::take_gradient(const NodeFields& fields, const NodeLink& link,
                                  int64_t function_id, BackwardKind kind) {
  const TracedSize size = gradient_size(fields, where_);
  auto known = std::find(trace_.types.begin(), trace_.types.end(), size.type);
  if (known == trace_.types.end()) {
    if (trace_.types.size() > std::numeric_limits<uint8_t>::max())
      throw InputError(where_, "gradients of more than 255 types of elements");
    known = trace_.types.insert(trace_.types.end(), size.type);
  }
  trace_.gradients.push_back({.node = link.id,
                              .function_id = function_id,
                              .elements = size.elements,
                              .element_B = static_cast<uint8_t>(size.element_B),
                              .type = static_cast<uint8_t>(known - trace_.types.begin()),
                              .kind = kind});
}

void NodeCollector::take(const NodeFields& fields) {
  where_ = trace_.file + ": node " + std::to_string(++trace_.nodes);
  if (links_.size() == most_nodes)
    throw InputError(trace_.file, "holds more than " + std::to_string(most_nodes) +
                                      " nodes; observe fewer steps");
  if (!fields.twice.empty())
    throw InputError(where_, std::string(fields.twice) + " occurs twice in it");
  const NodeLink link{number(fields.id, "id", -1), number(fields.parent, "ctrl_deps", -1)};
  if (link.id < 0) throw InputError(where_, "has no id");
  links_.push_back(link);
  const int64_t function_id = number(fields.function_id, "rf_id", 0);
  if (function_id > 0) trace_.function_ids.push_back(function_id);
  if (!fields.schema.empty()) ++trace_.operators;
  const std::string_view name = fields.name;
  if (const auto kind = gradient_kind(name)) return take_gradient(fields, link, function_id, *kind);
  if (name.starts_with("ProfilerStep#")) trace_.step_nodes.push_back(link.id);
  if (name.starts_with("Optimizer.step#")) trace_.optimizer_nodes.push_back(link.id);
  const auto level = call_level(name);
  if (!level) return;
  CommunicationFacts facts = traced_facts(fields);
  const bool is_none =
      *level == CallLevel::communication ? is_wait(facts) : kind_of(facts, "") == unknown_kind;
  if (is_none) return;
  if (trace_.collectives.size() == most_traced_collectives)
    throw InputError(trace_.file, "holds more than " + std::to_string(most_traced_collectives) +
                                      " collectives; observe fewer steps");
  trace_.collectives.push_back({link.id, function_id, *level, std::move(facts)});
}

void NodeCollector::check_ids() {
  std::sort(links_.begin(), links_.end(),
            [](const NodeLink& a, const NodeLink& b) { return a.id < b.id; });
  for (std::size_t i = 1; i < links_.size(); ++i)
    if (links_[i].id == links_[i - 1].id)
      throw InputError(trace_.file,
                       "the node id " + std::to_string(links_[i].id) + " occurs twice");
  std::vector<int64_t>& ids = trace_.function_ids;
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end())
    throw InputError(trace_.file, "the rf_id " + std::to_string(*twice) + " occurs twice");
}

// Every chain of parents ends at a node that has none, that is its own, or that is not there.
void NodeCollector::check_parents() const {
  enum class Mark : uint8_t { fresh, on_chain, good };
  std::vector<Mark> marks(links_.size(), Mark::fresh);
  const auto at = [&](int64_t id) {
    const auto found =
        std::lower_bound(links_.begin(), links_.end(), id,
                         [](const NodeLink& one, int64_t wanted) { return one.id < wanted; });
    return found == links_.end() || found->id != id
               ? links_.size()
               : static_cast<std::size_t>(found - links_.begin());
  };
  std::vector<std::size_t> chain;
  for (std::size_t start = 0; start < links_.size(); ++start) {
    chain.clear();
    std::size_t one = start;
    while (one < links_.size() && marks[one] == Mark::fresh) {
      marks[one] = Mark::on_chain;
      chain.push_back(one);
      one = links_[one].parent == links_[one].id ? links_.size() : at(links_[one].parent);
    }
    if (one < links_.size() && marks[one] == Mark::on_chain)
      throw InputError(trace_.file, "the node of id " + std::to_string(links_[one].id) +
                                        " is its own ancestor (ctrl_deps)");
    for (const std::size_t node : chain) marks[node] = Mark::good;
  }
}

void NodeCollector::sort_by_node() {
  const auto by_node = [](const auto& a, const auto& b) { return a.node < b.node; };
  std::sort(trace_.gradients.begin(), trace_.gradients.end(), by_node);
  std::sort(trace_.collectives.begin(), trace_.collectives.end(), by_node);
  std::sort(trace_.step_nodes.begin(), trace_.step_nodes.end());
  std::sort(trace_.optimizer_nodes.begin(), trace_.optimizer_nodes.end());
}

void NodeCollector::finish() {
  check_ids();
  check_parents();
  sort_by_node();
}

// Those within others, which know their sizes, if there are any.
std::vector<TracedGradient> counted_gradients(const ExecutionTrace& trace) {
  const bool has_inner = std::any_of(
      trace.gradients.begin(), trace.gradients.end(),
      [](const TracedGradient& one) { return one.kind == BackwardKind::inner_gradient; });
  std::vector<TracedGradient> counted_ones;
  for (const TracedGradient& one : trace.gradients)
    if (!has_inner || one.kind == BackwardKind::inner_gradient) counted_ones.push_back(one);
  return counted_ones;
}

}  // namespace

ExecutionTrace read_execution_trace(ByteSource& source) {
  ExecutionTrace trace;
  trace.file = source.file();
  trace.types.emplace_back();
  JsonStream stream(source);
  NodeCollector collector(trace);
  NodeReader reader;
  NodeFields fields;
  std::string key;
  bool has_nodes = false;
  if (stream.peek() != '{')
    throw InputError(trace.file,
                     "expected an execution trace of PyTorch, which is an object with a "
                     "list \"nodes\"");
  stream.enter('{');
  while (stream.next_member(key)) {
    if (key == "schema") {
      stream.read_word(trace.schema);
    } else if (key == "nodes" && stream.peek() == '[') {
      if (has_nodes) throw InputError(trace.file, "\"nodes\" occurs twice");
      has_nodes = true;
      stream.enter('[');
      while (stream.next_item()) {
        reader.read(stream, fields);
        if (!stream.has_ended_early()) collector.take(fields);
      }
    } else {
      stream.skip();
    }
  }
  stream.expect_end();
  if (stream.has_ended_early() || source.is_damaged())
    throw InputError(trace.file, "ends too early, behind " + std::to_string(trace.nodes) +
                                     " nodes; ExecutionTraceObserver writes the end when "
                                     "unregister_callback() is called");
  if (!has_nodes)
    throw InputError(trace.file,
                     "expected an execution trace of PyTorch, which is an object with a "
                     "list \"nodes\"");
  if (trace.nodes == 0)
    throw InputError(trace.file, "has no nodes; observe at least one training step");
  collector.finish();
  return trace;
}

bool is_execution_trace(std::string_view text) {
  const std::string_view head = text.substr(0, 1 << 20);
  const auto has = [&](std::string_view part) { return head.find(part) != head.npos; };
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == head.npos || head[first] != '{' || !has("\"nodes\"") || has("\"traceEvents\""))
    return false;
  constexpr std::string_view schema = "\"schema\"";
  if (const std::size_t at = head.find(schema); at != head.npos) {
    std::string_view value = head.substr(at + schema.size(), 100);
    value.remove_prefix(std::min(value.find('"'), value.size()));
    value = value.substr(0, value.find('"', 1));
    if (value.find("-chakra.") != value.npos) return true;
    if (value.starts_with("\"sgdsim/")) return false;
  }
  return has("\"rf_id\"") || has("\"fw_parent\"") || (has("\"ctrl_deps\"") && has("\"attrs\""));
}

std::string why_no_times(const std::string& file) {
  return "is an execution trace of PyTorch, which has no times, so that no step can be made of it; "
         "record a profile of the same run beside it (torch.profiler.profile(..., "
         "execution_trace_observer=...)) and type sgdsim import kineto PROFILE --execution-trace " +
         printable(file) + ", or, for a table of its parameters, sgdsim import execution-trace " +
         printable(file) + " --out parameters.csv";
}

bool TracedSteps::are_alike() const {
  const auto same = [](const TracedGradient& a, const TracedGradient& b) {
    return a.elements == b.elements && a.element_B == b.element_B;
  };
  return std::all_of(gradients.begin(), gradients.end(), [&](const auto& step) {
    return std::equal(step.begin(), step.end(), gradients.front().begin(), gradients.front().end(),
                      same);
  });
}

TracedSteps steps_of(const ExecutionTrace& trace) {
  const bool has_windows = !trace.step_nodes.empty();
  const std::vector<int64_t>& ends = has_windows ? trace.step_nodes : trace.optimizer_nodes;
  TracedSteps steps;
  if (!ends.empty()) steps.told_by = has_windows ? "ProfilerStep#N" : "Optimizer.step";
  std::ptrdiff_t last = -1;
  for (const TracedGradient& one : counted_gradients(trace)) {
    const auto step = std::lower_bound(ends.begin(), ends.end(), one.node) - ends.begin();
    if (step != last) steps.gradients.emplace_back();
    steps.gradients.back().push_back(one);
    last = step;
  }
  return steps;
}

ParameterSizes parameters_of(const ExecutionTrace& trace) {
  const TracedSteps steps = steps_of(trace);
  if (steps.gradients.empty())
    throw InputError(trace.file,
                     "has no gradient (torch::autograd::AccumulateGrad); observe "
                     "loss.backward() too");
  if (!steps.are_alike())
    throw InputError(trace.file,
                     "its steps have different gradients; observe whole steps that are "
                     "alike");
  ParameterSizes sizes{trace.file, {}};
  const std::vector<TracedGradient>& step = steps.gradients.front();
  for (std::size_t i = step.size(); i-- > 0;) {
    if (step[i].elements < 0)
      throw InputError(trace.file, "does not say the size of the gradient of node id " +
                                       std::to_string(step[i].node));
    sizes.parameters.emplace_back("parameter " + std::to_string(step.size() - i), step[i].elements);
  }
  return sizes;
}

}  // namespace sgdsim::profiler
