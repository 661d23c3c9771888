// Whatever bytes come, the readers of recorded steps answer with a diagnosis or with an InputError.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "models/diagnose/clocks.h"
#include "models/diagnose/diagnosis.h"
#include "sim/core/error.h"
#include "traces/recorded/own_timeline.h"
#include "traces/recorded/pipeline_timeline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const bool is_own : {false, true}) {
    try {
      ByteSource source(text, "fuzz.json");
      const StepRecord record =
          is_own ? read_own_timeline(source, {}) : read_pipeline_timeline(source, {});
      const diagnose::ClockedWork found =
          diagnose::clocked_work(record, diagnose::ClockRule::by_record, true);
      const diagnose::Diagnosis answer = diagnose::diagnose(found.work);
      assert(answer.steps_s.size() == found.work.steps.size());
      assert(!answer.stages.empty() && !answer.replicas.empty());
    } catch (const InputError&) {
      // A refusal is an answer.
    }
  }
  return 0;
}
