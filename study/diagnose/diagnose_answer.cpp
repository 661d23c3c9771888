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
  double share;     // of jobs that are below ...
  double slowdown;  // ... this
};
constexpr std::array<FieldPoint, 3> field = {
    {{0.575, 1.1}, {0.9, 1 / (1 - 0.213)}, {0.99, 1 / (1 - 0.45)}}};
constexpr char field_source[] = "3,079 jobs on at least 128 GPUs (arXiv 2505.05713)";

const char* name_of(PartKind kind) {
  switch (kind) {
    case PartKind::worker:
      return "worker";
    case PartKind::stage:
      return "stage";
    case PartKind::sequences:
      return "sequences";
    case PartKind::pauses:
      return "pauses";
    case PartKind::link:
      return "link";
    case PartKind::card:
      return "card";
    case PartKind::replicas:
      return "replicas";
    case PartKind::embedding:
      return "embedding";
    case PartKind::clipping:
      return "clipping";
  }
  return "";
}

Json slowdowns_json(const std::vector<PartSlowdown>& parts, const char* key, bool is_number) {
  Json json = Json::array();
  for (const PartSlowdown& part : parts) {
    Json one = {{"slowdown", part.slowdown}};
    if (is_number)
      one[key] = std::stoi(part.name);
    else
      one[key] = part.name;
    json.push_back(one);
  }
  return json;
}

Json part_json(const DiagnoseAnswer& answer, const Part& part) {
  const StepWork& work = answer.work;
  Json json = {{"part", name_of(part.kind)},
               {"meaning", part_words(answer, part)},
               {"saved_s", part.saved_s},
               {"saved", part.saved_s / answer.diagnosis.played_s},
               {"slow", part.share}};
  if (part.worker >= 0) {
    json["stage"] = work.stage_of(part.worker);
    json["replica"] = work.replica_of(part.worker);
    if (!answer.worker_names.empty())
      json["name"] = answer.worker_names[static_cast<std::size_t>(part.worker)];
  }
  if (part.peer >= 0) json["to_stage"] = work.stage_of(part.peer);
  if (part.stage >= 0) json["stage"] = part.stage;
  if (part.replica >= 0) json["replica"] = part.replica;
  return json;
}

Json worker_json(const DiagnoseAnswer& answer, const diagnose::WorkerSlowdown& one) {
  Json json = {{"stage", answer.work.stage_of(one.worker)},
               {"replica", answer.work.replica_of(one.worker)},
               {"slowdown", one.slowdown}};
  if (!answer.worker_names.empty())
    json["name"] = answer.worker_names[static_cast<std::size_t>(one.worker)];
  return json;
}

Json field_json() {
  Json points = Json::array();
  for (const FieldPoint& point : field)
    points.push_back({{"jobs_below", point.share}, {"slowdown", point.slowdown}});
  return {{"source", field_source}, {"points", points}};
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
  diagnose::ClockedWork clocked = clocked_work(std::move(found.record), rule, found.clocks_agree);
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
  answer.diagnosis = diagnose::diagnose(answer.work, options);
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

std::string part_words(const DiagnoseAnswer& answer, const Part& part) {
  switch (part.kind) {
    case PartKind::worker:
      return "computing of " + worker_text(answer, part.worker);
    case PartKind::stage:
      return "computing of stage " + std::to_string(part.stage) + ", all replicas";
    case PartKind::sequences:
      return "micro-batches of equal work";
    case PartKind::pauses:
      return "pauses in passes, and collection of garbage";
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

Json to_json(const DiagnoseAnswer& answer) {
  const Diagnosis& of = answer.diagnosis;
  Json json = {{"schema", diagnosis_schema},
               {"record", answer.file},
               {"format", answer.format},
               {"stages", answer.work.stages},
               {"replicas", answer.work.replicas},
               {"operations", answer.work.nodes.size()},
               {"recorded_s", of.measured_s},
               {"step_s", of.played_s},
               {"balanced_s", of.ideal_s},
               {"slowdown", of.slowdown()},
               {"waste", of.waste()},
               {"launch_slowdown", of.launch()}};
  json["steps"] = Json::array();
  for (std::size_t i = 0; i < of.steps_s.size(); ++i)
    json["steps"].push_back({{"step", answer.work.steps[i]},
                             {"step_s", of.steps_s[i]},
                             {"recorded_s", answer.work.measured[i].s()}});
  if (of.last_stage) json["last_stage"] = *of.last_stage;
  if (of.slow_workers) json["slow_workers"] = *of.slow_workers;
  if (of.fewer_layers_s)
    json["layer_less"] = {{"step_s", *of.fewer_layers_s}, {"to_stage", of.receiving_stage}};
  json["by_stage"] = slowdowns_json(of.stages, "stage", true);
  json["by_replica"] = slowdowns_json(of.replicas, "replica", true);
  json["by_operation"] = slowdowns_json(of.kinds, "operation", false);
  json["by_worker"] = Json::array();
  for (const diagnose::WorkerSlowdown& one : of.workers)
    json["by_worker"].push_back(worker_json(answer, one));
  for (const diagnose::WhatIfStep& one : of.what_ifs)
    json["what_if"].push_back(
        {{"change", one.words}, {"step_s", one.step_s}, {"saved_s", of.played_s - one.step_s}});
  json["parts"] = Json::array();
  for (const Part& part : of.parts) json["parts"].push_back(part_json(answer, part));
  json["field"] = field_json();
  json["notes"] = answer.notes;
  return json;
}

Fields diagnose_fields(DiagnoseWords& words) {
  constexpr int64_t most_layers = 1'000'000;
  return Fields{Field("record", words.record, record_field_says()).needed().option("RECORD")} +
         record_fields(words.of) +
         Fields{Field("layers", words.layers,
                      "layers of the model, for a last stage with one layer less")
                    .from(1, most_layers),
                Field("clocks", words.clocks,
                      "clocks of workers: recorded, aligned, or auto (default): aligned where they "
                      "disagree")
                    .one_of({"auto", "recorded", "aligned"}),
                {"what_if", words.what_ifs, what_if_says}};
}

DiagnoseAnswer answer_diagnose(const DiagnoseWords& words, const Watch& watch) {
  const diagnose::ClockRule rule =
      named_in(Named<diagnose::ClockRule, 3>{{{"auto", diagnose::ClockRule::by_record},
                                              {"recorded", diagnose::ClockRule::recorded},
                                              {"aligned", diagnose::ClockRule::aligned}}},
               "clocks", words.clocks, "--clocks");
  return answer_diagnose(read_record(words.record, words.of, watch), rule,
                         {.layers = words.layers, .what_ifs = what_ifs_of(words.what_ifs)});
}

Answer answer_diagnose(const Value& question, const Watch& watch) {
  DiagnoseWords words;
  Object object(question);
  read_words(object, diagnose_fields(words));
  object.done();
  const DiagnoseAnswer answer = answer_diagnose(words, watch);
  return {to_json(answer), answer.notes};
}

}  // namespace sgdsim
