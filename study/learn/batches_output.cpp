// Batches for people and as JSON.
#include <algorithm>
#include <cmath>

#include "study/learn/learn_answer.h"
#include "study/learn/learn_batches.h"
#include "study/learn/learn_fields.h"
#include "study/table.h"

namespace sgdsim {
namespace {

// ---- for people

std::string batch_count_text(double value) { return rounded(value, 4); }
std::string batch_noise_text(double value) {
  return std::isfinite(value) ? rounded(value, 3) : std::string("beyond");
}

std::string cell_of(const BatchLesson& lesson, int64_t iterations) {
  if (lesson.is_reached()) return range_of_seeds(lesson.over_seeds, batch_count_text);
  return lesson.ended.empty() ? "not within " + std::to_string(iterations) : "diverged";
}

std::string batch_interval_text(const BatchInterval& interval) {
  return rounded(interval.low, 3) + " to " +
         (interval.high ? rounded(*interval.high, 3) : std::string("any"));
}

void print_law(std::ostream& out, const BatchTarget& target) {
  if (!target.fit.law) {
    out << "no law: " << target.fit.why_not << '\n';
    return;
  }
  const BatchLaw& law = *target.fit.law;
  out << "S(B) = " << rounded(law.least_iterations, 4) << " (1 + " << rounded(law.critical_batch, 4)
      << " / B): at least " << rounded(law.least_iterations, 4) << " iterations ("
      << batch_interval_text(target.fit.least_iterations) << ") and "
      << rounded(law.least_samples(), 4) << " samples.\nCritical batch "
      << rounded(law.critical_batch, 4) << " samples ("
      << batch_interval_text(target.fit.critical_batch);
  if (target.critical_by_seed.size() > 1) {
    const OverSeeds seeds = over_seeds(target.critical_by_seed);
    out << "; single seeds " << batch_noise_text(seeds.low) << " to "
        << batch_noise_text(seeds.high);
  }
  out << ")";
  if (target.noise_scale)
    out << "; measured noise scale until then " << batch_noise_text(*target.noise_scale);
  out << ".\n";
}

void print_target(std::ostream& out, const LearnedBatches& all, const BatchTarget& target) {
  out << '\n' << "to " << goal_text(target.target);
  if (all.target_is_chosen) out << ", which the fewest samples reach in half of the iterations";
  out << "\n\n";
  Table table(
      {"samples", "rate", "iterations to target", "by the law", "samples in all", "noise scale"});
  std::string left_out;
  for (const BatchLesson& lesson : target.lessons) {
    const auto samples = static_cast<double>(lesson.samples);
    table.add({std::to_string(lesson.samples) + (lesson.is_at_edge ? " *" : ""),
               rounded(lesson.rate, 4), cell_of(lesson, all.iterations),
               target.fit.law ? rounded(target.fit.law->iterations(samples), 4) : "-",
               lesson.is_reached() ? rounded(samples * lesson.over_seeds.median, 4) : "-",
               lesson.noise_scale ? batch_noise_text(*lesson.noise_scale) : "-"});
    if (!lesson.is_reached())
      left_out += (left_out.empty() ? "" : ", ") + std::to_string(lesson.samples);
  }
  table.print(out, 0);
  out << '\n';
  if (!left_out.empty())
    out << "The target was not reached with " << left_out
        << " samples, which the law leaves out.\n";
  print_law(out, target);
}

// ---- JSON

struct ToldBatchLesson {
  BatchLesson lesson = {};
  std::optional<double> law = {};
};
Fields fields_of(const ToldBatchLesson& told) {
  const BatchLesson& lesson = told.lesson;
  std::vector<double> reached;
  for (const double value : lesson.iterations)
    if (std::isfinite(value)) reached.push_back(value);
  const OverSeeds& seeds = lesson.over_seeds;
  const bool is_reached = lesson.is_reached();
  const auto if_reached = [&](double value) {
    return is_reached ? if_finite(value) : std::nullopt;
  };
  return {Field("samples", lesson.samples, "of all workers in an iteration").from(1, INT64_MAX),
          Field("rate", lesson.rate, "learning rate").at_least(0),
          Field("best_rate_is_at_edge", lesson.is_at_edge,
                "the best rate is the first or last of the ladder, so a better one may lie beyond")
              .if_any(),
          Field("iterations", if_reached(seeds.median),
                "to the target, of the middle seed, interpolated between evaluations; null: not "
                "reached")
              .or_null(),
          Field("iterations_low", if_reached(seeds.low), "of the first seed").or_null(),
          Field("iterations_high", if_reached(seeds.high), "of the last seed; null: not reached")
              .or_null(),
          Field("seeds_that_reached_it", static_cast<int64_t>(reached.size()), "how many")
              .from(0, INT64_MAX),
          Field("by_the_law", told.law, "what the fitted law says; null: there is none").or_null(),
          Field("samples_in_all", if_reached(seeds.median * static_cast<double>(lesson.samples)),
                "samples times iterations")
              .or_null(),
          Field("noise_scale", if_finite(lesson.noise_scale.value_or(HUGE_VAL)),
                "samples at which noise and mean gradient are alike, over the iterations until the "
                "target; null: noise only, or not measured")
              .or_null(),
          Field("ended", lesson.ended, "why a lesson ended before its time").if_any()};
}

struct ToldBatchFit {
  BatchLaw law = {};
  BatchInterval least = {};
  BatchInterval critical = {};
  std::optional<double> critical_low_of_seeds = {};
  std::optional<double> critical_high_of_seeds = {};
  std::optional<double> noise_scale = {};
};
Fields fields_of(const ToldBatchFit& told) {
  return {
      Field("least_iterations", told.law.least_iterations, "S_min: with very many samples")
          .at_least(0),
      Field("least_iterations_low", told.least.low, "interval of 95 %, from what the fit leaves")
          .at_least(0),
      Field("least_iterations_high", told.least.high, "its other end").or_null(),
      Field("critical_batch", told.law.critical_batch,
            "B_crit, samples: with them the iterations are twice the least")
          .at_least(0),
      Field("critical_batch_low", told.critical.low, "interval of 95 %, by Fieller's theorem")
          .at_least(0),
      Field("critical_batch_high", told.critical.high, "its other end; null: no bound").or_null(),
      Field("critical_batch_low_of_seeds", told.critical_low_of_seeds,
            "the least of fits of single seeds; null: all are below their critical batch")
          .or_null(),
      Field("critical_batch_high_of_seeds", told.critical_high_of_seeds,
            "the largest of fits of single seeds; null: one is below its critical batch")
          .or_null(),
      Field("least_samples", told.law.least_samples(),
            "S_min B_crit: in all, with very few at once")
          .at_least(0),
      Field("noise_scale", told.noise_scale,
            "measured until the target, in the middle of the numbers of samples; null: noise "
            "only, or not measured")
          .or_null()};
}

struct ToldBatchTarget {
  std::optional<double> accuracy = {};
  std::optional<double> loss = {};
  std::vector<ToldBatchLesson> lessons = {};
  std::optional<ToldBatchFit> fit = {};
  std::string why_no_fit = {};
};
Fields fields_of(const ToldBatchTarget& told) {
  return {{"accuracy", told.accuracy, "to reach, on what is held out"},
          {"loss", told.loss, "to reach, on what is held out"},
          {"lessons", told.lessons, "with each number of samples, the least first"},
          {"fit", told.fit, "S(B) = least_iterations (1 + critical_batch / B), if there is one"},
          Field("why_no_fit", told.why_no_fit, "in place of it").if_any()};
}

ToldBatchTarget told_target(const BatchTarget& target) {
  ToldBatchTarget result;
  (target.target.is_accuracy ? result.accuracy : result.loss) = target.target.value;
  for (const BatchLesson& lesson : target.lessons) {
    result.lessons.push_back({lesson, std::nullopt});
    if (target.fit.law)
      result.lessons.back().law = target.fit.law->iterations(static_cast<double>(lesson.samples));
  }
  result.why_no_fit = target.fit.why_not;
  if (!target.fit.law) return result;
  ToldBatchFit fit{*target.fit.law, target.fit.least_iterations, target.fit.critical_batch};
  if (!target.critical_by_seed.empty()) {
    const OverSeeds seeds = over_seeds(target.critical_by_seed);
    fit.critical_low_of_seeds = if_finite(seeds.low);
    fit.critical_high_of_seeds = if_finite(seeds.high);
  }
  if (target.noise_scale) fit.noise_scale = if_finite(*target.noise_scale);
  result.fit = fit;
  return result;
}

}  // namespace

Fields fields_of(const LearnedBatches& all) {
  std::vector<ToldBatchTarget> targets;
  for (const BatchTarget& target : all.targets) targets.push_back(told_target(target));
  return {answer_kind("sgdsim/learn-batches/1"),
          {"name", all.name, "of the experiment"},
          Field("task", all.task, "what is learned: a name, or an object with its fields"),
          Field("weights", static_cast<int64_t>(all.weights), "how many the model has")
              .from(0, INT64_MAX),
          Field("workers", all.workers, "that share the samples").from(1, INT64_MAX),
          Field("iterations", all.iterations, "of a lesson, at most").from(0, INT64_MAX),
          {"seeds", all.seeds, "one lesson for each"},
          Field("rates", std::string(all.wants_best_rate ? "best" : "base"),
                "whether each number of samples has its own best learning rate of a ladder")
              .one_of({"base", "best"}),
          Field("rate", all.rate, "learning rate at `rate_samples`").at_least(0),
          Field("rate_samples", all.task_samples, "of all workers, at which the rate is that")
              .from(1, INT64_MAX),
          Field("batch_rate", std::string(name_in(batch_rates, all.batch_rate)),
                "how the rate, or the middle of the ladder, follows the samples")
              .one_of(names_in(batch_rates)),
          {"target_was_asked_for", !all.target_is_chosen,
           "false: it is the loss that the fewest samples have after half of their iterations"},
          {"targets", std::move(targets), "each, with its law"}};
}

void print_batches(std::ostream& out, const LearnedBatches& all) {
  out << all.name << ": " << all.task_name << " (" << all.weights << " weights), dense training by "
      << all.workers << (all.workers == 1 ? " worker" : " workers")
      << "; samples are those of all in an iteration\n";
  out << (all.wants_best_rate ? "best of five rates around " : "rate ") << rounded(all.rate, 4)
      << " at " << all.task_samples << " samples";
  if (all.batch_rate != BatchRate::fixed)
    out << ", times " << (all.batch_rate == BatchRate::sqrt ? "the square root of " : "")
        << "samples / " << all.task_samples;
  out << "; " << all.seeds.size() << (all.seeds.size() == 1 ? " seed" : " seeds") << ", at most "
      << all.iterations << " iterations\n";
  bool has_edge = false;
  for (const BatchTarget& target : all.targets) {
    print_target(out, all, target);
    for (const BatchLesson& lesson : target.lessons) has_edge = has_edge || lesson.is_at_edge;
  }
  out << "\nIterations: median (range) of seeds, interpolated between evaluations. Laws are fitted "
         "by "
         "least squares in\n1 / B through the medians; intervals of 95 % from what the fit leaves. "
         "Times are not told: what other\nnumbers of samples do to an iteration, the trace does "
         "not "
         "say. A small task's law is its own.\n";
  if (all.workers == 1)
    out << "The noise scale is not measured: one worker has no second number of samples to compare "
           "with.\n";
  if (has_edge) out << "*: " << edge_of_ladder << '\n';
}

Json batches_json(const LearnedBatches& learned) { return to_json_by_fields(learned); }
Json schema_of_learned_batches() { return schema_of_record<LearnedBatches>(); }

}  // namespace sgdsim
