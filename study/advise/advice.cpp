// Playing every change, and every strategy with every algorithm.
#include "study/advise/advice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "models/collective/simulate.h"
#include "models/step/asynchronous_workers.h"
#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/worked_on.h"
#include "study/advise/measured_errors.h"
#include "study/advise/own_change.h"
#include "study/learn/lessons.h"
#include "study/step/plan.h"
#include "study/step/result_json.h"
#include "study/step/warnings.h"
#include "study/stop_watch.h"
#include "study/table.h"
#include "study/tie.h"
#include "study/wire_use.h"

namespace sgdsim {
namespace {

constexpr char pushes_in_order[] =
    "the order of its pushes has to be simulated for each lesson; `sgdsim learn` does that";
constexpr std::size_t most_pairs = 8;      // that are simulated message by message
constexpr int most_workers_on_wires = 64;  // a ring among more takes longer than the advice

class Adviser {
 public:
  Adviser(const AdviceQuestion& question, ResolvedExperiment base) : question_(question) {
    advice_.base = std::move(base);
    advice_.experiment = read_experiment(advice_.base);
    StepQuestion step = advice_.experiment.question();
    step.wants_reason = true;
    step.stopper = question.stopper;
    const StopWatch begun;
    try {
      advice_.now = simulate_step(step);
    } catch (const NetworkStuck&) {
      throw;
    } catch (const InputError& error) {
      throw InputError(advice_.experiment.file, error.what());
    }
    now_ = rate_of(advice_.experiment, advice_.now);
    if (question.training)
      training_.emplace(*question.training, advice_.experiment.cluster,
                        Duration::ps(metrics_of(advice_.experiment, advice_.now).mean_ps));
    compare_with_record();
    seconds_ = begun.seconds();
  }

  Advice advise() {
    if (!advice_.why_no_gains.empty()) return std::move(advice_);
    const Experiment& experiment = advice_.experiment;
    ChangeList list = changes_of(advice_.base, experiment);
    advice_.left_out = std::move(list.left_out);
    const std::vector<Change> known = list.changes;
    for (const Change& own : question_.own)
      list.changes.push_back(with_kinds(own, advice_.base, experiment, known));
    if (question_.tell) question_.tell(list.changes.size(), seconds_);
    add_as_it_is();
    advice_.tried += static_cast<int>(list.changes.size());
    for (Played& played : play_all(list.changes)) {
      if (played.line)
        advice_.lines.push_back(std::move(*played.line));
      else
        advice_.left_out.emplace_back(played.name, played.why_not);
    }
    name_bounds();
    add_best_of_two();
    if (training_) add_training();
    std::stable_sort(
        advice_.lines.begin(), advice_.lines.end(), [](const AdviceLine& a, const AdviceLine& b) {
          return a.training ? a.training->end.days < b.training->end.days : a.factor > b.factor;
        });
    look_at_wires();
    if (question_.learns) add_learning();
    return std::move(advice_);
  }

 private:
  void compare_with_record() {
    if (!advice_.base.recorded) return;
    advice_.truth = truth_of(advice_.base.recorded);
    if (!question_.cluster.empty())
      advice_.truth->here = played_here(question_.cluster, advice_.experiment, advice_.now);
    advice_.why_no_gains = why_no_gains(*advice_.truth);
    const Json curve = recorded_curve(advice_.base.recorded->recording);
    is_on_recorded_curve_ = advice_.base.json.value("collective", Json()) == curve;
  }

  // Beyond the sizes that were recorded nothing is known of their times.
  std::string beyond_record(const StepResult& result) const {
    if (!is_on_recorded_curve_) return {};
    Bytes least = advice_.base.recorded->recording.buckets.front().size;
    Bytes most = least;
    for (const auto& bucket : advice_.base.recorded->recording.buckets) {
      least = std::min(least, bucket.size);
      most = std::max(most, bucket.size);
    }
    for (const MessageRecord& message : result.messages)
      if (message.size < least || message.size > most)
        return "sizes beyond the recorded " + to_text(least) + " to " + to_text(most) +
               " are sent; give --cluster, or a log of all-reduces with --fit";
    return {};
  }

  // Samples a second if every worker has one sample.
  static double rate_of(const Experiment& experiment, const StepResult& result) {
    return experiment.cluster.network.workers() /
           static_cast<double>(metrics_of(experiment, result).total_ps) *
           static_cast<double>(result.iterations.size());
  }

  // Samples of a worker over those now; 1 where one of the two traces does not say how many.
  double batch_factor(const Experiment& experiment) const {
    const auto now = static_cast<double>(advice_.experiment.trace.batch);
    const auto then = static_cast<double>(experiment.trace.batch);
    return now > 0 && then > 0 ? then / now : 1;
  }

  // First, so that what gains nothing stands behind it.
  void add_as_it_is() {
    AdviceLine line;
    line.change.name = "as it is";
    line.iteration_ps = metrics_of(advice_.experiment, advice_.now).mean_ps;
    line.exposed_us = advice_.now.mean.exposed.us();
    line.warnings = warnings_of(advice_.experiment, advice_.now);
    line.interval = {1, 1};
    is_now_of_worst_pair_ = is_of_worst_pair(line);
    line.workers = advice_.experiment.cluster.network.workers();
    advice_.lines.push_back(std::move(line));
  }

  struct Played {
    std::string name;
    std::optional<AdviceLine> line = {};
    std::string why_not = {};
  };
  std::vector<Played> play_all(const std::vector<Change>& changes) {
    return worked_on<Played>(changes.size(), {.look = [this] { look(question_.stopper); }},
                             [&](int, std::size_t number, const std::function<void()>& its_look) {
                               Stopper stopper(its_look);
                               return play(changes[number], stopper);
                             });
  }

  Played play(const Change& change, Stopper& stopper) const {
    stopper.look();
    Played played{change.name};
    try {
      const Experiment experiment = read_experiment(with_settings(advice_.base, change.settings));
      StepQuestion step = experiment.question();
      step.stopper = &stopper;
      const StepResult result = simulate_step(step);
      played.why_not = beyond_record(result);
      if (!played.why_not.empty()) return played;
      AdviceLine line;
      line.change = change;
      line.iteration_ps = metrics_of(experiment, result).mean_ps;
      line.exposed_us = result.mean.exposed.us();
      line.batch = batch_factor(experiment);
      if (line.batch != 1)
        line.change.assumes += std::string(line.change.assumes.empty() ? "" : "; ") +
                               "each worker has " + number_text(with_digits(line.batch, 3)) +
                               " times the samples, so that a step has " +
                               (line.batch > 1 ? "more" : "fewer");
      line.factor = line.batch * rate_of(experiment, result) / now_;
      line.warnings = warnings_of(experiment, result);
      line.workers = experiment.cluster.network.workers();
      set_interval(line);
      played.line = std::move(line);
    } catch (const InputError& error) {
      played.why_not = error.what();
    }
    return played;
  }

  // Whether its formula takes all links for the slowest.
  static bool is_of_worst_pair(const AdviceLine& line) {
    return std::find(line.warnings.begin(), line.warnings.end(), worst_pair_said) !=
           line.warnings.end();
  }

  // Errors of kinds that were measured apart multiply at worst.
  void set_interval(AdviceLine& line) const {
    if (is_now_of_worst_pair_ || is_of_worst_pair(line)) {
      line.measured = std::string(worst_pair_said) +
                      ": how far off that is was never measured; --fidelity message knows links";
      return;
    }
    double error = 1;
    for (const ChangeKind kind : line.change.kinds) {
      const MeasuredErrors* errors = measured_errors(kind);
      if (errors == nullptr) {
        line.measured = kind == ChangeKind::own
                            ? "what a change of your own gains was never measured"
                            : "no measured steps differ in " + std::string(name_of(kind));
        return;
      }
      error *= 1 + errors->p90;
      if (!line.measured.empty()) line.measured += "; ";
      line.measured += std::to_string(errors->pairs) + " pairs of " + std::string(errors->of) +
                       ": nine of ten ratios within " + rounded(100 * errors->p90, 2) + " %";
    }
    line.interval = {line.factor / error, line.factor * error};
  }

  // A change of the list, and none of one's own.
  static bool is_known(const AdviceLine& line) {
    return !line.change.kinds.empty() && !line.change.is_own;
  }

  // Changes of one sort, best first.
  std::vector<Change> best_of(bool (*is)(const Change&)) const {
    std::vector<const AdviceLine*> found;
    for (const AdviceLine& line : advice_.lines)
      if (is_known(line) && !line.change.is_bound && is(line.change)) found.push_back(&line);
    std::stable_sort(found.begin(), found.end(), [](const AdviceLine* a, const AdviceLine* b) {
      return a->factor > b->factor;
    });
    std::vector<Change> changes;
    for (const AdviceLine* line : found) changes.push_back(line->change);
    return changes;
  }

  // Strategies with algorithms. Where messages are simulated a handful of them has to do.
  std::vector<Change> pairs() {
    const std::vector<Change> strategies = best_of([](const Change& change) {
      return change.kinds.front() == ChangeKind::strategy ||
             change.kinds.front() == ChangeKind::buckets;
    });
    const std::vector<Change> algorithms =
        best_of([](const Change& change) { return change.kinds.front() == ChangeKind::algorithm; });
    std::vector<Change> pairs;
    for (const Change& first : strategies)
      for (const Change& second : algorithms) pairs.push_back(both(first, second));
    if (advice_.experiment.fidelity == Fidelity::closed_form) return pairs;
    return likeliest(pairs, algorithms.size());
  }

  // The two best of each with each other, and those that are best by formulas, which know less;
  // what has no formula comes last. `pairs`: each strategy with all algorithms, the best of both
  // first.
  std::vector<Change> likeliest(const std::vector<Change>& pairs, std::size_t algorithms) {
    std::vector<Change> by_formulas = pairs;
    for (Change& pair : by_formulas) pair.settings.emplace_back("fidelity=closed_form");
    constexpr std::size_t best_of_each = 2;
    constexpr double first = -std::numeric_limits<double>::infinity();
    constexpr double last = 0;
    std::vector<std::pair<double, std::size_t>> order;
    const std::vector<Played> played = play_all(by_formulas);
    for (std::size_t i = 0; i < played.size(); ++i) {
      if (i / algorithms < best_of_each && i % algorithms < best_of_each)
        order.emplace_back(first, i);
      else
        order.emplace_back(played[i].line ? -played[i].line->factor : last, i);
    }
    std::stable_sort(order.begin(), order.end());
    // Of those that formulas do not tell apart one has to do.
    order.erase(std::unique(order.begin(), order.end(),
                            [](const auto& one, const auto& other) {
                              return one.first == other.first && one.first != first &&
                                     one.first != last;
                            }),
                order.end());
    order.resize(std::min(order.size(), most_pairs));
    std::vector<Change> best;
    for (const auto& [place, number] : order) best.push_back(pairs[number]);
    return best;
  }

  // The best merging is planned by formulas: where messages take something else, a strategy that is
  // simulated may gain more.
  void name_bounds() {
    double best = 0;
    for (const AdviceLine& line : advice_.lines)
      if (!line.change.is_bound && !line.change.is_own &&
          (line.change.kinds.empty() || line.change.kinds.front() <= ChangeKind::buckets))
        best = std::max(best, line.factor);
    for (AdviceLine& line : advice_.lines) {
      if (!line.change.is_bound || line.factor >= best || is_tie(line.factor, best)) continue;
      if (!line.change.is_own) line.change.name = "the best merging by formula, no bound here";
      line.change.assumes = bound_text(true);
    }
  }

  // The best of strategies with algorithms, if it is better than either.
  void add_best_of_two() {
    double best = 1;
    for (const AdviceLine& line : advice_.lines)
      if (is_known(line) && !line.change.is_bound &&
          line.change.kinds.front() <= ChangeKind::algorithm)
        best = std::max(best, line.factor);
    std::optional<AdviceLine> found;
    const std::vector<Change> changes = pairs();
    advice_.tried += static_cast<int>(changes.size());
    for (Played& played : play_all(changes)) {
      if (!played.line || played.line->factor <= best || is_tie(played.line->factor, best))
        continue;
      best = played.line->factor;
      found = std::move(played.line);
    }
    if (found) advice_.lines.push_back(std::move(*found));
  }

  // Changes of one's own may alter learning, too, so it is not their kind that is asked.
  void add_learning() {
    std::vector<AdviceLine*> lines;
    std::vector<Experiment> changed;
    if (is_in_order(advice_.experiment)) return leave_unlearned("what small models say");
    for (AdviceLine& line : advice_.lines) {
      if (line.change.is_of_training) continue;
      Experiment experiment = read_experiment(with_settings(advice_.base, line.change.settings));
      if (is_in_order(experiment)) {
        leave_unlearned("what small models say of " + line.change.name);
        continue;
      }
      if (const double samples =
              line.batch * line.workers / advice_.experiment.cluster.network.workers();
          std::abs(samples - 1) > 1e-9) {
        leave_unlearned("what small models say of " + line.change.name,
                        "its steps have " + number_text(with_digits(samples, 3)) +
                            " times the samples; `sgdsim learn --batches` learns what that saves");
        continue;
      }
      if (learn_alike(rules_of(experiment), rules_of(advice_.experiment))) continue;
      lines.push_back(&line);
      changed.push_back(std::move(experiment));
    }
    std::mutex one_at_a_time;
    const std::vector<LearningBand> bands = learning_bands(advice_.experiment, changed, [&] {
      const std::lock_guard lock(one_at_a_time);
      look(question_.stopper);
    });
    for (std::size_t i = 0; i < bands.size(); ++i) lines[i]->learning = bands[i];
  }
  static bool is_in_order(const Experiment& experiment) {
    return asynchronous_rule(experiment.question()) != nullptr;
  }
  void leave_unlearned(std::string what, std::string why = pushes_in_order) {
    advice_.left_out.emplace_back(std::move(what), std::move(why));
  }
  static LearnMethod rules_of(const Experiment& experiment) {
    LearnMethod method;
    take_rules(experiment, method);
    method.log_hash = hash_of(method.log);
    return method;
  }

  // Ends of the training with every line, and lines for what changes nothing about the step.
  void add_training() {
    const AdviceLine now = advice_.lines.front();
    advice_.training = end_with(now);
    ChangeList list = training_->changes();
    advice_.left_out.insert(advice_.left_out.end(), list.left_out.begin(), list.left_out.end());
    for (Change& change : list.changes) {
      ++advice_.tried;
      AdviceLine line = now;
      line.change = std::move(change);
      line.interval.reset();
      line.measured =
          "no measured trainings differ in " + std::string(name_of(line.change.kinds.front()));
      advice_.lines.push_back(std::move(line));
    }
    std::vector<AdviceLine> ending;
    for (AdviceLine& line : advice_.lines) {
      look(question_.stopper);
      try {
        line.training = end_with(line);
        ending.push_back(std::move(line));
      } catch (const InputError& error) {
        advice_.left_out.emplace_back(line.change.name, error.what());
      }
    }
    advice_.lines = std::move(ending);
  }
  AdvisedEnd end_with(const AdviceLine& line) const {
    const std::vector<std::string> settings =
        line.change.is_of_training ? line.change.settings : std::vector<std::string>{};
    // If the step were so many times as fast.
    const auto end = [&](double faster) {
      const auto ps = static_cast<double>(line.iteration_ps) / faster;
      return training_->end(
          Duration::nearest_ps(ps), line.workers, settings, [this] { look(question_.stopper); },
          line.batch);
    };
    AdvisedEnd with{end(1), 0, {}, ""};
    const double now_days = advice_.training ? advice_.training->end.days : with.end.days;
    with.saved_days = now_days - with.end.days;
    if (line.interval)
      with.saved_interval = {now_days - end(line.interval->first / line.factor).days,
                             now_days - end(line.interval->second / line.factor).days};
    with.command =
        training_->command(Duration::ps(line.iteration_ps), line.workers, settings, line.batch);
    return with;
  }

  // Which link is used most, where the messages can be put on the wires.
  void look_at_wires() {
    const Experiment& experiment = advice_.experiment;
    if (is_on_wires(experiment.fidelity)) return set_busiest(advice_.now.wires);
    if (experiment.cluster.network.workers() > most_workers_on_wires) return;
    try {
      Experiment wired = experiment;
      wired.fidelity = Fidelity::flow;
      StepQuestion step = wired.question();
      step.stopper = question_.stopper;
      set_busiest(simulate_step(step).wires);
    } catch (const InputError&) {
      // Costs without messages and some strategies are not played on wires.
    }
  }
  void set_busiest(const WireUse& use) {
    if (!use.busiest.empty()) advice_.busiest = link_text(use.busiest.front());
  }

  const AdviceQuestion& question_;
  Advice advice_;
  double now_ = 0;
  std::optional<AdvisedTraining> training_;
  double seconds_ = 0;  // of our time, for the step as it is
  bool is_on_recorded_curve_ = false;
  bool is_now_of_worst_pair_ = false;
};

}  // namespace

ResolvedExperiment base_of(AdviceQuestion& question) {
  ResolvedExperiment base = resolve_experiment(question.file, question.settings, question.cluster);
  if (base.trace_file == question.file && !base.json.contains("fidelity")) {
    const std::string setting = "fidelity=closed_form";
    question.settings.insert(question.settings.begin(), setting);
    base = with_settings(std::move(base), {setting});
  }
  note_options(base, question.wires);
  return base;
}

Advice advice_on(const AdviceQuestion& question, ResolvedExperiment base) {
  return Adviser(question, std::move(base)).advise();
}

}  // namespace sgdsim
