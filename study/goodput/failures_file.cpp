// Rates are given, or counted: events among so many units in so many days.
#include "study/goodput/failures_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "sim/core/error.h"
#include "sim/core/named.h"
#include "study/beside.h"
#include "study/goodput/spans.h"

namespace sgdsim {
namespace {

constexpr char failures_schema[] = "sgdsim/failures/1";
constexpr double most_per_day = 1e9;
constexpr std::size_t most_causes = 1000;
constexpr std::size_t most_recorded = 1'000'000;

constexpr Named<FailureUnit, 5> failure_units{{{"gpu", FailureUnit::gpu},
                                               {"node", FailureUnit::node},
                                               {"link", FailureUnit::link},
                                               {"leaf", FailureUnit::leaf},
                                               {"job", FailureUnit::job}}};
constexpr Named<goodput::Effect, 3> effects{{{"stop", goodput::Effect::stop},
                                             {"slow", goodput::Effect::slow},
                                             {"corrupt", goodput::Effect::corrupt}}};

void check_schema(Object& fields) {
  const auto schema = fields.find("schema");
  if (schema && schema->text() != failures_schema)
    schema->fail("expected \"" + std::string(failures_schema) + "\", got \"" + schema->text() +
                 "\"");
}

void read_law(Object& fields, FailureCause& cause) {
  const auto law = fields.find("law");
  if (!law) return;
  if (law->json().is_string()) {
    if (law->text() != "exponential")
      law->fail(
          "expected \"exponential\", {\"weibull\": SHAPE} or {\"recorded\": [TIMES]}, got \"" +
          law->text() + "\"");
    return;
  }
  Object kind(*law);
  if (const auto shape = kind.find("weibull")) {
    cause.shape = shape->number(0.1, 20);
  } else {
    const Value times = kind.at("recorded");
    if (times.size() == 0 || times.size() > most_recorded)
      times.fail("expected 1 to 1000000 times since the start, got " +
                 std::to_string(times.size()));
    for (const Value& time : times.items()) cause.at_s.push_back(span_of(time));
    if (!std::is_sorted(cause.at_s.begin(), cause.at_s.end())) times.fail("times must grow");
  }
  kind.done();
}

void read_rate(Object& fields, double observed_unit_days, FailureCause& cause) {
  const auto per_day = fields.find("per_day");
  const auto events = fields.find("events");
  if (!cause.at_s.empty()) {
    if (per_day || events)
      fields.value().fail("has recorded times; leave `per_day` and `events` out");
    return;
  }
  if (per_day && events) events->fail("give `events` or `per_day`, not both");
  if (!per_day && !events)
    fields.value().fail("needs `per_day` of one unit, as 0.004, or `events` that were counted");
  if (per_day) {
    cause.per_day = per_day->number(0, most_per_day);
    return;
  }
  cause.events = events->whole(0, 1'000'000'000);
  if (observed_unit_days <= 0)
    events->fail("needs `observed` beside `causes`, as {\"units\": 2048, \"days\": 54}");
  cause.per_day = static_cast<double>(cause.events) / observed_unit_days;
}

void read_effect(Object& fields, const DegradedFactor& factor_of, FailureCause& cause) {
  if (const auto effect = fields.find("effect"))
    cause.effect = named_in(effects, "effect", effect->text(), effect->where());
  const auto factor = fields.find("factor");
  const auto degraded = fields.find("degraded");
  const auto lasts = fields.find("lasts");
  const auto varies = fields.find("lasts_varies");
  if (cause.effect != goodput::Effect::slow) {
    for (const auto* field : {&factor, &degraded, &lasts, &varies})
      if (*field) (*field)->fail("is for \"effect\": \"slow\"");
    return;
  }
  if (factor.has_value() == degraded.has_value())
    fields.value().fail(
        "needs `factor`, of a step's time, as 1.5, or `degraded`, as \"slow_gpu=0.5\", and not "
        "both");
  if (factor) cause.factor = factor->number(1, 1e6);
  if (degraded) {
    if (!factor_of) degraded->fail("needs a question whose step is simulated");
    cause.factor = std::max(1., factor_of(*degraded));
    cause.is_simulated = true;
  }
  cause.lasts_s = span_of(fields.at("lasts"));
  if (varies) cause.lasts_varies = varies->flag();
}

FailureCause read_cause(const Value& value, double observed_unit_days,
                        const DegradedFactor& factor) {
  Object fields(value);
  FailureCause cause;
  cause.name = fields.at("name").text();
  const Value unit = fields.at("unit");
  cause.unit = failure_unit_named(unit.text(), unit.where());
  read_law(fields, cause);
  read_rate(fields, observed_unit_days, cause);
  read_effect(fields, factor, cause);
  if (const auto detect = fields.find("detect")) cause.detect_s = span_of(*detect);
  if (const auto repair = fields.find("repair")) cause.repair_s = span_of(*repair);
  if (const auto restart = fields.find("restart"))
    cause.needs_node = named_in(Named<bool, 2>{{{"in_place", false}, {"new_node", true}}},
                                "way to restart", restart->text(), restart->where());
  if (const auto survives = fields.find("memory_copy_survives"))
    cause.memory_survives = survives->flag();
  fields.done();
  return cause;
}

LemonShare read_lemons(const Value& value) {
  constexpr double most_of_units = 1 - 1e-9;  // somebody has to be the others
  Object fields(value);
  LemonShare share;
  share.of_units = fields.at("of_units").number(0, most_of_units);
  const Value failures = fields.at("of_failures");
  share.of_failures = failures.number(0, 1);
  if (share.of_failures < share.of_units)
    failures.fail("expected at least `of_units`: such units fail more often than others");
  fields.done();
  return share;
}

int64_t units_of(const FailureCause& cause, const FailingMachine& machine,
                 const std::string& where) {
  switch (cause.unit) {
    case FailureUnit::gpu:
      return machine.nodes * machine.gpus_per_node;
    case FailureUnit::node:
      return machine.nodes;
    case FailureUnit::job:
      return 1;
    case FailureUnit::link:
      if (machine.links_per_node > 0) return machine.nodes * machine.links_per_node;
      throw InputError(where,
                       "\"" + cause.name + "\" is a failure of links: say `links_per_node`, as 8");
    case FailureUnit::leaf:
      if (machine.nodes_per_leaf > 0)
        return (machine.nodes + machine.nodes_per_leaf - 1) / machine.nodes_per_leaf;
      throw InputError(
          where, "\"" + cause.name +
                     "\" is a failure of leaf switches or racks: say `nodes_per_leaf`, as 16");
  }
  return 1;
}

}  // namespace

FailureUnit failure_unit_named(const std::string& name, const std::string& where) {
  return named_in(failure_units, "unit", name, where);
}

FailureSource read_failures(const Value& value, const DegradedFactor& factor) {
  Object fields(value);
  check_schema(fields);
  FailureSource source;
  source.name = value.file();
  if (const auto name = fields.find("name")) source.name = name->text();
  if (const auto description = fields.find("description")) source.description = description->text();
  if (const auto where_from = fields.find("source")) where_from->text();
  if (const auto gpus = fields.find("gpus_per_node"))
    source.gpus_per_node = gpus->whole(1, 1'000'000);
  if (const auto observed = fields.find("observed")) {
    Object counted(*observed);
    source.observed_unit_days =
        counted.at("units").number(1e-9, 1e12) * counted.at("days").number(1e-9, 1e9);
    counted.done();
  }
  if (const auto lemons = fields.find("lemons")) source.lemons = read_lemons(*lemons);
  const Value causes = fields.at("causes");
  if (causes.size() == 0 || causes.size() > most_causes)
    causes.fail("expected 1 to 1000 causes, got " + std::to_string(causes.size()));
  std::set<std::string> names;
  for (const Value& one : causes.items()) {
    source.causes.push_back(read_cause(one, source.observed_unit_days, factor));
    if (!names.insert(source.causes.back().name).second)
      one.fail("a second cause named \"" + source.causes.back().name + "\"");
  }
  fields.done();
  return source;
}

Document failures_document(const Value& name) {
  const std::string word = name.text();
  std::vector<std::string> known;
  for (const ShippedFile& file : shipped_failures()) {
    known.emplace_back(file.name);
    if (file.name == word) return Document::parse(file.text, word);
  }
  const std::string path = beside(name.file(), word);
  std::error_code problem;
  if (word.find_first_of("./") == std::string::npos && !std::filesystem::exists(path, problem))
    name.fail(unknown_name("source of failures", word, known) + "; a file of yours ends in .json");
  return Document::read(path);
}

FailureSource load_failures(const Value& value, const DegradedFactor& factor) {
  if (!value.json().is_string()) return read_failures(value, factor);
  const Document document = failures_document(value);
  return read_failures(document.root(), factor);
}

std::vector<goodput::Cause> causes_on(const FailureSource& source, const FailingMachine& machine,
                                      const FailureDefaults& defaults, const std::string& where) {
  std::vector<goodput::Cause> causes;
  for (const FailureCause& one : source.causes) {
    goodput::Cause cause;
    cause.name = one.name;
    cause.effect = one.effect;
    cause.units = units_of(one, machine, where);
    const double per_day = one.per_day * defaults.rate_factor;
    cause.mean_s =
        per_day > 0 ? std::min(goodput::never_s, seconds_of_day / per_day) : goodput::never_s;
    cause.shape = one.shape;
    cause.at_s = one.at_s;
    cause.detect_s = one.detect_s.value_or(defaults.detect_s);
    cause.repair_s = one.repair_s.value_or(defaults.repair_s);
    cause.needs_node = one.needs_node;
    cause.nodes =
        one.unit == FailureUnit::leaf ? std::min(machine.nodes, machine.nodes_per_leaf) : 1;
    cause.memory_survives = one.memory_survives;
    cause.factor = one.factor;
    cause.lasts_s = one.lasts_s;
    cause.lasts_varies = one.lasts_varies;
    causes.push_back(std::move(cause));
  }
  return causes;
}

double stops_per_node_day(const std::vector<goodput::Cause>& causes, int64_t nodes) {
  double rate = 0;
  for (const goodput::Cause& cause : causes)
    if (cause.effect == goodput::Effect::stop && cause.at_s.empty()) rate += cause.rate();
  return rate * seconds_of_day / static_cast<double>(nodes);
}

}  // namespace sgdsim
