// One pass over the events; threads get their stages at the end, where their names stand.
#include "traces/recorded/pipeline_timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "sim/core/error.h"
#include "traces/kineto/event_fields.h"
#include "traces/kineto/json_stream.h"

namespace sgdsim {
namespace {

using namespace std::string_view_literals;
using profiler::JsonStream;
using profiler::nanoseconds;
using profiler::whole_number;

constexpr int64_t most_number = most_recorded_number;

struct Event {
  std::string phase;
  std::string name;
  std::string process;
  std::string thread;
  std::string start;
  std::string length;
  std::string step;
  std::string chunk;
  std::string micro_batch;
  std::string sequence;
  std::string thread_name;  // of metadata
};

struct Member {
  std::string_view key;
  std::string Event::*field;
};
constexpr Member event_members[] = {{"name", &Event::name},   {"ph", &Event::phase},
                                    {"pid", &Event::process}, {"tid", &Event::thread},
                                    {"ts", &Event::start},    {"dur", &Event::length}};
// Of "args".
constexpr Member argument_members[] = {{"step", &Event::step},
                                       {"model_chunk", &Event::chunk},
                                       {"mb_id", &Event::micro_batch},
                                       {"seq_id", &Event::sequence},
                                       {"name", &Event::thread_name}};

class Reader {
 public:
  Reader(ByteSource& source, const std::vector<int64_t>& steps)
      : stream_(source), wanted_(steps.begin(), steps.end()) {
    record_.file = source.file();
    record_.format = "timeline of StragglerAnalysis";
  }

  StepRecord read() {
    if (stream_.peek() == '[') {
      read_events();
    } else {
      stream_.enter('{');
      std::string key;
      while (stream_.next_member(key)) key == "traceEvents" ? read_events() : stream_.skip();
    }
    place();
    add_notes();
    close_record(record_);
    return std::move(record_);
  }

 private:
  struct Thread {
    int64_t replica = 0;
    int64_t stage = -1;  // -1: its name does not say
    int64_t tensor = 0;
  };

  void read_events() {
    stream_.enter('[');
    Event event;
    while (stream_.next_item()) {
      read_event(event);
      if (stream_.has_ended_early()) break;  // the last one may be half of an event
      take(event);
    }
  }
  void read_event(Event& event);
  void read_member(Event& event, std::span<const Member> members);  // that key_ names
  void take(const Event& event);
  void take_operation(const Event& event, Recorded kind);
  uint32_t thread_of(const Event& event);
  int32_t small(const std::string& text, const char* name, int32_t otherwise) const;
  int64_t time_of(const std::string& text, const char* name) const;
  void place();
  void add_notes();
  [[noreturn]] void fail(const std::string& sentence) const {
    throw InputError(record_.file, "event " + std::to_string(events_) + ": " + sentence);
  }

  JsonStream stream_;
  std::set<int64_t> wanted_;
  std::set<int64_t> present_;
  StepRecord record_;
  int64_t events_ = 0;
  std::string key_;
  std::vector<uint32_t> thread_of_;  // of each operation
  std::vector<Thread> threads_;
  std::map<std::string, uint32_t> thread_numbers_;
  std::string place_;
  std::string last_place_;
  uint32_t last_thread_ = 0;
  std::map<int64_t, int32_t> step_numbers_;
  std::map<std::string, int64_t> unknown_;  // names of operations, and how many
  int64_t other_ranks_ = 0;
};

void Reader::read_event(Event& event) {
  for (const auto& [key, field] : event_members) (event.*field).clear();
  for (const auto& [key, field] : argument_members) (event.*field).clear();
  ++events_;
  if (stream_.peek() != '{') fail("expected an object");
  stream_.enter('{');
  while (stream_.next_member(key_)) {
    if (key_ == "args"sv && stream_.peek() == '{') {
      stream_.enter('{');
      while (stream_.next_member(key_)) read_member(event, argument_members);
    } else {
      read_member(event, event_members);
    }
  }
}

void Reader::read_member(Event& event, std::span<const Member> members) {
  for (const auto& [key, field] : members)
    if (key == key_) return stream_.read_word(event.*field);
  stream_.skip();
}

uint32_t Reader::thread_of(const Event& event) {
  place_ = event.process;
  place_ += ' ';
  place_ += event.thread;
  if (place_ == last_place_) return last_thread_;  // as most events
  last_place_ = place_;
  const auto [found, is_new] =
      thread_numbers_.try_emplace(place_, static_cast<uint32_t>(threads_.size()));
  if (is_new) {
    threads_.emplace_back();
    threads_.back().replica = small(event.process, "pid", 0);
  }
  return last_thread_ = found->second;
}

int32_t Reader::small(const std::string& text, const char* name, int32_t otherwise) const {
  if (text.empty()) return otherwise;
  const auto value = whole_number(text);
  if (!value || *value < -1 || *value > most_number)
    fail(std::string("\"") + name + "\" must be a whole number from 0 to " +
         std::to_string(most_number) + ", and is " + text.substr(0, 40));
  return *value < 0 ? otherwise : static_cast<int32_t>(*value);
}

int64_t Reader::time_of(const std::string& text, const char* name) const {
  const auto value = nanoseconds(text);
  if (!value)
    fail(std::string("\"") + name + "\" must be a time in microseconds, and is " +
         (text.empty() ? "not there" : "\"" + text.substr(0, 40) + "\""));
  return *value;
}

void Reader::take(const Event& event) {
  if (event.phase == "M") {
    if (event.name != "thread_name") return;
    Thread& thread = threads_[thread_of(event)];
    if (const auto stage = number_behind(event.thread_name, "PP rank ")) thread.stage = *stage;
    thread.tensor = number_behind(event.thread_name, "TP rank ").value_or(0);
    return;
  }
  if (event.phase != "X") return;
  const auto found = std::find(recorded_names.begin(), recorded_names.end(), event.name);
  if (found == recorded_names.end()) {
    if (unknown_.size() < 100 || unknown_.contains(event.name)) ++unknown_[event.name];
    return;
  }
  take_operation(event, static_cast<Recorded>(found - recorded_names.begin()));
}

void Reader::take_operation(const Event& event, Recorded kind) {
  const auto step = whole_number(event.step);
  if (!step)
    fail("\"args\" has no \"step\", a whole number; without it nobody knows which step " +
         std::string(name_of(kind)) + " is of");
  present_.insert(*step);
  if (!wanted_.empty() && !wanted_.contains(*step)) return;
  if (record_.operations.size() == most_recorded_operations)
    throw InputError(record_.file, "holds more than " + std::to_string(most_recorded_operations) +
                                       " operations; choose some steps with --steps");
  RecordedOperation one;
  one.kind = kind;
  one.start_ns = time_of(event.start, "ts");
  const int64_t length_ns = time_of(event.length, "dur");
  if (length_ns < 0) fail("\"dur\" is less than 0");
  if (length_ns > longest_step_ns) fail("\"dur\" is more than a day");
  one.end_ns = one.start_ns + length_ns;
  one.chunk = small(event.chunk, "model_chunk", 0);
  one.micro_batch = small(event.micro_batch, "mb_id", -1);
  one.sequence = small(event.sequence, "seq_id", 0);
  const auto [found, is_new] =
      step_numbers_.try_emplace(*step, static_cast<int32_t>(step_numbers_.size()));
  one.step = found->second;
  record_.overlaps = record_.overlaps || kind == Recorded::separate;
  thread_of_.push_back(thread_of(event));
  record_.operations.push_back(one);
}

// Replica and stage of each operation, by its thread; steps in the order of their numbers. Of ranks
// that count as one worker, the first is kept.
void Reader::place() {
  std::map<std::pair<int64_t, int64_t>, int64_t> first;  // tensor rank by replica and stage
  for (const uint32_t number : thread_of_) {
    const Thread& thread = threads_[number];
    if (thread.stage < 0)
      throw InputError(record_.file,
                       "a thread of pid " + std::to_string(thread.replica) +
                           " has no name \"PP rank S, TP rank T, ...\": which stage is it of?");
    const auto [found, is_new] = first.try_emplace({thread.replica, thread.stage}, thread.tensor);
    if (!is_new) found->second = std::min(found->second, thread.tensor);
  }
  std::vector<int32_t> order;
  for (const auto& [step, number] : step_numbers_) {
    order.resize(std::max<std::size_t>(order.size(), static_cast<std::size_t>(number) + 1));
    order[static_cast<std::size_t>(number)] = static_cast<int32_t>(record_.steps.size());
    record_.steps.push_back(step);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < record_.operations.size(); ++i) {
    const Thread& thread = threads_[thread_of_[i]];
    if (thread.tensor != first[{thread.replica, thread.stage}]) {
      ++other_ranks_;
      continue;
    }
    RecordedOperation one = record_.operations[i];
    one.replica = static_cast<int32_t>(thread.replica);
    one.stage = static_cast<int32_t>(thread.stage);
    one.step = order[static_cast<std::size_t>(one.step)];
    record_.operations[kept++] = one;
  }
  record_.operations.resize(kept);
}

void Reader::add_notes() {
  if (other_ranks_ > 0)
    record_.notes.push_back("of each tensor-parallel group the first rank counts; " +
                            std::to_string(other_ranks_) +
                            " operations of others were passed over");
  for (const auto& [name, count] : unknown_)
    record_.notes.push_back(std::to_string(count) + " of \"" + name.substr(0, 40) +
                            "\" were passed over: no rule says what waits for them");
  for (const int64_t step : wanted_)
    if (!step_numbers_.contains(step))
      throw no_such_step(record_.file, {step}, {present_.begin(), present_.end()});
  if (stream_.has_ended_early())
    record_.notes.emplace_back("the file is cut off; what follows is not known");
}

}  // namespace

bool is_pipeline_timeline(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == head.npos || (head[first] != '[' && head[first] != '{')) return false;
  for (const std::string_view name : {"\"forward-compute\"", "\"backward-compute\""})
    if (head.find(name) != head.npos) return true;
  return false;
}

StepRecord read_pipeline_timeline(ByteSource& source, const std::vector<int64_t>& steps) {
  return Reader(source, steps).read();
}

}  // namespace sgdsim
