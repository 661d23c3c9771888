// Reading `collective`, and what it costs on a cluster.
#include "study/step/collective_field.h"

#include <algorithm>
#include <array>

#include "models/collective/nccl_box.h"
#include "models/collective/network_defaults.h"
#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
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

CollectiveJob job_of(const CollectiveField& field, const Algorithm& algorithm,
                     const Cluster& cluster, Operation operation) {
  CollectiveJob job;
  job.operation = operation;
  job.team = {.size = cluster.network.workers(), .stride = 1};
  job.share = {.total = Bytes(1), .fractional = field.options.fractional_chunks, .split = {}};
  if (algorithm.takes_block || field.algorithms.size() == 1) job.block = field.block;
  job.options = with_network(field.options, cluster, algorithm, false);
  job.workers_per_node = cluster.workers_per_node;
  job.grid = cluster.grid;
  job.network = &cluster.network;
  job.on_wires = field.on_wires;
  job.cost = worst_of_job(algorithm, job);
  return job;
}

MessageCost cost_of(const CollectiveField& field, const Algorithm& algorithm,
                    const Cluster& cluster, Operation operation) {
  if (!algorithm.offers(operation))
    throw InputError("",
                     std::string(algorithm.name) + " has no " + std::string(name_of(operation)));
  const CollectiveJob job = job_of(field, algorithm, cluster, operation);
  if (job.size() > 1) schedule_of(algorithm, job);  // does it fit?
  return MessageCost::of_algorithm(algorithm, job);
}

// Of messages of any size that chunks divide: of one byte some members have nothing.
bool has_formula(const Algorithm& algorithm, CollectiveJob job) {
  constexpr int64_t of_member = 1 << 20;
  for (const int64_t size_B : {int64_t{1}, of_member * job.size()}) {
    job.share.total = Bytes(size_B);
    if (closed_form_of(algorithm, job)) return true;
  }
  return false;
}

// All that fit the cluster and have a closed form that a schedule reaches, by which they are
// compared.
MessageCost cheapest_of(const CollectiveField& field, const Cluster& cluster, Operation operation) {
  std::vector<MessageCost> costs;
  std::string why_not;
  for (const Algorithm* algorithm : field.algorithms) {
    if (!algorithm->closed_form_note.empty()) continue;
    try {
      MessageCost cost = cost_of(field, *algorithm, cluster, operation);
      if (has_formula(*algorithm, cost.job()))
        costs.push_back(std::move(cost));
      else
        why_not = no_formula("", std::string(algorithm->name)).what();
    } catch (const InputError& error) {
      why_not = error.what();
    }
  }
  if (costs.empty()) throw InputError("", "no algorithm fits: " + why_not);
  return MessageCost::cheapest(std::move(costs));
}

// What nccl_stand_in() may choose; the last one twice, with trees between nodes, too.
constexpr std::array<std::string_view, 5> nccl_stand_ins{"ring", "double_binary_tree", "lp",
                                                         "hierarchical", "hierarchical"};

MessageCost::StandIn stand_in_of(NcclAlgorithm choice, Operation operation, bool by_rails) {
  constexpr std::array<const char*, nccl_algorithm_names.size()> names{
      "tree", "ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
  const NcclStandIn one = nccl_stand_in(choice, operation, by_rails);
  const auto place = std::find(nccl_stand_ins.begin(), nccl_stand_ins.end(), one.algorithm->name);
  const std::size_t with_trees = one.has_trees_across ? 1 : 0;
  return {static_cast<std::size_t>(place - nccl_stand_ins.begin()) + with_trees,
          names[static_cast<std::size_t>(choice)]};
}

MessageCost nccl_cost(const CollectiveField& field, const Cluster& cluster, Operation operation) {
  MessageCost::StandIns stand_ins;
  const bool rails = has_rails(cluster);
  CollectiveField with_trees = field;
  set_option(with_trees.options, option_key(trees_across), option_value(trees_across), "");
  for (std::size_t i = 0; i < nccl_stand_ins.size(); ++i) {
    const Algorithm& algorithm = algorithm_named(std::string(nccl_stand_ins[i]), "");
    const bool is_last = i + 1 == nccl_stand_ins.size();
    // One that lacks the operation, or needs rails, is never chosen otherwise.
    const bool fits = algorithm.offers(operation) && (rails || algorithm.name != "hierarchical") &&
                      (!is_last || operation == Operation::allreduce);
    stand_ins.algorithms.push_back(
        fits ? cost_of(is_last ? with_trees : field, algorithm, cluster, operation)
             : MessageCost());
  }
  stand_ins.latency = [](Bytes) { return Duration(); };
  if (cluster.network.workers() == 1) {
    stand_ins.choose = [=](Bytes) { return stand_in_of(NcclAlgorithm::ring, operation, rails); };
    return MessageCost::of_formula([](Bytes) { return Duration(); }, std::move(stand_ins));
  }
  const NcclMachine machine = nccl_machine_of(cluster, *field.nccl);
  nccl_tuning(machine, operation, Bytes(1));  // does NCCL have it?
  stand_ins.choose = [=](Bytes size) {
    return stand_in_of(nccl_tuning(machine, operation, size).choice().algorithm, operation, rails);
  };
  stand_ins.latency = [=, launch = field.launch](Bytes size) {
    return launch + nccl_tuning(machine, operation, size).choice().latency;
  };
  return MessageCost::of_formula(
      [=, launch = field.launch](Bytes size) {
        return launch + nccl_tuning(machine, operation, size).choice().time;
      },
      std::move(stand_ins));
}

// What a byte costs between the best two workers: no collective is faster, whatever adds up the
// values.
PerByte fastest_byte(const Network& network) {
  PerByte best = network.classes().front().per_byte;
  for (const PairCost& cost : network.classes()) best = std::min(best, cost.per_byte);
  for (const SizeBand& band : network.bands()) best = std::min(best, fastest_byte(band.network));
  return best;
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

bool CollectiveField::offers(Operation operation) const {
  return std::any_of(algorithms.begin(), algorithms.end(),
                     [&](const Algorithm* algorithm) { return algorithm->offers(operation); });
}

MessageCost CollectiveField::cost(const Cluster& cluster, Operation operation) const {
  if (cluster.network.crowding().any() && (servers || nccl))
    throw InputError(where, crowding_is_for(servers ? "parameter servers" : "NCCL's model"));
  if (servers) {
    if (operation != Operation::allreduce)
      servers->fail("parameter servers only sum: they have no " + std::string(name_of(operation)));
    return MessageCost::of_servers(
        read_parameter_servers(*servers, cluster.network, usual_alpha(cluster.kind)));
  }
  if (curve) return MessageCost::of_curve(curve->not_faster_than(fastest_byte(cluster.network)));
  try {
    if (nccl) return nccl_cost(*this, cluster, operation);
    if (algorithms.size() == 1) return cost_of(*this, *algorithms.front(), cluster, operation);
    if (!algorithms.empty()) return cheapest_of(*this, cluster, operation);
  } catch (const InputError& error) {
    throw InputError(where, error.what());
  }
  return constants;
}

std::string CollectiveField::note_on(const Cluster& cluster) const {
  if (nccl) return nccl_note(cluster, *nccl);
  const int workers = cluster.network.workers();
  if (!measured_ranks || *measured_ranks == workers) return {};
  return "the curve was measured among " + std::to_string(*measured_ranks) +
         " ranks and is used unchanged among " + std::to_string(workers) +
         "; fit one for this many, or a link (--from-collective)";
}

CollectiveField CollectiveField::replaced_by(const std::string& algorithm,
                                             const std::string& named_in) const {
  CollectiveField other;
  other.name = algorithm;
  other.algorithms = {&algorithm_named(algorithm, named_in)};
  other.options.alpha = options.alpha;
  other.where = named_in;
  return other;
}

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
