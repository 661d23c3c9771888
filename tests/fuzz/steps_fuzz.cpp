// Whatever bytes come, the readers of logs of steps answer with a run or an InputError, and every
// run that has steps can be summed up.
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "sim/core/error.h"
#include "traces/steps/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const StepsFormat& format : steps_formats) {
    format.fits(text);
    try {
      const StepRun run = format.read({text, "fuzz.log", {}});
      if (run.steps.empty()) continue;
      const StepSummary summary = summary_of(run);
      assert(summary.median > Duration() && summary.p95 >= summary.median);
      assert(!summary.autocorrelation || *summary.autocorrelation <= 1.000001);
    } catch (const InputError&) {
      // A refusal is an answer.
    }
  }
  return 0;
}
