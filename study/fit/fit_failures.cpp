// From a log to rates, and to what it says against them.
#include "study/fit/fit_failures.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "sim/core/nearest_rank.h"
#include "sim/core/refusal.h"
#include "study/collective/ranges.h"
#include "study/goodput/failures_file.h"
#include "study/goodput/spans.h"
#include "study/table.h"
#include "traces/failures/failure_log.h"
#include "traces/log_text.h"
#include "traces/utf16.h"

namespace sgdsim {
namespace {

constexpr double surely = 0.01;  // chances below are no accident
constexpr std::size_t shown_lemons = 10;

FailureScope scope_of(const FitArguments& arguments) {
  FailureScope scope{0, arguments.unit, arguments.since, arguments.until};
  if (!arguments.units.empty())
    scope.units = static_cast<double>(parse_whole(arguments.units, 1, 1'000'000'000, "--units"));
  if (!scope.unit.empty()) failure_unit_named(scope.unit, "--unit");
  return scope;
}

void fit_rate(CauseFit& cause, const FailureRecord& record) {
  const double unit_days = record.seen_unit_s / seconds_of_day;
  cause.per_day = static_cast<double>(cause.failures) / unit_days;
  const goodput::Interval counts = goodput::interval_of_count(cause.failures);
  cause.per_day_interval = {counts.low / unit_days, counts.high / unit_days};
}

void fit_outages(CauseFit& cause, const FailureRecord& record, int32_t number) {
  std::vector<double> lengths_s;
  double sum_s = 0;
  for (const FailureRecord::Outage& outage : record.outages) {
    if (number >= 0 && outage.cause != number) continue;
    lengths_s.push_back(outage.length_s);
    sum_s += outage.length_s;
  }
  if (lengths_s.empty()) return;
  cause.down_median_s = median_of(lengths_s);
  cause.down_mean_s = sum_s / static_cast<double>(lengths_s.size());
}

// Units that fail too often would look as if all of them failed when they have just come back.
std::vector<FailureSpell> spells_of_others(const FailureRecord& record,
                                           const goodput::Lemons& lemons) {
  std::vector<bool> is_lemon(record.units.size());
  for (const goodput::Lemon& lemon : lemons.worst) is_lemon[lemon.unit] = true;
  std::vector<FailureSpell> spells;
  for (const FailureSpell& spell : record.spells)
    if (spell.unit < 0 || !is_lemon[static_cast<std::size_t>(spell.unit)]) spells.push_back(spell);
  return spells;
}

// -1: of any cause. `spells`: of which the shape is.
CauseFit cause_fit(const FailureRecord& record, const std::vector<FailureSpell>& spells,
                   int32_t number, int64_t failures) {
  CauseFit cause;
  cause.name = number < 0 ? "any of them" : record.causes[static_cast<std::size_t>(number)];
  cause.failures = failures;
  fit_rate(cause, record);
  cause.law = goodput::weibull_of(spells, number);
  fit_outages(cause, record, number);
  return cause;
}

std::vector<int64_t> failures_by_cause(const FailureRecord& record) {
  std::vector<int64_t> counts(record.causes.size());
  for (const FailureRecord::Failure& failure : record.failures)
    ++counts[static_cast<std::size_t>(failure.cause)];
  return counts;
}

bool remembers(const CauseFit& cause) { return cause.law && cause.law->exponential_p < surely; }
// Shapes are of the age of what ran: of a node, but not where that is a job.
bool has_own_law(const FailureFit& fit, const CauseFit& cause) {
  constexpr double least_shape = 0.1;
  constexpr double most_shape = 20;
  return fit.record.runs == fit.record.unit && remembers(cause) &&
         cause.law->shape >= least_shape && cause.law->shape <= most_shape;
}

std::optional<double> if_above_0(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

// A law of ages.
struct ToldLaw {
  goodput::WeibullFit law = {};
};
Fields fields_of(const ToldLaw& told) {
  const goodput::WeibullFit& law = told.law;
  return {
      Field("shape", law.shape, "below 1: the younger, the more failures").at_least(0),
      Field("scale_days", law.scale_s / seconds_of_day, "by which 63 % have failed").at_least(0),
      Field("shape_low", if_above_0(law.interval.low),
            "95 %, by likelihood; left out where it can be as low as any")
          .at_least(0),
      Field("shape_high", if_above_0(law.interval.high), "likewise").at_least(0),
      Field("exponential_p", law.exponential_p,
            "chance of such a shape where failures keep no memory")
          .from(0, 1)};
}

// Of a unit.
struct ToldLemon {
  std::string unit = {};
  int64_t failures = 0;
  double expected = 0;
};
Fields fields_of(const ToldLemon& lemon) {
  return {{"unit", lemon.unit, "its name"},
          Field("failures", lemon.failures, "failures of this unit").at_least(2),
          Field("expected", lemon.expected, "if it were as the others").at_least(0)};
}

struct ToldBursts {
  goodput::Bursts bursts = {};
};
Fields fields_of(const ToldBursts& told) {
  return {
      Field("parts", told.bursts.parts, "equal parts of the log in which failures were counted")
          .at_least(4),
      Field("variance_over_mean", told.bursts.ratio, "of these counts: 1 at random, more in bursts")
          .at_least(0),
      Field("p", told.bursts.p, "chance of so much at random").from(0, 1)};
}

std::vector<ToldLemon> told_lemons(const FailureFit& fit) {
  std::vector<ToldLemon> told;
  for (const goodput::Lemon& lemon : fit.lemons.worst) {
    const FailureRecord::Unit& unit = fit.record.units[lemon.unit];
    told.push_back({unit.name, unit.failures, lemon.expected});
  }
  return told;
}

// "0.0038 (0.0034 to 0.0042)".
std::string interval_text(double value, double low, double high, int digits) {
  return rounded(value, digits) + " (" + rounded(low, 3) + " to " + rounded(high, 3) + ")";
}

std::string law_text(const CauseFit& cause) {
  if (!cause.law) return "";
  const goodput::Interval& interval = cause.law->interval;
  return rounded(cause.law->shape, 3) + " (" + (interval.low > 0 ? rounded(interval.low, 3) : "0") +
         " to " + (interval.high > 0 ? rounded(interval.high, 3) : "endless") + ")";
}

std::string down_text(const CauseFit& cause) {
  return cause.down_mean_s ? span_text(*cause.down_mean_s) : "";
}

std::string chance_text(double p) { return p < 1e-4 ? "below 0.0001" : rounded(p, 2); }

std::string memory_text(const FailureFit& fit) {
  const CauseFit& all = fit.all;
  if (!all.law) return "Too few failures to tell whether they keep a memory.";
  const std::string of = fit.record.runs == fit.record.unit ? "come back" : "begun";
  const std::string whose = fit.lemons.worst.empty() ? "" : " of the others";
  if (!remembers(all))
    return "Failures" + whose +
           " keep no memory, as far as one can tell (chance of such a shape: " +
           chance_text(all.law->exponential_p) + ").";
  return std::string("A ") + fit.record.runs + whose + " fails " +
         (all.law->shape < 1 ? "more" : "less") + " often when it has just " + of +
         " (chance of such a shape without memory: " + chance_text(all.law->exponential_p) + ").";
}

void print_lemons(std::ostream& out, const FailureFit& fit) {
  if (fit.lemons.worst.empty()) {
    if (!fit.record.units.empty())
      out << "No " << fit.record.named << " fails more often than the others.\n";
    return;
  }
  out << fit.lemons.worst.size() << " " << fit.record.named << "s ("
      << part_text(fit.lemons.share_of_units) << ") fail too often to be like the others, with "
      << part_text(fit.lemons.share_of_failures) << " of the failures:";
  std::size_t shown = 0;
  for (const goodput::Lemon& lemon : fit.lemons.worst) {
    if (shown++ == shown_lemons) {
      out << ", ...";
      break;
    }
    const FailureRecord::Unit& unit = fit.record.units[lemon.unit];
    out << (shown == 1 ? " " : ", ") << unit.name << " (" << unit.failures << ", where "
        << rounded(lemon.expected, 2) << " would be usual)";
  }
  out << ".\nWithout them a " << fit.record.named << " fails "
      << rounded(fit.lemons.rate_of_others_s * seconds_of_day, 3) << " times a day.\n";
}

}  // namespace

bool is_of_failures(const FitArguments& arguments) {
  for (const std::string& file : arguments.files) {
    // What is read of a pipe is gone for who reads it then.
    std::error_code problem;
    if (!std::filesystem::is_regular_file(file, problem)) continue;
    const std::string head = beginning_of(file, 1 << 16);
    if (is_failure_log(is_utf16(head) ? read_log(file) : head)) return true;
  }
  return false;
}

FailureFit fit_failures(const FitArguments& arguments) {
  if (arguments.files.size() != 1)
    throw InputError(
        "FILE", "a log of failures is one file, got " + std::to_string(arguments.files.size()));
  for (const GivenOption& given : given_options(arguments))
    if (given.of != FitKind::failures) throw no_effect(given.option, "on a log of failures");
  const std::string& file = arguments.files.front();
  FailureFit fit;
  fit.record = read_failure_log(read_log(file), file, scope_of(arguments));
  fit.name = arguments.name.empty() ? file : arguments.name;
  if (fit.record.seen_unit_s <= 0)
    throw InputError(file, "nothing ran for any time: it says nothing of rates");
  fit.lemons = goodput::lemons_of(fit.record);
  const std::vector<FailureSpell> spells = spells_of_others(fit.record, fit.lemons);
  const std::vector<int64_t> counts = failures_by_cause(fit.record);
  int64_t failures = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    fit.causes.push_back(cause_fit(fit.record, spells, static_cast<int32_t>(i), counts[i]));
    failures += counts[i];
  }
  std::stable_sort(fit.causes.begin(), fit.causes.end(),
                   [](const CauseFit& a, const CauseFit& b) { return a.failures > b.failures; });
  fit.all = cause_fit(fit.record, spells, -1, failures);
  fit.bursts = goodput::bursts_of(fit.record);
  return fit;
}

Fields fields_of(const CauseFit& cause) {
  return {{"name", cause.name, "as the log has it"},
          {"failures", cause.failures, "failures that were counted"},
          Field("per_day", cause.per_day, "failures of one unit").at_least(0),
          Field("per_day_low", cause.per_day_interval.low, "exact interval of 95 %").at_least(0),
          Field("per_day_high", cause.per_day_interval.high, "its other end").at_least(0),
          {"weibull", cause.law ? std::optional(ToldLaw{*cause.law}) : std::nullopt,
           "the law of ages; left out with fewer than five failures"},
          Field("down_mean_s", cause.down_mean_s, "until the unit was back").at_least(0),
          Field("down_median_s", cause.down_median_s, "likewise").at_least(0)};
}

Fields fields_of(const FailureFit& fit) {
  const FailureRecord& record = fit.record;
  const goodput::Lemons& lemons = fit.lemons;
  const auto if_lemons = [&](double value) {
    return lemons.worst.empty() ? std::nullopt : std::optional(value);
  };
  return {
      answer_kind("sgdsim/failure-fit/1"),
      {"name", fit.name, "name of --name, or the file"},
      {"file", record.file, "the log"},
      {"format", record.format, "what kind of log it is"},
      Field("unit", record.unit, "whose rates these are").one_of(names_in(failure_units)),
      {"runs", record.runs, "what shapes are of: the age of a node, a job or an attempt"},
      Field("days", record.length_s / seconds_of_day, "length of the log").at_least(0),
      Field("unit_days", record.seen_unit_s / seconds_of_day,
            "of all units together, without the time in which they were down")
          .at_least(0),
      Field("units", if_above_0(record.unit_count), "all units, also those that never failed")
          .at_least(0),
      {"all", fit.all, "failures of any cause"},
      {"causes", fit.causes, "the most frequent first"},
      {"lemons", told_lemons(fit),
       "units that fail so often that a log of like units would have one such in a hundred times"},
      Field("lemons_of_units", if_lemons(lemons.share_of_units),
            "part of the units that lemons are")
          .from(0, 1),
      Field("lemons_of_failures", if_lemons(lemons.share_of_failures),
            "part of the failures that they have")
          .from(0, 1),
      Field("per_day_of_others", if_lemons(lemons.rate_of_others_s * seconds_of_day),
            "failures of a unit that is no lemon")
          .at_least(0),
      {"bursts", fit.bursts.parts > 0 ? std::optional(ToldBursts{fit.bursts}) : std::nullopt,
       "whether failures come together; left out where they are too few to tell"},
      {"warnings", record.notes, "what was left out, and what the answer rests on"}};
}

Json to_json(const FailureFit& fit) { return to_json_by_fields(fit); }
Json schema_of_failure_fits() { return schema_of_record<FailureFit>(); }

Json file_of(const FailureFit& fit) {
  const FailureRecord& record = fit.record;
  const double days = record.seen_unit_s / seconds_of_day;
  const double units = record.unit_count > 0 ? record.unit_count : 1;
  Json json = {{"schema", "sgdsim/failures/1"},
               {"name", fit.name},
               {"description", std::to_string(fit.all.failures) + " failures by " + record.format +
                                   ", " + rounded(days, 6) + " days of a " + record.unit + "."},
               {"source", "fitted to " + record.file},
               {"observed", {{"units", units}, {"days", days / units}}}};
  if (!record.units.empty())
    json["lemons"] = {{"of_units", fit.lemons.share_of_units},
                      {"of_failures", fit.lemons.share_of_failures}};
  json["causes"] = Json::array();
  for (const CauseFit& cause : fit.causes) {
    Json one = {{"name", cause.name}, {"unit", record.unit}, {"events", cause.failures}};
    if (has_own_law(fit, cause)) one["law"] = {{"weibull", cause.law->shape}};
    if (cause.down_mean_s) {  // the job goes on elsewhere
      one["repair"] = rounded(*cause.down_mean_s, 6) + " s";
      one["restart"] = "new_node";
    }
    json["causes"].push_back(std::move(one));
  }
  return json;
}

void print(std::ostream& out, const FailureFit& fit) {
  const FailureRecord& record = fit.record;
  out << fit.name << ": " << fit.all.failures << " failures in "
      << rounded(record.length_s / seconds_of_day, 4) << " days";
  if (record.unit_count > 0)
    out << " of " << static_cast<int64_t>(record.unit_count) << " "
        << (record.named.empty() ? record.unit : record.named) << "s";
  out << " (" << record.format << ", " << rounded(record.seen_unit_s / seconds_of_day, 6)
      << " days of a " << record.unit << ")\n\n";
  Table table({"cause", "failures", "of a " + record.unit + " and day (95 %)", "shape (95 %)",
               "down, mean"});
  const auto add = [&](const CauseFit& cause) {
    table.add(
        {cause.name, std::to_string(cause.failures),
         interval_text(cause.per_day, cause.per_day_interval.low, cause.per_day_interval.high, 4),
         law_text(cause), down_text(cause)});
  };
  for (const CauseFit& cause : fit.causes) add(cause);
  if (fit.causes.size() > 1) add(fit.all);
  table.print(out);
  out << '\n' << memory_text(fit) << '\n';
  print_lemons(out, fit);
  if (fit.bursts.parts > 0 && fit.bursts.p < surely)
    out << "Failures come in bursts: in " << fit.bursts.parts
        << " equal parts of the log their counts vary " << rounded(fit.bursts.ratio, 3)
        << " times as much as at random. Intervals are too narrow then.\n";
}

}  // namespace sgdsim
