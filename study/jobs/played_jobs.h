// Jobs of a file as they are played, all of them or some.
#pragma once

#include <optional>
#include <vector>

#include "models/step/jobs_in_time.h"
#include "study/jobs/jobs_file.h"
#include "study/rank_time.h"

namespace sgdsim {

// What became of a job, together with others or alone.
struct JobResult {
  Duration total;
  Duration mean;  // of an iteration
  std::size_t iterations = 1;
  Duration end;                           // from its start
  std::optional<StepResult> step;         // of an experiment
  std::optional<TimeOfRanks> ranks = {};  // of what is none
  // Communication that nothing hides, of an iteration.
  Duration exposed() const {
    return step ? step->mean.exposed : ranks ? ranks->mean.exposed : Duration();
  }
};
// What takes no time is not slowed down.
inline double slowdown_of(Duration together, Duration alone) {
  return alone > Duration() ? together / alone : 1;
}

class PlayedJobs {
 public:
  // Adds all jobs to the question; both must stay.
  PlayedJobs(const JobsFile& file, JobsQuestion& question);
  PlayedJobs(const PlayedJobs&) = delete;
  PlayedJobs& operator=(const PlayedJobs&) = delete;

  // Of all jobs, this one. `timeline`: what its workers did; may be null.
  JobResult together(JobsInTime& in_time, std::size_t job, Timeline* timeline) const {
    return result_of(in_time, job, numbers_[job], file_.jobs[job].start, timeline);
  }
  // What the ranks of a job did that is no experiment, where the question has records.
  std::vector<EndedOperation> ended_of(const JobsInTime& in_time, std::size_t job) const {
    return in_time.ended_of_schedule(numbers_[job]);
  }
  // Only these of them, without traffic of others, on wires of their own; the first to start does
  // so at 0.
  std::vector<JobResult> play(const JobsQuestion& all, const std::vector<std::size_t>& jobs) const;

 private:
  // `number`: among those of its kind in what is played.
  JobResult result_of(JobsInTime& in_time, std::size_t job, std::size_t number, Time start,
                      Timeline* timeline) const;

  const JobsFile& file_;
  std::vector<StepQuestion> steps_;   // of experiments
  std::vector<std::size_t> numbers_;  // of each job among those of its kind
};

}  // namespace sgdsim
