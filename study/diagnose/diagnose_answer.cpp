// Words in, JSON out, and what the field's statistics say of a slowdown.
#include "study/diagnose/diagnose_answer.h"

#include <algorithm>
#include <array>

#include "sim/core/named.h"
#include "study/diagnose/what_if.h"
#include "study/table.h"

namespace sgdsim {
namespace {

using diagnose::Diagnosis;
using diagnose::Part;
using diagnose::PartKind;
using diagnose::PartSlowdown;
using diagnose::StepWork;

// 3,079 jobs on at least 128 GPUs from January to May 2024 (arXiv 2505.05713, sections 4 and 5).
struct FieldPoint {
  double share = 0;     // of jobs that are below ...
  double slowdown = 0;  // ... this
};
constexpr std::array<FieldPoint, 3> field = {
    {{0.575, 1.1}, {0.9, 1 / (1 - 0.213)}, {0.99, 1 / (1 - 0.45)}}};
constexpr char field_source[] = "3,079 jobs on at least 128 GPUs (arXiv 2505.05713)";

// ---- what is told

Field slowdown_field(const double& slowdown) {
  return {"slowdown", slowdown, "time over that of balanced steps"};
}

struct ToldStep {
  int64_t step = 0;
  double step_s = 0;
  double recorded_s = 0;
};
Fields fields_of(const ToldStep& o) {
  return {{"step", o.step, "its number"},
          {"step_s", o.step_s, "T of this step"},
          {"recorded_s", o.recorded_s, "as recorded"}};
}

struct StageSlowdown {
  double slowdown = 0;
  int stage = 0;
};
Fields fields_of(const StageSlowdown& o) {
  return {slowdown_field(o.slowdown), {"stage", o.stage, "its number"}};
}

struct ReplicaSlowdown {
  double slowdown = 0;
  int replica = 0;
};
Fields fields_of(const ReplicaSlowdown& o) {
  return {slowdown_field(o.slowdown), {"replica", o.replica, "its number"}};
}

struct KindSlowdown {
  double slowdown = 0;
  std::string operation = {};
};
Fields fields_of(const KindSlowdown& o) {
  return {slowdown_field(o.slowdown), {"operation", o.operation, "its name"}};
}

template <class Told>
std::vector<Told> told_slowdowns(const std::vector<PartSlowdown>& parts) {
  std::vector<Told> told;
  for (const PartSlowdown& part : parts) {
    if constexpr (std::is_same_v<Told, KindSlowdown>)
      told.push_back({part.slowdown, part.name});
    else
      told.push_back({part.slowdown, std::stoi(part.name)});
  }
  return told;
}

std::optional<std::string> name_of(const DiagnoseAnswer& answer, int worker) {
  if (worker < 0 || answer.worker_names.empty()) return {};
  return answer.worker_names[static_cast<std::size_t>(worker)];
}

struct ToldWorker {
  int stage = 0;
  int replica = 0;
  double slowdown = 0;
  std::optional<std::string> name = {};
};
Fields fields_of(const ToldWorker& o) {
  return {{"stage", o.stage, "its stage"},
          {"replica", o.replica, "its replica"},
          {"slowdown", o.slowdown, "the lesser S of its stage and its replica"},
          {"name", o.name, "what the record calls it"}};
}

struct ToldPart {
  Part part = {};
  std::string meaning = {};
  double saved = 0;
  std::optional<int> stage = {}, replica = {}, to_stage = {};
  std::optional<std::string> name = {};
  std::optional<double> outside = {};
};
Fields fields_of(const ToldPart& o) {
  return {
      {"part", o.part.kind, "its kind"},
      {"meaning", o.meaning, "in words"},
      {"saved_s", o.part.saved_s, "what a step would save"},
      {"saved", o.saved, "the same as a part of T"},
      {"slow", o.part.share,
       "part of its operations that took over 1.2 times as long as after the repair"},
      {"outside", o.outside,
       "of a worker: part of what its operations take less that lies outside its passes (update, "
       "loading, idle time)"},
      {"stage", o.stage, "which stage"},
      {"replica", o.replica, "which replica"},
      {"name", o.name, "what the record calls the worker"},
      {"to_stage", o.to_stage, "of a link: the stage at its other end"}};
}

ToldPart told_part(const DiagnoseAnswer& answer, const Part& part) {
  const StepWork& work = answer.work;
  ToldPart told{.part = part,
                .meaning = part_words(answer, part),
                .saved = part.saved_s / answer.diagnosis.played_s,
                .name = name_of(answer, part.worker)};
  if (part.worker >= 0) {
    told.stage = work.stage_of(part.worker);
    told.replica = work.replica_of(part.worker);
  }
  if (part.kind == PartKind::worker) told.outside = part.outside;
  if (part.peer >= 0) told.to_stage = work.stage_of(part.peer);
  if (part.stage >= 0) told.stage = part.stage;
  if (part.replica >= 0) told.replica = part.replica;
  return told;
}

// Of the last stage.
struct LayerLess {
  double step_s = 0;
  int to_stage = 0;
};
Fields fields_of(const LayerLess& o) {
  return {{"step_s", o.step_s, "T then"},
          {"to_stage", o.to_stage, "the stage with the least to compute"}};
}

struct ToldWhatIf {
  std::string change = {};
  double step_s = 0;
  double saved_s = 0;
};
Fields fields_of(const ToldWhatIf& o) {
  return {{"change", o.change, "parts, and how many times as long they take"},
          {"step_s", o.step_s, "T then"},
          {"saved_s", o.saved_s, "what a step takes less; below 0: more"}};
}

Fields fields_of(const FieldPoint& o) {
  return {{"jobs_below", o.share, "part of jobs"}, slowdown_field(o.slowdown)};
}

struct FieldOfJobs {
  std::string source = field_source;
  std::vector<FieldPoint> points{field.begin(), field.end()};
};
Fields fields_of(const FieldOfJobs& o) {
  return {{"source", o.source, "who counted"},
          {"points", o.points, "a part of jobs is below a slowdown"}};
}

void add_notes(std::vector<std::string>& notes, const std::vector<std::string>& more) {
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < more.size() && i < most; ++i) notes.push_back(more[i]);
  if (more.size() > most)
    notes.push_back("... and " + std::to_string(more.size() - most) + " more such notes");
}

}  // namespace

DiagnoseAnswer answer_diagnose(FoundRecord found, diagnose::ClockRule rule,
                               const diagnose::DiagnoseOptions& options) {
  DiagnoseAnswer answer;
  answer.file = found.record.file;
  answer.format = found.record.format;
  answer.worker_names = found.record.workers;
  add_notes(answer.notes, found.record.notes);
  diagnose::ClockedWork clocked = clocked_work(std::move(found.record), rule, found.clocks);
  answer.work = std::move(clocked.work);
  if (clocked.aligned_ns)
    answer.notes.push_back(
        "clocks of workers were aligned by the ends of their exchanges; they "
        "differed by up to " +
        short_duration(static_cast<double>(*clocked.aligned_ns) / 1e3));
  add_notes(answer.notes, answer.work.left_out);
  if (answer.work.early_ends > 0)
    answer.notes.push_back(std::to_string(answer.work.early_ends) +
                           " exchanges ended more than 10 ms before their group began; they count "
                           "as no transfer (--clocks aligned?)");
  add_notes(answer.notes, lacks_of(answer.work, options.layers));
  check_what_ifs(options.what_ifs, answer.work);
  if (std::any_of(options.what_ifs.begin(), options.what_ifs.end(),
                  [](const diagnose::WhatIf& one) { return one.replicas > 0; }))
    answer.notes.push_back("dp=N takes the " + std::to_string(answer.work.replicas) +
                           " replicas of the record for all of the job: of a job with more of "
                           "them, record all");
  answer.diagnosis = diagnose::diagnose(answer.work, options);
  constexpr double much_longer = 1.05;
  if (answer.diagnosis.launch() * much_longer < 1)
    answer.notes.push_back(
        "a step that is played takes " + short_duration(answer.diagnosis.played_s * 1e6) +
        ", longer than the recorded " + short_duration(answer.diagnosis.measured_s * 1e6) +
        ": what lay side by side is played one after the other, and the answer is about that");
  constexpr double much_shorter = 1.1;
  if (answer.diagnosis.launch() > much_shorter)
    answer.notes.push_back(
        "of a recorded step of " + short_duration(answer.diagnosis.measured_s * 1e6) + ", " +
        short_duration((answer.diagnosis.measured_s - answer.diagnosis.played_s) * 1e6) +
        " lie between its operations: work that is none of them, or waiting for workers that are "
        "not in the record. The answer is about the rest");
  return answer;
}

std::vector<std::string> lacks_of(const StepWork& work, int layers) {
  std::array<bool, recorded_kinds> has{};
  for (const diagnose::Node& node : work.nodes) has[static_cast<std::size_t>(node.kind)] = true;
  const auto lacks = [&](std::initializer_list<Recorded> kinds) {
    return std::none_of(kinds.begin(), kinds.end(),
                        [&](Recorded kind) { return has[static_cast<std::size_t>(kind)]; });
  };
  using enum Recorded;
  std::vector<std::string> notes;
  if (work.stages > 1 && lacks({forward_send, backward_send}))
    notes.emplace_back(
        "the record has no sends between stages; stages are played as if none "
        "waited for another");
  if (work.replicas > 1 && lacks({gather, reduce, separate, clip}))
    notes.emplace_back(
        "the record has no exchange between replicas; replicas are played as if "
        "none waited for another");
  if (work.replicas == 1)
    notes.emplace_back(
        "the record has one replica; a slow worker cannot be told from a stage with "
        "more work");
  if (lacks({optimizer}))
    notes.emplace_back("the record has no optimizer; a step ends with its last operation");
  if (work.stages > 1 && layers == 0)
    notes.emplace_back(
        "the record does not say how many layers the model has; with --layers, what "
        "a layer less on the last stage would save is said, too");
  if (work.stages > 1 && layers > 0 && layers < work.stages)
    notes.emplace_back(
        "--layers says less than one layer a stage; what a layer less on the last "
        "stage would save is not said");
  return notes;
}

std::string field_text(double slowdown) {
  std::string text;
  for (const FieldPoint& point : field)
    text += (text.empty() ? "" : ", ") + part_text(point.share) + " are below " +
            rounded(point.slowdown, 3);
  const auto first_above = std::find_if(field.begin(), field.end(), [&](const FieldPoint& point) {
    return slowdown < point.slowdown;
  });
  const std::string place = first_above == field.end() ? "the slowest 1 %"
                            : first_above == field.begin()
                                ? "the fastest 57.5 %"
                                : "the slowest " + part_text(1 - std::prev(first_above)->share);
  return "of " + std::string(field_source) + " " + text + "; this one would be among " + place;
}

std::string worker_text(const DiagnoseAnswer& answer, int worker) {
  const std::string place =
      answer.work.stages == 1 ? "replica " + std::to_string(answer.work.replica_of(worker))
                              : "stage " + std::to_string(answer.work.stage_of(worker)) +
                                    " of replica " + std::to_string(answer.work.replica_of(worker));
  if (answer.worker_names.empty()) return place;
  const std::string& name = answer.worker_names[static_cast<std::size_t>(worker)];
  return name.empty() ? place : place + " (" + name + ")";
}

namespace {

std::string words_of_worker(const DiagnoseAnswer& answer, const Part& part) {
  const std::string worker = worker_text(answer, part.worker);
  constexpr double nearly_all = 0.9;
  constexpr double worth_saying = 0.05;
  if (part.outside >= nearly_all)
    return worker + " outside its passes (update, loading, idle time)";
  return "computing of " + worker +
         (part.outside >= worth_saying
              ? ", " + part_text(part.outside, 2) + " of it outside the passes"
              : "");
}

}  // namespace

std::string part_words(const DiagnoseAnswer& answer, const Part& part) {
  switch (part.kind) {
    case PartKind::worker:
      return words_of_worker(answer, part);
    case PartKind::stage:
      return "computing of stage " + std::to_string(part.stage) + ", all replicas";
    case PartKind::sequences:
      return "micro-batches of equal work";
    case PartKind::pauses:
      return "pauses, and collection of garbage";
    case PartKind::link:
      return "link between stages " + std::to_string(answer.work.stage_of(part.worker)) + " and " +
             std::to_string(answer.work.stage_of(part.peer)) + " of replica " +
             std::to_string(answer.work.replica_of(part.worker));
    case PartKind::card:
      return "all exchanges of " + worker_text(answer, part.worker);
    case PartKind::replicas:
      return answer.work.stages == 1
                 ? "exchange between replicas"
                 : "exchange between replicas of stage " + std::to_string(part.stage);
    case PartKind::embedding:
      return "exchange of the embedding of replica " + std::to_string(part.replica);
    case PartKind::clipping:
      return "exchange for clipping";
  }
  return "";
}

Fields fields_of(const DiagnoseAnswer& answer) {
  const Diagnosis& of = answer.diagnosis;
  const StepWork& work = answer.work;
  std::vector<ToldStep> steps;
  for (std::size_t i = 0; i < of.steps_s.size(); ++i)
    steps.push_back({work.steps[i], of.steps_s[i], work.measured[i].s()});
  std::vector<ToldWorker> workers;
  for (const diagnose::WorkerSlowdown& one : of.workers)
    workers.push_back({work.stage_of(one.worker), work.replica_of(one.worker), one.slowdown,
                       name_of(answer, one.worker)});
  std::vector<ToldPart> parts;
  for (const Part& part : of.parts) parts.push_back(told_part(answer, part));
  std::vector<ToldWhatIf> what_ifs;
  for (const diagnose::WhatIfStep& one : of.what_ifs)
    what_ifs.push_back({one.words, one.step_s, of.played_s - one.step_s});
  std::optional<LayerLess> layer_less;
  if (of.fewer_layers_s) layer_less = {*of.fewer_layers_s, of.receiving_stage};
  return {
      answer_kind(diagnosis_schema),
      {"record", answer.file, "the file or folder"},
      {"format", answer.format, "what kind of record it is"},
      {"stages", work.stages, "stages of the pipeline"},
      {"replicas", work.replicas, "data-parallel ranks"},
      {"operations", work.nodes.size(), "operations of the steps that were used"},
      {"recorded_s", of.measured_s,
       "mean of the steps as recorded, from the first start to the last end; where workers begin a "
       "step at different moments: of the replica that took longest"},
      {"step_s", of.played_s, "mean of the steps without delays between operations: T"},
      {"balanced_s", of.ideal_s,
       "mean of the steps if all operations of a kind took alike: T_ideal"},
      {"slowdown", of.slowdown(), "S = T / T_ideal"},
      {"waste", of.waste(), "1 - 1/S"},
      {"launch_slowdown", of.launch(), "recorded time over T: the error of leaving delays out"},
      {"steps", std::move(steps), "each step that was used"},
      {"last_stage", of.last_stage,
       "M_S: part of T - T_ideal that goes if the last stage is ideal; it may exceed 1"},
      {"slow_workers", of.slow_workers, "M_W: the same for the slowest 3 % of workers"},
      {"layer_less", std::move(layer_less), "a layer of the last stage on another stage"},
      {"by_stage", told_slowdowns<StageSlowdown>(of.stages), "S with only this stage as recorded"},
      {"by_replica", told_slowdowns<ReplicaSlowdown>(of.replicas),
       "S with only this data-parallel rank as recorded"},
      {"by_operation", told_slowdowns<KindSlowdown>(of.kinds),
       "S with only this kind of operation as recorded"},
      {"by_worker", std::move(workers), "the slowest first"},
      Field("what_if", std::move(what_ifs), "the step with other times, as it was asked").if_any(),
      {"parts", std::move(parts),
       "what a step would save if one part did as its likes do, the most first"},
      {"field", FieldOfJobs(), "what other jobs lose"},
      {"notes", answer.notes, "what the record lacks, and what was left out"}};
}

Json to_json(const DiagnoseAnswer& answer) { return to_json_by_fields(answer); }
Json schema_of_diagnoses() { return schema_of_record<DiagnoseAnswer>(); }

Fields diagnose_fields(DiagnoseWords& words) {
  constexpr int64_t most_layers = 1'000'000;
  return Fields{Field("record", words.record, record_field_says())
                    .needed()
                    .files(FileWords::only)
                    .option("RECORD")} +
         record_fields(words.of) +
         Fields{
             Field("layers", words.layers,
                   "layers of the model, for a last stage with one layer less")
                 .from(1, most_layers),
             Field("clocks", words.clocks,
                   "clocks of workers: recorded, aligned (by any time), or auto (default): aligned "
                   "where they disagree, by at most a minute")
                 .one_of({"auto", "recorded", "aligned"}),
             {"what_if", words.what_ifs, what_if_says}};
}

DiagnoseAnswer answer_diagnose(const DiagnoseWords& words, const Watch& watch) {
  const diagnose::ClockRule rule =
      named_in(Named<diagnose::ClockRule, 3>{{{"auto", diagnose::ClockRule::by_record},
                                              {"recorded", diagnose::ClockRule::recorded},
                                              {"aligned", diagnose::ClockRule::aligned}}},
               "clocks", words.clocks, "--clocks");
  RecordWords of = words.of;
  of.clocks_may_be_far_apart = rule == diagnose::ClockRule::aligned;
  return answer_diagnose(read_record(words.record, of, watch), rule,
                         {.layers = words.layers, .what_ifs = what_ifs_of(words.what_ifs)});
}

Answer answer_diagnose(const Value& question, const Watch& watch) {
  DiagnoseWords words = words_of(question, diagnose_fields);
  const DiagnoseAnswer answer = answer_diagnose(words, watch);
  return {to_json(answer), answer.notes};
}

}  // namespace sgdsim
