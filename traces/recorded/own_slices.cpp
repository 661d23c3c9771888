// Only slices and names of processes are kept.
#include "traces/recorded/own_slices.h"

#include <algorithm>

#include "sim/core/error.h"
#include "traces/kineto/event_fields.h"
#include "traces/kineto/json_stream.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

using profiler::JsonStream;

class SliceReader {
 public:
  explicit SliceReader(ByteSource& source) : file_(source.file()), stream_(source) {}

  OwnSlices read() {
    stream_.enter('{');
    std::string key;
    while (stream_.next_member(key)) {
      if (key == "otherData")
        read_about();
      else if (key == "traceEvents")
        read_events();
      else
        stream_.skip();
    }
    found_.is_cut_off = stream_.has_ended_early();
    return std::move(found_);
  }

 private:
  void read_about() {
    if (stream_.peek() != '{') return stream_.skip();
    stream_.enter('{');
    while (stream_.next_member(key_))
      if (key_ == "config")
        stream_.read_word(found_.config);
      else if (key_ == "command")
        stream_.read_word(found_.command);
      else
        stream_.skip();
  }

  void read_events() {
    stream_.enter('[');
    while (stream_.next_item()) {
      if (stream_.peek() != '{') fail("expected an object");
      ++events_;
      read_event();
      if (stream_.has_ended_early()) return;
      if (phase_ == "M" && slice_.name == "process_name")
        found_.processes.emplace_back(slice_.process, process_name_);
      if (phase_ != "X") continue;
      if (found_.slices.size() == most_recorded_operations)
        throw InputError(file_, "holds more than " + std::to_string(most_recorded_operations) +
                                    " slices; write fewer iterations");
      if (length_ns_ < 0) fail("\"dur\" is less than 0");
      slice_.end_ns = slice_.start_ns + length_ns_;
      found_.slices.push_back(slice_);
    }
  }

  void read_event() {
    slice_ = OwnSlice();
    phase_.clear();
    process_name_.clear();
    length_ns_ = 0;
    stream_.enter('{');
    while (stream_.next_member(key_)) {
      if (key_ == "ph")
        stream_.read_word(phase_);
      else if (key_ == "name")
        stream_.read_word(slice_.name);
      else if (key_ == "cat")
        stream_.read_word(slice_.category);
      else if (key_ == "pid")
        slice_.process = whole("pid", 0, most_recorded_workers);
      else if (key_ == "ts")
        slice_.start_ns = time("ts");
      else if (key_ == "dur")
        length_ns_ = time("dur");
      else if (key_ == "args" && stream_.peek() == '{')
        read_arguments();
      else
        stream_.skip();
    }
  }

  void read_arguments() {
    stream_.enter('{');
    while (stream_.next_member(key_)) {
      if (key_ == "iteration")
        slice_.iteration = whole("iteration", 0, INT32_MAX);
      else if (key_ == "chunk")
        slice_.chunk = whole("chunk", 0, most_number);
      else if (key_ == "micro_batch")
        slice_.micro_batch = whole("micro_batch", 0, most_number);
      else if (key_ == "layer")
        slice_.layer = whole("layer", 0, INT32_MAX);
      else if (key_ == "pass")
        stream_.read_word(slice_.pass);
      else if (key_ == "name")
        stream_.read_word(process_name_);
      else if (key_ == "layers" && stream_.peek() == '[')
        read_layers();
      else
        stream_.skip();
    }
  }

  void read_layers() {
    std::vector<int64_t> layers;
    stream_.enter('[');
    while (stream_.next_item()) layers.push_back(whole("layers", 0, INT32_MAX));
    if (layers.size() != 2) fail("\"layers\" must be a first and a last layer");
    slice_.first_layer = std::min(layers[0], layers[1]);
    slice_.last_layer = std::max(layers[0], layers[1]);
  }

  int64_t whole(const char* name, int64_t least, int64_t most) {
    stream_.read_word(word_);
    const auto value = profiler::whole_number(word_);
    if (!value || *value < least || *value > most)
      fail(std::string("\"") + name + "\" must be a whole number from " + std::to_string(least) +
           " to " + std::to_string(most));
    return *value;
  }
  int64_t time(const char* name) {
    stream_.read_word(word_);
    const auto value = profiler::nanoseconds(word_);
    if (!value) fail(std::string("\"") + name + "\" must be a time in microseconds");
    return *value;
  }
  [[noreturn]] void fail(const std::string& sentence) const {
    throw InputError(file_, "event " + std::to_string(events_) + ": " + sentence);
  }

  static constexpr int64_t most_number = most_recorded_number;
  std::string file_;
  JsonStream stream_;
  OwnSlices found_;
  OwnSlice slice_;
  int64_t length_ns_ = 0;
  int64_t events_ = 0;
  std::string key_;
  std::string word_;
  std::string phase_;
  std::string process_name_;
};

}  // namespace

OwnSlices read_own_slices(ByteSource& source) { return SliceReader(source).read(); }

}  // namespace sgdsim
