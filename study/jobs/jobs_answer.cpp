// From words to jobs that were simulated together, and each alone.
#include "study/jobs/jobs_answer.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/shell_word.h"
#include "study/step/reason.h"
#include "study/step/result_json.h"
#include "study/step/simulated.h"
#include "study/step/timeline_json.h"
#include "study/table.h"
#include "study/transport_choice.h"

namespace sgdsim {
namespace {

constexpr std::size_t shown_links = 10;

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
  again.go_on_until(Time() + end);
  return {interval, bins, watched.take(), watched.take_waiting_B()};
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
  const auto& ranks = result.together.ranks;
  std::string reason;
  if (step && !step->critical.empty()) reason = reason_text(*step, job.experiment.trace);
  if (ranks) reason = reason_text(*ranks);
  return Fields{
             {"name", job.name, "name of the job"},
             Field("kind", job.work ? std::optional(job.work->kind) : std::nullopt,
                   "what it is, if it is no experiment")
                 .one_of({"schedule", "layout", "collective"}),
             {"what", job.work ? std::optional(job.work->what) : std::nullopt,
              "what it does, for people"},
             {"experiment", job.work ? std::nullopt : std::optional(job.experiment.name),
              "name of its experiment"},
             {"strategy", job.work ? std::nullopt : std::optional(job.experiment.strategy.name),
              "how its gradients are exchanged"},
             Field("workers", job.places.size(), "how many it has").at_least(1),
             {"places", job.places, "which workers of the cluster, by its ranks"},
             Field("start_us", job.start.us(), "when it starts").at_least(0),
             Field("end_us", (job.start + result.together.end).us(),
                   "when its last message has ended, and its last iteration or operation")
                 .at_least(0),
             Field("iteration_us", result.together.mean.us(),
                   "mean of its measured iterations, together with the others")
                 .at_least(0),
             Field("alone_us", result.alone.mean.us(),
                   "the same alone on the cluster, at the same places")
                 .at_least(0),
             Field("slowdown", result.slowdown(), "the one divided by the other").at_least(0),
             Field("exposed_us", result.together.exposed().us(),
                   "communication that added to the iteration, together with the others; of what "
                   "is no experiment, on average of its ranks, waiting for others included")
                 .at_least(0),
             Field("alone_exposed_us", result.alone.exposed().us(), "the same alone").at_least(0),
             {"breakdown", step ? std::optional(step->mean) : std::nullopt,
              "the parts of its mean iteration, together with the others, as in a result"},
             critical_field(step ? &*step : nullptr),
             reason_field(std::move(reason)),
             Field("iterations", result.together.iterations, "measured iterations").at_least(1),
             {"warnings", result.warnings,
              "what the reader must know before trusting the numbers"}} +
         rank_time_fields(ranks);
}

struct ToldPairs {
  std::string job = {};
  std::vector<double> slowdowns = {};
};
Fields fields_of(const ToldPairs& told) {
  return {{"job", told.job, "name of the job"},
          Field("slowdowns", told.slowdowns,
                "what it takes with each job of the file alone, in their order, divided by what it "
                "takes by itself; 1 for itself")
              .at_least(0)};
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

std::size_t operations_in(const JobsFile& file) {
  std::size_t sum = 0;
  for (const JobOfFile& job : file.jobs)
    if (job.work)
      sum += job.work->schedule.operations().size() * static_cast<std::size_t>(job.work->times);
  return sum;
}

// What the ranks of a schedule, a layout or a collective did.
RankSlices slices_of(const JobOfFile& job, const std::vector<EndedOperation>& ended) {
  RankSlices all{.command = "jobs",
                 .name = job.name,
                 .computing = job.work->kind == "schedule" ? "calc" : "compute",
                 .number_name = job.work->kind == "schedule" ? "line" : "number",
                 .ranks = static_cast<uint32_t>(job.places.size()),
                 .end = {},
                 .slices = {}};
  for (const EndedOperation& one : ended) {
    if (one.operation.verb == RankVerb::until) continue;
    all.end = std::max(all.end, one.ended);
    all.slices.push_back({.rank = one.rank,
                          .verb = one.operation.verb,
                          .peer = one.operation.peer,
                          .bytes = one.operation.amount,
                          .number = job.work->kind == "schedule" ? int64_t{one.operation.line} : -1,
                          .began = one.began,
                          .ended = one.ended});
  }
  return all;
}

// At the places that the file says.
JobsAnswer answer_of(const JobTrials& trials, bool wants_timeline, int64_t bins,
                     const Watch& watch) {
  JobsAnswer answer{read_jobs(trials.source), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  const JobsFile& file = answer.file;
  if (bins > 0 && !is_on_wires(file.fidelity))
    throw no_effect("--bins", "at --fidelity " + std::string(name_of(file.fidelity)));
  Stopper stopper(watch.look, trials.limits);
  const auto wires = file.shared();
  JobsQuestion question{.network = &file.cluster.network,
                        .wires = wires.get(),
                        .carrier = file.carrier,
                        .meanwhile = {file.traffic, file.changes},
                        .stopper = &stopper};
  const PlayedJobs jobs(file, question);
  question.records = wants_timeline;
  if (wants_timeline) check_shown(operations_in(file), "operations of schedules");
  JobsInTime together(question);
  std::vector<JobTogether>& results = answer.jobs;
  results.resize(file.jobs.size());
  answer.timelines.resize(wants_timeline ? results.size() : 0);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].together = jobs.together(together, i, wants_timeline ? begun(answer, i) : nullptr);
  answer.ranks.resize(answer.timelines.size());
  for (std::size_t i = 0; i < answer.ranks.size(); ++i)
    if (file.jobs[i].work) answer.ranks[i] = slices_of(file.jobs[i], jobs.ended_of(together, i));
  // A job that nothing can disturb is alone.
  const bool is_alone = results.size() == 1 && file.traffic.empty() && file.changes.empty();
  if (is_alone) results.front().alone = results.front().together;
  for (std::size_t i = 0; i < results.size() && !is_alone; ++i)
    results[i].alone = std::move(jobs.play(question, {i}).front());
  note_warnings(file, together.least_delivered(), results);
  for (std::size_t i = 0; i < results.size(); ++i)
    answer.end = std::max(answer.end, file.jobs[i].start + results[i].together.end);
  together.go_on_until(answer.end);
  const Duration end = together.now() - Time();
  if (wires->are_routes())
    answer.use = use_of(*wires, together.carried_B(), end, shown_links,
                        changed_by(file.changes, together.now()));
  answer.packets = together.packets();
  if (answer.packets) answer.queues = longest_queues(*answer.packets, *wires, shown_links);
  if (bins > 0 && !answer.use.busiest.empty())
    answer.over_time = over_time(question, jobs, results.size(), *file.shared(), answer.use,
                                 answer.queues, end, bins);
  return answer;
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
             {"matrix", words.matrix,
              "simulate each two of the jobs alone, without traffic of others: how much each slows "
              "down each other one"},
             Field("placements", words.placements,
                   "try this many placements of all jobs whose workers the file does not name, and "
                   "answer for the one with the least slow-down: words, combinations of words, and "
                   "whole nodes by chance, which --seed draws")
                 .from(1, most_placements),
         } +
         job_wire_fields(words.wires) + limit_fields(words.limits);
}

JobsAnswer answer_jobs(const JobsWords& words, const Watch& watch, bool for_people) {
  const int64_t bins = bins_named(words.bins, shown_links, for_people ? "table" : "json");
  std::vector<std::string> settings = words.settings;
  for (std::string& setting : jobs_settings_of(words.wires)) settings.push_back(std::move(setting));
  JobTrials trials{jobs_source(words.file, settings), limits_of(words.limits)};
  if (words.matrix) check_pairs(trials.source.json);
  TriedPlacements placements;
  if (words.placements > 0) {
    placements = try_placements(trials, words.placements, watch);
    for (const std::string& setting : placements.best_first.front().settings)
      trials.source.settings.push_back(setting);
  }
  JobsAnswer answer = answer_of(trials, words.wants_timeline, bins, watch);
  answer.placements = std::move(placements);
  if (!words.matrix) return answer;
  std::vector<Duration> alone;
  for (const JobTogether& job : answer.jobs) alone.push_back(job.alone.total);
  answer.pairs = slowdowns_in_pairs(trials, alone, watch);
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
  std::vector<ToldJob> jobs;
  for (std::size_t i = 0; i < answer.jobs.size(); ++i)
    jobs.push_back({&file.jobs[i], &answer.jobs[i]});
  std::vector<ToldPairs> pairs;
  for (std::size_t i = 0; i < answer.pairs.size(); ++i)
    pairs.push_back({file.jobs[i].name, answer.pairs[i]});
  const bool any_tried = !answer.placements.best_first.empty();
  std::optional<Spread> took;
  if (answer.packets) took = spread_of_us(answer.packets->took);
  const UseOverTime over_time = answer.over_time.value_or(UseOverTime{});
  return Fields{
             answer_kind("sgdsim/jobs-result/1"),
             {"name", file.name, "name of the file"},
             {"cluster", file.cluster.name, "name of the cluster"},
             Field("workers", workers, "workers of the cluster").at_least(1),
             Field("fidelity", std::string(name_of(file.fidelity)),
                   "at which level jobs were simulated")
                 .one_of({"message", "flow", "packet"}),
             transport_taken_field(file.transport),
             routing_taken_field(routing),
             Field("end_us", answer.end.us(), "when the last of the jobs has ended").at_least(0),
             {"jobs", std::move(jobs), "each job, in the order of the file"},
             Field("matrix", std::move(pairs), "with --matrix: each two jobs by themselves")
                 .if_any(),
             Field("placements", answer.placements.best_first,
                   "with --placements: those that were tried, the best first, by the worst "
                   "slow-down, then the mean; the jobs above are at the best")
                 .if_any(),
             Field("unfit_placements",
                   any_tried ? std::optional(answer.placements.unfit) : std::nullopt,
                   "with --placements: combinations of words for which there are not enough whole "
                   "nodes or leaves")
                 .at_least(0)} +
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
      file.fidelity == Fidelity::flow ? std::string(name_of(file.routes.routing)) : std::string();
  return written(together_fields(file, file.cluster.network.workers(), routing, answer));
}
Json schema_of_jobs_results() { return record_schema(together_fields({}, 0, {}, {})); }

namespace {

void print_pairs(std::ostream& out, const JobsAnswer& answer) {
  std::vector<std::string> head{"slow-down of"};
  for (const JobOfFile& job : answer.file.jobs) head.push_back("by " + job.name);
  Table table(std::move(head));
  for (std::size_t i = 0; i < answer.pairs.size(); ++i) {
    std::vector<std::string> row{answer.file.jobs[i].name};
    for (std::size_t other = 0; other < answer.pairs.size(); ++other)
      row.push_back(i == other ? "-" : rounded(answer.pairs[i][other], 4));
    table.add(std::move(row));
  }
  table.print(out);
  out << '\n';
}

void print_placements(std::ostream& out, const JobsAnswer& answer) {
  constexpr std::size_t shown = 10;
  const TriedPlacements& tried = answer.placements;
  std::vector<std::string> head{"placement"};
  for (const JobOfFile& job : answer.file.jobs) head.push_back(job.name);
  head.insert(head.end(), {"worst slow-down", "mean"});
  Table table(std::move(head));
  for (std::size_t i = 0; i < std::min(shown, tried.best_first.size()); ++i) {
    const TriedPlacement& one = tried.best_first[i];
    std::vector<std::string> row{std::to_string(i + 1)};
    row.insert(row.end(), one.words.begin(), one.words.end());
    row.insert(row.end(), {rounded(one.worst, 4), rounded(one.mean, 4)});
    table.add(std::move(row));
  }
  table.print(out, answer.file.jobs.size() + 1);
  out << tried.best_first.size() << (tried.best_first.size() == 1 ? " placement" : " placements")
      << " tried; slow-downs against the fastest that a job was alone in any of them\n";
  out << "to have the best again:";
  for (const std::string& setting : tried.best_first.front().settings)
    out << " --set " << shell_word(setting);
  out << "\n\n";
}

}  // namespace

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
  if (!answer.pairs.empty()) print_pairs(out, answer);
  if (!answer.placements.best_first.empty()) print_placements(out, answer);
  print_use(out, answer.use);
  if (answer.packets) print_packets(out << '\n', *answer.packets);
}

std::string timeline_json(const JobsAnswer& answer) {
  std::vector<TimelineOfJob> jobs;
  for (std::size_t i = 0; i < answer.timelines.size(); ++i) {
    const JobOfFile& job = answer.file.jobs[i];
    if (answer.timelines[i])
      jobs.push_back({job.name, &job.experiment, &*answer.timelines[i], job.start - Time()});
    else if (answer.ranks[i])
      jobs.push_back({.name = job.name, .start = {}, .ranks = &*answer.ranks[i]});
  }
  if (jobs.empty())
    throw InputError("--timeline",
                     "no job has one: asynchronous workers have no iteration in common");
  return timeline_json(answer.file.name, jobs);
}

Answer answer_jobs(const Value& question, const Watch& watch) {
  JobsWords words = words_of(question, jobs_fields);
  const JobsAnswer answered = answer_jobs(words, watch, false);
  return {to_json(answered), warnings_of(answered).lines("jobs")};
}

}  // namespace sgdsim
