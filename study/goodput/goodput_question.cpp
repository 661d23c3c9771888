// Fields with their ranges; then what the plan as a whole must be.
#include "study/goodput/goodput_question.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/named.h"
#include "study/goodput/plan_formulas.h"
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
constexpr int64_t most_clocks = 2'000'000;
constexpr int64_t most_simulated_away = 1'000;

// ---- what a question may say

struct RestartFields {
  std::optional<Span> detect;
  Span in_place;
  std::optional<Span> new_node;
  bool can_fail = true;
};
Fields fields_of(RestartFields& o) {
  return {Field("detect", o.detect, "until a failure is noticed, unless its cause says so")
              .otherwise("0 s"),
          Field("in_place", o.in_place, "then, on the same nodes").needed(),
          Field("new_node", o.new_node, "then, with another node").otherwise("as in_place"),
          {"can_fail", o.can_fail,
           "whether failures can hit a job that restarts; if not, those that are recorded for then "
           "do not happen"}};
}

struct ShrinkFields {
  int64_t replicas = 1;
  Span stall;
  std::vector<double> step_factors;
  std::optional<Value> degraded;
};
Fields fields_of(ShrinkFields& o) {
  return {
      Field("replicas", o.replicas, "how many replicas of the model").needed().from(1, most_nodes),
      Field("stall", o.stall, "for how long all stop when one is lost").needed(),
      Field("step_factors", o.step_factors, "of a step's time with one, two, ... fewer")
          .from(1, 1e6)
          .otherwise("G/(G - d): the same samples on fewer replicas"),
      Field("degraded", o.degraded,
            "in place of `step_factors`: one replica fewer; the step is simulated with it")
          .like(schema_of_record<Degraded>)};
}

struct PlannedFields {
  Span every;
  Span lasts;
};
Fields fields_of(PlannedFields& o) {
  return {Field("every", o.every, "how often").needed(),
          Field("lasts", o.lasts, "for how long").needed()};
}

struct PriceFields {
  double gpu_hour = 0;
};
Fields fields_of(PriceFields& o) {
  return {
      Field("gpu_hour", o.gpu_hour, "of a GPU for an hour, waiting or not").needed().from(0, 1e9)};
}

Json schema_of_failures_or_name() { return any_of({text_schema(), reference("../failures/1")}); }

struct QuestionFields {
  FileHead head;
  std::optional<Value> step;
  std::optional<Value> steps;
  std::string tokens;
  std::string tokens_per_step;
  std::optional<int64_t> nodes;
  std::optional<int64_t> gpus_per_node;
  int64_t links_per_node = 0;
  int64_t nodes_per_leaf = 0;
  std::optional<Value> failures;
  double rate_factor = 1;
  std::optional<SaveFields> save;
  std::optional<RestartFields> restart;
  FailurePolicy policy = FailurePolicy::restart;
  std::optional<ShrinkFields> shrink;
  std::optional<Span> repair;
  std::optional<int64_t> spares;
  std::optional<PlannedFields> planned;
  std::optional<PriceFields> prices;
  std::optional<PowerUse> power;
  std::optional<Span> until;
  double risk = 0.01;
  int64_t runs = 10'000;
  uint64_t seed = 1;
  std::string formula;
};

Json schema_of_steps() {
  int64_t steps = 1;
  return any_of(
      {Field("steps", steps, "how many").from(1, goodput::most_steps).schema(), text_schema()});
}

Fields step_fields(QuestionFields& o) {
  return {Field("step", o.step,
                "the time of a step, as \"8.2 s\"; the path of an experiment; an object with an "
                "experiment and fields to set; or a layout with model and cluster")
              .like([] {
                return any_of({text_schema(), any_object_schema()});
              }),
          Field("steps", o.steps, "how many, as 500000 or \"500k\"").like(schema_of_steps),
          {"tokens", o.tokens, "in place of `steps`, with `tokens_per_step`: 15T"},
          {"tokens_per_step", o.tokens_per_step, "of all GPUs together: 16M"}};
}

Fields machine_fields(QuestionFields& o) {
  return {Field("nodes", o.nodes,
                "how many; a node is replaced as a whole; an experiment is simulated on as many")
              .from(1, most_nodes)
              .otherwise("those of the step that is simulated"),
          Field("gpus_per_node", o.gpus_per_node, "GPUs of a node")
              .from(1, 10'000)
              .otherwise("that of the step that is simulated, or of the source of failures"),
          Field("links_per_node", o.links_per_node, "for causes that count links")
              .from(1, 10'000)
              .otherwise("none"),
          Field("nodes_per_leaf", o.nodes_per_leaf,
                "for causes that count leaf switches or racks: nodes that one takes along")
              .from(1, goodput::most_dead_together)
              .otherwise("none"),
          Field("failures", o.failures,
                "a name of `sgdsim list failures`, a file, or the causes themselves")
              .like(schema_of_failures_or_name),
          Field("rate_factor", o.rate_factor, "factor on all rates").from(0, 1e6)};
}

Fields policy_fields(QuestionFields& o) {
  return {{"save", o.save, "how the state is saved"},
          Field("restart", o.restart, "from a failure until work goes on").otherwise("5 min"),
          {"policy", o.policy,
           "restart: all stop, and go back to a save; shrink: the others go on without the replica "
           "that failed"},
          {"shrink", o.shrink, "for policy shrink"},
          Field("repair", o.repair, "until a node or replica is back, unless the cause says so")
              .otherwise("1 day"),
          Field("spares", o.spares, "nodes that wait to replace others")
              .from(0, most_nodes)
              .otherwise("there is always one"),
          {"planned", o.planned,
           "planned work on the machine, with a save before and a restart after it"}};
}

Fields fields_of(QuestionFields& o) {
  return head_fields(o.head, question_schema) + step_fields(o) + machine_fields(o) +
         policy_fields(o) +
         Fields{
             {"prices", o.prices, "what things cost"},
             {"power", o.power, "what the machine takes"},
             {"until", o.until, "a time from the start: how likely is the end before it?"},
             Field("risk", o.risk, "that more nodes are down than there are spares").from(1e-15, 1),
             Field("runs", o.runs, "how many are simulated").from(2, 1'000'000),
             Field("seed", o.seed, "of what is drawn").from(0, int64_t{1} << 62),
             Field("formula", o.formula, "an approximation to be told beside the answer")
                 .one_of({"young", "daly", "rsc"})};
}

// ---- what that means

// "500k" as people write tokens.
int64_t whole_steps(const Value& steps) {
  if (!steps.json().is_string()) return steps.whole(1, goodput::most_steps);
  const int64_t count = parse_tokens(steps.text(), steps.where(), "steps");
  if (count > goodput::most_steps) steps.fail("more than 10^12 steps");
  return count;
}

int64_t steps_of(const QuestionFields& given, const Value& value) {
  const bool by_tokens = !given.tokens.empty() || !given.tokens_per_step.empty();
  if (given.steps && by_tokens)
    value.child("steps").fail("give `steps`, or `tokens` and `tokens_per_step`, not both");
  if (given.steps) return whole_steps(*given.steps);
  if (given.tokens.empty() || given.tokens_per_step.empty())
    value.fail(
        "needs `steps`, as 500000, or `tokens` and `tokens_per_step`, as \"15T\" and \"16M\"");
  const int64_t all = parse_tokens(given.tokens, value.child("tokens").where());
  const int64_t each = parse_tokens(given.tokens_per_step, value.child("tokens_per_step").where());
  const int64_t count = (all - 1) / each + 1;
  if (count > goodput::most_steps) value.child("tokens").fail("more than 10^12 steps");
  return count;
}

void take_restart(const QuestionFields& given, GoodputQuestion& question) {
  goodput::Plan& plan = question.plan;
  if (!given.restart) {
    plan.restart_s = plan.node_restart_s = 300;
    question.assumed.emplace_back(
        "restart: 5 min from a failure until work goes on, as RSC assumes");
    return;
  }
  plan.restart_s = given.restart->in_place.s;
  plan.node_restart_s = given.restart->new_node.value_or(given.restart->in_place).s;
  plan.can_fail = given.restart->can_fail;
  if (given.restart->detect)
    question.defaults.detect_s = given.restart->detect->s;
  else
    question.assumed.emplace_back("restart.detect: 0 s, unless a cause says more");
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

void take_policy(const QuestionFields& given, const Value& value, StepSource& step,
                 goodput::Plan& plan) {
  if (given.policy == FailurePolicy::restart) {
    if (given.shrink) value.child("shrink").fail("is for \"policy\": \"shrink\"");
    return;
  }
  if (!given.shrink)
    value.child("policy").fail("needs `shrink`, as {\"replicas\": 16, \"stall\": \"1 min\"}");
  goodput::Shrinking shrinking{given.shrink->replicas, given.shrink->stall.s,
                               given.shrink->step_factors};
  if (given.shrink->degraded)
    shrinking.step_factors =
        factors_of_fewer(shrinking.replicas, step.factor_of(*given.shrink->degraded));
  plan.shrink = std::move(shrinking);
}

void take_planned(const QuestionFields& given, const Value& value, goodput::Plan& plan) {
  if (!given.planned) return;
  plan.planned_every_s = given.planned->every.s;
  plan.planned_s = given.planned->lasts.s;
  if (plan.planned_every_s <= plan.planned_s + plan.restart_s)
    value.child("planned").child("every").fail(
        "planned work every " + span_text(plan.planned_every_s) + " that takes " +
        span_text(plan.planned_s + plan.restart_s) + " with its restart leaves no time to work");
}

// A step that is simulated says what it runs on, in whatever nodes failures were counted.
void take_machine(const QuestionFields& given, const Value& value, const StepSource& step,
                  GoodputQuestion& question) {
  const auto& simulated = step.machine();
  if (!given.nodes && !simulated) value.fail("needs `nodes`, how many, as 2000");
  if (simulated && given.gpus_per_node && *given.gpus_per_node != simulated->gpus_per_node)
    value.child("gpus_per_node")
        .fail("the step is simulated on nodes of " + std::to_string(simulated->gpus_per_node) +
              " GPUs: leave it out, or give the step another cluster");
  FailingMachine& machine = question.machine;
  machine = {given.nodes.value_or(1), given.gpus_per_node.value_or(question.source.gpus_per_node),
             given.links_per_node, given.nodes_per_leaf};
  if (simulated) {
    machine.nodes = simulated->nodes;
    machine.gpus_per_node = simulated->gpus_per_node;
  } else if (!given.gpus_per_node && !question.source.says_gpus_per_node) {
    question.assumed.push_back("gpus_per_node: " + std::to_string(machine.gpus_per_node));
  }
  question.plan.nodes = machine.nodes;
}

void check_causes(const Value& failures, const goodput::Plan& plan) {
  int64_t clocks = 0;
  for (const goodput::Cause& cause : plan.causes) {
    if (cause.shape != 1) clocks += cause.units;
    if (plan.spares && cause.needs_node && cause.nodes > *plan.spares &&
        cause.repair_s >= longest_span_s)
      failures.fail("\"" + cause.name +
                    "\" takes more nodes than there are spares, and repairs do not end");
  }
  if (clocks > most_clocks)
    failures.fail(
        std::to_string(clocks) +
        " units with a Weibull law: at most 2000000; count them by node, or as one `job`");
}

void check_rate_factor(const QuestionFields& given, const Value& value, const goodput::Plan& plan) {
  if (given.rate_factor == 1) return;
  for (const goodput::Cause& cause : plan.causes)
    if (!cause.at_s.empty())
      value.child("rate_factor")
          .fail("multiplies rates, and \"" + cause.name +
                "\" has recorded times, which stay as they are: leave it out, or change them");
}

// Two GPUs in one node fail as often as in two.
void tell_node_size(GoodputQuestion& question) {
  const double size = node_size(question.source, question.machine);
  if (size == 1) return;
  question.assumed.push_back("failures: " + question.source.name + " counts nodes of " +
                             std::to_string(question.source.gpus_per_node) + " GPUs; those of " +
                             std::to_string(question.machine.gpus_per_node) + " fail " +
                             rounded(size, 4) +
                             " times as often (rates of GPUs, links, leaves and the job stay)");
}

// Whether something counts on a repair whose cause does not say how long it takes.
bool assumes_repair(const FailureSource& source, const goodput::Plan& plan) {
  if (!plan.spares && !plan.shrink) return false;
  return std::any_of(source.causes.begin(), source.causes.end(), [&](const FailureCause& cause) {
    return !cause.repair_s && cause.effect != goodput::Effect::slow &&
           (cause.needs_node || plan.shrink);
  });
}

void take_failures(const QuestionFields& given, const Value& value, StepSource& step,
                   GoodputQuestion& question) {
  if (!given.failures)
    value.fail(
        "needs `failures`: a name of `sgdsim list failures`, as llama3_h100, or what fails how "
        "often");
  question.source = load_failures(*given.failures,
                                  [&](const Value& degraded) { return step.factor_of(degraded); });
  take_machine(given, value, step, question);
  question.defaults.rate_factor = given.rate_factor;
  question.defaults.repair_s = given.repair ? given.repair->s : seconds_of_day;
  question.plan.spares = given.spares;
  if (!given.repair && assumes_repair(question.source, question.plan))
    question.assumed.emplace_back("repair: 1 day until a node that failed is back");
  question.plan.causes =
      causes_on(question.source, question.machine, question.defaults, value.where());
  tell_node_size(question);
  if (given.save && given.save->copies_in_leaf)
    for (goodput::Cause& cause : question.plan.causes)
      if (cause.nodes >= question.plan.copy_group && cause.nodes > 1) cause.memory_survives = false;
  check_causes(*given.failures, question.plan);
  check_rate_factor(given, value, question.plan);
}

// How many are kept where the question does not say.
void tell_kept_saves(GoodputQuestion& question) {
  const int64_t saves = saves_to_keep(question.plan);
  if (question.plan.keep == 0 && saves > 1)
    question.assumed.push_back("save.keep: " + std::to_string(saves) +
                               " saves, which reach back beyond any corruption that is detected");
}

// ---- the plan as a whole

void check_that_nodes_come_back(const Value& value, const goodput::Plan& plan) {
  if (!waits_for_ever(plan)) return;
  value.fail("the run never ends: " + rounded(nodes_down_of(plan).mean, 3) +
             " nodes are being repaired on average, and there are " + std::to_string(*plan.spares) +
             " spares: give more of them, or a shorter `repair`");
}

// Saves that are kept must reach back to before what is corrupt.
void check_that_saves_reach_back(const Value& value, const goodput::Plan& plan) {
  if (!loses_all_too_often(plan)) return;
  value.fail("the run never ends: corruption is detected when all saves that are kept are later (" +
             std::to_string(plan.keep) + ", one every " + span_text(plan.interval_s()) +
             "), so that all work is lost " + rounded(lost_works(plan), 3) +
             " times before it could end: let `save.keep` be at least " +
             std::to_string(saves_to_keep(plan)) + ", or leave it out");
}

void check_that_it_ends(const Value& value, const goodput::Plan& plan) {
  check_that_nodes_come_back(value, plan);
  check_that_saves_reach_back(value, plan);
  if (!fails_too_often(plan)) return;
  const double wall = wall_per_work_of(plan);
  value.fail("the run never ends: something stops it every " + span_text(mean_to_stop_s(plan)) +
             ", a restart takes " + span_text(downtimes_of(plan).mean(1e30)) + ", and " +
             span_text(between_saves_s(plan) + plan.durable_s) +
             " must go well until a save is durable; that would take " +
             (wall < 1e15 ? rounded(wall, 3) : std::string("more than 10^15")) +
             " times the time of the work");
}

}  // namespace

Fields fields_of(PowerUse& o) {
  return {Field("busy_W", o.busy_W, "a GPU that computes").needed().from(0, 1e6),
          Field("idle_W", o.idle_W, "a GPU that does not").needed().from(0, 1e6),
          Field("node_W", o.node_W, "a node, besides").from(0, 1e9),
          Field("pue", o.pue, "of the building, for each W of the machine").from(1, 100),
          Field("grid_kg_per_kWh", o.kg_per_kWh, "carbon dioxide").from(0, 100)};
}

void choose_interval(GoodputQuestion& question) {
  if (question.wants_best_interval) question.plan.interval = best_interval_steps(question.plan);
}

Json schema_of_goodput_questions() { return schema_of_record<QuestionFields>(); }

GoodputQuestion read_goodput_question(const Value& value, const std::function<void()>& look) {
  const auto given = read_record<QuestionFields>(value);
  if (!given.step)
    value.fail("needs `step`: its time, as \"8.2 s\", or an experiment or layout to simulate");
  GoodputQuestion question;
  question.name = given.head.name.empty() ? value.file() : given.head.name;
  goodput::Plan& plan = question.plan;
  const auto nodes = given.nodes ? std::optional(value.child("nodes")) : std::nullopt;
  StepSource step = StepSource::read(*given.step, nodes, look);
  plan.step_s = step.step_s();
  question.step_from = step.from();
  question.step_notes = step.notes();
  question.has_other_samples = step.has_other_samples();
  plan.steps = steps_of(given, value);
  if (question.work_s() > longest_work_s)
    value.fail(std::to_string(plan.steps) + " steps of " + span_text(plan.step_s) + " are " +
               span_text(question.work_s()) + ": at most 3000 years");
  if (!given.save)
    value.fail(
        "needs `save`, as {\"stall\": \"10 s\", \"durable\": \"1 min\"}: for how long a save stops "
        "the job, and how long it takes then until it is safe");
  take_save(*given.save, value.child("save"), question);
  take_restart(given, question);
  take_policy(given, value, step, plan);
  take_planned(given, value, plan);
  take_failures(given, value, step, question);
  if (given.prices) question.gpu_hour = given.prices->gpu_hour;
  question.power = given.power;
  if (given.until) question.until_s = given.until->s;
  question.risk = given.risk;
  question.runs = given.runs;
  question.seed = given.seed;
  question.formula = given.formula;
  if (question.wants_best_interval && plan.shrink)
    value.child("save").fail(
        "needs `interval`, as \"30 min\": formulas know the best one of jobs that stop, not of "
        "those that shrink");
  choose_interval(question);
  check_saves(value, plan);
  check_that_it_ends(value, plan);
  tell_kept_saves(question);
  return question;
}

}  // namespace sgdsim
