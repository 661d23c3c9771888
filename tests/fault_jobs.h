// Jobs with one fault of a known kind and place, which makes a step longer by a known part. All
// passes and sends jitter.
#pragma once

#include "models/diagnose/parts.h"
#include "tests/pipeline_job.h"

namespace sgdsim {

enum class Fault : uint8_t {
  none,
  slow_gpu,
  slow_link,
  flapping_card,
  long_last_stage,
  sequences,
  pauses
};
inline constexpr int faults = 7;

struct FaultyJob {
  Fault fault = Fault::none;
  PipelineJob job;
  diagnose::Part expected;  // kind and place
  double effect = 0;        // that was reached: part of the step without it

  bool is_found(const diagnose::Part& part) const;
};

// `effect`: the wanted one. Everything else is drawn from the seed.
FaultyJob faulty_job(Fault fault, uint64_t seed, double effect);

}  // namespace sgdsim
