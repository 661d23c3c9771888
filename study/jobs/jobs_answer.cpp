// From words to jobs that were simulated together, and each alone.
#include "study/jobs/jobs_answer.h"

#include <algorithm>

#include "sim/core/error.h"
#include "study/step/reason.h"
#include "study/step/result_json.h"
#include "study/step/simulated.h"
#include "study/step/timeline_json.h"
#include "study/table.h"
#include "study/transport_choice.h"

namespace sgdsim {
namespace {

constexpr std::size_t shown_links = 10;

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
  return simulate_step(accounted);
}

// Jobs as they are played: experiments, and schedules beside them.
class PlayedJobs {
 public:
  PlayedJobs(const JobsFile& file, JobsQuestion& question) : file_(file) {
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
  PlayedJobs(const PlayedJobs&) = delete;
  PlayedJobs& operator=(const PlayedJobs&) = delete;

  // Only this one, from 0 on.
  JobsQuestion question_alone(const JobsQuestion& all, std::size_t job) const {
    JobsQuestion question{.network = all.network, .carrier = all.carrier, .stopper = all.stopper};
    const std::size_t number = numbers_[job];
    if (file_.jobs[job].work) {
      question.schedules = {all.schedules[number]};
      question.schedules.front().start = Time();
    } else {
      question.jobs = {all.jobs[number]};
      question.jobs.front().start = Time();
    }
    return question;
  }
  // `timeline`: what its workers did; may be null.
  JobResult together(JobsInTime& in_time, std::size_t job, Timeline* timeline) const {
    return result_of(in_time, job, numbers_[job], file_.jobs[job].start, timeline);
  }
  JobResult alone(JobsInTime& in_time, std::size_t job) const {
    return result_of(in_time, job, 0, Time(), nullptr);
  }

 private:
  // `number`: among those of its kind in what is played.
  JobResult result_of(JobsInTime& in_time, std::size_t job, std::size_t number, Time start,
                      Timeline* timeline) const {
    JobResult result;
    if (const auto& work = file_.jobs[job].work) {
      result.iterations = static_cast<std::size_t>(work->times);
      result.end = result.total = in_time.end_of_schedule(number) - start;
    } else {
      const StepQuestion& question = steps_[numbers_[job]];
      result.step = step_of(question, in_time, number, timeline, result.end);
      result.iterations = result.step->iterations.size();
      result.total = result.step->total();
    }
    result.mean = Duration::ps(result.total.ps() / static_cast<int64_t>(result.iterations));
    return result;
  }
  const JobsFile& file_;
  std::vector<StepQuestion> steps_;   // of experiments
  std::vector<std::size_t> numbers_;  // of each job among those of its kind
};

// Played once more, since only now the busiest links are known.
UseOverTime over_time(JobsQuestion question, const PlayedJobs& jobs, std::size_t count,
                      Resources& wires, const WireUse& use, const NamedQueues& longest,
                      Duration end, int64_t bins) {
  std::vector<uint32_t> links;
  for (const LinkUse& link : use.busiest) links.push_back(link.resource);
  std::vector<uint32_t> queues;
  for (const auto& [name, queue] : longest) queues.push_back(queue.resource);
  const auto interval = Duration::ps((end.ps() + bins - 1) / bins);
  LinkWatch watched(links, interval, bins, queues);
  question.wires = &wires;
  question.watch = &watched;
  question.stopper->restart();
  JobsInTime again(question);
  for (std::size_t job = 0; job < count; ++job) jobs.together(again, job, nullptr);
  return {interval, bins, watched.take(), watched.take_waiting_B()};
}

// At the same places, from 0 on.
JobResult play_alone(const JobsFile& file, const PlayedJobs& jobs, const JobsQuestion& all,
                     std::size_t job) {
  const auto own_wires = file.cluster.wires(file.routes);
  all.stopper->restart();
  JobsQuestion question = jobs.question_alone(all, job);
  question.wires = own_wires.get();
  JobsInTime alone(question);
  return jobs.alone(alone, job);
}

// Of the file, and what became of it.
struct ToldJob {
  const JobOfFile* job = nullptr;
  const JobTogether* result = nullptr;
};
Fields fields_of(const ToldJob& told) {
  static const JobOfFile no_job;
  static const JobTogether no_result;
  const JobOfFile& job = told.job != nullptr ? *told.job : no_job;
  const JobTogether& result = told.result != nullptr ? *told.result : no_result;
  const auto& step = result.together.step;
  const auto& alone = result.alone.step;
  const bool has_reason = step && !step->critical.empty();
  const auto exposed = [](const std::optional<StepResult>& one) {
    return one ? std::optional(one->mean.exposed.us()) : std::nullopt;
  };
  return {
      {"name", job.name, "name of the job"},
      Field("kind", job.work ? std::optional(job.work->kind) : std::nullopt,
            "what it is, if it is no experiment")
          .one_of({"schedule", "layout", "collective"}),
      {"what", job.work ? std::optional(job.work->what) : std::nullopt, "what it does, for people"},
      {"experiment", job.work ? std::nullopt : std::optional(job.experiment.name),
       "name of its experiment"},
      {"strategy", job.work ? std::nullopt : std::optional(job.experiment.strategy.name),
       "how its gradients are exchanged"},
      Field("workers", job.places.size(), "how many it has").at_least(1),
      {"places", job.places, "which workers of the cluster, by its ranks"},
      Field("start_us", job.start.us(), "when it starts").at_least(0),
      Field("end_us", (job.start + result.together.end).us(), "when its last message has ended")
          .at_least(0),
      Field("iteration_us", result.together.mean.us(),
            "mean of its measured iterations, together with the others")
          .at_least(0),
      Field("alone_us", result.alone.mean.us(), "the same alone on the cluster, at the same places")
          .at_least(0),
      Field("slowdown", result.slowdown(), "the one divided by the other").at_least(0),
      Field("exposed_us", exposed(step),
            "communication that added to the iteration, together with the others")
          .at_least(0),
      Field("alone_exposed_us", step ? exposed(alone) : std::nullopt, "the same alone").at_least(0),
      {"breakdown", step ? std::optional(step->mean) : std::nullopt,
       "the parts of its mean iteration, together with the others, as in a result"},
      critical_field(step ? &*step : nullptr),
      {"reason",
       has_reason ? std::optional(reason_text(*step, job.experiment.trace)) : std::nullopt,
       "the same as a sentence"},
      Field("iterations", result.together.iterations, "measured iterations").at_least(1),
      {"warnings", result.warnings, "what the reader must know before trusting the numbers"}};
}

// `delivered`: of a message of schedules, at least.
void note_warnings(const JobsFile& file, double delivered, std::vector<JobTogether>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const JobOfFile& job = file.jobs[i];
    std::vector<std::string>& warnings = results[i].warnings;
    if (!job.work) warnings = warnings_of(job.experiment, *results[i].together.step);
    warnings.insert(warnings.end(), job.notes.begin(), job.notes.end());
    if (job.work && delivered < 1) warnings.push_back(delivered_warning(delivered));
  }
}

// Of an experiment, what is recorded: the workers and iterations that `run --timeline` records;
// null where there is no common iteration, and for what is no experiment.
Timeline* begun(JobsAnswer& answer, std::size_t job) {
  const JobOfFile& it = answer.file.jobs[job];
  if (it.work || asynchronous_rule(it.experiment.question()) != nullptr) return nullptr;
  answer.timelines[job] = timeline_of(it.experiment, "0", "");
  return &*answer.timelines[job];
}

}  // namespace

Fields jobs_fields(JobsWords& words) {
  return Fields{
             Field("jobs", words.file, "a jobs file; - is standard input").needed().option("JOBS"),
             {"set", words.settings, "change a field of the file: jobs.0.placement=spread"},
             {"bins", words.bins,
              "JSON: the use of the busiest links over time, in this many intervals, and what "
              "waits "
              "in the longest queues of packets"},
         } +
         job_wire_fields(words.wires) + limit_fields(words.limits);
}

JobsAnswer answer_jobs(const JobsWords& words, const Watch& watch, bool for_people) {
  const int64_t bins = bins_named(words.bins, shown_links, for_people ? "table" : "json");
  std::vector<std::string> settings = words.settings;
  for (std::string& setting : jobs_settings_of(words.wires)) settings.push_back(std::move(setting));
  JobsAnswer answer{read_jobs(words.file, settings), {}, {}, {}, {}, {}, {}, {}};
  const JobsFile& file = answer.file;
  Stopper stopper(watch, limits_of(words.limits));
  const auto wires = file.cluster.wires(file.routes);
  JobsQuestion question{.network = &file.cluster.network,
                        .wires = wires.get(),
                        .carrier = file.carrier,
                        .meanwhile = {file.traffic, file.changes},
                        .stopper = &stopper};
  const PlayedJobs jobs(file, question);
  JobsInTime together(question);
  std::vector<JobTogether>& results = answer.jobs;
  results.resize(file.jobs.size());
  answer.timelines.resize(words.wants_timeline ? results.size() : 0);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].together =
        jobs.together(together, i, words.wants_timeline ? begun(answer, i) : nullptr);
  // A job that nothing can disturb is alone.
  const bool is_alone = results.size() == 1 && file.traffic.empty() && file.changes.empty();
  if (is_alone) results.front().alone = results.front().together;
  for (std::size_t i = 0; i < results.size() && !is_alone; ++i)
    results[i].alone = play_alone(file, jobs, question, i);
  note_warnings(file, together.least_delivered(), results);
  answer.end = together.end();
  const Duration end = together.now() - Time();
  answer.use = use_of(*wires, together.carried_B(), end, shown_links,
                      raised_by(file.changes, together.now()));
  answer.packets = together.packets();
  if (answer.packets) answer.queues = longest_queues(*answer.packets, *wires, shown_links);
  if (bins > 0 && !answer.use.busiest.empty())
    answer.over_time = over_time(question, jobs, results.size(), *file.cluster.wires(file.routes),
                                 answer.use, answer.queues, end, bins);
  return answer;
}

WarningTally warnings_of(const JobsAnswer& answer) {
  WarningTally all;
  for (std::size_t i = 0; i < answer.jobs.size(); ++i)
    all.add(answer.jobs[i].warnings, answer.file.jobs[i].name);
  return all;
}

namespace {

Fields together_fields(const JobsFile& file, const int& workers, const std::string& routing,
                       const JobsAnswer& answer) {
  const bool is_packets = file.fidelity == Fidelity::packet;
  std::vector<ToldJob> jobs;
  for (std::size_t i = 0; i < answer.jobs.size(); ++i)
    jobs.push_back({&file.jobs[i], &answer.jobs[i]});
  std::optional<Spread> took;
  if (answer.packets) took = spread_of_us(answer.packets->took);
  const UseOverTime over_time = answer.over_time.value_or(UseOverTime{});
  return Fields{
             answer_kind("sgdsim/jobs-result/1"),
             {"name", file.name, "name of the file"},
             {"cluster", file.cluster.name, "name of the cluster"},
             Field("workers", workers, "workers of the cluster").at_least(1),
             Field("fidelity", std::string(is_packets ? "packet" : "flow"),
                   "at which level jobs were simulated")
                 .one_of({"flow", "packet"}),
             Field("transport", file.transport, "fidelity packet: how packets were sent").if_any(),
             routing_taken_field(routing),
             Field("end_us", answer.end.us(), "the end of the last message of a job").at_least(0),
             {"jobs", std::move(jobs), "each job, in the order of the file"}} +
         use_fields(answer.use, over_time) +
         Fields{{"message_us", std::move(took),
                 "fidelity packet: what messages between two workers take until they are complete, "
                 "of all jobs and of others"}} +
         packet_fields(answer.packets.get(), answer.queues, over_time) +
         Fields{interval_field(over_time)};
}

}  // namespace

Json to_json(const JobsAnswer& answer) {
  const JobsFile& file = answer.file;
  const std::string routing =
      file.transport.empty() ? std::string(name_of(file.routes.routing)) : std::string();
  return written(together_fields(file, file.cluster.network.workers(), routing, answer));
}
Json schema_of_jobs_results() { return record_schema(together_fields({}, 0, {}, {})); }

void print(std::ostream& out, const JobsAnswer& answer) {
  const JobsFile& file = answer.file;
  const std::vector<JobTogether>& results = answer.jobs;
  out << file.name << ": " << file.jobs.size() << (file.jobs.size() == 1 ? " job" : " jobs")
      << " on " << file.cluster.name << " (" << file.cluster.network.workers() << " workers)";
  if (!file.traffic.empty()) out << ", and " << file.traffic.size() << " flows of others";
  out << "\n\n";
  const bool has_work = std::any_of(file.jobs.begin(), file.jobs.end(),
                                    [](const JobOfFile& job) { return job.work.has_value(); });
  Table table({"job", has_work ? "what it does" : "strategy", "workers", "start", "iteration",
               "alone", "slow-down"});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const JobOfFile& job = file.jobs[i];
    table.add({job.name, job.work ? job.work->what : job.experiment.strategy.name,
               std::to_string(job.places.size()), short_duration(job.start.us()),
               short_duration(results[i].together.mean.us(), 6),
               short_duration(results[i].alone.mean.us(), 6), rounded(results[i].slowdown(), 4)});
  }
  table.print(out, 2);
  out << '\n';
  print_use(out, answer.use);
  if (answer.packets) print_packets(out << '\n', *answer.packets);
}

std::string timeline_json(const JobsAnswer& answer) {
  std::vector<TimelineOfJob> jobs;
  for (std::size_t i = 0; i < answer.timelines.size(); ++i)
    if (answer.timelines[i])
      jobs.push_back({answer.file.jobs[i].name, &answer.file.jobs[i].experiment,
                      &*answer.timelines[i], answer.file.jobs[i].start - Time()});
  if (jobs.empty())
    throw InputError("--timeline",
                     "no job has one: it shows experiments whose workers have a common iteration");
  return timeline_json(answer.file.name, jobs);
}

Answer answer_jobs(const Value& question, const Watch& watch) {
  JobsWords words = words_of(question, jobs_fields);
  const JobsAnswer answered = answer_jobs(words, watch, false);
  return {to_json(answered), warnings_of(answered).lines("jobs")};
}

}  // namespace sgdsim
