// Differences to the whole machine, sorted and printed.
#include "study/need/breaks.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "study/table.h"

namespace sgdsim {
namespace {

constexpr double hundred = 100;
constexpr double hours_of_day = 24;
constexpr double least_growth = 1e-6;  // of the step
constexpr double rounding = 1e-8;      // likewise: a few ps are no change

double time_of(const PartTimes& parts, const std::string& name) {
  for (const auto& [part, us] : parts)
    if (part == name) return us;
  return 0;
}

void print_list(std::ostream& out, const char* title, const std::vector<std::string>& list) {
  if (list.empty()) return;
  out << title << ':';
  for (const std::string& one : list) out << (&one == &list.front() ? " " : ", ") << one;
  out << '\n';
}

}  // namespace

std::string change_text(double change_percent) {
  return (change_percent < 0 ? "" : "+") + rounded(change_percent, 3) + " %";
}

void BreakList::add(const std::string& part, const std::string& says, const std::string& left,
                    const StepTaken& taken) {
  Break one{.part = part, .says = says, .left = left, .step_us = taken.step_us};
  if (std::abs(taken.step_us - base_.step_us) < rounding * base_.step_us)
    one.step_us = base_.step_us;
  one.change_percent = hundred * (one.step_us / base_.step_us - 1);
  const double kept = taken.work / base_.work * base_.step_us / one.step_us;
  one.gpu_hours_a_day = hours_of_day * static_cast<double>(gpus_) * (1 - kept);
  const bool is_longer = one.step_us > (1 + least_growth) * base_.step_us;
  for (const auto& [name, us] : is_longer ? taken.parts : PartTimes()) {
    const double growth = us - time_of(base_.parts, name);
    if (growth <= std::max(one.grew_us, least_growth * base_.step_us)) continue;
    one.grew = name;
    one.grew_us = growth;
  }
  breaks_.all.push_back(std::move(one));
}

Breaks BreakList::breaks() && {
  std::stable_sort(breaks_.all.begin(), breaks_.all.end(), [](const Break& a, const Break& b) {
    return a.gpu_hours_a_day > b.gpu_hours_a_day;
  });
  return std::move(breaks_);
}

Fields fields_of(const Break& one) {
  return {
      {"part", one.part, "the field of the cluster that describes the link; sites, gpu or worker"},
      {"says", one.says, "the same for people"},
      Field("left", one.left, "of its rate; gone: one of several").one_of({"half", "gone"}),
      {"step_us", one.step_us, "time of a step then"},
      {"change_percent", one.change_percent, "more than the whole machine takes"},
      {"gpu_hours_lost_a_day", one.gpu_hours_a_day, "of all GPUs of the job"},
      Field("grew", one.grew, "what grew most of the step").if_any(),
      {"grew_us", one.grew_us, "and by how much"}};
}

Fields fields_of(const Breaks& breaks) {
  return {{"parts", breaks.all,
           "each part of the machine at half of its rate or gone, the worst first"},
          Field("carried", breaks.carried,
                "links of which one can be gone, because others carry its messages; priced at "
                "fidelities flow and packet only")
              .if_any(),
          Field("stops", breaks.stops, "parts without which the step does not go on").if_any()};
}

Json schema_of_breaks() {
  const Breaks none;
  return record_schema(fields_of(none));
}

void print(std::ostream& out, const Breaks& breaks) {
  out << "\nWhat breaks\n\n";
  Table table({"part", "left", "step", "change", "GPU-hours lost a day", "grew most"});
  for (const Break& one : breaks.all)
    table.add({one.says, one.left, short_duration(one.step_us, 5), change_text(one.change_percent),
               rounded(one.gpu_hours_a_day, 4), one.grew.empty() ? "-" : one.grew});
  table.print(out, 2);
  if (!breaks.all.empty() && breaks.all.front().gpu_hours_a_day > 0)
    out << "The most sensitive: " << breaks.all.front().says << '\n';
  print_list(out, "Gone, others carry its messages (priced at --fidelity flow)", breaks.carried);
  print_list(out, "Gone, it stops the step", breaks.stops);
}

}  // namespace sgdsim
