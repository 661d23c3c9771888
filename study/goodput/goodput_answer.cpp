// The runs themselves, and around them what formulas add where they hold. Comparisons use the same
// draws on both sides, so that a small difference is not lost in their noise.
#include "study/goodput/goodput_answer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/goodput/spans.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr int64_t compared_runs = 400;
constexpr int64_t stratum_runs = 100;
constexpr int64_t tried_runs = 4;
constexpr int64_t most_runs = 1'000'000;
constexpr double most_played_events = 1e8;
// Beyond it not even a few runs for each comparison end in a minute.
constexpr double most_compared_events = 2e6;
constexpr double units_of_an_event = 16;  // with a memory, that are looked at
constexpr int64_t least_late_runs = 100;  // fewer are too few to be counted
constexpr double lever_change = 1.1;
constexpr int64_t progress_runs = 100;
constexpr double worth_a_word = 1.02;
constexpr int moments_on_the_way = 40;
constexpr int moments_at_the_end = 24;
constexpr double on_the_way = 0.97;  // of the end of the quickest runs: from there on more closely

struct Asker {
  int threads;
  std::function<void()> look;
  int64_t compared = compared_runs;

  goodput::Runs play(const goodput::Plan& plan, int64_t count, uint64_t seed) const {
    return goodput::play_runs(plan, {count, seed, threads, look});
  }
};

// How much there is to do in a run of the plan, counted in events. A few are played to see, where
// one does not tell already that they take long.
double events_of_run(const goodput::Plan& plan, uint64_t seed, const Asker& asker) {
  double looked_at = 0;
  for (const goodput::Cause& cause : plan.causes)
    if (cause.shape != 1) looked_at += static_cast<double>(cause.units) / units_of_an_event;
  const double first = asker.play(plan, 1, seed).events;
  if (first > most_compared_events) return first + looked_at;
  return asker.play(plan, tried_runs, seed).events + 1 + looked_at;
}

// Fewer, where all of them would take minutes.
int64_t affordable_runs(double events) {
  const double most = std::max(static_cast<double>(tried_runs), most_played_events / events);
  return static_cast<int64_t>(std::min(most, static_cast<double>(most_runs)));
}

// Of another plan a run may take longer than of the question's.
double expected_s(const goodput::Plan& plan, uint64_t seed, const Asker& asker) {
  if (has_closed_form(plan)) return closed_form_s(plan);
  const int64_t affordable = affordable_runs(events_of_run(plan, seed, asker));
  const int64_t compared = std::min(asker.compared, std::max(tried_runs, affordable / 20));
  return goodput::to_s(asker.play(plan, compared / 4 + 1, seed).wall);
}

std::vector<IntervalEnd> try_intervals(const GoodputQuestion& question, const Asker& asker) {
  std::vector<IntervalEnd> ends;
  for (const goodput::Plan& plan : plans_with_intervals(question.plan))
    ends.push_back({plan.interval, plan.interval_s(), expected_s(plan, question.seed, asker)});
  return ends;
}

std::vector<goodput::Progress> follow_progress(const GoodputQuestion& question,
                                               const goodput::Runs& runs, const Asker& asker) {
  const double near_s = on_the_way * runs.quantile(0.05).value_s;
  const double longest_s = goodput::to_s(runs.walls.back());
  std::vector<double> moments_s;
  for (int i = 0; i < moments_on_the_way; ++i) moments_s.push_back(near_s * i / moments_on_the_way);
  for (int i = 0; i < moments_at_the_end; ++i)
    moments_s.push_back(near_s + (longest_s - near_s) * i / moments_at_the_end);
  moments_s.push_back(longest_s);
  return goodput::progress_at(
      question.plan, moments_s,
      {std::min(progress_runs, asker.compared), question.seed, asker.threads, asker.look});
}

// How much longer runs take with an interval than with another one; empty: not worth a word.
std::string longer_text(double wall_s, double least_s, double interval_s) {
  if (wall_s < worth_a_word * least_s) return "";
  return " the runs take " + rounded(100 * (wall_s / least_s - 1), 2) +
         " % longer than with a save every " + span_text(interval_s);
}

// Where no formula holds, runs may end earlier with another interval than that which they had, and
// later with the one that is best by formula.
void warn_of_interval(const GoodputQuestion& question, GoodputAnswer& answer) {
  if (has_closed_form(question.plan) || answer.intervals.empty()) return;
  const auto earliest = std::min_element(
      answer.intervals.begin(), answer.intervals.end(),
      [](const IntervalEnd& a, const IntervalEnd& b) { return a.wall_s < b.wall_s; });
  const auto wall_s = [&](int64_t steps) {
    for (const IntervalEnd& one : answer.intervals)
      if (one.steps == steps) return one.wall_s;
    return earliest->wall_s;  // not tried
  };
  const double own_s = wall_s(question.plan.interval);
  const auto interval_s = static_cast<double>(earliest->steps) * question.plan.step_s;
  const std::string by_formula =
      "the best interval is that of a formula, which does not know all that happens here: with it";
  if (const std::string longer = longer_text(own_s, earliest->wall_s, interval_s); !longer.empty())
    answer.warnings.push_back(
        (question.wants_best_interval ? by_formula
                                      : "with a save every " + span_text(question.interval_s())) +
        longer + "; say --interval '" + number_text(with_digits(interval_s, 7)) + " s'");
  else if (const std::string than_own =
               longer_text(wall_s(answer.interval->best_steps), own_s, question.interval_s());
           !than_own.empty())
    answer.warnings.push_back(by_formula + than_own);
}

void warn_of_lost_work(const GoodputQuestion& question, GoodputAnswer& answer) {
  constexpr double seldom = 1e-3;
  if (lost_works(question.plan) < seldom) return;
  answer.warnings.push_back(
      "corruption may be older than all saves that are kept (save.keep is " +
      std::to_string(question.plan.keep) + ", one every " + span_text(question.interval_s()) +
      "), and all work is lost then, " + rounded(lost_works(question.plan), 2) +
      " times in the mean; say --set save.keep=" + std::to_string(saves_to_keep(question.plan)));
}

struct LeverField {
  const char* field;
  // Its value, which a change multiplies; nothing where the question has none.
  std::optional<double> (*value)(const goodput::Plan&);
  void (*multiply)(goodput::Plan&, double factor);
  bool is_time;
};

template <double goodput::Plan::*member>
std::optional<double> value_of(const goodput::Plan& plan) {
  return plan.*member > 0 ? std::optional<double>(plan.*member) : std::nullopt;
}
template <double goodput::Plan::*member>
void multiply(goodput::Plan& plan, double factor) {
  plan.*member *= factor;
}

// The mean over the causes that have it, weighed by how often they strike.
template <double goodput::Cause::*member>
std::optional<double> value_of_causes(const goodput::Plan& plan) {
  double sum = 0;
  double rates = 0;
  for (const goodput::Cause& cause : plan.causes) {
    sum += cause.rate() * (cause.*member);
    rates += cause.rate();
  }
  return sum > 0 && rates > 0 ? std::optional<double>(sum / rates) : std::nullopt;
}
template <double goodput::Cause::*member>
void multiply_causes(goodput::Plan& plan, double factor) {
  for (goodput::Cause& cause : plan.causes) cause.*member *= factor;
}

const std::vector<LeverField>& lever_fields() {
  using goodput::Cause;
  using goodput::Plan;
  static const std::vector<LeverField> fields = {
      {"step", value_of<&Plan::step_s>, multiply<&Plan::step_s>, true},
      {"failure rate",
       [](const Plan& plan) {
         double rate = 0;
         for (const Cause& cause : plan.causes) rate += cause.rate();
         return rate * goodput::never_s > 2e3 ? std::optional<double>(rate * seconds_of_day)
                                              : std::nullopt;
       },
       [](Plan& plan, double factor) {
         for (Cause& cause : plan.causes) cause.mean_s /= factor;
       },
       false},
      {"save.stall", value_of<&Plan::stall_s>, multiply<&Plan::stall_s>, true},
      {"save.durable", value_of<&Plan::durable_s>, multiply<&Plan::durable_s>, true},
      {"save.store.stall", value_of<&Plan::store_stall_s>, multiply<&Plan::store_stall_s>, true},
      {"save.store.restart", value_of<&Plan::store_restart_s>, multiply<&Plan::store_restart_s>,
       true},
      {"restart",
       [](const Plan& plan) {
         const double most = std::max(plan.restart_s, plan.node_restart_s);
         return most > 0 ? std::optional<double>(most) : std::nullopt;
       },
       [](Plan& plan, double factor) {
         plan.restart_s *= factor;
         plan.node_restart_s *= factor;
       },
       true},
      {"detection", value_of_causes<&Cause::detect_s>, multiply_causes<&Cause::detect_s>, true},
      {"repair",
       [](const Plan& plan) {
         return plan.spares || plan.shrink ? value_of_causes<&Cause::repair_s>(plan) : std::nullopt;
       },
       multiply_causes<&Cause::repair_s>, true},
      {"slow episodes", value_of_causes<&Cause::lasts_s>, multiply_causes<&Cause::lasts_s>, true},
      {"planned.lasts", value_of<&Plan::planned_s>, multiply<&Plan::planned_s>, true},
  };
  return fields;
}

// d ln T / d ln x, the difference over 10 % more and 10 % less of it. Saves stay where they were.
Lever pull(const GoodputQuestion& question, const LeverField& field, const Asker& asker) {
  goodput::Plan more = question.plan;
  goodput::Plan less = question.plan;
  field.multiply(more, lever_change);
  field.multiply(less, 1 / lever_change);
  const double value = *field.value(question.plan);
  Lever lever{field.field, field.is_time ? span_text(value) : rounded(value, 3) + " a day", 0, 0};
  const double log_change = 2 * std::log(lever_change);
  if (has_closed_form(question.plan)) {
    lever.elasticity = std::log(closed_form_s(more) / closed_form_s(less)) / log_change;
    return lever;
  }
  const goodput::Runs long_runs = asker.play(more, asker.compared, question.seed);
  const goodput::Runs short_runs = asker.play(less, asker.compared, question.seed);
  const double long_s = goodput::to_s(long_runs.wall);
  const double short_s = goodput::to_s(short_runs.wall);
  lever.elasticity = std::log(long_s / short_s) / log_change;
  // Not std::hypot, whose symbol is glibc 2.35's; of long doubles the root has the same digits.
  const auto square = [](double part) {
    const auto wide = static_cast<long double>(part);
    return wide * wide;
  };
  const long double squares = square(long_runs.standard_error_s() / long_s) +
                              square(short_runs.standard_error_s() / short_s);
  lever.error = static_cast<double>(std::sqrt(squares)) / log_change;
  return lever;
}

std::vector<Lever> pull_all(const GoodputQuestion& question, const Asker& asker) {
  std::vector<Lever> levers;
  for (const LeverField& field : lever_fields())
    if (field.value(question.plan)) levers.push_back(pull(question, field, asker));
  std::stable_sort(levers.begin(), levers.end(), [](const Lever& a, const Lever& b) {
    return std::abs(a.elasticity) > std::abs(b.elasticity);
  });
  return levers;
}

// The training as it is, on a machine that fails as that of each source that ships: with its own
// best interval if the question asks for the best one.
SourceAnswer with_source(GoodputQuestion question, const FailureSource& source,
                         const Asker& asker) {
  FailureDefaults defaults = question.defaults;
  defaults.rate_factor = 1;  // is that of its own machine
  std::vector<goodput::Cause> causes = causes_on(source, question.machine, defaults, source.name);
  SourceAnswer answer{source.name, stops_per_node_day(causes, question.machine.nodes), 0, 0};
  for (const goodput::Cause& cause : question.plan.causes)  // that do not stop it
    if (cause.effect != goodput::Effect::stop) causes.push_back(cause);
  question.plan.causes = std::move(causes);
  choose_interval(question);
  if (!can_save_and_end(question.plan)) {
    answer.wall_s = std::numeric_limits<double>::infinity();
    return answer;
  }
  answer.wall_s = expected_s(question.plan, question.seed, asker);
  answer.productive = std::min(1.0, question.work_s() / answer.wall_s);
  return answer;
}

std::vector<SourceAnswer> with_all_sources(const GoodputQuestion& question, const Asker& asker) {
  std::vector<SourceAnswer> answers;
  for (const ShippedFile& file : shipped_failures())
    answers.push_back(with_source(
        question, read_failures(Document::parse(file.text, std::string(file.name)).root()), asker));
  std::stable_sort(
      answers.begin(), answers.end(),
      [](const SourceAnswer& a, const SourceAnswer& b) { return a.per_node_day < b.per_node_day; });
  return answers;
}

}  // namespace

DeadlineAnswer meet_deadline(const GoodputQuestion& question, const goodput::Runs& runs,
                             int threads, const std::function<void()>& look) {
  DeadlineAnswer answer{*question.until_s, runs.part_later_than(*question.until_s), 0, false, {}};
  const auto count = static_cast<double>(runs.walls.size());
  answer.standard_error = std::sqrt(answer.late * (1 - answer.late) / count);
  if (answer.late * count >= static_cast<double>(least_late_runs) ||
      *question.until_s < question.work_s())
    return answer;
  const double slack_s = *question.until_s - goodput::to_s(runs.wall);
  if (!goodput::can_stratify(question.plan) ||
      !goodput::is_decided_by_number(question.plan, slack_s)) {
    constexpr double doubt = 0.05;
    if (answer.late == 0) answer.at_most = 1 - std::pow(doubt, 1 / count);
    return answer;
  }
  const goodput::Chance chance = goodput::chance_later_than(
      question.plan, *question.until_s, {stratum_runs, question.seed, threads, look});
  return {*question.until_s, chance.probability, chance.standard_error, true, {}};
}

CostAnswer cost_of(const GoodputQuestion& question, const goodput::Runs& runs) {
  const auto gpus = static_cast<double>(question.gpus());
  const auto spare_gpus = static_cast<double>(question.spare_gpus());
  CostAnswer cost;
  const double hours = goodput::to_s(runs.wall) / seconds_of_hour;
  cost.gpu_hours = (gpus + spare_gpus) * hours;
  if (question.gpu_hour) cost.money = cost.gpu_hours * *question.gpu_hour;
  if (!question.power) return cost;
  const PowerUse& power = *question.power;
  double busy_s = 0;
  for (const goodput::Part part :
       {goodput::Part::productive, goodput::Part::recomputed, goodput::Part::slow})
    busy_s += goodput::to_s(runs.account[static_cast<std::size_t>(part)]);
  const double busy_h = busy_s / seconds_of_hour;
  const double of_gpus = gpus * (busy_h * power.busy_W + (hours - busy_h) * power.idle_W) +
                         spare_gpus * hours * power.idle_W;
  const int64_t nodes = question.machine.nodes + question.plan.spares.value_or(0);
  const double of_nodes = static_cast<double>(nodes) * hours * power.node_W;
  cost.kWh = (of_gpus + of_nodes) * power.pue / 1000;
  if (power.kg_per_kWh) cost.kg = *cost.kWh * *power.kg_per_kWh;
  return cost;
}

namespace {

// An approximation, with the sentence that it needs.
FormulaAnswer by_name(const GoodputQuestion& question) {
  const double mean = mean_between_stops_s(question.plan);
  const double save = mean_stall_s(question.plan);
  if (question.formula == "young") return {"young", goodput::young_interval(save, mean), {}};
  if (question.formula == "daly") return {"daly", goodput::daly_interval(save, mean), {}};
  double restart = 0;
  for (const auto& [part, time] : downtimes_of(question.plan).parts_and_times)
    restart += part * time;
  const double productive =
      goodput::rsc_productive(question.interval_s(), save, restart + question.plan.durable_s, mean);
  if (!(productive >= 0.5))
    throw InputError(
        "formula", "RSC's formula is of first order, and says " + rounded(productive, 3) +
                       " of productive time here; below 0.5 it means nothing: leave `formula` out");
  return {"rsc", goodput::rsc_interval(save, mean), productive};
}

void compare(const GoodputQuestion& question, const Asker& asker, GoodputAnswer& answer) {
  if (answer.interval) answer.intervals = try_intervals(question, asker);
  warn_of_interval(question, answer);
  answer.levers = pull_all(question, asker);
  answer.sources = with_all_sources(question, asker);
}

}  // namespace

std::optional<SparesAnswer> spares_for(const GoodputQuestion& question) {
  const NodesDown down = nodes_down_of(question.plan);
  if (down.outages.empty()) return std::nullopt;
  return SparesAnswer{down.mean,
                      goodput::spares_for(question.machine.nodes, down.outages, question.risk),
                      question.risk};
}

GoodputAnswer answer_goodput(GoodputQuestion question, int threads,
                             const std::function<void()>& look) {
  Asker asker{threads, look};
  GoodputAnswer answer;
  answer.mean_to_stop_s = mean_to_stop_s(question.plan);
  answer.per_node_day = stops_per_node_day(question.plan.causes, question.machine.nodes);
  if (!question.formula.empty()) answer.formula = by_name(question);
  if (has_closed_form(question.plan)) answer.closed_form_s = closed_form_s(question.plan);
  const double events = events_of_run(question.plan, question.seed, asker);
  const int64_t affordable = affordable_runs(events);
  if (affordable < question.runs)
    answer.warnings.push_back(std::to_string(question.runs) + " runs would take minutes: " +
                              std::to_string(affordable) + " were played");
  const int64_t most_compared = std::clamp(question.runs, tried_runs, compared_runs);
  asker.compared = std::clamp(affordable / 20, tried_runs, most_compared);
  answer.warnings.insert(answer.warnings.end(), question.step_notes.begin(),
                         question.step_notes.end());
  warn_of_lost_work(question, answer);
  if (question.has_other_samples)
    answer.warnings.emplace_back(
        "on other nodes than those of the experiment a step trains more or fewer samples, and the "
        "number of steps stays: give `steps`, or `tokens_per_step`, of these nodes");
  answer.runs = asker.play(question.plan, std::min(affordable, question.runs), question.seed);
  answer.interval = advise_interval(question.plan);
  answer.progress = follow_progress(question, answer.runs, asker);
  if (question.until_s) answer.deadline = meet_deadline(question, answer.runs, threads, look);
  answer.spares = spares_for(question);
  answer.cost = cost_of(question, answer.runs);
  if (events > most_compared_events && !has_closed_form(question.plan))
    answer.warnings.push_back(
        "a run has " + rounded(events, 2) +
        " failures and repairs, so that comparisons would take minutes: other intervals, what 10 % "
        "less would save and other machines are left out");
  else
    compare(question, asker, answer);
  return answer;
}

}  // namespace sgdsim
