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

// Leaves of waiting what nothing else on its lane covers: a worker whose buckets are fused waits
// for several messages at once, and while others of its messages are under way.
void clip_waiting(Timeline& timeline);

// Keeps what begins first, if there is more than `most` slices and arrows: a file that no viewer
// opens helps nobody. How many messages a step has is known only when it has been simulated.
// Returns what people must know of it; empty: everything was kept.
std::string keep_shown(Timeline& timeline, std::size_t most = most_slices_shown);

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
