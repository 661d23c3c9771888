// Whatever bytes come, plain or as gzip, the reader of profiles answers with a trace that reads
// back, or with an InputError.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "app/import/kineto_case.h"
#include "sim/core/error.h"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const sgdsim::profiler::NamePattern pattern("all|reduce", "fuzz");
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  import(text, nullptr);
  import(text, &pattern);
  return 0;
}
