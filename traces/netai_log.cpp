// Logs per gradient of the study "Is Network the Bottleneck of Distributed Training?" (Zhang et
// al., NetAI 2020; repository netx-repo/training-bottleneck): a line of free text, the number of
// batches, the number of tensors, then `wait_us,bytes` per tensor in backward order. The wait for a
// gradient after the one before it is taken as its backward time, so its ready time is right and a
// tensor that comes with its neighbour has none. Gradients are of 4 bytes per parameter.
#include <algorithm>

#include "sim/core/error.h"
#include "traces/complete.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

constexpr std::size_t lines_before = 3;

Layer read_layer(const LogLine& line) {
  const auto fields = split(line.text);
  if (fields.size() != 2)
    throw InputError(line.where,
                     "expected wait_us,bytes, got " + std::to_string(fields.size()) + " fields");
  Layer layer;
  layer.backward = time_in(fields[0], Duration::us(1), "wait_us", line.where);
  const int64_t size_B =
      whole_in(fields[1], "bytes", 0, usual_bytes_per_parameter * most_parameters, line.where);
  if (size_B % usual_bytes_per_parameter != 0)
    throw InputError(line.where, "expected bytes of whole parameters of 4 bytes, got \"" +
                                     std::string(fields[1]) + "\"");
  layer.gradient = Bytes(size_B);
  layer.parameters = size_B / usual_bytes_per_parameter;
  return layer;
}

}  // namespace

bool is_netai_log(std::string_view text) {
  constexpr std::size_t longest_head = 4096;
  const LogText head{std::string(text.substr(0, longest_head)), "", {}};
  const std::vector<LogLine> lines = lines_of(head);
  const auto is_number = [](std::string_view word) {
    return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
  };
  if (lines.size() <= lines_before || !is_number(lines[1].text) || !is_number(lines[2].text))
    return false;
  const auto fields = split(lines[3].text);
  return fields.size() == 2 && is_number(fields[0]) && is_number(fields[1]);
}

Trace netai_log(const LogText& log) {
  std::vector<LogLine> lines = lines_of(log);
  while (!lines.empty() && lines.back().text.empty()) lines.pop_back();
  if (lines.size() < lines_before)
    throw InputError(log.file,
                     "expected a line of text, the number of batches and the number of tensors");
  // What the waits of several batches would mean is not documented.
  whole_in(lines[1].text, "the number of batches", 1, 1, lines[1].where);
  const auto count = static_cast<std::size_t>(
      whole_in(lines[2].text, "the number of tensors", 1, most_layers, lines[2].where));
  if (lines.size() - lines_before != count)
    throw InputError(log.file, "expected " + std::to_string(count) + " tensors, got " +
                                   std::to_string(lines.size() - lines_before));
  Trace trace = trace_from(log, "netai-log");
  for (std::size_t i = lines_before; i < lines.size(); ++i)
    trace.layers.push_back(read_layer(lines[i]));
  std::reverse(trace.layers.begin(), trace.layers.end());
  for (std::size_t i = 0; i < count; ++i) trace.layers[i].name = "tensor " + std::to_string(i + 1);
  complete(trace, log);
  return trace;
}

}  // namespace sgdsim
