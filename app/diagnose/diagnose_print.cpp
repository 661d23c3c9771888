// Tables of what slows recorded steps, and a map of who does.
#include "app/diagnose/diagnose_print.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "study/table.h"

namespace sgdsim {
namespace {

using diagnose::Diagnosis;
using diagnose::Part;
using diagnose::PartSlowdown;

constexpr std::size_t worst_shown = 10;

std::string slow_text(const Part& part) {
  if (part.share >= 0.995) return "all";
  if (part.share == 0) return "none by much";
  return part_text(part.share, 2);
}

void print_step(std::ostream& out, const DiagnoseAnswer& answer) {
  const Diagnosis& of = answer.diagnosis;
  out << answer.file << ": " << of.steps_s.size()
      << (of.steps_s.size() == 1 ? " step of " : " steps of ") << answer.work.stages
      << (answer.work.stages == 1 ? " stage" : " stages") << " and " << answer.work.replicas
      << (answer.work.replicas == 1 ? " replica" : " replicas") << ", " << answer.work.nodes.size()
      << " operations (" << answer.format << ")\n\n";
  out << "step          " << short_duration(of.played_s * 1e6, 4) << " on average; recorded were "
      << short_duration(of.measured_s * 1e6, 4) << ", with delays between operations\n";
  out << "balanced      " << short_duration(of.ideal_s * 1e6, 4) << ", so the slowdown S is "
      << rounded(of.slowdown(), 4);
  if (of.is_slowed())
    out << " and " << part_text(of.waste()) << " is waste\n";
  else
    out << ": nothing is lost\n";
  out << "field         " << field_text(of.slowdown()) << '\n';
  if (of.last_stage && of.is_slowed())
    out << "last stage    explains " << part_text(*of.last_stage) << " of the slowdown (M_S)\n";
  if (of.slow_workers && of.is_slowed()) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(of.slowest.size(), 3); ++i)
      names += (names.empty() ? "" : ", ") + worker_text(answer, of.slowest[i]);
    if (of.slowest.size() > 3) names += ", ...";
    out << "slow workers  explain " << part_text(*of.slow_workers)
        << " of the slowdown (M_W, the slowest 3 %: " << names << ")\n";
  }
  if (of.fewer_layers_s)
    out << "a layer less  on the last stage and one more on stage " << of.receiving_stage << ": "
        << short_duration(*of.fewer_layers_s * 1e6, 4) << '\n';
}

void print_parts(std::ostream& out, const DiagnoseAnswer& answer) {
  const Diagnosis& of = answer.diagnosis;
  if (of.parts.empty()) {
    out << (of.is_slowed()
                ? "\nNo single part explains the waste: operations vary from one to the next.\n"
                : "\nNo part is slower than its likes by as much as 0.1 % of the step.\n");
    return;
  }
  out << "\nWhat a step would save if one part did as its likes do:\n";
  Table table({"part", "saves", "of the step", "slow operations"});
  for (std::size_t i = 0; i < std::min(of.parts.size(), worst_shown); ++i) {
    const Part& part = of.parts[i];
    table.add({part_words(answer, part), short_duration(part.saved_s * 1e6),
               part_text(part.saved_s / of.played_s, 3), slow_text(part)});
  }
  table.print(out);
}

void print_what_ifs(std::ostream& out, const DiagnoseAnswer& answer) {
  const Diagnosis& of = answer.diagnosis;
  if (of.what_ifs.empty()) return;
  out << "\nThe step with other times (factors of the recorded ones):\n";
  Table table({"change", "step", "saves", "of the step"});
  for (const diagnose::WhatIfStep& one : of.what_ifs) {
    const double saved_s = of.played_s - one.step_s;
    table.add({one.words, short_duration(one.step_s * 1e6, 4),
               (saved_s < 0 ? "-" : "") + short_duration(std::abs(saved_s) * 1e6),
               part_text(saved_s / of.played_s, 3)});
  }
  table.print(out);
}

void print_slowdowns(std::ostream& out, const DiagnoseAnswer& answer) {
  const Diagnosis& of = answer.diagnosis;
  out << "\nSlowdown with only this part as it was recorded, all others balanced:\n";
  Table table({"part", "S"});
  const auto add = [&](std::vector<PartSlowdown> parts, const std::string& before) {
    std::stable_sort(parts.begin(), parts.end(), [](const PartSlowdown& a, const PartSlowdown& b) {
      return a.slowdown > b.slowdown;
    });
    parts.resize(std::min(parts.size(), worst_shown));
    for (const PartSlowdown& part : parts)
      table.add({before + part.name, rounded(part.slowdown, 5)});
  };
  add(of.stages, "stage ");
  add(of.replicas, "replica ");
  add(of.kinds, "");
  table.print(out);
}

void print_workers(std::ostream& out, const DiagnoseAnswer& answer, const Terminal& terminal) {
  out << "\nThe slowest workers (the lesser S of their stage and their replica):\n";
  Table table({"worker", "S"});
  for (std::size_t i = 0; i < std::min(answer.diagnosis.workers.size(), worst_shown); ++i)
    table.add({worker_text(answer, answer.diagnosis.workers[i].worker),
               rounded(answer.diagnosis.workers[i].slowdown, 5)});
  table.print(out);
  out << '\n' << heat_text(heat_map_of(answer), terminal);
}

}  // namespace

HeatMap heat_map_of(const DiagnoseAnswer& answer) {
  HeatMap map{answer.work.stages, answer.work.replicas, {}, {}};
  map.slowdown.assign(static_cast<std::size_t>(answer.work.workers()), 0);
  for (const diagnose::WorkerSlowdown& one : answer.diagnosis.workers)
    map.slowdown[static_cast<std::size_t>(one.worker)] = one.slowdown;
  map.title = "Slowdown by worker";
  return map;
}

void print(std::ostream& out, const DiagnoseAnswer& answer, const Terminal& terminal) {
  print_step(out, answer);
  print_what_ifs(out, answer);
  print_parts(out, answer);
  print_slowdowns(out, answer);
  print_workers(out, answer, terminal);
  for (const std::string& note : answer.notes)
    out << (&note == answer.notes.data() ? "\nnote: " : "note: ") << note << '\n';
}

}  // namespace sgdsim
