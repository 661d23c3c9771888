// Timelines of Horovod, written by rank 0 while the job runs: a JSON array that may lack its end,
// or be only begun.
//
//   {"name":"process_name","ph":"M","pid":3,"args":{"name":"DistributedOptimizer_Allreduce/..."}},
//   {"ph":"B","name":"NEGOTIATE_ALLREDUCE","ts":12345,"pid":3},
//   {"ph":"X","name":"0","ts":12346,"pid":3,"dur":0},   rank 0 has this tensor
//   {"ph":"E","ts":12350,"pid":3}, ...
//
// Every tensor is a process. From the first rank that has it to the last it is negotiated; then
// it goes, maybe with others in one buffer, within ALLREDUCE, as NCCL_ALLREDUCE, MPI_ALLREDUCE and
// alike. The end of ALLREDUCE may tell type and shape. A step is the time from one negotiation of a
// tensor to the next, of a tensor that goes as often as most do: gradients go once a step, metrics
// as often as their program likes.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "sim/core/nearest_rank.h"
#include "traces/complete.h"
#include "traces/json_members.h"
#include "traces/measurement/words.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

constexpr double latest_us = 0x1p52;
constexpr int64_t largest_message_B = int64_t{1} << 62;

int64_t bytes_of_element(const std::string& type) {
  if (type == "float64" || type == "int64") return 8;
  if (type == "float32" || type == "int32") return 4;
  if (type == "float16" || type == "bfloat16" || type == "int16" || type == "uint16") return 2;
  return type == "int8" || type == "uint8" || type == "bool" ? 1 : 0;
}

// {"dtype": "float32", "shape": "[64, 3]"}; empty if it is not all known.
std::optional<int64_t> bytes_in(const Json& event) {
  const auto arguments = event.find("args");
  if (arguments == event.end() || !arguments->is_object()) return std::nullopt;
  int64_t bytes = bytes_of_element(text_member(*arguments, "dtype"));
  const std::string shape = text_member(*arguments, "shape");
  if (bytes == 0 || shape.size() < 2 || shape.front() != '[' || shape.back() != ']')
    return std::nullopt;
  const std::string_view lengths = std::string_view(shape).substr(1, shape.size() - 2);
  if (lengths.empty()) return bytes;  // of no dimension: one element
  for (const std::string_view word : split(lengths)) {
    const auto length = whole_word(word);
    if (!length || __builtin_mul_overflow(bytes, *length, &bytes) || bytes > largest_message_B)
      return std::nullopt;
  }
  return bytes;
}

// The objects of an array, whatever stands between them.
class ObjectScanner {
 public:
  explicit ObjectScanner(std::string_view text) : rest_(text) {}

  // Nothing at the end; `is_cut_off` if the last object has no end.
  std::string_view next(bool& is_cut_off) {
    const std::size_t from = rest_.find('{');
    if (from == std::string_view::npos) return {};
    int64_t depth = 0;
    bool is_text = false;
    for (std::size_t i = from; i < rest_.size(); ++i) {
      const char letter = rest_[i];
      if (is_text && letter == '\\') {
        ++i;
      } else if (letter == '"') {
        is_text = !is_text;
      } else if (!is_text && letter == '{') {
        ++depth;
      } else if (!is_text && letter == '}' && --depth == 0) {
        const std::string_view object = rest_.substr(from, i + 1 - from);
        rest_.remove_prefix(i + 1);
        return object;
      }
    }
    is_cut_off = true;
    rest_ = {};
    return {};
  }

 private:
  std::string_view rest_;
};

struct OpenPhase {
  std::string name;
  double from_us = 0;
};

struct TimelineTensor {
  std::string name;
  std::vector<OpenPhase> open;
  std::vector<double> negotiated_us;  // when each negotiation began
  std::vector<double> waits_us;
  std::vector<double> transfers_us;
  double transfer_us = 0;        // of the exchange that goes on
  std::optional<int64_t> bytes;  // of the last
};

// The tensors that are negotiated so many times.
struct AlikeTensors {
  const TimelineTensor* first = nullptr;
  std::size_t count = 0;
  double transfer_us = 0;  // the longest of their medians
};

using AlikeByTimes = std::map<std::size_t, AlikeTensors>;

void add_to(AlikeByTimes& groups, const TimelineTensor& tensor) {
  AlikeTensors& group = groups[tensor.waits_us.size()];
  if (group.first == nullptr) group.first = &tensor;
  ++group.count;
  if (!tensor.transfers_us.empty())
    group.transfer_us = std::max(group.transfer_us, median_of(tensor.transfers_us));
}

// Most tensors are gradients. Of equally many the larger ones are, and of those the rarer; what
// goes once only makes no step.
const TimelineTensor& most_common(const AlikeByTimes& groups) {
  const auto order = [](const auto& group) {
    return std::tuple(group.first > 1, group.second.count, group.second.transfer_us);
  };
  const auto most =
      std::max_element(groups.begin(), groups.end(),
                       [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return *most->second.first;
}

bool is_transfer(const std::string& name) {
  for (const char* const library : {"NCCL_", "MPI_", "GLOO_", "CCL_", "DDL_", "ADASUM_"})
    if (name.starts_with(library)) return true;
  return false;
}

class HorovodReader {
 public:
  explicit HorovodReader(const LogText& log) : log_(log) { run_.file = log.file; }
  StepRun read();

 private:
  void read_event(const Json& event);
  void end(TimelineTensor& tensor, const Json& event, double us);
  void add_steps();
  void add_notes();

  const LogText& log_;
  StepRun run_;
  std::map<int64_t, TimelineTensor> tensors_;
  std::set<std::string> ranks_;
  int64_t broken_ = 0;
  int64_t unmatched_ = 0;
  bool is_cut_off_ = false;
};

void HorovodReader::end(TimelineTensor& tensor, const Json& event, double us) {
  if (tensor.open.empty()) {
    ++unmatched_;
    return;
  }
  const OpenPhase phase = tensor.open.back();
  tensor.open.pop_back();
  const double length_us = us - phase.from_us;
  if (!(length_us >= 0)) {
    ++broken_;
    return;
  }
  if (phase.name == "NEGOTIATE_ALLREDUCE") {
    tensor.negotiated_us.push_back(phase.from_us);
    tensor.waits_us.push_back(length_us);
  }
  if (is_transfer(phase.name)) tensor.transfer_us += length_us;
  if (phase.name == "ALLREDUCE") {
    tensor.transfers_us.push_back(tensor.transfer_us > 0 ? tensor.transfer_us : length_us);
    tensor.transfer_us = 0;
    if (const auto bytes = bytes_in(event)) tensor.bytes = bytes;
  }
}

void HorovodReader::read_event(const Json& event) {
  const std::string kind = text_member(event, "ph");
  const auto tensor_number = whole_member(event, "pid", 0, INT64_MAX);
  if (!tensor_number) {
    // Marks of cycles belong to no tensor.
    if (kind != "i" && kind != "I" && kind != "M") ++broken_;
    return;
  }
  TimelineTensor& tensor = tensors_[*tensor_number];
  if (kind == "M") {
    const auto arguments = event.find("args");
    if (text_member(event, "name") == "process_name" && arguments != event.end() &&
        arguments->is_object())
      tensor.name = printable(text_member(*arguments, "name").substr(0, 200));
    return;
  }
  const auto us = number_member(event, "ts");
  if (kind == "X") {
    const std::string name = text_member(event, "name");
    const bool is_rank = !name.empty() && name.size() < 9 &&
                         name.find_first_not_of("0123456789") == std::string::npos;
    if (is_rank) ranks_.insert(name);
    return;
  }
  if (kind != "B" && kind != "E") return;
  if (!us || !(*us >= 0) || *us > latest_us) {
    ++broken_;
  } else if (kind == "E") {
    end(tensor, event, *us);
  } else {
    tensor.open.push_back({text_member(event, "name"), *us});
  }
}

void HorovodReader::add_steps() {
  AlikeByTimes groups;
  for (const auto& one : tensors_) {
    const TimelineTensor& tensor = one.second;
    if (tensor.waits_us.empty()) continue;
    add_to(groups, tensor);
    TensorExchange exchange;
    exchange.name = tensor.name.empty() ? "tensor " + std::to_string(one.first) : tensor.name;
    exchange.count = static_cast<int64_t>(tensor.waits_us.size());
    exchange.wait = Duration::nearest_ps(median_of(tensor.waits_us) * 1e6);
    if (!tensor.transfers_us.empty())
      exchange.transfer = Duration::nearest_ps(median_of(tensor.transfers_us) * 1e6);
    if (tensor.bytes) exchange.size = Bytes(*tensor.bytes);
    run_.exchanges.push_back(exchange);
  }
  if (groups.empty()) return;
  const TimelineTensor& most = most_common(groups);
  for (std::size_t i = 1; i < most.negotiated_us.size(); ++i) {
    const double step_us = most.negotiated_us[i] - most.negotiated_us[i - 1];
    if (step_us > 0 && step_us <= longest_step.us())
      run_.steps.push_back(Duration::nearest_ps(step_us * 1e6));
    else
      ++broken_;
  }
  run_.notes.push_back("a step is the time from one negotiation of \"" +
                       (most.name.empty() ? "a tensor without a name" : most.name) +
                       "\" to the next, as rank 0 sees it");
}

void HorovodReader::add_notes() {
  const auto note = [&](int64_t count, const std::string& text) {
    if (count > 0)
      run_.notes.push_back(std::to_string(count) + (count == 1 ? " event" : " events") +
                           " dropped: " + text);
  };
  note(broken_, "no number, or times that run backwards");
  note(unmatched_, "the end of a phase that has not begun");
  if (is_cut_off_) run_.notes.emplace_back("the last event was cut off");
  std::size_t open = 0;
  for (const auto& one : tensors_)
    for (const OpenPhase& phase : one.second.open)
      if (phase.name == "NEGOTIATE_ALLREDUCE" || phase.name == "ALLREDUCE") ++open;
  if (open > 0)
    run_.notes.push_back("all-reduces that were not over at the end: " + std::to_string(open));
  if (!ranks_.empty())
    run_.notes.push_back(std::to_string(ranks_.size()) +
                         (ranks_.size() == 1 ? " rank takes" : " ranks take") + " part");
  const bool has_sizes =
      std::any_of(run_.exchanges.begin(), run_.exchanges.end(),
                  [](const TensorExchange& one) { return one.size.has_value(); });
  if (!has_sizes) run_.notes.emplace_back("this timeline does not tell sizes");
  run_.notes.emplace_back(
      "tensors that went in one buffer each have its whole time as their transfer, so that no link "
      "can be fitted to them");
}

StepRun HorovodReader::read() {
  ObjectScanner scanner(log_.text);
  while (true) {
    const std::string_view object = scanner.next(is_cut_off_);
    if (object.empty()) break;
    if (const auto event = foreign_value(object, log_.file); event && event->is_object())
      read_event(*event);
    else
      ++broken_;
  }
  add_steps();
  if (run_.exchanges.empty())
    throw InputError(log_.file, tensors_.empty() ? "the timeline has no events yet"
                                                 : "no all-reduce was negotiated to its end "
                                                   "(NEGOTIATE_ALLREDUCE) in this timeline");
  add_notes();
  return run_;
}

}  // namespace

bool is_horovod(std::string_view text) {
  return first_of_json(text) == '[' && text.find("NEGOTIATE_") != std::string_view::npos;
}

StepRun horovod(const LogText& log) { return HorovodReader(log).read(); }

}  // namespace sgdsim
