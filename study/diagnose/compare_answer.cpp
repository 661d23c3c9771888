// The prediction becomes a record, so that both sides are read by the same rules.
#include "study/diagnose/compare_answer.h"

#include <algorithm>
#include <cmath>

#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "study/beside.h"
#include "study/import/profile_trace.h"
#include "study/step/experiment.h"
#include "study/step/simulated.h"
#include "study/step/timeline_json.h"
#include "study/table.h"
#include "traces/recorded/own_timeline.h"

namespace sgdsim {
namespace {

using diagnose::Explanation;
using diagnose::time_part_count;
using diagnose::time_part_names;
using diagnose::TimePart;

constexpr int most_workers = 64;     // of a prediction that are looked at
constexpr int most_iterations = 20;  // likewise

StepRecord simulated_record(const std::string& file, const CompareWords& words) {
  const Experiment experiment =
      read_experiment(resolve_experiment(file, words.settings, words.cluster));
  const int workers = std::min(experiment.cluster.network.workers(), most_workers);
  const int last = experiment.warm_up + std::min(experiment.iterations, most_iterations) - 1;
  Timeline timeline = timeline_of(experiment, "0-" + std::to_string(workers - 1),
                                  std::to_string(experiment.warm_up) + "-" + std::to_string(last));
  simulated(experiment, &timeline, nullptr);
  ByteSource source(timeline_json(experiment, timeline), place_of(file));
  return read_own_timeline(source, {});
}

// How much of the difference goes if the record's worst part did as its likes do.
double explained_by_part(const Comparison& comparison, const PredictedSteps& prediction) {
  const double difference_s = comparison.measured_s - prediction.step_s;
  if (comparison.measured.diagnosis.parts.empty() || difference_s == 0) return 0;
  const double left_s = difference_s - comparison.measured.diagnosis.parts.front().saved_s;
  return 1 - std::abs(left_s) / std::abs(difference_s);
}

// ---- what is told

Field time_part_field(const std::string& part) {
  return Field("part", part, "which part").one_of({time_part_names.begin(), time_part_names.end()});
}

struct ToldTimes {
  std::string part = {};
  double measured_s = 0;
  double predicted_s = 0;
};
Fields fields_of(const ToldTimes& o) {
  return {time_part_field(o.part),
          {"measured_s", o.measured_s, "in the record"},
          {"predicted_s", o.predicted_s, "in the prediction"}};
}

// One change.
struct ToldExplanation {
  std::string part = {};
  double factor = 0;
  double explained = 0;
};
Fields fields_of(const ToldExplanation& o) {
  return {time_part_field(o.part),
          {"factor", o.factor, "measured over predicted"},
          {"explained", o.explained, "part of the difference that goes; below 0: it grows"}};
}

struct SlowestPart {
  std::string meaning = {};
  double saved_s = 0;
  double explained = 0;
};
Fields fields_of(const SlowestPart& o) {
  return {{"meaning", o.meaning, "in words"},
          {"saved_s", o.saved_s, "what a step would save"},
          {"explained", o.explained, "part of the difference that goes"}};
}

Fields told_fields(const Comparison& comparison, const PredictedSteps& prediction) {
  std::vector<ToldTimes> parts;
  for (std::size_t i = 0; i < time_part_count; ++i)
    parts.push_back({std::string(time_part_names[i]), comparison.times[i], prediction.times[i]});
  std::vector<ToldExplanation> explanations;
  for (const Explanation& one : comparison.explanations)
    explanations.push_back({std::string(time_part_names[static_cast<std::size_t>(one.part)]),
                            one.factor, one.explained});
  std::optional<SlowestPart> slowest;
  if (const auto& slow = comparison.measured.diagnosis.parts; !slow.empty())
    slowest = {part_words(comparison.measured, slow.front()), slow.front().saved_s,
               explained_by_part(comparison, prediction)};
  return {
      answer_kind(comparison_schema),
      {"record", comparison.measured.file, "what was measured"},
      {"prediction", prediction.file, "the experiment or record beside it"},
      {"measured_s", comparison.measured_s, "mean of the steps, of the worker that took longest"},
      {"predicted_s", prediction.step_s, "a step of the prediction"},
      {"residual", std::log(comparison.measured_s / prediction.step_s), "ln(measured / predicted)"},
      {"parts", std::move(parts), "where a worker's step goes, on average over workers"},
      {"explanations", std::move(explanations),
       "what is left of the difference if one part of the prediction takes what was measured, "
       "the best first"},
      {"slowest_part", std::move(slowest), "the part of the record whose repair saves most"},
      {"notes", comparison.notes, "what the record lacks, and what was left out"}};
}

// Below that, differences of means are rounding.
double whole_picoseconds(double seconds) { return std::round(seconds * 1e12) / 1e12; }

std::string factor_words(const Explanation& one) {
  if (one.part == TimePart::launch) return "more or fewer delays between operations";
  return time_part_words(one.part) + " taking " + rounded(one.factor, 4) + " times as long";
}

void print_explanation(std::ostream& out, const Comparison& comparison,
                       const PredictedSteps& prediction) {
  const double by_part = explained_by_part(comparison, prediction);
  const double by_all =
      comparison.explanations.empty() ? 0 : comparison.explanations.front().explained;
  if (by_part <= 0 && by_all <= 0) {
    out << "\nNo single change explains the difference.\n";
    return;
  }
  out << "\nOne change explains " << part_text(std::max(by_part, by_all)) << " of the difference: ";
  if (by_all >= by_part)
    out << factor_words(comparison.explanations.front()) << ".\n";
  else
    out << part_words(comparison.measured, comparison.measured.diagnosis.parts.front())
        << " is slower than its likes, which costs "
        << short_duration(comparison.measured.diagnosis.parts.front().saved_s * 1e6)
        << " a step.\n";
}

}  // namespace

std::string time_part_words(TimePart part) {
  switch (part) {
    case TimePart::forward:
      return "forward passes";
    case TimePart::backward:
      return "backward passes";
    case TimePart::optimizer:
      return "optimizer";
    case TimePart::collection:
      return "collection of garbage";
    case TimePart::sends:
      return "sends between stages";
    case TimePart::replicas:
      return "exchanges of replicas";
    case TimePart::embedding:
      return "exchanges of embeddings";
    case TimePart::clipping:
      return "exchanges for clipping";
    case TimePart::waiting:
      return "waiting for others";
    case TimePart::launch:
      return "delays between operations";
  }
  return "";
}

namespace {

// A folder of profiles may also be a trace, which settings make an experiment.
bool is_recorded_prediction(const std::string& file, const CompareWords& words) {
  if (file.starts_with('{') || !looks_like_record(file)) return false;
  if (words.settings.empty() && words.cluster.empty()) return true;
  if (is_folder(file)) return false;
  const char* const given = words.cluster.empty() ? "--set" : "--cluster";
  throw InputError(given, "changes a field of an experiment, and " + file +
                              " is a record: give an experiment, or leave " + given + " out");
}

}  // namespace

PredictedSteps read_prediction(const std::string& file, const CompareWords& words) {
  PredictedSteps prediction;
  prediction.file = place_of(file);
  const bool is_recorded = is_recorded_prediction(file, words);
  FoundRecord found = is_recorded
                          ? read_record(file, division_of(file, words.of))
                          : FoundRecord{simulated_record(file, words), diagnose::Clocks::one};
  prediction.work =
      diagnose::clocked_work(std::move(found.record), diagnose::ClockRule::by_record, found.clocks)
          .work;
  const std::vector<diagnose::StepTimes> steps = step_times_of(prediction.work);
  prediction.times = mean_of(steps);
  if (is_recorded) {  // delays happened there, too
    for (const diagnose::StepTimes& step : steps)
      prediction.step_s += step.time_s / static_cast<double>(steps.size());
  } else {
    prediction.times[static_cast<std::size_t>(TimePart::launch)] = 0;
    prediction.step_s = played_s(prediction.work, prediction.work.recorded);
  }
  if (!(prediction.step_s > 0)) throw InputError(file, "predicts steps that take no time");
  return prediction;
}

void check_alike(const diagnose::StepWork& measured, const PredictedSteps& prediction,
                 const std::string& file) {
  if (measured.stages == prediction.work.stages) return;
  throw InputError(prediction.file,
                   "has " + std::to_string(prediction.work.stages) +
                       (prediction.work.stages == 1 ? " stage, and " : " stages, and ") + file +
                       " has " + std::to_string(measured.stages) +
                       "; compare with an earlier record, or with a timeline of sgdsim layout");
}

Comparison compare(DiagnoseAnswer measured, const PredictedSteps& prediction) {
  check_alike(measured.work, prediction, measured.file);
  Comparison comparison;
  const std::vector<diagnose::StepTimes> steps = step_times_of(measured.work);
  comparison.times = mean_of(steps);
  for (const diagnose::StepTimes& step : steps)
    comparison.measured_s += step.time_s / static_cast<double>(steps.size());
  comparison.explanations =
      explain(prediction.work, comparison.times, comparison.measured_s, prediction.step_s);
  if (measured.work.replicas != prediction.work.replicas)
    comparison.notes.push_back("the record has " + std::to_string(measured.work.replicas) +
                               " replicas, and the prediction " +
                               std::to_string(prediction.work.replicas));
  comparison.notes.insert(comparison.notes.end(), measured.notes.begin(), measured.notes.end());
  comparison.measured = std::move(measured);
  return comparison;
}

Fields comparison_fields(CompareWords& words) {
  return record_fields(words.of) +
         Fields{{"cluster", words.cluster, "cluster of the experiment, by file or name"},
                {"set", words.settings, "change a field of the experiment: cluster.nodes=8"}};
}

Fields compare_fields(CompareWords& words) {
  return Fields{
             Field("record", words.record, record_field_says()).needed().files(FileWords::only),
             Field("experiment", words.experiment, "an experiment, or another record").needed()} +
         comparison_fields(words);
}

AnsweredComparison answer_compare(const CompareWords& words, const Watch& watch) {
  AnsweredComparison answered;
  answered.prediction = read_prediction(words.experiment, words);
  answered.comparison = compare(answer_diagnose(read_record(words.record, words.of, watch),
                                                diagnose::ClockRule::by_record, {}),
                                answered.prediction);
  return answered;
}

Answer answer_compare(const Value& question, const Watch& watch) {
  CompareWords words = words_of(question, compare_fields);
  const AnsweredComparison answered = answer_compare(words, watch);
  return {to_json(answered.comparison, answered.prediction), answered.comparison.notes};
}

Json to_json(const Comparison& comparison, const PredictedSteps& prediction) {
  return written(told_fields(comparison, prediction));
}
Json schema_of_comparisons() { return record_schema(told_fields({}, {})); }

void print(std::ostream& out, const Comparison& comparison, const PredictedSteps& prediction) {
  const double difference = comparison.measured_s / prediction.step_s - 1;
  out << comparison.measured.file << " beside " << prediction.file << "\n\n";
  out << "measured   " << short_duration(comparison.measured_s * 1e6, 4) << " a step\n";
  out << "predicted  " << short_duration(prediction.step_s * 1e6, 4) << ", so the record is "
      << part_text(std::abs(difference)) << (difference < 0 ? " faster" : " slower") << "\n\n";
  Table table({"part of a worker's step", "measured", "predicted", "difference"});
  for (std::size_t i = 0; i < time_part_count; ++i) {
    const double measured_s = comparison.times[i];
    const double predicted_s = prediction.times[i];
    if (measured_s == 0 && predicted_s == 0) continue;
    const double by_s = whole_picoseconds(measured_s - predicted_s);
    table.add({time_part_words(static_cast<TimePart>(i)), short_duration(measured_s * 1e6),
               short_duration(predicted_s * 1e6),
               (by_s < 0 ? "-" : "+") + short_duration(std::abs(by_s) * 1e6)});
  }
  table.print(out);
  print_explanation(out, comparison, prediction);
  for (const std::string& note : comparison.notes)
    out << (&note == comparison.notes.data() ? "\nnote: " : "note: ") << note << '\n';
}

void print_prometheus(std::ostream& out, const Comparison& comparison,
                      const PredictedSteps& prediction) {
  out << "# TYPE sgdsim_step_seconds gauge\n"
      << "sgdsim_step_seconds{of=\"measured\"} " << Json(comparison.measured_s).dump() << '\n'
      << "sgdsim_step_seconds{of=\"predicted\"} " << Json(prediction.step_s).dump() << '\n'
      << "# TYPE sgdsim_part_seconds gauge\n";
  for (std::size_t i = 0; i < time_part_count; ++i) {
    const std::string part =
        "sgdsim_part_seconds{part=\"" + std::string(time_part_names[i]) + "\",of=";
    out << part << "\"measured\"} " << Json(comparison.times[i]).dump() << '\n'
        << part << "\"predicted\"} " << Json(prediction.times[i]).dump() << '\n';
  }
}

}  // namespace sgdsim
