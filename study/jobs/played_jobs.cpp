// Experiments are accounted for iteration by iteration; schedules and the like have an end.
#include "study/jobs/played_jobs.h"

#include <algorithm>

#include "models/collective/network_defaults.h"
#include "study/step/simulated.h"

namespace sgdsim {
namespace {

// What the times of each message make of a job; `end`: from its start.
StepResult step_of(const StepQuestion& question, JobsInTime& in_time, std::size_t job,
                   Timeline* timeline, Duration& end) {
  if (asynchronous_rule(question) != nullptr) {
    const AsynchronousWorkers& workers = in_time.asynchronous(job);
    end = workers.end() - workers.start();
    return workers.result();
  }
  StepQuestion accounted = question;
  accounted.wants_reason = true;
  accounted.timeline = timeline;
  accounted.played = [&](int iteration) {
    IterationTimes times = in_time.times_of(job, iteration);
    for (const ExchangeTimes& message : times) end = std::max(end, last_of(message.ends) - Time());
    return times;
  };
  StepResult result = simulate_step(accounted);
  end = std::max(end, result.end - Time());  // it may compute behind its last message
  return result;
}

}  // namespace

PlayedJobs::PlayedJobs(const JobsFile& file, JobsQuestion& question) : file_(file) {
  question.alpha = usual_alpha(file.cluster.kind);
  for (const JobOfFile& job : file.jobs)
    if (!job.work) steps_.push_back(job.experiment.question());
  for (const JobOfFile& job : file.jobs) {
    if (job.work) {
      numbers_.push_back(question.schedules.size());
      question.schedules.push_back(
          {job.name, &job.work->schedule, job.places, job.start, job.work->times});
    } else {
      numbers_.push_back(question.jobs.size());
      question.jobs.push_back(
          {&steps_[question.jobs.size()], job.places, job.start, job.server_places});
    }
  }
}

std::vector<JobResult> PlayedJobs::play(const JobsQuestion& all,
                                        const std::vector<std::size_t>& jobs) const {
  Time first = Time::last();
  for (const std::size_t job : jobs) first = std::min(first, file_.jobs[job].start);
  const auto start_of = [&](std::size_t job) { return Time() + (file_.jobs[job].start - first); };
  const auto wires = file_.shared();
  JobsQuestion question{.network = all.network,
                        .wires = wires.get(),
                        .carrier = all.carrier,
                        .alpha = all.alpha,
                        .stopper = all.stopper};
  std::vector<std::size_t> numbers;
  for (const std::size_t job : jobs) {
    if (file_.jobs[job].work) {
      numbers.push_back(question.schedules.size());
      question.schedules.push_back(all.schedules[numbers_[job]]);
      question.schedules.back().start = start_of(job);
    } else {
      numbers.push_back(question.jobs.size());
      question.jobs.push_back(all.jobs[numbers_[job]]);
      question.jobs.back().start = start_of(job);
    }
  }
  restart(all.stopper);
  JobsInTime in_time(question);
  std::vector<JobResult> results;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    results.push_back(result_of(in_time, jobs[i], numbers[i], start_of(jobs[i]), nullptr));
  return results;
}

JobResult PlayedJobs::result_of(JobsInTime& in_time, std::size_t job, std::size_t number,
                                Time start, Timeline* timeline) const {
  JobResult result;
  if (const auto& work = file_.jobs[job].work) {
    result.iterations = static_cast<std::size_t>(work->times);
    result.end = result.total = in_time.end_of_schedule(number) - start;
    result.ranks = time_of(in_time.shares_of_schedule(number), start, work->times);
  } else {
    const StepQuestion& question = steps_[numbers_[job]];
    result.step = step_of(question, in_time, number, timeline, result.end);
    result.iterations = result.step->iterations.size();
    result.total = result.step->total();
  }
  result.mean = Duration::ps(result.total.ps() / static_cast<int64_t>(result.iterations));
  return result;
}

}  // namespace sgdsim
