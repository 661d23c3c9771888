// A timeline as a Chrome trace, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "sim/play/timeline.h"
#include "study/rank_slices.h"
#include "study/step/experiment.h"

namespace sgdsim {

// One process per worker; one thread for its computation and one per channel, so that slices nest.
// A flow arrow leads from each gradient to the message that carries it.
std::string timeline_json(const Experiment& experiment, const Timeline& timeline);

// Several jobs on one time axis, a process per worker and job.
struct TimelineOfJob {
  std::string name;
  const Experiment* experiment = nullptr;
  const Timeline* timeline = nullptr;
  Duration start;                     // of the job
  const RankSlices* ranks = nullptr;  // of what is no experiment; their times are of all jobs
};
std::string timeline_json(const std::string& id, const std::vector<TimelineOfJob>& jobs);

}  // namespace sgdsim
