// `sgdsim jobs`: several jobs on one cluster, each against being alone on it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/jobs/jobs_file.h"
#include "app/limits.h"
#include "app/packet_use.h"
#include "app/step/warnings.h"
#include "app/table.h"
#include "app/transport_choice.h"
#include "app/usage.h"
#include "app/wire_use.h"
#include "models/step/jobs_in_time.h"
#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {
namespace {

struct JobsArguments {
  std::string file;
  std::vector<std::string> settings;
  std::string bins;
  LimitArguments limits;
  std::string format = "table";
};
constexpr std::size_t shown_links = 10;

// What became of a job, together with others or alone.
struct JobResult {
  Duration total;
  Duration mean;  // of an iteration
  std::size_t iterations = 1;
  Duration end;                    // from its start
  std::optional<StepResult> step;  // of an experiment
};

struct JobTogether {
  JobResult together;
  JobResult alone;
  std::vector<std::string> warnings;
  // What takes no time is not slowed down.
  double slowdown() const { return alone.total > Duration() ? together.total / alone.total : 1; }
};

// What the times of each message make of a job; `end`: from its start.
StepResult step_of(const StepQuestion& question, JobsInTime& in_time, std::size_t job,
                   Duration& end) {
  if (asynchronous_rule(question) != nullptr) {
    const AsynchronousWorkers& workers = in_time.asynchronous(job);
    end = workers.end() - workers.start();
    return workers.result();
  }
  StepQuestion accounted = question;
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
  JobResult together(JobsInTime& in_time, std::size_t job) const {
    return result_of(in_time, job, numbers_[job], file_.jobs[job].start);
  }
  JobResult alone(JobsInTime& in_time, std::size_t job) const {
    return result_of(in_time, job, 0, Time());
  }

 private:
  // `number`: among those of its kind in what is played.
  JobResult result_of(JobsInTime& in_time, std::size_t job, std::size_t number, Time start) const {
    JobResult result;
    if (const auto& work = file_.jobs[job].work) {
      result.iterations = static_cast<std::size_t>(work->times);
      result.end = result.total = in_time.end_of_schedule(number) - start;
    } else {
      const StepQuestion& question = steps_[numbers_[job]];
      result.step = step_of(question, in_time, number, result.end);
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
UseOverTime watch(JobsQuestion question, const PlayedJobs& jobs, std::size_t count,
                  Resources& wires, const WireUse& use, const NamedQueues& longest, Duration end,
                  int64_t bins) {
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
  for (std::size_t job = 0; job < count; ++job) jobs.together(again, job);
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

Json job_json(const JobOfFile& job, const JobTogether& result) {
  Json json = {{"name", job.name}};
  if (job.work) {
    json["kind"] = job.work->kind;
    json["what"] = job.work->what;
  } else {
    json["experiment"] = job.experiment.name;
    json["strategy"] = job.experiment.strategy.name;
  }
  json.update({{"workers", job.places.size()},
               {"places", job.places},
               {"start_us", job.start.us()},
               {"end_us", (job.start + result.together.end).us()},
               {"iteration_us", result.together.mean.us()},
               {"alone_us", result.alone.mean.us()},
               {"slowdown", result.slowdown()}});
  if (result.together.step) {
    json["exposed_us"] = result.together.step->mean.exposed.us();
    json["alone_exposed_us"] = result.alone.step->mean.exposed.us();
  }
  json["iterations"] = result.together.iterations;
  json["warnings"] = result.warnings;
  return json;
}

// `delivered`: of a message of schedules, at least.
void note_warnings(std::ostream& log, const JobsFile& file, double delivered,
                   std::vector<JobTogether>& results) {
  WarningTally all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const JobOfFile& job = file.jobs[i];
    std::vector<std::string>& warnings = results[i].warnings;
    if (!job.work) warnings = warnings_of(job.experiment, *results[i].together.step);
    warnings.insert(warnings.end(), job.notes.begin(), job.notes.end());
    if (job.work && delivered < 1) warnings.push_back(delivered_warning(delivered));
    all.add(warnings, job.name);
  }
  all.print(log, "jobs");
}

void print(std::ostream& out, const JobsFile& file, const std::vector<JobTogether>& results,
           const WireUse& use) {
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
  print_use(out, use);
}

void play(const JobsArguments& arguments, Streams streams) {
  const int64_t bins = bins_named(arguments.bins, shown_links, arguments.format);
  const JobsFile file = read_jobs(arguments.file, arguments.settings);
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(arguments.limits));
  const auto wires = file.cluster.wires(file.routes);
  JobsQuestion question{.network = &file.cluster.network,
                        .wires = wires.get(),
                        .carrier = file.carrier,
                        .meanwhile = {file.traffic, file.changes},
                        .stopper = &stopper};
  const PlayedJobs jobs(file, question);
  JobsInTime together(question);
  std::vector<JobTogether> results(file.jobs.size());
  for (std::size_t i = 0; i < results.size(); ++i) results[i].together = jobs.together(together, i);
  // A job that nothing can disturb is alone.
  const bool is_alone = results.size() == 1 && file.traffic.empty() && file.changes.empty();
  if (is_alone) results.front().alone = results.front().together;
  for (std::size_t i = 0; i < results.size() && !is_alone; ++i)
    results[i].alone = play_alone(file, jobs, question, i);
  note_warnings(streams.log, file, together.least_delivered(), results);
  const Duration end = together.now() - Time();
  const WireUse use = use_of(*wires, together.carried_B(), end, shown_links,
                             raised_by(file.changes, together.now()));
  const auto packets = together.packets();
  if (arguments.format == "table") {
    print(streams.out, file, results, use);
    if (packets) print_packets(streams.out << '\n', *packets);
    return;
  }
  Json json = {
      {"schema", "sgdsim/jobs-result/1"},
      {"name", file.name},
      {"cluster", file.cluster.name},
      {"workers", file.cluster.network.workers()},
      {"fidelity", file.transport.empty() ? "flow" : "packet"},
      {file.transport.empty() ? "routing" : "transport",
       file.transport.empty() ? std::string(name_of(file.routes.routing)) : file.transport},
      {"end_us", together.end().us()},
      {"jobs", Json::array()}};
  for (std::size_t i = 0; i < results.size(); ++i)
    json["jobs"].push_back(job_json(file.jobs[i], results[i]));
  add_use(json, use);
  NamedQueues queues;
  if (packets) {
    queues = longest_queues(*packets, *wires, shown_links);
    json["message_us"] = to_json(spread_of_us(packets->took));
    json["packets"] = counts_json(*packets);
    json["queues"] = queues_json(queues);
  }
  if (bins > 0 && !use.busiest.empty())
    add_over_time(json, watch(question, jobs, results.size(), *file.cluster.wires(file.routes), use,
                              queues, end, bins));
  streams.out << json.dump(1) << '\n';
}

}  // namespace

void add_jobs_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "jobs", "Simulate jobs that share one cluster: training, layouts, schedules, collectives.");
  auto arguments = std::make_shared<JobsArguments>();
  command->add_option("JOBS", arguments->file, "a jobs file; - is standard input")->required();
  make_repeatable(command->add_option("--set", arguments->settings,
                                      "change a field of the file: jobs.0.placement=spread"));
  command->add_option(
      "--bins", arguments->bins,
      "JSON: the use of the busiest links over time, in this many intervals, and what "
      "waits in the longest queues of packets");
  add_limit_options(*command, arguments->limits);
  command->add_option("--format", arguments->format, "table or json (default: table)")
      ->check(one_of("format", {"table", "json"}));
  command->footer(
      "Example:\n  sgdsim jobs app/job_files/two_jobs.json --set jobs.1.placement=spread");
  command->callback([arguments, streams] { play(*arguments, streams); });
}

}  // namespace sgdsim
