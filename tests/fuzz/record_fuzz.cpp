// Whatever bytes come, the readers of recorded steps answer with a diagnosis or with an InputError.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "models/diagnose/clocks.h"
#include "models/diagnose/diagnosis.h"
#include "sim/core/error.h"
#include "traces/recorded/job_logs.h"
#include "traces/recorded/own_timeline.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

// The log of a process, and the same of its neighbour.
StepRecord record_of_two_logs(const std::string& text) {
  ByteSource source(text, "fuzz.log");
  const ExchangeLog log = inspector_log(source);
  ExchangeLog other = log;
  other.file = "neighbour.log";
  for (LoggedGroup& group : other.groups) group.rank = (group.rank + 1) % group.ranks;
  return record_of_logs({log, other}, {}, "fuzz", "logs", {}, {});
}

void diagnose_record(const StepRecord& record) {
  const diagnose::ClockedWork found = diagnose::clocked_work(record, diagnose::ClockRule::by_record,
                                                             diagnose::Clocks::said_to_agree);
  const diagnose::Diagnosis answer = diagnose::diagnose(found.work);
  assert(answer.steps_s.size() == found.work.steps.size());
  assert(!answer.stages.empty() && !answer.replicas.empty());
}

}  // namespace
}  // namespace sgdsim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  using Read = StepRecord (*)(const std::string& text);
  constexpr Read readers[] = {[](const std::string& one) {
                                ByteSource source(one, "fuzz.json");
                                return read_own_timeline(source, {});
                              },
                              [](const std::string& one) {
                                ByteSource source(one, "fuzz.json");
                                return read_pipeline_timeline(source, {});
                              },
                              record_of_two_logs};
  for (const Read read : readers) {
    try {
      diagnose_record(read(text));
    } catch (const InputError&) {
      // A refusal is an answer.
    }
  }
  return 0;
}
