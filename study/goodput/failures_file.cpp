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
#include "study/goodput/step_source.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_causes = 1000;
constexpr std::size_t most_recorded = 1'000'000;

// exponential where it has neither.
struct FailureLaw {
  std::optional<double> weibull;
  std::vector<Span> recorded;
};

Fields fields_of_law(FailureLaw& o) {
  return Fields{
      Field("weibull", o.weibull,
            "a shape that begins again at each failure of a unit; below 1 failures cluster")
          .from(0.1, 20),
      Field("recorded", o.recorded, "times since the start, in order")
          .entries(1, most_recorded, "times since the start")
          .also([](const Value& times) {
            double before = 0;
            times.for_each_item([&](const Value& time) {
              if (span_of(time) < before) times.fail("times must grow");
              before = span_of(time);
            });
          })}
      .exactly_one({"weibull", "recorded"}, "expected either `weibull` or `recorded`");
}

void read_value(const Value& value, FailureLaw& law) {
  if (!value.json().is_string()) {
    Object fields(value);
    read_fields(fields, fields_of_law(law));
    fields.done();
  } else if (value.text() != "exponential") {
    value.fail("expected \"exponential\", {\"weibull\": SHAPE} or {\"recorded\": [TIMES]}, got \"" +
               value.text() + "\"");
  }
}

Json schema_of_value(FailureLaw law) {
  return any_of({one_of_schema({"exponential"}), record_schema(fields_of_law(law))});
}

struct CauseFields {
  std::string name;
  FailureUnit unit = FailureUnit::node;
  std::optional<double> per_day;
  std::optional<int64_t> events;
  FailureLaw law;
  goodput::Effect effect = goodput::Effect::stop;
  std::optional<double> factor;
  std::optional<Value> degraded;
  std::optional<Span> lasts;
  std::optional<bool> lasts_varies;
  std::optional<Span> detect;
  std::optional<Span> repair;
  bool needs_node = false;
  bool memory_survives = true;
};

Fields fields_of(CauseFields& o) {
  return Fields{
      Field("name", o.name,
            "what fails; what is drawn for it depends on its name, and not on other causes")
          .needed(),
      Field("unit", o.unit, "what its rate counts").needed(),
      Field("per_day", o.per_day, "how often one unit fails in a day").from(0, 1e9),
      Field("events", o.events,
            "in place of `per_day`: how often it was seen, among the units and days of `observed`")
          .from(0, 1'000'000'000),
      Field("law", o.law, "when units fail: a law, or a record").otherwise("exponential"),
      {"effect", o.effect,
       "stop: the job stops; slow: steps take longer for a while; corrupt: everything since is "
       "wrong, and nobody knows until it is detected"},
      Field("factor", o.factor, "slow: how many times as long a step takes").from(1, 1e6),
      Field("degraded", o.degraded,
            "slow, in place of `factor`: what is slow or gone; the step is simulated with it")
          .like(schema_of_record<Degraded>),
      {"lasts", o.lasts, "slow: for how long, on average"},
      Field("lasts_varies", o.lasts_varies, "slow: whether that is exponential, or always the same")
          .otherwise("true"),
      Field("detect", o.detect, "time until it is noticed").otherwise("that of the question"),
      Field("repair", o.repair, "time until the unit is back").otherwise("that of the question"),
      Field("restart", o.needs_node, "where the job starts again")
          .one_of({"in_place", "new_node"})
          .called("way to restart"),
      {"memory_copy_survives", o.memory_survives,
       "whether copies of the state in other nodes' memory outlive it"}};
}

struct Observed {
  double units = 0;
  double days = 0;
};
Fields fields_of(Observed& o) {
  return {Field("units", o.units, "how many units").needed().from(1e-9, 1e12),
          Field("days", o.days, "for how many days").needed().from(1e-9, 1e9)};
}

struct FailuresFields {
  FileHead head;
  int64_t gpus_per_node = 8;
  std::optional<Observed> observed;
  std::optional<LemonShare> lemons;
  std::vector<CauseFields> causes;
};
Fields fields_of(FailuresFields& o) {
  return head_fields(o.head, failures_schema) +
         Fields{
             Field("gpus_per_node", o.gpus_per_node,
                   "GPUs of a node of the machine that was seen; where it is given, rates of nodes "
                   "grow with the GPUs of the question's nodes")
                 .from(1, 1'000'000),
             {"observed", o.observed,
              "among how many units, and for how long, `events` were counted"},
             {"lemons", o.lemons,
              "units that fail too often to be like the others; not given where nobody counted by "
              "unit"},
             Field("causes", o.causes, "what fails; names differ")
                 .needed()
                 .entries(1, most_causes, "causes")};
}

double rate_of(const CauseFields& cause, const std::optional<Observed>& observed,
               const Value& value) {
  if (!cause.law.recorded.empty()) {
    if (cause.per_day || cause.events)
      value.fail("has recorded times; leave `per_day` and `events` out");
    return 0;
  }
  if (cause.per_day && cause.events)
    value.child("events").fail("give `events` or `per_day`, not both");
  if (cause.per_day) return *cause.per_day;
  if (!cause.events)
    value.fail("needs `per_day` of one unit, as 0.004, or `events` that were counted");
  if (!observed)
    value.child("events").fail(
        "needs `observed` beside `causes`, as {\"units\": 2048, \"days\": 54}");
  return static_cast<double>(*cause.events) / (observed->units * observed->days);
}

double factor_of(const CauseFields& cause, const DegradedFactor& factor, const Value& value) {
  if (cause.effect != goodput::Effect::slow) {
    for (const char* name : {"factor", "degraded", "lasts", "lasts_varies"})
      if (value.json().contains(name)) value.child(name).fail("is for \"effect\": \"slow\"");
    return 1;
  }
  if (cause.factor.has_value() == cause.degraded.has_value())
    value.fail(
        "needs `factor`, of a step's time, as 1.5, or `degraded`, as {\"gpu\": 0.5}, and not "
        "both");
  if (!cause.lasts) value.fail("needs `lasts`, for how long, as \"30 min\"");
  if (cause.factor) return *cause.factor;
  if (!factor) cause.degraded->fail("needs a question whose step is simulated");
  return std::max(1., factor(*cause.degraded));
}

std::optional<double> seconds_of(const std::optional<Span>& span) {
  return span ? std::optional(span->s) : std::nullopt;
}

FailureCause cause_of(const CauseFields& given, const std::optional<Observed>& observed,
                      const DegradedFactor& factor, const Value& value) {
  FailureCause cause;
  cause.name = given.name;
  cause.unit = given.unit;
  cause.shape = given.law.weibull.value_or(1);
  for (const Span& at : given.law.recorded) cause.at_s.push_back(at.s);
  cause.per_day = rate_of(given, observed, value);
  cause.events = given.events.value_or(0);
  cause.effect = given.effect;
  cause.factor = factor_of(given, factor, value);
  cause.is_simulated = given.degraded.has_value();
  cause.lasts_s = given.lasts.value_or(Span()).s;
  cause.lasts_varies = given.lasts_varies.value_or(true);
  cause.detect_s = seconds_of(given.detect);
  cause.repair_s = seconds_of(given.repair);
  cause.needs_node = given.needs_node;
  cause.memory_survives = given.memory_survives;
  return cause;
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

Fields fields_of(Degraded& o) {
  return Fields{
      Field("gpu", o.gpu, "one GPU at this part of its speed").from(1e-3, 1),
      Field("link", o.link, "names of the two vertices that a link joins")
          .entries(2, 2, "vertices"),
      {"vertex", o.vertex, "a vertex, all of whose links change"},
      Field("bandwidth", o.bandwidth,
            "with `link` or `vertex`: the part of it that is left; 0: it is gone")
          .from(0, 1),
      Field("replicas_away", o.replicas_away, "how many replicas fewer a layout has")
          .from(1, 1'000'000),
      Field("set", o.set, "fields of the experiment, as cluster.nodes=15").filled("setting")}
      .exactly_one({"gpu", "link", "vertex", "replicas_away", "set"},
                   "expected one of {\"gpu\": 0.5}, {\"link\": [\"leaf0\", \"spine1\"], "
                   "\"bandwidth\": 0}, {\"vertex\": \"node0\", \"bandwidth\": 0.25}, "
                   "{\"replicas_away\": 1} and {\"set\": [\"cluster.nodes=15\"]}");
}

Fields fields_of(LemonShare& o) {
  constexpr double most_of_units = 1 - 1e-9;  // somebody has to be the others
  return {Field("of_units", o.of_units, "their part of all units; 0: there are none")
              .needed()
              .from(0, most_of_units),
          Field("of_failures", o.of_failures, "their part of all failures").needed().from(0, 1)};
}

Json schema_of_failures() { return schema_of_record<FailuresFields>(); }

FailureSource read_failures(const Value& value, const DegradedFactor& factor) {
  const auto given = read_record<FailuresFields>(value);
  FailureSource source;
  source.name = value.json().contains("name") ? given.head.name : value.file();
  source.description = given.head.description;
  source.gpus_per_node = given.gpus_per_node;
  source.says_gpus_per_node = value.json().contains("gpus_per_node");
  if (given.observed) source.observed_unit_days = given.observed->units * given.observed->days;
  source.lemons = given.lemons;
  if (source.lemons && source.lemons->of_failures < source.lemons->of_units)
    value.child("lemons")
        .child("of_failures")
        .fail("expected at least `of_units`: such units fail more often than others");
  std::set<std::string> names;
  const std::vector<Value> causes = value.child("causes").items();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    source.causes.push_back(cause_of(given.causes[i], given.observed, factor, causes[i]));
    if (!names.insert(given.causes[i].name).second)
      causes[i].fail("a second cause named \"" + given.causes[i].name + "\"");
  }
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

bool counts_nodes(const FailureCause& cause) {
  return cause.unit == FailureUnit::node && cause.at_s.empty();
}

double node_size(const FailureSource& source, const FailingMachine& machine) {
  if (!source.says_gpus_per_node) return 1;
  if (std::none_of(source.causes.begin(), source.causes.end(), counts_nodes)) return 1;
  return static_cast<double>(machine.gpus_per_node) / static_cast<double>(source.gpus_per_node);
}

std::vector<goodput::Cause> causes_on(const FailureSource& source, const FailingMachine& machine,
                                      const FailureDefaults& defaults, const std::string& where) {
  std::vector<goodput::Cause> causes;
  const double size = node_size(source, machine);
  for (const FailureCause& one : source.causes) {
    goodput::Cause cause;
    cause.name = one.name;
    cause.effect = one.effect;
    cause.units = units_of(one, machine, where);
    const double per_day = one.per_day * defaults.rate_factor * (counts_nodes(one) ? size : 1);
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
    if (cause.effect != goodput::Effect::slow && cause.at_s.empty() &&
        cause.mean_s < goodput::never_s)
      rate += cause.rate();
  return rate * seconds_of_day / static_cast<double>(nodes);
}

}  // namespace sgdsim
