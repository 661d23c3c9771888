// Whatever bytes come, the readers of traces answer with a trace or an InputError; and a trace that
// was read from JSON is written so that it reads back.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/core/error.h"
#include "traces/registry.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

std::optional<Trace> read(const std::string& text) {
  try {
    return read_trace(Document::parse(text, "fuzz.json").root());
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace
}  // namespace sgdsim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  if (const auto trace = read(text)) assert(read(to_text(*trace)) == trace);
  for (const TraceFormat& format : trace_formats) {
    try {
      to_text(format.read({text, "fuzz.log", {}}));
    } catch (const InputError&) {
      // A refusal is an answer.
    }
  }
  return 0;
}
