// `sgdsim jobs`: several training jobs on one cluster, each against being alone on it.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/jobs/jobs_file.h"
#include "app/limits.h"
#include "app/packet_use.h"
#include "app/step/warnings.h"
#include "app/table.h"
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

struct JobTogether {
  StepResult together;
  StepResult alone;
  Duration end;  // from its start
  std::vector<std::string> warnings;
  double slowdown() const { return together.total() / alone.total(); }
};

Duration mean_of(const StepResult& result) {
  return Duration::ps(result.total().ps() / static_cast<int64_t>(result.iterations.size()));
}

// What the times of each message make of a job; `end`: from its start.
StepResult account(const StepQuestion& question, JobsInTime& in_time, std::size_t job,
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

// Played once more, since only now the busiest links are known.
UseOverTime watch(JobsQuestion question, const std::vector<StepQuestion>& steps, Resources& wires,
                  const WireUse& use, const NamedQueues& longest, Duration end, int64_t bins) {
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
  for (std::size_t job = 0; job < steps.size(); ++job) {
    Duration end_of_job;
    account(steps[job], again, job, end_of_job);
  }
  return {interval, bins, watched.take(), watched.take_waiting_B()};
}

// At the same places, from 0 on.
StepResult play_alone(const JobsFile& file, const JobsQuestion& all, std::size_t job) {
  const auto own_wires = file.cluster.wires(file.routes);
  all.stopper->restart();
  TrainingJob it = all.jobs[job];
  it.start = Time();
  JobsInTime alone({.jobs = {it},
                    .network = all.network,
                    .wires = own_wires.get(),
                    .carrier = all.carrier,
                    .stopper = all.stopper});
  Duration end;
  return account(*it.question, alone, 0, end);
}

Json job_json(const JobOfFile& job, const JobTogether& result) {
  return {{"name", job.name},
          {"experiment", job.experiment.name},
          {"strategy", job.experiment.strategy.name},
          {"workers", job.places.size()},
          {"places", job.places},
          {"start_us", job.start.us()},
          {"end_us", (job.start + result.end).us()},
          {"iteration_us", mean_of(result.together).us()},
          {"alone_us", mean_of(result.alone).us()},
          {"slowdown", result.slowdown()},
          {"exposed_us", result.together.mean.exposed.us()},
          {"alone_exposed_us", result.alone.mean.exposed.us()},
          {"iterations", result.together.iterations.size()},
          {"warnings", result.warnings}};
}

void note_warnings(std::ostream& log, const JobsFile& file, std::vector<JobTogether>& results) {
  WarningTally all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].warnings = warnings_of(file.jobs[i].experiment, results[i].together);
    results[i].warnings.insert(results[i].warnings.end(), file.jobs[i].notes.begin(),
                               file.jobs[i].notes.end());
    all.add(results[i].warnings, file.jobs[i].name);
  }
  all.print(log, "jobs");
}

void print(std::ostream& out, const JobsFile& file, const std::vector<JobTogether>& results,
           const WireUse& use) {
  out << file.name << ": " << file.jobs.size() << (file.jobs.size() == 1 ? " job" : " jobs")
      << " on " << file.cluster.name << " (" << file.cluster.network.workers() << " workers)";
  if (!file.traffic.empty()) out << ", and " << file.traffic.size() << " flows of others";
  out << "\n\n";
  Table table({"job", "strategy", "workers", "start", "iteration", "alone", "slow-down"});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const JobOfFile& job = file.jobs[i];
    table.add({job.name, job.experiment.strategy.name, std::to_string(job.places.size()),
               short_duration(job.start.us()), short_duration(mean_of(results[i].together).us(), 6),
               short_duration(mean_of(results[i].alone).us(), 6),
               rounded(results[i].slowdown(), 4)});
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
  std::vector<StepQuestion> questions;
  for (const JobOfFile& job : file.jobs) questions.push_back(job.experiment.question());
  JobsQuestion question{.network = &file.cluster.network,
                        .wires = wires.get(),
                        .carrier = file.carrier,
                        .meanwhile = {file.traffic, file.changes},
                        .stopper = &stopper};
  for (std::size_t i = 0; i < file.jobs.size(); ++i)
    question.jobs.push_back(
        {&questions[i], file.jobs[i].places, file.jobs[i].start, file.jobs[i].server_places});
  JobsInTime together(question);
  std::vector<JobTogether> results(file.jobs.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].together = account(questions[i], together, i, results[i].end);
  // A job that nothing can disturb is alone.
  const bool is_alone = results.size() == 1 && file.traffic.empty() && file.changes.empty();
  if (is_alone) results.front().alone = results.front().together;
  for (std::size_t i = 0; i < results.size() && !is_alone; ++i)
    results[i].alone = play_alone(file, question, i);
  note_warnings(streams.log, file, results);
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
    add_over_time(
        json, watch(question, questions, *file.cluster.wires(file.routes), use, queues, end, bins));
  streams.out << json.dump(1) << '\n';
}

}  // namespace

void add_jobs_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("jobs", "Play several training jobs that share one cluster.");
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
