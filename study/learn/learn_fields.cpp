// What is not reached is null.
#include "study/learn/learn_fields.h"

#include <algorithm>
#include <cmath>

#include "study/learn/absent_workers.h"
#include "study/learn/learn_answer.h"
#include "study/learn/lost_packets.h"
#include "study/sweep/axis_points.h"

namespace sgdsim {
namespace {

// ---- numbers over seeds

struct ToldRange {
  OverSeeds values = {};
  int64_t reached = 0;
};
Fields fields_of(const ToldRange& o) {
  return {
      Field("median", if_finite(o.values.median),
            "the middle seed; null: it did not reach the target")
          .or_null(),
      Field("low", if_finite(o.values.low), "the first seed").or_null(),
      Field("high", if_finite(o.values.high), "the last seed; null: it did not reach the target")
          .or_null(),
      Field("seeds_that_reached_it", o.reached, "how many").at_least(0)};
}

ToldRange range_of(const OverSeeds& values, const std::vector<double>& all) {
  return {values,
          std::count_if(all.begin(), all.end(), [](double value) { return std::isfinite(value); })};
}

struct ToldRatio {
  OverSeeds values = {};
};
Fields fields_of(const ToldRatio& o) {
  return {Field("median", if_finite(o.values.median), "of the middle seed").or_null(),
          Field("low", if_finite(o.values.low), "the least").or_null(),
          Field("high", if_finite(o.values.high), "the most").or_null()};
}

struct ToldRung {
  LearnedRate rung = {};
};
Fields fields_of(const ToldRung& o) {
  return {{"rate", o.rung.rate, "learning rate"},
          Field("iterations_to_target", if_finite(o.rung.iterations_to_target.median),
                "of the middle seed; null: not reached")
              .or_null(),
          Field("final_loss", if_finite(o.rung.final_loss), "of the middle seed; null: diverged")
              .or_null()};
}

struct ToldTarget {
  LearnTarget target = {};
};
Fields fields_of(const ToldTarget& o) {
  std::optional<double> accuracy;
  std::optional<double> loss;
  (o.target.is_accuracy ? accuracy : loss) = o.target.value;
  return {{"accuracy", std::move(accuracy), "on what is held out, from 0 to 1"},
          {"loss", std::move(loss), "on what is held out"}};
}

// For schemas.
LearnedMethod nothing_learned() {
  LearnedMethod method;
  method.ladder.emplace_back();
  return method;
}

// ---- a method

Fields figure_fields(const LearnMethod& method, const LearnedMethod& learned) {
  const LearnedRate& chosen = learned.chosen();
  std::optional<bool> at_edge;
  std::optional<std::vector<ToldRung>> ladder;
  if (learned.ladder.size() > 1) {
    at_edge = learned.is_at_edge;
    ladder.emplace();
    for (const LearnedRate& rung : learned.ladder) ladder->push_back({rung});
  }
  return {
      Field("iteration_us", method.iteration_us,
            "simulated time of an iteration, in the mean of a lesson")
          .at_least(0),
      {"rate", chosen.rate, "learning rate"},
      {"best_rate_is_at_edge", std::move(at_edge),
       "the best rate is the first or last of the ladder, so a better one may lie beyond"},
      {"ladder", std::move(ladder), "with --rate best: what each rate gave"},
      {"iterations_to_target", range_of(chosen.iterations_to_target, chosen.iterations),
       "the first evaluation at the target at which the next one is, too"},
      {"time_to_target_us", range_of(chosen.time_to_target_us, chosen.times_us),
       "the simulated time of it"},
      {"against_dense", ToldRatio{learned.against_dense},
       "time to target over that of dense, seed by seed; null unless all seeds of both reached it"},
      {"log_hash", method.log_hash, "of the update log: equal ones learn equally"},
      {"lost", told_losses(method.losses),
       "the parts of the packets that were lost, as simulated or as the method states"},
      Field("absent", method.log.absences, "workers that are absent").if_any()};
}

struct ToldStaleness {
  int64_t updates = 0;
  int64_t gradients = 0;
};
Fields fields_of(const ToldStaleness& o) {
  return {Field("updates", o.updates, "that a gradient did not know").at_least(0),
          Field("gradients", o.gradients, "how many").at_least(0)};
}

std::vector<ToldStaleness> told_staleness(const LearnMethod& method, int64_t iterations) {
  std::vector<ToldStaleness> told;
  for (const auto& one : learning::staleness_of(method.log, iterations))
    told.push_back({one.first, one.second});
  return told;
}

struct ToldCurvePoint {
  int64_t iteration = 0;
  double time_us = 0;
  double loss = 0;
  std::optional<double> accuracy = {};
};
Fields fields_of(const ToldCurvePoint& o) {
  return {Field("iteration", o.iteration, "after how many").at_least(0),
          Field("time_us", o.time_us, "simulated, from the start").at_least(0),
          {"loss", o.loss, "on what is held out"},
          {"accuracy", o.accuracy, "likewise"}};
}

struct ToldCurve {
  uint64_t seed = 0;
  std::string ended = {};
  std::vector<ToldCurvePoint> points = {};
};
Fields fields_of(const ToldCurve& o) {
  return {Field("seed", o.seed, "of weights and samples").at_least(0),
          Field("ended", o.ended, "why it ended before its time").if_any(),
          {"points", o.points, "evaluations"}};
}

std::vector<ToldCurve> told_curves(const LearnQuestion& question, const LearnMethod& method,
                                   const LearnedRate& rate) {
  std::vector<ToldCurve> curves;
  for (std::size_t i = 0; i < rate.lessons.size(); ++i) {
    ToldCurve curve{question.seeds[i], rate.lessons[i]->ended};
    for (const learning::CurvePoint& point : rate.lessons[i]->curve) {
      ToldCurvePoint one{point.iteration, method.ends_us[static_cast<std::size_t>(point.iteration)],
                         point.loss};
      if (question.task.has_accuracy) one.accuracy = point.accuracy;
      curve.points.push_back(one);
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

struct ToldMethod {
  const LearnQuestion* question = nullptr;
  const LearnMethod* method = nullptr;
  const LearnedMethod* learned = nullptr;
};
Fields fields_of(const ToldMethod& o) {
  static const LearnMethod no_method;
  static const LearnedMethod none_learned = nothing_learned();
  const LearnMethod& method = o.method != nullptr ? *o.method : no_method;
  const LearnedMethod& learned = o.learned != nullptr ? *o.learned : none_learned;
  std::vector<ToldStaleness> staleness;
  std::vector<ToldCurve> curves;
  if (o.question != nullptr) {
    staleness = told_staleness(method, o.question->iterations);
    curves = told_curves(*o.question, method, learned.chosen());
  }
  return Fields{{"method", method.label, "its label"},
                {"settings", method.settings, "what it changes in the experiment"}} +
         figure_fields(method, learned) +
         Fields{{"staleness", std::move(staleness),
                 "how many gradients missed 0, 1, 2, ... updates of the parameters"},
                {"curves", std::move(curves), "for each seed"},
                Field("warnings", method.notes,
                      "what the reader must know before trusting the numbers")
                    .if_any()};
}

// ---- noise

struct ToldSamples {
  OverSeeds values = {};
};
Fields fields_of(const ToldSamples& o) {
  return {
      Field("median", if_finite(o.values.median), "of seeds; null: no mean gradient shows")
          .or_null(),
      Field("low", if_finite(o.values.low), "the least; null: no mean gradient shows").or_null(),
      Field("high", if_finite(o.values.high), "the largest; null: no mean gradient shows")
          .or_null()};
}

// ---- the whole

enum class Stepper : uint8_t { sgd, adamw };
const auto& names_of(Stepper) {
  static constexpr Named<Stepper, 2> names{{{"sgd", Stepper::sgd}, {"adamw", Stepper::adamw}}};
  return names;
}
enum class MomentumOf : uint8_t { sum, workers };
const auto& names_of(MomentumOf) {
  static constexpr Named<MomentumOf, 2> names{
      {{"sum", MomentumOf::sum}, {"workers", MomentumOf::workers}}};
  return names;
}
enum class Rates : uint8_t { base, best };
const auto& names_of(Rates) {
  static constexpr Named<Rates, 2> names{{{"base", Rates::base}, {"best", Rates::best}}};
  return names;
}

Json schema_of_task() { return any_of({text_schema(), any_object_schema()}); }

Fields fields_of_learned(const LearnQuestion& question, const Learned& learned,
                         std::vector<ToldMethod> methods, std::optional<NoiseScale> noise) {
  return {
      answer_kind("sgdsim/learn/1"),
      {"name", question.name, "of the experiment"},
      Field("task", question.task_json, "what is learned: a name, or an object with its fields")
          .like(schema_of_task),
      Field("weights", static_cast<int64_t>(question.task.weights()), "how many the model has")
          .at_least(1),
      Field("workers", question.workers, "of the cluster").at_least(1),
      Field("samples", question.samples, "of a worker in an iteration").at_least(1),
      Field("iterations", question.iterations, "of a lesson, at most").at_least(1),
      {"optimizer", question.optimizer.adam ? Stepper::adamw : Stepper::sgd,
       "what makes steps of gradients"},
      Field("momentum", question.optimizer.momentum, "of sgd").at_least(0),
      {"momentum_of", question.optimizer.momentum_on_worker ? MomentumOf::workers : MomentumOf::sum,
       "whose momentum it is: that of the sum of gradients, or each worker's before it selects"},
      Field("seeds", question.seeds, "one lesson for each").at_least(0),
      {"rates", question.wants_best_rate ? Rates::best : Rates::base,
       "whether each method has its own best learning rate of a ladder, or all have the same"},
      {"target", ToldTarget{learned.target}, "what lessons are to reach"},
      {"target_was_asked_for", !learned.target_is_chosen,
       "false: it is the loss that dense has after half of its iterations"},
      Field("lessons_asked", static_cast<int64_t>(learned.asked), "methods times seeds times rates")
          .at_least(1),
      Field("lessons_learned", static_cast<int64_t>(learned.lessons.size()),
            "different ones: equal update logs are learned once")
          .at_least(1),
      {"methods", std::move(methods), "each, dense first"},
      {"noise", std::move(noise),
       "with --noise-scale: how much gradients of dense training differ from sample to "
       "sample"}};
}

// ---- a point of a sweep

Json schema_of_point_methods() {
  return {{"type", "object"},
          {"additionalProperties", record_schema(point_figures(LearnMethod{}, nothing_learned()))}};
}

Json schema_of_learn_point() { return record_schema(fields_of(ToldLearnPoint{})); }

}  // namespace

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Fields fields_of(const NoiseWindow& o) {
  return {Field("from", o.from, "the iteration before the first").at_least(0),
          Field("to", o.to, "the last iteration").at_least(1),
          Field("loss", if_finite(o.loss), "at the end, of the middle seed").or_null(),
          {"gradient_squared", o.gradient_squared,
           "squared length of the mean gradient, without bias, so that it can be below 0; mean of "
           "seeds"},
          {"covariance_trace", o.covariance_trace, "of a sample's gradient; mean of seeds"},
          {"noise_scale", ToldSamples{o.samples},
           "samples at which noise and mean gradient are alike"}};
}

Fields fields_of(const NoiseScale& o) {
  return {{"windows", o.windows, "of iterations one after the other"},
          {"whole", o.whole, "of all iterations"}};
}

Fields point_figures(const LearnMethod& method, const LearnedMethod& learned) {
  return figure_fields(method, learned) +
         Fields{
             Field("ended", end_of(learned.chosen()), "why a curve ended before its time").if_any(),
             Field("warnings", method.notes,
                   "what the reader must know before trusting the numbers")
                 .if_any()};
}

Fields fields_of(const ToldLearnPoint& o) {
  static const LearnQuestion no_question;
  const LearnQuestion& question = o.question != nullptr ? *o.question : no_question;
  return {{"target", ToldTarget{o.target}, "what lessons are to reach, at every point"},
          {"target_was_asked_for", o.target_was_asked_for,
           "false: it is the loss that dense has after half of its iterations at the first point"},
          Field("task", question.task_json, "what is learned: a name, or an object with its fields")
              .like(schema_of_task),
          Field("workers", question.workers, "of the cluster").at_least(1),
          Field("samples", question.samples, "of a worker in an iteration").at_least(1),
          Field("iterations", question.iterations, "of a lesson, at most").at_least(1),
          Field("seeds", question.seeds, "one lesson for each").at_least(0),
          Field("lessons_asked", o.asked, "of this point: methods, seeds and rates").at_least(1),
          Field("lessons_learned", o.learned, "those that no point before needed").at_least(0),
          Field("methods", o.methods, "by label").like(schema_of_point_methods),
          {"fastest", o.fastest,
           "the labels of the methods with the least median time to the target; empty: none "
           "reached it"},
          Field("seeds_won", o.seeds_won, "with how many seeds the first of them was the fastest")
              .at_least(0)};
}

Json schema_of_learn_points() {
  return schema_of_points("sgdsim/learn-point/1", "how long each method takes to the target here",
                          schema_of_learn_point);
}

Json learned_json(const LearnQuestion& question, const Learned& learned) {
  std::vector<ToldMethod> methods;
  for (std::size_t i = 0; i < learned.methods.size(); ++i)
    methods.push_back({&question, &question.methods[i], &learned.methods[i]});
  std::optional<NoiseScale> noise;
  if (question.measures_noise) noise = noise_scale_of(question, learned);
  return written(fields_of_learned(question, learned, std::move(methods), std::move(noise)));
}

Json schema_of_learned() {
  LearnQuestion usual;
  usual.task.tensors.emplace_back();
  return record_schema(fields_of_learned(usual, Learned{}, {}, {}));
}

}  // namespace sgdsim
