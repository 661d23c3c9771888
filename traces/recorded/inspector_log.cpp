// {"header":{"id":"0x7f8c","comm_name":"dp","rank":2,"n_ranks":8},"metadata":{...},
//  "coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":1024,
//   "event_trace_ts":{"kernel_events":[{"kernel_start_ts":1,"kernel_stop_ts":2}]}}}
//
// Objects stand one after another, each on a line. coll_start_ts and coll_stop_ts are those of the
// call on the CPU, so that only kernels tell when the exchange was.
#include <algorithm>
#include <charconv>
#include <limits>

#include "sim/core/error.h"
#include "traces/kineto/json_stream.h"
#include "traces/recorded/job_logs.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

using profiler::JsonStream;

constexpr int64_t none = -1;
// A line; what it does not say is empty or none.
struct Line {
  std::string id;
  std::string name;
  std::string operation;
  int64_t rank = none;
  int64_t ranks = none;
  int64_t number = none;
  int64_t size_B = none;
  int64_t start_us = none;
  int64_t stop_us = none;
};

class InspectorLogReader {
 public:
  explicit InspectorLogReader(ByteSource& source) : source_(source), stream_(source) {
    log_.file = source.file();
  }

  ExchangeLog read() {
    while (stream_.peek() != '\0') {
      line_ = Line();
      read_line();
      if (stream_.has_ended_early()) break;  // the last one may be half of a line
      take();
    }
    log_.is_cut_off = is_open_ || source_.is_damaged();
    if (log_.exchanges.empty())
      throw InputError(source_.file(), untimed_ > 0
                                           ? "says of none of its " + std::to_string(untimed_) +
                                                 " collectives when their kernels ran; record with "
                                                 "NCCL_INSPECTOR_DUMP_VERBOSE=1"
                                           : "holds no collective of NCCL's Inspector");
    return std::move(log_);
  }

 private:
  // Members of an object, each by f(its name); what f does not read is skipped.
  template <class F>
  void for_each_member(const F& f) {
    if (stream_.peek() != '{') return stream_.skip();
    stream_.enter('{');
    std::string key;
    while (stream_.next_member(key))
      if (!f(key)) stream_.skip();
  }
  bool read_text(std::string& text) {
    stream_.read_word(text);
    return true;
  }
  bool read_number(int64_t& number) {
    stream_.read_word(word_);
    const char* const end = word_.data() + word_.size();
    int64_t value = 0;
    const auto [rest, problem] = std::from_chars(word_.data(), end, value);
    number = problem == std::errc{} && rest == end && value >= 0 ? value : none;
    return true;
  }

  void read_line() {
    is_open_ = true;
    for_each_member([&](const std::string& key) {
      if (key == "header") {
        read_header();
      } else if (key == "coll_perf") {
        read_collective();
      } else {
        return false;
      }
      return true;
    });
    is_open_ = stream_.has_ended_early();
  }
  void read_header() {
    for_each_member([&](const std::string& key) {
      if (key == "id") return read_text(line_.id);
      if (key == "comm_name") return read_text(line_.name);
      if (key == "rank") return read_number(line_.rank);
      return key == "n_ranks" && read_number(line_.ranks);
    });
  }
  void read_collective() {
    for_each_member([&](const std::string& key) {
      if (key == "coll") return read_text(line_.operation);
      if (key == "coll_sn") return read_number(line_.number);
      if (key == "coll_msg_size_bytes") return read_number(line_.size_B);
      if (key != "event_trace_ts") return false;
      read_stamps();
      return true;
    });
  }
  void read_stamps() {
    for_each_member([&](const std::string& key) {
      if (key != "kernel_events" || stream_.peek() != '[') return false;
      stream_.enter('[');
      while (stream_.next_item()) read_kernel();
      return true;
    });
  }
  // Each channel has a kernel of its own.
  void read_kernel() {
    int64_t start_us = none;
    int64_t stop_us = none;
    for_each_member([&](const std::string& key) {
      if (key == "kernel_start_ts") return read_number(start_us);
      return key == "kernel_stop_ts" && read_number(stop_us);
    });
    if (start_us <= 0 || stop_us < start_us || stop_us > latest_log_us) return;
    line_.start_us = line_.start_us == none ? start_us : std::min(line_.start_us, start_us);
    line_.stop_us = std::max(line_.stop_us, stop_us);
  }

  void take() {
    if (line_.operation.empty()) return;
    if (line_.id.empty() || line_.ranks < 1 || line_.rank < 0 || line_.rank >= line_.ranks ||
        line_.ranks > most_recorded_workers || line_.size_B < 0)
      return;
    if (line_.start_us == none) {
      ++untimed_;
      return;
    }
    check_room(log_);
    LoggedExchange one;
    one.group = log_.group_with(line_.id);
    LoggedGroup& group = log_.groups[static_cast<std::size_t>(one.group)];
    if (line_.name != "unknown") group.name = line_.name;
    group.ranks = line_.ranks;
    group.rank = line_.rank;
    one.operation = operation_of(line_.operation);
    one.number = line_.number;
    one.size_B = line_.size_B;
    one.start_ns = line_.start_us * 1000;
    one.end_ns = line_.stop_us * 1000;
    log_.exchanges.push_back(one);
  }
  uint8_t operation_of(const std::string& name) {
    const auto found = std::find(operations_.begin(), operations_.end(), name);
    if (found != operations_.end()) return static_cast<uint8_t>(found - operations_.begin());
    if (operations_.size() == std::numeric_limits<uint8_t>::max())
      throw InputError(source_.file(), "names more than 255 kinds of collectives");
    operations_.push_back(name);
    return static_cast<uint8_t>(operations_.size() - 1);
  }

  ByteSource& source_;
  JsonStream stream_;
  ExchangeLog log_;
  Line line_;
  std::string word_;
  std::vector<std::string> operations_ = {"AllReduce", "ReduceScatter", "AllGather", "Broadcast",
                                          "Reduce"};
  int64_t untimed_ = 0;
  bool is_open_ = false;
};

}  // namespace

ExchangeLog inspector_log(ByteSource& source) { return InspectorLogReader(source).read(); }

}  // namespace sgdsim
