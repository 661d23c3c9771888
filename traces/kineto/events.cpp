// The loop over the events of a file, and what is kept of each kind.
#include "traces/kineto/events.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/core/error.h"
#include "traces/kineto/event_fields.h"
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

bool is_device_work(std::string_view category) {
  return is_one_of(category, {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"});
}
bool is_runtime(std::string_view category) {
  return is_one_of(category, {"cuda_runtime", "cuda_driver", "Runtime", "hip_runtime"});
}
bool is_operator(std::string_view category) {
  return is_one_of(category, {"cpu_op", "Operator", "user_annotation"});
}

// Other calls (events, queries, waits) never give the device work.
bool may_launch(std::string_view call) {
  const auto has = [&](std::string_view part) { return call.find(part) != call.npos; };
  return has("aunch") || has("Mem") || has("mem");
}

bool contains_nccl(std::string_view name) {
  return name.find("nccl") != name.npos || name.find("NCCL") != name.npos;
}
bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("ncclKernel") || name.starts_with("ncclDevKernel");
}

struct Span {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

class EventCollector {
 public:
  EventCollector(ProfileRecords& records, const NamePattern* others)
      : records_(records), others_(others) {}

  void take(const EventFields& event);

 private:
  // Numbers pairs of words in the order in which they come.
  using Lanes = std::map<std::pair<std::string, std::string>, int16_t>;

  void odd(const char* what) { ++records_.oddities[what]; }
  std::optional<Span> span_of(const EventFields& event);
  std::optional<int16_t> thread_of(const EventFields& event);
  int16_t lane(Lanes& lanes, const std::string& first, const std::string& second) const;
  void take_work(const EventFields& event);
  void take_launch(const EventFields& event);
  void take_step(const EventFields& event);
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
  const bool is_message = communicates(event);
  if (!is_message && contains_nccl(event.name))
    return odd("kernels with nccl in their name that are no collective");
  const auto span = span_of(event);
  if (!span) return;
  const auto correlation = correlation_of(event);
  if (!correlation) odd("kernels and copies without a correlation");
  DeviceWork work{.start_ns = span->start_ns,
                  .end_ns = span->end_ns,
                  .correlation = correlation.value_or(0),
                  .stream = lane(streams_, event.device.empty() ? event.process : event.device,
                                 event.stream.empty() ? event.thread : event.stream)};
  if (static_cast<std::size_t>(work.stream) == records_.streams.size())
    records_.streams.push_back("device " + (event.device.empty() ? event.process : event.device) +
                               ", stream " + (event.stream.empty() ? event.thread : event.stream));
  if (is_message) {
    work.message = static_cast<int32_t>(records_.messages.size());
    DeviceMessage message{event.name.substr(0, 120), whole_number(event.external_id).value_or(-1),
                          communication_facts(event)};
    keep(records_.messages, std::move(message), most_messages);
  }
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

void EventCollector::take_step(const EventFields& event) {
  const auto number = whole_number(event.name.substr(step_prefix.size()));
  if (!number) return odd("steps without a number");
  const auto span = span_of(event);
  if (!span) return;
  for (const StepWindow& window : records_.windows)
    if (window.number == *number)
      throw InputError(records_.file, "ProfilerStep#" + std::to_string(*number) + " occurs twice");
  keep(records_.windows, {span->start_ns, span->end_ns, *number}, 10'000);
}

void EventCollector::take_backward(const EventFields& event) {
  const std::string_view name = event.name;
  BackwardKind kind = BackwardKind::other;
  if (name == accumulation)
    kind = BackwardKind::inner_gradient;
  else if (name.substr(evaluation.size()) == accumulation)
    kind = BackwardKind::gradient;
  const auto start = nanoseconds(event.start);
  if (!start) return odd("events without a time");
  if (const auto thread = thread_of(event)) keep(records_.operators, {*start, *thread, kind});
}

void EventCollector::take_call(const EventFields& event) {
  const auto span = span_of(event);
  if (!span) return;
  if (const auto thread = thread_of(event))
    keep(records_.calls,
         {span->start_ns, span->end_ns, whole_number(event.external_id).value_or(-1), *thread,
          communication_facts(event)},
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
  if (!is_operator(category)) return;
  const std::string_view name = event.name;
  if (name.starts_with(step_prefix)) return take_step(event);
  if (name.starts_with(evaluation) || name == accumulation) return take_backward(event);
  if (name == "record_param_comms") return take_call(event);
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

int64_t bytes_of_type(const std::string& type) {
  static const std::map<std::string, int64_t> sizes = {
      {"Float", 4},         {"Half", 2},       {"BFloat16", 2},     {"Double", 8},
      {"Long", 8},          {"Int", 4},        {"Short", 2},        {"Byte", 1},
      {"Char", 1},          {"Bool", 1},       {"ComplexFloat", 8}, {"ComplexDouble", 16},
      {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

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
      else
        stream.skip();
    }
  }
  stream.expect_end();
  records.is_cut_off = stream.has_ended_early() || source.is_damaged();
  if (stream.control_characters() > 0)
    records.oddities["control characters"] = stream.control_characters();
  return records;
}

}  // namespace sgdsim::profiler
