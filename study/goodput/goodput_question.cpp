// Fields with their ranges; then what the plan as a whole must be.
#include "study/goodput/goodput_question.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/named.h"
#include "study/goodput/saves.h"
#include "study/goodput/spans.h"
#include "study/goodput/step_source.h"
#include "study/layout/layout_rates.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr char question_schema[] = "sgdsim/goodput-question/1";
constexpr int64_t most_nodes = 10'000'000;
constexpr double longest_work_s = 1e11;  // 3,000 years
constexpr double most_wall_per_work = 1000;
constexpr int64_t most_clocks = 2'000'000;
constexpr int64_t most_simulated_away = 1'000;

enum class Policy : uint8_t { restart, shrink };

int64_t steps_of(Object& fields) {
  const auto steps = fields.find("steps");
  const auto tokens = fields.find("tokens");
  const auto per_step = fields.find("tokens_per_step");
  if (steps && (tokens || per_step))
    steps->fail("give `steps`, or `tokens` and `tokens_per_step`, not both");
  if (steps) return steps->whole(1, goodput::most_steps);
  if (!tokens || !per_step)
    fields.value().fail(
        "needs `steps`, as 500000, or `tokens` and `tokens_per_step`, as \"15T\" and \"16M\"");
  const int64_t all = parse_tokens(tokens->text(), tokens->where());
  const int64_t each = parse_tokens(per_step->text(), per_step->where());
  const int64_t count = (all - 1) / each + 1;
  if (count > goodput::most_steps) tokens->fail("more than 10^12 steps");
  return count;
}

void read_restart(Object& fields, GoodputQuestion& question) {
  goodput::Plan& plan = question.plan;
  const auto value = fields.find("restart");
  if (!value) {
    plan.restart_s = plan.node_restart_s = 300;
    question.assumed.emplace_back(
        "restart: 5 min from a failure until work goes on, as RSC assumes");
    return;
  }
  Object restart(*value);
  plan.restart_s = span_of(restart.at("in_place"));
  plan.node_restart_s = plan.restart_s;
  if (const auto node = restart.find("new_node")) plan.node_restart_s = span_of(*node);
  if (const auto can_fail = restart.find("can_fail")) plan.can_fail = can_fail->flag();
  if (const auto detect = restart.find("detect"))
    question.defaults.detect_s = span_of(*detect);
  else
    question.assumed.emplace_back("restart.detect: 0 s, unless a cause says more");
  restart.done();
}

// A step of one replica fewer takes `factor` times as long and has (G - 1)/G of the samples; so
// with more away.
std::vector<double> factors_of_fewer(int64_t replicas, double factor) {
  std::vector<double> factors;
  const auto all = static_cast<double>(replicas);
  for (int64_t away = 1; away < std::min(replicas, most_simulated_away); ++away)
    factors.push_back(std::max(1., factor * all / (all - static_cast<double>(away))));
  return factors;
}

void read_policy(Object& fields, StepSource& step, goodput::Plan& plan) {
  Policy policy = Policy::restart;
  const auto name = fields.find("policy");
  if (name)
    policy = named_in(Named<Policy, 2>{{{"restart", Policy::restart}, {"shrink", Policy::shrink}}},
                      "policy", name->text(), name->where());
  const auto shrink = fields.find("shrink");
  if (policy == Policy::restart) {
    if (shrink) shrink->fail("is for \"policy\": \"shrink\"");
    return;
  }
  if (!shrink) name->fail("needs `shrink`, as {\"replicas\": 16, \"stall\": \"1 min\"}");
  Object how(*shrink);
  goodput::Shrinking shrinking;
  shrinking.replicas = how.at("replicas").whole(1, most_nodes);
  shrinking.stall_s = span_of(how.at("stall"));
  if (const auto factors = how.find("step_factors"))
    for (const Value& one : factors->items()) shrinking.step_factors.push_back(one.number(1, 1e6));
  if (const auto degraded = how.find("degraded"))
    shrinking.step_factors = factors_of_fewer(shrinking.replicas, step.factor_of(*degraded));
  how.done();
  plan.shrink = std::move(shrinking);
}

void read_planned(Object& fields, goodput::Plan& plan) {
  const auto value = fields.find("planned");
  if (!value) return;
  Object planned(*value);
  const Value every = planned.at("every");
  plan.planned_every_s = span_of(every);
  plan.planned_s = span_of(planned.at("lasts"));
  planned.done();
  if (plan.planned_every_s <= plan.planned_s + plan.restart_s)
    every.fail("planned work every " + span_text(plan.planned_every_s) + " that takes " +
               span_text(plan.planned_s + plan.restart_s) +
               " with its restart leaves no time to work");
}

void read_power(Object& fields, GoodputQuestion& question) {
  if (const auto prices = fields.find("prices")) {
    Object prices_of(*prices);
    question.gpu_hour = prices_of.at("gpu_hour").number(0, 1e9);
    prices_of.done();
  }
  const auto value = fields.find("power");
  if (!value) return;
  Object power(*value);
  PowerUse use;
  use.busy_W = power.at("busy_W").number(0, 1e6);
  use.idle_W = power.at("idle_W").number(0, 1e6);
  if (const auto node = power.find("node_W")) use.node_W = node->number(0, 1e9);
  if (const auto pue = power.find("pue")) use.pue = pue->number(1, 100);
  if (const auto grid = power.find("grid_kg_per_kWh")) use.kg_per_kWh = grid->number(0, 100);
  power.done();
  question.power = use;
}

void read_machine(Object& fields, GoodputQuestion& question) {
  FailingMachine& machine = question.machine;
  machine.nodes = fields.at("nodes").whole(1, most_nodes);
  machine.gpus_per_node = question.source.gpus_per_node;
  if (const auto gpus = fields.find("gpus_per_node"))
    machine.gpus_per_node = gpus->whole(1, 10'000);
  if (const auto links = fields.find("links_per_node"))
    machine.links_per_node = links->whole(1, 10'000);
  if (const auto leaf = fields.find("nodes_per_leaf"))
    machine.nodes_per_leaf = leaf->whole(1, goodput::most_dead_together);
  question.plan.nodes = machine.nodes;
}

void read_failures_of(Object& fields, StepSource& step, GoodputQuestion& question) {
  const auto failures = fields.find("failures");
  if (!failures)
    fields.value().fail(
        "needs `failures`: a name of `sgdsim list failures`, as llama3_h100, or what fails how "
        "often");
  question.source =
      load_failures(*failures, [&](const Value& degraded) { return step.factor_of(degraded); });
  read_machine(fields, question);
  if (const auto factor = fields.find("rate_factor"))
    question.defaults.rate_factor = factor->number(0, 1e6);
  const auto repair = fields.find("repair");
  question.defaults.repair_s = repair ? span_of(*repair) : seconds_of_day;
  if (const auto spares = fields.find("spares"))
    question.plan.spares = spares->whole(0, most_nodes);
  if (!repair && (question.plan.spares || question.plan.shrink))
    question.assumed.emplace_back("repair: 1 day until a node that failed is back");
  question.plan.causes =
      causes_on(question.source, question.machine, question.defaults, fields.value().where());
  int64_t clocks = 0;
  for (const goodput::Cause& cause : question.plan.causes) {
    if (cause.shape != 1) clocks += cause.units;
    if (question.plan.spares && cause.needs_node && cause.nodes > *question.plan.spares &&
        cause.repair_s >= longest_span_s)
      failures->fail("\"" + cause.name +
                     "\" takes more nodes than there are spares, and repairs do not end");
  }
  if (clocks > most_clocks)
    failures->fail(
        std::to_string(clocks) +
        " units with a Weibull law: at most 2000000; count them by node, or as one `job`");
}

// ---- the plan as a whole

// A rate of 0 is one that never strikes, of however many units.
bool stops_at_random(const goodput::Cause& cause) {
  return cause.effect == goodput::Effect::stop && cause.at_s.empty() &&
         cause.mean_s < goodput::never_s;
}

// What must go well in one piece, and how often something fails meanwhile.
double wall_per_work_of(const goodput::Plan& plan) {
  const double mean = mean_to_stop_s(plan);
  if (plan.shrink)  // only the stall of all must end
    return mean > 0 ? std::exp(plan.shrink->stall_s / mean) : most_wall_per_work * 2;
  return goodput::wall_per_work(static_cast<double>(plan.interval) * plan.step_s,
                                {plan.stall_s, plan.durable_s}, downtimes_of(plan), mean);
}

void check_that_nodes_come_back(const Value& value, const goodput::Plan& plan) {
  if (!waits_for_ever(plan)) return;
  value.fail("the run never ends: " + rounded(nodes_down_of(plan).mean, 3) +
             " nodes are being repaired on average, and there are " + std::to_string(*plan.spares) +
             " spares: give more of them, or a shorter `repair`");
}

void check_that_it_ends(const Value& value, const goodput::Plan& plan) {
  check_that_nodes_come_back(value, plan);
  const double wall = wall_per_work_of(plan);
  if (wall <= most_wall_per_work) return;
  value.fail("the run never ends: something stops it every " + span_text(mean_to_stop_s(plan)) +
             ", a restart takes " + span_text(downtimes_of(plan).mean(1e30)) + ", and " +
             span_text(between_saves_s(plan) + plan.durable_s) +
             " must go well until a save is durable; that would take " +
             (wall < 1e15 ? rounded(wall, 3) : std::string("more than 10^15")) +
             " times the time of the work");
}

}  // namespace

double mean_to_stop_s(const goodput::Plan& plan) {
  double rate = 0;
  for (const goodput::Cause& cause : plan.causes)
    if (stops_at_random(cause)) rate += cause.rate();
  return rate > 0 ? std::min(1 / rate, goodput::never_s) : goodput::never_s;
}

NodesDown nodes_down_of(const goodput::Plan& plan) {
  double per_node_s = 0;
  double down = 0;  // nodes times repair
  for (const goodput::Cause& cause : plan.causes) {
    if (!stops_at_random(cause) || !cause.needs_node) continue;
    const double rate =
        cause.rate() * static_cast<double>(cause.nodes) / static_cast<double>(plan.nodes);
    per_node_s += rate;
    down += rate * cause.repair_s;
  }
  if (per_node_s <= 0) return {};
  const double repair_s = down / per_node_s;
  const double part = goodput::part_down(per_node_s, repair_s);
  return {part, part * static_cast<double>(plan.nodes), repair_s};
}

// What is so in the long run holds for work of several repairs.
bool waits_for_ever(const goodput::Plan& plan) {
  constexpr double repairs_of_long_work = 3;
  if (!plan.spares || plan.shrink) return false;
  const NodesDown down = nodes_down_of(plan);
  if (static_cast<double>(plan.steps) * plan.step_s < repairs_of_long_work * down.repair_s)
    return false;
  const double runs = 1 - goodput::binomial_above(plan.nodes, down.part, *plan.spares);
  return runs < 1 / most_wall_per_work;
}

goodput::Downtimes downtimes_of(const goodput::Plan& plan) {
  goodput::Downtimes down;
  down.can_fail = plan.can_fail;
  const double mean = mean_to_stop_s(plan);
  for (const goodput::Cause& cause : plan.causes)
    if (stops_at_random(cause))
      down.parts_and_times.emplace_back(
          cause.rate() * mean,
          cause.detect_s + (cause.needs_node ? plan.node_restart_s : plan.restart_s));
  return down;
}

bool has_closed_form(const goodput::Plan& plan) {
  return !plan.shrink && !plan.spares && plan.store_every == 0 && plan.planned_every_s == 0 &&
         std::all_of(plan.causes.begin(), plan.causes.end(), [](const goodput::Cause& cause) {
           return cause.effect == goodput::Effect::stop && cause.shape == 1 && cause.at_s.empty();
         });
}

double closed_form_s(const goodput::Plan& plan) {
  return goodput::expected_wall(static_cast<double>(plan.steps) * plan.step_s,
                                static_cast<double>(plan.interval) * plan.step_s,
                                {plan.stall_s, plan.durable_s}, downtimes_of(plan),
                                mean_to_stop_s(plan));
}

int64_t best_interval_steps(const goodput::Plan& plan) {
  const double mean = mean_to_stop_s(plan);
  const auto steps = static_cast<double>(plan.steps);
  const double least = std::ceil((plan.durable_s - plan.stall_s) / plan.step_s);
  const double best = goodput::best_interval(plan.stall_s, mean) / plan.step_s;
  const goodput::Downtimes down = downtimes_of(plan);
  const auto wall = [&](double interval) {
    return goodput::wall_per_work(interval * plan.step_s, {plan.stall_s, plan.durable_s}, down,
                                  mean);
  };
  const double below =
      std::clamp(std::floor(best), std::max(1., least), std::max(1., std::max(least, steps)));
  const double chosen = wall(below) <= wall(below + 1) ? below : below + 1;
  return static_cast<int64_t>(std::min(chosen, steps));
}

bool can_save_and_end(const goodput::Plan& plan) {
  return are_safe_in_time(plan) && !waits_for_ever(plan) &&
         wall_per_work_of(plan) <= most_wall_per_work;
}

void choose_interval(GoodputQuestion& question) {
  if (question.wants_best_interval) question.plan.interval = best_interval_steps(question.plan);
}

GoodputQuestion read_goodput_question(const Value& value) {
  Object fields(value);
  if (const auto schema = fields.find("schema"); schema && schema->text() != question_schema)
    schema->fail("expected \"" + std::string(question_schema) + "\", got \"" + schema->text() +
                 "\"");
  GoodputQuestion question;
  question.name = value.file();
  if (const auto name = fields.find("name")) question.name = name->text();
  for (const char* told : {"description", "source"})
    if (const auto text = fields.find(told)) text->text();
  goodput::Plan& plan = question.plan;
  StepSource step = StepSource::read(fields);
  plan.step_s = step.step_s();
  question.step_from = step.from();
  plan.steps = steps_of(fields);
  if (question.work_s() > longest_work_s)
    value.fail(std::to_string(plan.steps) + " steps of " + span_text(plan.step_s) + " are " +
               span_text(question.work_s()) + ": at most 3000 years");
  read_save(fields, question);
  read_restart(fields, question);
  read_policy(fields, step, plan);
  read_planned(fields, plan);
  read_failures_of(fields, step, question);
  read_power(fields, question);
  if (const auto until = fields.find("until")) question.until_s = span_of(*until);
  if (const auto risk = fields.find("risk")) question.risk = risk->number(1e-15, 1);
  if (const auto runs = fields.find("runs")) question.runs = runs->whole(2, 1'000'000);
  if (const auto seed = fields.find("seed"))
    question.seed = static_cast<uint64_t>(seed->whole(0, INT64_MAX));
  if (const auto formula = fields.find("formula"))
    question.formula =
        named_in(Named<std::string_view, 3>{{{"young", "young"}, {"daly", "daly"}, {"rsc", "rsc"}}},
                 "formula", formula->text(), formula->where());
  fields.done();
  if (question.wants_best_interval && plan.shrink)
    value.child("save").fail(
        "needs `interval`, as \"30 min\": formulas know the best one of jobs that stop, not of "
        "those that shrink");
  choose_interval(question);
  check_saves(value, plan);
  check_that_it_ends(value, plan);
  return question;
}

}  // namespace sgdsim
