// What a profile recorded, beside the same step played: the first that is said of a profile.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "study/import/profile_trace.h"
#include "study/step/experiment.h"

namespace sgdsim {

// On a cluster that somebody asked for, with the recorded buckets.
struct PlayedHere {
  std::string cluster;
  int workers = 0;
  double iteration_us = 0;
  double exposed_us = 0;
};

Fields fields_of(const PlayedHere& here);

struct RecordedTruth {
  std::shared_ptr<const RecordedStep> recorded;
  double replayed_us = 0;  // 0: it cannot be played
  double replayed_exposed_us = 0;
  std::optional<PlayedHere> here;
};

PlayedHere played_here(const std::string& cluster, const Experiment& experiment,
                       const StepResult& result);

RecordedTruth truth_of(std::shared_ptr<const RecordedStep> recorded);

// Why nothing is concluded from the replay; empty: it is within 10 % of the record.
std::string why_no_gains(const RecordedTruth& truth);

// Whether and where communication is the bottleneck, in a sentence.
std::string verdict_of(const RecordedTruth& truth);

Fields fields_of(const RecordedTruth& truth);
void print_recorded(std::ostream& out, const RecordedTruth& truth);

}  // namespace sgdsim
