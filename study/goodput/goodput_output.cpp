// Times to three digits: no failure rate is known better.
#include "study/goodput/goodput_output.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "sim/core/quantity.h"
#include "study/goodput/goodput_fields.h"
#include "study/goodput/spans.h"
#include "study/layout/layout_rates.h"
#include "study/table.h"

namespace sgdsim {
namespace {

using goodput::LongPs;
using goodput::Part;

constexpr std::array<const char*, goodput::part_count> meanings = {
    "steps that were kept",
    "steps that were lost and computed again",
    "the job stands while it saves",
    "until a failure is noticed",
    "until work goes on",
    "for a node",
    "further time of degraded steps",
    "planned work on the machine, with its restart"};

// "53.5 days (53.2 to 53.9 in 9 of 10 runs)"
std::string end_text(const goodput::Runs& runs) {
  return span_text(goodput::to_s(runs.wall)) + " expected; 5 % of runs end before " +
         span_text(runs.quantile(0.05).value_s, 4) + ", half before " +
         span_text(runs.quantile(0.5).value_s, 4) + ", 95 % before " +
         span_text(runs.quantile(0.95).value_s, 4);
}

void print_account(std::ostream& out, const goodput::Runs& runs) {
  Table table({"part", "what", "time", "of all"});
  for (std::size_t i = 0; i < goodput::part_count; ++i) {
    if (runs.account[i] == 0) continue;
    const double s = goodput::to_s(runs.account[i]);
    table.add({std::string(goodput::part_names[i]), meanings[i], span_text(s),
               part_text(s / goodput::to_s(runs.wall))});
  }
  table.print(out, 2);
}

void print_levers(std::ostream& out, const std::vector<Lever>& levers) {
  if (levers.empty()) return;
  out << "\nWhat 10 % less of it would save:\n";
  Table table({"field", "now", "of the time"});
  for (const Lever& lever : levers) {
    const bool is_noise = std::abs(lever.elasticity) < 2 * lever.error;
    table.add({lever.field, lever.now,
               is_noise ? "nothing beyond chance" : part_text(0.1 * lever.elasticity, 2)});
  }
  table.print(out, 2);
}

void print_sources(std::ostream& out, const std::vector<SourceAnswer>& sources) {
  out << "\nWith the failures of other machines (a wider range than any dice):\n";
  Table table({"source", "per node-day", "end", "productive"});
  for (const SourceAnswer& source : sources)
    table.add({source.name, rounded(source.per_node_day, 3),
               std::isfinite(source.wall_s) ? span_text(source.wall_s) : "never",
               std::isfinite(source.wall_s) ? part_text(source.productive, 2) : "-"});
  table.print(out, 1);
}

std::string late_text(const DeadlineAnswer& deadline) {
  return deadline.at_most ? "at most " + rounded(*deadline.at_most, 1) + " (no run was)"
                          : rounded(deadline.late, 2);
}

void print_advice(std::ostream& out, const GoodputQuestion& question, const GoodputAnswer& answer) {
  if (answer.interval)
    out << "interval    " << span_text(question.interval_s()) << " (" << question.plan.interval
        << " steps); best " << span_text(answer.interval->best_s)
        << ", and within 1 % of that from " << span_text(answer.interval->flat_from_s) << " to "
        << span_text(answer.interval->flat_to_s) << '\n';
  if (answer.deadline)
    out << "until       " << span_text(answer.deadline->until_s) << ": done with "
        << part_text(1 - answer.deadline->late, 4) << ", late with " << late_text(*answer.deadline)
        << '\n';
  if (answer.spares)
    out << "spares      " << answer.spares->spares
        << (answer.spares->spares == 1 ? " node" : " nodes") << ", so that more are down at most "
        << part_text(answer.spares->risk, 2) << " of the time ("
        << rounded(answer.spares->mean_down, 2) << " on average)\n";
  if (answer.formula) {
    out << "by name     " << answer.formula->name << ": interval "
        << span_text(answer.formula->interval_s);
    if (answer.formula->productive)
      out << ", productive " << part_text(*answer.formula->productive);
    out << '\n';
  }
}

void print_cost(std::ostream& out, const CostAnswer& cost) {
  out << "cost        " << rounded(cost.gpu_hours, 3) << " GPU-hours";
  if (cost.money) out << ", " << rounded(*cost.money, 3) << " in the unit of prices";
  if (cost.kWh) out << ", " << rounded(*cost.kWh, 3) << " kWh";
  if (cost.kg) out << ", " << rounded(*cost.kg, 3) << " kg CO2";
  out << '\n';
}

}  // namespace

Json to_json(const GoodputQuestion& question, const GoodputAnswer& answer) {
  return written(fields_of(question, answer));
}

void print(std::ostream& out, const GoodputQuestion& question, const GoodputAnswer& answer) {
  out << question.name << ": " << question.plan.steps << " steps of "
      << span_text(question.plan.step_s) << " are " << span_text(question.work_s())
      << " of work on " << question.gpus() << " GPUs (" << question.machine.nodes << " nodes)\n\n";
  if (!question.step_from.empty()) out << "step        of " << question.step_from << '\n';
  for (const FailureCause& cause : question.source.causes)
    if (cause.is_simulated)
      out << "degraded    " << cause.name << ": a step takes " << rounded(cause.factor, 4)
          << " times as long, as simulated\n";
  out << "end         " << end_text(answer.runs) << '\n';
  if (answer.closed_form_s)
    out << "formula     " << span_text(*answer.closed_form_s, 4) << " (exact mean)\n";
  out << "productive  " << part_text(answer.runs.productive()) << " of the time (ETTR)\n";
  out << "failures    " << rounded(answer.runs.failures, 3) << " that stop the job";
  if (answer.mean_to_stop_s < goodput::never_s)
    out << ", one every " << span_text(answer.mean_to_stop_s) << " (" << question.source.name
        << ": " << rounded(answer.per_node_day, 3) << " per node and day)";
  out << '\n';
  print_advice(out, question, answer);
  print_cost(out, answer.cost);
  out << '\n';
  print_account(out, answer.runs);
  print_levers(out, answer.levers);
  print_sources(out, answer.sources);
  for (const std::string& assumed : question.assumed)
    out << (assumed == question.assumed.front() ? "\nassumed: " : "assumed: ") << assumed << '\n';
}

}  // namespace sgdsim
