// Advice as JSON, sgdsim/advice/1.
#include <cmath>

#include "study/advise/advise_question.h"
#include "study/shell_word.h"
#include "study/step/reason.h"
#include "study/step/result_json.h"

namespace sgdsim {
namespace {

struct ToldEnd {
  TrainingEnd end = {};
  std::string command = {};
};
Fields fields_of(const ToldEnd& told) {
  return fields_of(told.end) +
         Fields{{"command", told.command, "the command that gives these figures"}};
}

std::optional<ToldEnd> told_end(const std::optional<AdvisedEnd>& training) {
  if (!training) return {};
  return ToldEnd{training->end, training->command};
}

std::vector<double> ends_of(const std::pair<double, double>& interval) {
  return {interval.first, interval.second};
}

// ---- what small models say

Json schema_of_factors() { return list_schema({{"type", {"number", "null"}}}, 2, 2); }

struct ToldLearning {
  Json iterations = {};
  Json time = {};
};
Fields fields_of(const ToldLearning& told) {
  return {Field("iterations", told.iterations,
                "least and most iterations to the same loss, over those of the step as it is; "
                "null: not reached")
              .like(schema_of_factors),
          Field("time", told.time,
                "least and most time to the same loss, over that of the step as it is; null: not "
                "reached")
              .like(schema_of_factors),
          {"learned_by", learned_by(), "tasks, seeds and rates"}};
}

std::optional<ToldLearning> told_learning(const AdviceLine& line) {
  if (!line.learning) return {};
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return ToldLearning{Json::array({finite(line.learning->least), finite(line.learning->most)}),
                      Json::array({finite(line.least_time()), finite(line.most_time())})};
}

// ---- lines

struct ToldLine {
  AdviceLine line = {};
  std::string command = {};
};
Fields fields_of(const ToldLine& told) {
  const AdviceLine& line = told.line;
  const Change& change = line.change;
  std::optional<std::vector<double>> interval, saved_interval;
  std::optional<double> saved;
  if (line.interval)
    interval = {gain_in_percent(line.interval->first), gain_in_percent(line.interval->second)};
  if (line.training) {
    saved = line.training->saved_days;
    if (line.training->saved_interval) saved_interval = ends_of(*line.training->saved_interval);
  }
  return {
      {"change", change.name, "what it is, for people"},
      {"kinds", change.kinds,
       "what is changed: strategy, buckets (other sizes of the same strategy), algorithm, "
       "compression, staleness, bandwidth, latency, nodes, compute; of --try also hardware "
       "(another "
       "cluster otherwise) and own (anything else); of a whole training (with --goodput) storage "
       "(faster saves), reliability (rarer failures), spares, saving, restarting or repairing"},
      {"settings", change.settings,
       "as of `sgdsim run --set`, on top of those of the command; of a whole training (kinds from "
       "storage on) as of `sgdsim goodput --set`"},
      {"iteration_ps", line.iteration_ps, "mean time of an iteration in whole picoseconds"},
      {"iteration_us", static_cast<double>(line.iteration_ps) * 1e-6, "mean time of an iteration"},
      {"exposed_us", line.exposed_us, "what communication adds to the iteration"},
      {"gain_percent", gain_in_percent(line.factor),
       "more samples a second than now, of the whole cluster; every worker has the batch of its "
       "trace, or where one of the two traces states none, as many samples as now"},
      Field("interval_percent", std::move(interval),
            "where nine of ten measured gains would be, by the errors of measured pairs; not given "
            "where nothing comparable was ever measured")
          .entries(2, 2, "ends"),
      Field("measured", line.measured, "what the interval rests on, or why there is none").if_any(),
      Field(
          "is_bound", change.is_bound,
          "nobody can set it, and no setting of this kind gains more, unless the name says that it "
          "is no bound here; not given where it can be set")
          .if_any(),
      {"learning", told_learning(line),
       "with --learn: what small models say of a change that alters learning; a band, not a "
       "forecast"},
      {"alters_learning", any_change_of(change, alters_learning),
       "whether training may need other iterations to the same accuracy, which is not counted"},
      {"needs_hardware", any_change_of(change, needs_hardware),
       "whether something has to be bought"},
      Field("how", change.how, "what to set in programs that train").if_any(),
      Field("assumed", assumed(line), "what the figure rests on").filled("assumption").if_any(),
      {"end", told_end(line.training), "of the whole training with this change; with --goodput"},
      {"days_saved", std::move(saved), "by how many days it ends earlier"},
      Field("days_saved_interval", std::move(saved_interval),
            "the same at the ends of interval_percent")
          .entries(2, 2, "ends"),
      {"command", told.command, "the command that gives this line's figures"}};
}

struct ToldLeftOut {
  std::string change = {};
  std::string why = {};
};
Fields fields_of(const ToldLeftOut& told) {
  return {{"change", told.change, "what it is, for people"},
          {"why", told.why, "why it has no figure"}};
}

// ---- the step as it is

struct ToldStep {
  int64_t iteration_ps = 0;
  double iteration_us = 0;
  double exposed_us = 0;
  int64_t workers = 1;
  std::string fidelity = "recorded";
  std::string strategy = "recorded";
  std::string collective = "recorded";
  std::string command = {};
  const StepResult* result = nullptr;  // of which there is a reason
  std::string reason = {};
  std::string busiest = {};
  std::optional<ToldEnd> end = {};
};

std::vector<std::string> fidelities_or_recorded() {
  std::vector<std::string> names = names_in(fidelities);
  names.emplace_back("recorded");
  return names;
}

Fields fields_of(const ToldStep& told) {
  return {{"iteration_ps", told.iteration_ps, "mean time of an iteration in whole picoseconds"},
          {"iteration_us", told.iteration_us, "mean time of an iteration"},
          {"exposed_us", told.exposed_us, "what communication adds to the iteration"},
          Field("workers", told.workers, "how many workers train").at_least(1),
          Field("fidelity", told.fidelity, "how every step was simulated; recorded: it was not")
              .one_of(fidelities_or_recorded()),
          {"strategy", told.strategy, "which gradients share a message"},
          {"collective", told.collective, "how a message is exchanged"},
          {"command", told.command, "the command that gives these figures"},
          critical_field(told.result),
          {"reason", told.result != nullptr ? std::optional(told.reason) : std::nullopt,
           "the same as a sentence"},
          Field("busiest", told.busiest,
                "the link that is used most, if messages can be put on the wires of this cluster")
              .if_any(),
          {"end", told.end, "of the whole training on a machine that fails; with --goodput"}};
}

struct ToldAdvice {
  const std::optional<RecordedTruth>& recorded;
  std::string why_no_gains = {};
  ToldStep now = {};
  int tried = 0;
  std::vector<ToldLine> lines = {};
  std::vector<ToldLeftOut> left_out = {};
};

// Where there is nothing but what was recorded, that comes first.
Fields advice_fields(const ToldAdvice& told) {
  const Fields recorded = {
      {"recorded", told.recorded, "of a profile: what was recorded, medians over steps and ranks"},
      Field("why_no_gains", told.why_no_gains,
            "of a profile: why nothing was simulated; not given where gains are")
          .if_any()};
  const Fields gains = {
      {"now", told.now, "the step as it is; where nothing was simulated, the recorded one"},
      Field("tried", told.tried,
            "how many changes were simulated, with pairs of a strategy and an algorithm, of which "
            "only the best is a line")
          .at_least(0),
      {"lines", told.lines,
       "changes, the most samples a second first, or with --goodput the earliest end of the "
       "training; the step as it is is one of them, without settings"},
      {"left_out", told.left_out, "what was not simulated"}};
  Fields head = {answer_kind("sgdsim/advice/1")};
  return told.why_no_gains.empty() ? std::move(head) + gains + recorded
                                   : std::move(head) + recorded + gains;
}

Json recorded_facts(const AdviceQuestion& question, const RecordedTruth& truth,
                    const std::string& why) {
  const profiler::Recording& recording = truth.recorded->recording;
  const std::optional<RecordedTruth> recorded = truth;
  return written(advice_fields(
      {.recorded = recorded,
       .why_no_gains = why,
       .now = {.iteration_ps = recording.iteration.ps(),
               .iteration_us = recording.iteration.us(),
               .exposed_us = (recording.exposed + recording.others).us(),
               .workers = recording.ranks,
               .command = shell_command("advise", question.file, question.cluster, {})}}));
}

ToldStep told_now(const AdviceQuestion& question, const Advice& advice) {
  const Metrics now = metrics_of(advice.experiment, advice.now);
  ToldStep told{.iteration_ps = now.mean_ps,
                .iteration_us = now.mean_us,
                .exposed_us = advice.now.mean.exposed.us(),
                .workers = advice.experiment.cluster.network.workers(),
                .fidelity = std::string(name_of(advice.experiment.fidelity)),
                .strategy = advice.experiment.strategy.name,
                .collective = advice.experiment.collective,
                .command = command_of(question, {}),
                .busiest = advice.busiest,
                .end = told_end(advice.training)};
  if (!advice.now.critical.empty()) {
    told.result = &advice.now;
    told.reason = reason_text(advice.now, advice.experiment.trace);
  }
  return told;
}

}  // namespace

Json schema_of_advice() {
  const std::optional<RecordedTruth> recorded;
  return record_schema(advice_fields({recorded}));
}

Json facts_json(const AdviceQuestion& question, const RecordedTruth& truth) {
  return recorded_facts(question, truth, why_no_gains(truth));
}

Json advice_json(const AdviceQuestion& question, const Advice& advice) {
  if (!advice.why_no_gains.empty())
    return recorded_facts(question, *advice.truth, advice.why_no_gains);
  ToldAdvice told{
      .recorded = advice.truth, .now = told_now(question, advice), .tried = advice.tried};
  for (const AdviceLine& line : advice.lines)
    told.lines.push_back({line, command_of(question, line.change, line.training)});
  for (const auto& [change, why] : advice.left_out) told.left_out.push_back({change, why});
  return written(advice_fields(told));
}

}  // namespace sgdsim
