// Logs of B-Caffe (repository shyhuai/B-Caffe), one line per learnable blob:
//   I0219 13:29:27.119763 66221 distributed.cpp:112] [param_id, parameters, backward_us, comm_us]
// in forward order, with a fifth number in later builds. Weights and bias of a layer repeat the
// backward time of the layer: it is counted once, and the two become one layer of two tensors.
// A log holds one dump or several; the last that was profiled (not all zero) and is as long as any
// counts, for the end of a log may be missing. Parameter counts include the padding of B-Caffe.
// Communication times are not part of a trace.
#include <algorithm>

#include "sim/core/error.h"
#include "traces/complete.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

constexpr std::string_view mark = "distributed.cpp:";

struct Blob {
  int64_t parameters = 0;
  Duration backward;
};

using Dump = std::vector<Blob>;

// What stands in the last brackets of the line.
std::string_view bracketed(const LogLine& line) {
  const std::size_t open = line.text.rfind('[');
  if (open == std::string_view::npos || line.text.back() != ']')
    throw InputError(line.where,
                     "expected [param_id, parameters, backward_us, comm_us] at the end");
  return line.text.substr(open + 1, line.text.size() - open - 2);
}

void read_blob(const LogLine& line, std::vector<Dump>& dumps) {
  const auto fields = split(bracketed(line));
  if (fields.size() != 4 && fields.size() != 5)
    throw InputError(line.where, "expected 4 or 5 numbers, got " + std::to_string(fields.size()));
  const auto most = static_cast<int64_t>(2 * most_layers);
  const int64_t id = whole_in(fields[0], "param_id", 0, most, line.where);
  if (id == 0) dumps.emplace_back();
  const auto next = static_cast<int64_t>(dumps.empty() ? 0 : dumps.back().size());
  if (id != next)
    throw InputError(line.where,
                     "expected param_id " + std::to_string(next) + ", got " + std::to_string(id));
  for (std::size_t i = 3; i < fields.size(); ++i)
    number_in(fields[i], "a communication time", line.where);
  dumps.back().push_back(
      {.parameters = whole_in(fields[1], "parameters", 0, most_parameters, line.where),
       .backward = time_in(fields[2], Duration::us(1), "backward_us", line.where)});
}

bool was_profiled(const Dump& dump) {
  for (const Blob& blob : dump)
    if (blob.backward > Duration{}) return true;
  return false;
}

// A log that ends within a line ends within a dump.
bool is_cut_off(const LogText& log, const LogLine& line) {
  const auto end = static_cast<std::size_t>(line.text.data() - log.text.data()) + line.text.size();
  return log.text.find('\n', end) == std::string::npos && !line.text.ends_with(']');
}

std::vector<Dump> dumps_in(const LogText& log) {
  std::vector<Dump> dumps;
  for (const LogLine& line : lines_of(log)) {
    if (line.text.find(mark) == std::string_view::npos) continue;
    if (dumps.size() > 1 && is_cut_off(log, line)) break;
    read_blob(line, dumps);
  }
  return dumps;
}

std::size_t longest_of(const std::vector<Dump>& dumps) {
  std::size_t longest = 0;
  for (const Dump& dump : dumps) longest = std::max(longest, dump.size());
  return longest;
}

const Dump& last_whole(const std::vector<Dump>& dumps, const std::string& file) {
  if (dumps.empty())
    throw InputError(file, "no line of " + std::string(mark) +
                               " with [param_id, parameters, backward_us, comm_us]");
  const std::size_t longest = longest_of(dumps);
  const Dump* shorter = nullptr;
  for (auto dump = dumps.rbegin(); dump != dumps.rend(); ++dump) {
    if (!was_profiled(*dump)) continue;
    if (dump->size() == longest) return *dump;
    if (shorter == nullptr) shorter = &*dump;
  }
  if (shorter == nullptr) throw InputError(file, "all backward times are 0: not yet profiled");
  throw InputError(file, "was cut off: what was profiled ends after " +
                             std::to_string(shorter->size()) + " of " + std::to_string(longest) +
                             " blobs");
}

// Those behind the one that counts.
void note_dropped(const std::vector<Dump>& dumps, const Dump& taken, Trace& trace) {
  for (const Dump* dump = &taken + 1; dump != dumps.data() + dumps.size(); ++dump)
    if (was_profiled(*dump))
      trace.notes.push_back("a later dump was left out: it ends after " +
                            std::to_string(dump->size()) + " of " + std::to_string(taken.size()) +
                            " blobs");
}

}  // namespace

bool is_b_caffe_log(std::string_view text) {
  return text.find("distributed.cpp:") != std::string_view::npos;
}

Trace b_caffe_log(const LogText& log) {
  const std::vector<Dump> dumps = dumps_in(log);
  const Dump& dump = last_whole(dumps, log.file);
  Trace trace = trace_from(log, "b-caffe-log");
  note_dropped(dumps, dump, trace);
  trace.framework = "B-Caffe";
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const Blob& blob = dump[i];
    const bool is_bias = !trace.layers.empty() && trace.layers.back().tensors.size() == 1 &&
                         trace.layers.back().backward == blob.backward;
    if (!is_bias) {
      trace.layers.emplace_back();
      trace.layers.back().name = "blob " + std::to_string(i);
      trace.layers.back().backward = blob.backward;
    }
    Layer& layer = trace.layers.back();
    layer.parameters += blob.parameters;
    layer.gradient = Bytes(4 * layer.parameters);
    layer.tensors.push_back(blob.parameters);
  }
  complete(trace, log);
  return trace;
}

}  // namespace sgdsim
