// Reading `collective`.
#include "study/step/collective_field.h"

#include <algorithm>
#include <array>

#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "study/collective/nccl_answer.h"
#include "study/collective/option_words.h"
#include "topologies/wiring.h"

namespace sgdsim {
namespace {

// a + b M, or the least of several such lines.
struct LineFields {
  Duration start_up;
  PerByte per_byte;
  Line line() const { return {static_cast<double>(start_up.ps()), per_byte.ps()}; }
};

Fields fields_of(LineFields& line) {
  return {Field("start_up", line.start_up, "a of a + bM").needed(),
          Field("per_byte", line.per_byte, "b of a + bM").needed()};
}

struct Lines {
  std::vector<LineFields> lines;
};

Fields fields_of(Lines& lines) {
  return {Field("lines", lines.lines, "several lines, of which the least is the cost")
              .needed()
              .filled("line")};
}

std::vector<Line> read_lines(Object& fields) {
  if (!fields.has("lines")) return {read_record<LineFields>(fields).line()};
  std::vector<Line> all;
  for (const LineFields& line : read_record<Lines>(fields).lines) all.push_back(line.line());
  return all;
}

// What `sgdsim fit` writes, or the same in an experiment.
struct MeasuredCurve {
  FileHead head;
  std::optional<int> ranks;
  Curve samples;
};

Fields fields_of(MeasuredCurve& curve) {
  return {Field("schema", curve.head.schema, "kind and version of this object")
              .constant("sgdsim/collective-cost/1"),
          {"source", curve.head.source, "what was fitted, and how well"},
          Field("ranks", curve.ranks, "ranks among which the curve was measured")
              .from(1, most_workers)
              .otherwise("not known"),
          Field("samples", curve.samples,
                "the curve; straight in logarithms in between, and not known beyond")
              .needed()};
}

struct Servers {
  std::optional<Value> servers;
};

Fields fields_of(Servers& o) {
  return {Field("parameter_server", o.servers,
                "gradients are pushed to servers, summed there, and pulled")
              .needed()
              .like(schema_of_record<ParameterServers>)};
}

// Whether a field says how messages are exchanged, and not only options of what is usual.
bool names_exchange(const Json& field) {
  if (!field.is_object()) return true;
  constexpr std::array<const char*, 6> names{"algorithm", "parameter_server", "samples",
                                             "start_up",  "per_byte",         "lines"};
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return field.contains(name); });
}

bool is_option_of(const std::vector<OptionKey>& keys, const std::string& name) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const OptionKey& key) { return key.name == name; });
}

// What is there has no messages of an algorithm, which these options are of.
void refuse_option(const Value& option, const std::string& there) {
  option.fail("is about the messages of an algorithm, and `collective` is " + there +
              ": leave it out, or name an algorithm, as in --set collective=ring");
}

void refuse_options(Object& fields, const std::string& there) {
  const std::optional<Value> options = fields.find("options");
  if (options && options->json().is_object())
    for (const auto& [key, option] : options->entries())
      if (is_option_of(option_keys(), key)) refuse_option(option, there);
}

// The options of an object as key and text.
template <class F>
void for_each_option(const std::optional<Value>& given, const F& f) {
  if (given)
    for (const auto& [key, option] : given->entries())
      f(key, option.json().is_string() ? option.text() : option.json().dump(), option);
}

// What a program pays for each message besides NCCL's own time: the median of 15 calls of
// `nccl:all_reduce` in a profile of DDP (ResNet-50, 2 A100, NCCL 2.17; repository
// facebookresearch/HolisticTraceAnalysis, tests/data/nccl_parser_config), 77 to 116 us.
constexpr Duration usual_launch = Duration::us(86);

struct LikeNccl {
  std::string algorithm;
  Duration launch = usual_launch;
  std::optional<Value> options;
};

Fields fields_of(LikeNccl& o) {
  return {Field("algorithm", o.algorithm, "as NCCL's own tuning model chooses and expects")
              .needed()
              .constant("nccl"),
          {"launch", o.launch, "what a program pays for each message besides NCCL's own time"},
          Field("options", o.options, "options of NCCL's model, as key: value").like([] {
            return schema_of_options(nccl_option_keys());
          })};
}

struct OfAlgorithm {
  std::string algorithm;
  std::optional<Value> options;
  std::optional<Bytes> block;
};

Fields fields_of(OfAlgorithm& o) {
  return {Field("algorithm", o.algorithm, "one of `sgdsim list algorithms`, or auto: the cheapest")
              .needed()
              .like([] {
                std::vector<std::string> names{"auto"};
                for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
                return one_of_schema(std::move(names));
              }),
          Field("options", o.options, "options of `sgdsim list options`, as key: value").like([] {
            return schema_of_options(option_keys());
          }),
          Field("block", o.block, "block size of a pipeline").otherwise("the best one")};
}

void read_nccl(Object& fields, CollectiveField& collective) {
  const auto nccl = read_record<LikeNccl>(fields);
  collective.name = nccl.algorithm;
  collective.launch = nccl.launch;
  collective.nccl.emplace();
  for_each_option(nccl.options,
                  [&](const std::string& key, const std::string& text, const Value& option) {
                    const bool is_ours = is_option_of(nccl_option_keys(), key);
                    if (!is_ours && is_option_of(option_keys(), key))
                      refuse_option(option, "NCCL's model");
                    collective.nccl->push_back(key + "=" + text);
                  });
}

void read_algorithm(Object& fields, const Value& name, CollectiveField& collective) {
  const auto given = read_record<OfAlgorithm>(fields);
  const bool automatic = given.algorithm == "auto";
  if (automatic)
    for (const Algorithm& algorithm : algorithms()) collective.algorithms.push_back(&algorithm);
  else
    collective.algorithms = {&algorithm_named(given.algorithm, name.where())};
  for_each_option(given.options, [&](const std::string& key, const std::string& text,
                                     const Value& option) {
    if (key == "lp_drain")
      option.fail(
          "streams the messages of one `sgdsim collective`; in a training step write "
          "strategy={\"name\": \"bsp_lp\", \"drain\": false}");
    set_option(collective.options, key, text, option.where());
    if (!automatic)
      check_option_applies(*collective.algorithms.front(), collective.options, key, option.where());
  });
  if (given.block && !automatic && !collective.algorithms.front()->takes_block)
    throw InputError(name.where(), given.algorithm +
                                       " does not cut messages into blocks; leave "
                                       "`block` out");
  collective.block = given.block;
  collective.name = given.algorithm;
}

std::vector<std::string> known_collectives() {
  std::vector<std::string> known = {"auto", "nccl", "parameter_server"};
  for (const Algorithm& algorithm : algorithms()) known.emplace_back(algorithm.name);
  return known;
}

}  // namespace

Json named_collective(Json given) {
  if (!given.is_string()) return given;
  const auto name = given.get<std::string>();
  if (name == "parameter_server") return {{name, Json::object()}};
  const bool is_known = std::any_of(algorithms().begin(), algorithms().end(),
                                    [&](const Algorithm& one) { return one.name == name; });
  if (is_known || name == "auto" || name == "nccl") return {{"algorithm", std::move(given)}};
  return given;
}

bool gives_costs(const Json& experiment) {
  const Json collective = experiment.value("collective", Json());
  return collective.is_object() &&
         (collective.contains("samples") || collective.contains("start_up") ||
          collective.contains("per_byte") || collective.contains("lines"));
}

CollectiveField read_collective(const Value& value) {
  if (value.json().is_string()) {  // no name, and no file was put in its place: a sweep's value
    value.fail(unknown_name("collective", value.text(), known_collectives()));
  }
  CollectiveField collective;
  Object fields(value);
  collective.where = value.where();
  if (fields.has("samples")) {
    refuse_options(fields, "a measured curve");
    auto measured = read_record<MeasuredCurve>(fields);
    collective.measured_ranks = measured.ranks;
    collective.name = "measured curve";
    collective.curve = std::move(measured.samples);
    fields.done();
    return collective;
  }
  if (fields.has("parameter_server")) {
    refuse_options(fields, "parameter servers");
    collective.name = "parameter servers";
    collective.servers = read_record<Servers>(fields).servers;
    fields.done();
    return collective;
  }
  if (fields.has("start_up") || fields.has("lines")) {
    refuse_options(fields, "what an exchange costs");
    collective.name = "a + bM";
    collective.constants = MessageCost::of_lines(read_lines(fields));
    fields.done();
    return collective;
  }
  const Value name = fields.at("algorithm");
  if (name.text() == "nccl")
    read_nccl(fields, collective);
  else
    read_algorithm(fields, name, collective);
  fields.done();
  return collective;
}

CollectiveField read_collective(const Value& value, const Json& usual) {
  if (names_exchange(value.json())) return read_collective(value);
  Json whole = usual;
  whole.update(value.json());
  return read_collective(Value(whole, value.file(), value.path()));
}

Json schema_of_measured_curves() {
  Json json = schema_of_record<MeasuredCurve>();
  json["required"] = {"schema", "samples"};
  return json;
}

Json schema_of_played_collectives(const Fields& more) {
  OfAlgorithm usual;
  LikeNccl nccl;
  Json json = record_schema(fields_of(usual) + more);
  json["required"].erase(0);  // the algorithm
  return any_of({std::move(json), record_schema(fields_of(nccl) + more)});
}

Json schema_of_collectives() {
  Json of_algorithm = schema_of_record<OfAlgorithm>();
  Json like_nccl = schema_of_record<LikeNccl>();
  for (Json* one : {&of_algorithm, &like_nccl}) one->erase("required");  // the algorithm
  return any_of({text_schema(), std::move(of_algorithm), std::move(like_nccl),
                 schema_of_record<Servers>(), schema_of_record<LineFields>(),
                 schema_of_record<Lines>(), schema_of_record<MeasuredCurve>()});
}

}  // namespace sgdsim
