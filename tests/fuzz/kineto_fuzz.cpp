// Whatever bytes come, plain or as gzip, the reader of profiles answers with a trace that reads
// back, or with an InputError; and the reader of execution traces likewise.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/core/error.h"
#include "study/import/kineto_case.h"
#include "traces/kineto/execution_link.h"
#include "traces/kineto/to_trace.h"
#include "traces/trace_file.h"

namespace {

void import(const std::string& text, const sgdsim::profiler::NamePattern* others) {
  using namespace sgdsim;
  using namespace sgdsim::profiler;
  try {
    ByteSource source(text, "fuzz.json");
    const Recording recording =
        recording_of({profile_of(read_events(source, others), others != nullptr)}, {});
    const ImportedStep step = trace_of(recording, std::nullopt, "fuzz");
    const Document document = Document::parse(to_text(step.trace), "fuzz.trace");
    assert(read_trace(document.root()).layers == step.trace.layers);
    replay_case(recording, step, std::nullopt);
  } catch (const InputError&) {
    // A refusal is an answer.
  }
}

// The same bytes as an execution trace, linked with its own gradients.
void read_traced(const std::string& text) {
  using namespace sgdsim;
  using namespace sgdsim::profiler;
  try {
    ByteSource traced(text, "fuzz.json");
    const ExecutionTrace trace = read_execution_trace(traced);
    assert(trace.nodes > 0);
    for (const auto& step : steps_of(trace).gradients) assert(!step.empty());
    for (const auto& [name, elements] : parameters_of(trace).parameters) assert(elements > 0);
    ProfileRecords records;
    for (const TracedGradient& one : trace.gradients)
      records.operators.push_back({.function_id = one.function_id, .kind = one.kind});
    link_with(trace, records);
  } catch (const InputError&) {
    // A refusal is an answer.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const sgdsim::profiler::NamePattern pattern("all|reduce", "fuzz");
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  import(text, nullptr);
  import(text, &pattern);
  read_traced(text);
  return 0;
}
