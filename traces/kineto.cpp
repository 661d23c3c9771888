// Traces of PyTorch's profiler (Kineto): Chrome trace events, plain or gzip, one file per rank.
//
// The command reads any number of files piece by piece, with options (app/import/). This reads one
// text that is in memory, without options, as all formats can. Its parts are in traces/kineto/.
#include <algorithm>

#include "traces/kineto/to_trace.h"
#include "traces/registry.h"

namespace sgdsim {

// The beginning is enough: what stands before the events, or the first of them.
bool is_kineto(std::string_view text) {
  const std::string_view head = text.substr(0, 1 << 20);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const bool is_list = first != std::string_view::npos && head[first] == '[';
  if (!is_list && head.find("\"traceEvents\"") == std::string_view::npos) return false;
  for (const char* word :
       {"\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\"",
        "\"baseTimeNanoseconds\"", "ProfilerStep#", "\"cpu_op\"", "\"cuda_runtime\""})
    if (head.find(word) != std::string_view::npos) return true;
  return false;
}

Trace kineto(const LogText& log) {
  using namespace profiler;
  ByteSource source(log.text, log.file);
  Recording recording = recording_of({profile_of(read_events(source, nullptr), false)}, {});
  if (log.forward) recording.forward = std::min(*log.forward, recording.ready.front());
  return trace_of(recording, std::nullopt, trace_from(log, "kineto").name).trace;
}

}  // namespace sgdsim
