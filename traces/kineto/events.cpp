// The loop over the events of a file, and what is kept of each kind.
#include "traces/kineto/events.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/core/error.h"
#include "traces/kineto/event_fields.h"
#include "traces/kineto/execution_node.h"
#include "traces/kineto/execution_trace.h"
#include "traces/kineto/json_stream.h"

namespace sgdsim::profiler {
namespace {

// 16 to 32 bytes each: at most 500 MB of them, whatever the file.
constexpr std::size_t most_records = 8'000'000;
constexpr std::size_t most_messages = 1'000'000;
constexpr std::size_t most_lanes = 30'000;  // threads, streams
constexpr std::size_t most_matches = 100'000;

constexpr std::string_view step_prefix = "ProfilerStep#";
constexpr std::string_view evaluation = "autograd::engine::evaluate_function: ";
constexpr std::string_view accumulation = "torch::autograd::AccumulateGrad";
// Phases of Chrome traces that hold no duration of this kind: metadata, marks, flows, counters,
// asynchronous and memory events.
constexpr std::string_view other_phases = "MsftiICbenNODvVRcP(){}";

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_copy(std::string_view category) {
  return is_one_of(category, {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"});
}
bool is_device_work(std::string_view category) {
  return is_one_of(category, {"kernel", "Kernel"}) || is_copy(category);
}
bool is_runtime(std::string_view category) {
  return category == "Runtime" || category.ends_with("_runtime") || category.ends_with("_driver");
}
bool is_operator(std::string_view category) {
  return is_one_of(category, {"cpu_op", "Operator", "user_annotation"});
}

// Other calls (events, queries, waits) never give the device work.
bool may_launch(std::string_view call) {
  const auto has = [&](std::string_view part) { return call.find(part) != call.npos; };
  return has("aunch") || has("Mem") || has("mem");
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// ncclDevKernel_AllReduce_Sum_f32_RING_LL(...), ncclKernel_AllReduce_RING_LL_Sum_float(...),
// ncclAllReduceRingLLKernel_sum_f32(...), void rcclGenericKernel<1, false>(...).
bool is_nccl_kernel(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return (name.starts_with("nccl") || name.starts_with("rccl")) &&
         contains(name.substr(0, name.find_first_of("(<")), "Kernel");
}

// Kernels that only training has.
bool is_of_backward(std::string_view kernel) {
  for (const char* part : {"backward", "Backward", "dgrad", "wgrad", "bwd", "_bw_", "multi_tensor"})
    if (contains(kernel, part)) return true;
  return false;
}

// What the names of kernels that add up values say of their type.
std::string type_in_name(std::string_view kernel) {
  constexpr std::pair<std::string_view, const char*> known[] = {
      {"_bf16", "BFloat16"}, {"bfloat16", "BFloat16"}, {"_f16", "Half"},   {"_half", "Half"},
      {"_f32", "Float"},     {"_float", "Float"},      {"_f64", "Double"}, {"_double", "Double"}};
  if (!contains(kernel, "Reduce")) return {};  // others move bytes, whatever they are
  kernel = kernel.substr(0, kernel.find('('));
  for (const auto& [part, type] : known)
    if (contains(kernel, part)) return type;
  return {};
}

class EventCollector {
 public:
  EventCollector(ProfileRecords& records, const NamePattern* others)
      : records_(records), others_(others) {}

  void take(const EventFields& event);
  void finish() const {
    if (!has_device_ && has_too_much_host_)
      throw InputError(records_.file, "holds more than " + std::to_string(most_records) +
                                          " operators and no kernel; profile fewer steps");
  }

 private:
  // Numbers pairs of words in the order in which they come.
  using Lanes = std::map<std::pair<std::string, std::string>, int16_t>;

  void odd(const char* what) { ++records_.oddities[what]; }
  std::optional<Span> span_of(const EventFields& event);
  std::optional<int16_t> thread_of(const EventFields& event);
  int16_t lane(Lanes& lanes, const std::string& first, const std::string& second) const;
  void take_work(const EventFields& event);
  void take_launch(const EventFields& event);
  void take_step(const EventFields& event, std::vector<StepWindow>& windows);
  void take_annotation(const EventFields& event);
  void take_host(const EventFields& event);
  void take_host_message(const EventFields& event);
  void take_backward(const EventFields& event);
  void take_call(const EventFields& event);
  bool communicates(const EventFields& event);
  template <class Record>
  void keep(std::vector<Record>& list, Record record, std::size_t most = most_records) const;

  ProfileRecords& records_;
  const NamePattern* others_;
  Lanes threads_;
  Lanes streams_;
  std::pair<std::string, std::string> last_thread_;
  int16_t last_thread_number_ = -1;
  std::map<std::string, bool> matched_;
  bool has_device_ = false;
  std::map<int16_t, std::size_t> last_host_;  // of a thread, among the host's work
  bool has_too_much_host_ = false;            // which matters only if no device did anything
};

template <class Record>
void EventCollector::keep(std::vector<Record>& list, Record record, std::size_t most) const {
  if (list.size() == most)
    throw InputError(records_.file, "holds more than " + std::to_string(most) +
                                        " events of one kind; profile fewer steps");
  list.push_back(std::move(record));
}

int16_t EventCollector::lane(Lanes& lanes, const std::string& first,
                             const std::string& second) const {
  const auto [found, is_new] =
      lanes.try_emplace({first, second}, static_cast<int16_t>(lanes.size()));
  if (is_new && lanes.size() > most_lanes)
    throw InputError(records_.file,
                     "holds more than " + std::to_string(most_lanes) + " threads or streams");
  return found->second;
}

std::optional<Span> EventCollector::span_of(const EventFields& event) {
  const auto start = nanoseconds(event.start);
  if (!start) {
    odd("events without a time");
    return std::nullopt;
  }
  if (event.length.empty()) {
    odd("events without a duration");
    return std::nullopt;
  }
  const auto length = nanoseconds(event.length);
  Span span{*start, 0};
  if (!length || __builtin_add_overflow(*start, *length, &span.end_ns)) {
    odd("events whose duration is no number");
    return std::nullopt;
  }
  if (*length < 0) {
    odd("events that end before they begin");
    return std::nullopt;
  }
  return span;
}

// Most events stand beside another one of their thread.
std::optional<int16_t> EventCollector::thread_of(const EventFields& event) {
  if (event.thread.empty()) {
    odd("events without a thread");
    return std::nullopt;
  }
  if (last_thread_number_ < 0 || last_thread_.second != event.thread ||
      last_thread_.first != event.process) {
    last_thread_ = {event.process, event.thread};
    last_thread_number_ = lane(threads_, event.process, event.thread);
  }
  return last_thread_number_;
}

std::optional<uint32_t> correlation_of(const EventFields& event) {
  const auto value = whole_number(event.correlation);
  if (!value || *value < 0 || *value > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

bool EventCollector::communicates(const EventFields& event) {
  if (is_nccl_kernel(event.name)) return true;
  if (others_ == nullptr) return false;
  const auto known = matched_.find(event.name);
  if (known != matched_.end()) return known->second;
  const bool matches = others_->occurs_in(event.name);
  if (matched_.size() < most_matches) matched_.emplace(event.name, matches);
  return matches;
}

void EventCollector::take_work(const EventFields& event) {
  if (!has_device_) {  // so that what operators did does not matter
    has_device_ = true;
    records_.host = {};
  }
  const bool copies = is_copy(event.category);
  const bool is_message = !copies && communicates(event);
  if (!is_message && (contains(event.name, "nccl") || contains(event.name, "NCCL")))
    return odd("kernels with nccl in their name that are no collective");
  const auto span = span_of(event);
  if (!span) return;
  const auto correlation = correlation_of(event);
  if (!correlation) odd("kernels and copies without a correlation");
  DeviceWork work{.start_ns = span->start_ns,
                  .end_ns = span->end_ns,
                  .correlation = correlation.value_or(0),
                  .stream = lane(streams_, event.device.empty() ? event.process : event.device,
                                 event.stream.empty() ? event.thread : event.stream),
                  .is_copy = copies};
  if (static_cast<std::size_t>(work.stream) == records_.streams.size())
    records_.streams.push_back("device " + (event.device.empty() ? event.process : event.device) +
                               ", stream " + (event.stream.empty() ? event.thread : event.stream));
  if (is_message) {
    work.message = static_cast<int32_t>(records_.messages.size());
    DeviceMessage message{event.name.substr(0, 120), whole_number(event.external_id).value_or(-1),
                          communication_facts(event)};
    if (message.facts.type.empty()) message.facts.type = type_in_name(message.kernel);
    keep(records_.messages, std::move(message), most_messages);
  }
  records_.has_backward_kernels = records_.has_backward_kernels || is_of_backward(event.name);
  keep(records_.work, work);
}

void EventCollector::take_launch(const EventFields& event) {
  if (!may_launch(event.name)) return;
  const auto correlation = correlation_of(event);
  if (!correlation) return;
  const auto start = nanoseconds(event.start);
  if (!start) return odd("events without a time");
  if (const auto thread = thread_of(event))
    keep(records_.launches,
         {*start, *correlation, *thread, event.name.find("aunch") != std::string::npos});
}

void EventCollector::take_step(const EventFields& event, std::vector<StepWindow>& windows) {
  const auto number = whole_number(event.name.substr(step_prefix.size()));
  if (!number) return odd("steps without a number");
  const auto span = span_of(event);
  if (!span) return;
  for (StepWindow& window : windows) {
    if (window.number != *number) continue;
    if (&windows != &records_.device_windows)
      throw InputError(records_.file, "ProfilerStep#" + std::to_string(*number) + " occurs twice");
    // One of each stream: the step is all of them.
    window.start_ns = std::min(window.start_ns, span->start_ns);
    window.end_ns = std::max(window.end_ns, span->end_ns);
    return;
  }
  keep(windows, {span->start_ns, span->end_ns, *number}, 10'000);
}

void EventCollector::take_backward(const EventFields& event) {
  const std::string_view name = event.name;
  BackwardOperator one;
  if (name == accumulation)
    one.kind = BackwardKind::inner_gradient;
  else if (name.substr(evaluation.size()) == accumulation)
    one.kind = BackwardKind::gradient;
  if (one.kind != BackwardKind::other) {
    const int64_t elements = elements_in_shapes(event.shapes);
    const int64_t element_B = bytes_of_type(first_known_type(event.types));
    // A gradient without dimensions is one number.
    if (element_B > 0 && elements >= 0) one.elements = std::max<int64_t>(1, elements);
    if (one.elements > 0) one.element_B = static_cast<uint8_t>(element_B);
  }
  const auto start = nanoseconds(event.start);
  if (!start) return odd("events without a time");
  one.at_ns = *start;
  const auto thread = thread_of(event);
  if (!thread) return;
  one.thread = *thread;
  one.function_id = whole_number(event.function_id).value_or(0);
  keep(records_.operators, one);
}

// What else tells steps apart, and when the CPU waits for data.
void EventCollector::take_annotation(const EventFields& event) {
  const std::string_view name = event.name;
  const bool loads = name.starts_with("enumerate(DataLoader)");
  const bool optimizes = name.starts_with("Optimizer.step");
  if (!loads && !optimizes && name != "DistributedDataParallel.forward") return;
  const auto span = span_of(event);
  if (!span) return;
  if (loads) return keep(records_.loading, *span);
  keep(records_.marks, {*span, optimizes ? StepSign::optimizer : StepSign::forward}, most_messages);
}

// Operators within or right behind the one before are kept with it.
void EventCollector::take_host(const EventFields& event) {
  const auto start = nanoseconds(event.start);
  const auto length = nanoseconds(event.length);
  int64_t end = 0;
  if (!start || !length || *length < 0 || __builtin_add_overflow(*start, *length, &end)) return;
  if (event.thread.empty()) return;
  const auto thread = thread_of(event);
  if (!thread) return;
  const auto last = last_host_.find(*thread);
  if (last != last_host_.end()) {
    HostWork& before = records_.host[last->second];
    if (*start >= before.start_ns && *start <= before.end_ns) {
      before.end_ns = std::max(before.end_ns, end);
      return;
    }
  }
  has_too_much_host_ = records_.host.size() >= most_records;
  if (has_too_much_host_) return;
  last_host_[*thread] = records_.host.size();
  keep(records_.host, {*start, end, *thread});
}

void EventCollector::take_host_message(const EventFields& event) {
  const auto span = span_of(event);
  if (!span) return;
  const auto thread = thread_of(event);
  if (!thread) return;
  keep(records_.host_messages,
       {*span,
        {event.name.substr(0, 120), whole_number(event.external_id).value_or(-1),
         communication_facts(event), *thread},
        whole_number(event.function_id).value_or(0)},
       most_messages);
}

void EventCollector::take_call(const EventFields& event) {
  const auto span = span_of(event);
  if (!span) return;
  if (const auto thread = thread_of(event))
    keep(records_.calls,
         {span->start_ns, span->end_ns, whole_number(event.external_id).value_or(-1), *thread,
          communication_facts(event), whole_number(event.function_id).value_or(0)},
         most_messages);
}

void EventCollector::take(const EventFields& event) {
  ++records_.events;
  if (event.repeats_a_field) return odd("events in which a field occurs twice");
  if (event.phase != "X") {
    if (event.phase.size() != 1 || other_phases.find(event.phase) == other_phases.npos)
      odd("events of an unknown phase");
    return;
  }
  const std::string_view category = event.category;
  if (is_device_work(category)) return take_work(event);
  if (is_runtime(category)) return take_launch(event);
  const std::string_view name = event.name;
  if (category == "gpu_user_annotation" && name.starts_with(step_prefix))
    return take_step(event, records_.device_windows);
  if (!is_operator(category)) return;
  if (name.starts_with(step_prefix)) return take_step(event, records_.windows);
  if (name.starts_with("gloo:") || name.starts_with("mpi:")) return take_host_message(event);
  if (!has_device_ && category != "user_annotation") take_host(event);
  if (name.starts_with(evaluation) || name == accumulation) return take_backward(event);
  if (name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("rccl:"))
    return take_call(event);
  take_annotation(event);
}

// ---- what stands beside the events

void read_distributed(JsonStream& stream, JobFacts& job) {
  if (stream.peek() != '{') return stream.skip();
  std::string key;
  std::string word;
  stream.enter('{');
  while (stream.next_member(key)) {
    stream.read_word(word);
    if (key == "backend") job.backend = word;
    if (key == "nccl_version") job.nccl_version = word;
    if (key == "rank") job.rank = whole_number(word);
    if (key == "world_size") job.ranks = whole_number(word);
  }
}

void read_devices(JsonStream& stream, JobFacts& job) {
  if (stream.peek() != '[') return stream.skip();
  std::string key;
  std::string word;
  stream.enter('[');
  while (stream.next_item()) {
    if (stream.peek() != '{') {
      stream.skip();
      continue;
    }
    stream.enter('{');
    while (stream.next_member(key)) {
      stream.read_word(word);
      if (key == "name" && job.device.empty()) job.device = word;
    }
  }
}

void read_list(JsonStream& stream, EventCollector& collector) {
  EventReader reader;
  EventFields fields;
  stream.enter('[');
  while (stream.next_item()) {
    reader.read(stream, fields);
    if (!stream.has_ended_early()) collector.take(fields);
  }
}

}  // namespace

ProfileRecords read_events(ByteSource& source, const NamePattern* others) {
  ProfileRecords records;
  records.file = source.file();
  EventCollector collector(records, others);
  JsonStream stream(source);
  const char first = stream.peek();
  if (first == '\0')
    throw InputError(source.file(), "is empty; expected a trace of PyTorch's profiler");
  if (first == '[') {
    read_list(stream, collector);
  } else {
    std::string key;
    stream.enter('{');
    while (stream.next_member(key)) {
      if (key == "traceEvents")
        read_list(stream, collector);
      else if (key == "distributedInfo")
        read_distributed(stream, records.job);
      else if (key == "deviceProperties")
        read_devices(stream, records.job);
      else if (key != "nodes" || stream.peek() != '[')
        stream.skip();
      else if (holds_traced_nodes(stream))
        throw InputError(source.file(), why_no_times(source.file()));
    }
  }
  stream.expect_end();
  collector.finish();
  records.is_cut_off = stream.has_ended_early() || source.is_damaged();
  if (stream.control_characters() > 0)
    records.oddities["control characters"] = stream.control_characters();
  return records;
}

}  // namespace sgdsim::profiler
