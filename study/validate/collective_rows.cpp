// Cases of kind "collective": collectives on the first ranks of a machine.
#include <memory>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "sim/core/quantity.h"
#include "study/step/collective_field.h"
#include "study/validate/case_kind.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

// Options of the whole case hold for every row; a row adds its own, which win.
struct OptionTexts {
  std::string where;
  std::vector<std::pair<std::string, Value>> entries;
};

OptionTexts texts_in(const std::optional<Value>& options) {
  if (!options) return {};
  return {options->where(), options->entries()};
}

Json schema_of_option_texts() {
  return {{"type", "object"}, {"additionalProperties", text_schema()}};
}
Json schema_of_rank_counts() { return {{"type", "integer"}, {"minimum", 1}, {"maximum", 1 << 24}}; }

struct CollectiveRow {
  std::string algorithm = {};
  std::string operation = {};
  Bytes size;
  std::optional<Bytes> block = {};
  std::optional<Value> options = {};
  std::optional<Value> ranks = {};
};

Fields fields_of(CollectiveRow& o) {
  return {Field("algorithm", o.algorithm,
                "one of `sgdsim list algorithms` that simulates it, or nccl: what NCCL's own "
                "tuning model expects, with its options")
              .needed(),
          Field("operation", o.operation, "what the collective achieves")
              .needed()
              .one_of(operation_names()),
          Field("size", o.size,
                "bytes of the message, in the convention of nccl-tests: of an all-gather all that "
                "one rank holds afterwards, of a reduce-scatter or all-to-all all that it held "
                "before")
              .needed(),
          {"block", o.block, "bytes of a block of a pipeline; the best one if not given"},
          Field("options", o.options, "options of this row, which win over those of the case")
              .like(schema_of_option_texts),
          Field("ranks", o.ranks,
                "how many workers took part, the first ones of the cluster; all if not given")
              .like(schema_of_rank_counts)};
}

void apply_options(const OptionTexts& options, CollectiveQuestion& question,
                   const Algorithm& algorithm) {
  for (const auto& [key, value] : options.entries)
    set_option(question.options, key, value.text(), options.where);
  for (const auto& [key, value] : options.entries)
    check_option_applies(algorithm, question.options, key, options.where);
}

std::shared_ptr<const Cluster> first_workers(const Cluster& cluster, int ranks) {
  auto part = std::make_shared<Cluster>(cluster);
  if (ranks < cluster.network.workers()) {
    part->network = cluster.network.first(ranks);
    part->grid.clear();  // part of a torus is no torus
  }
  return part;
}

// What a row asks: a simulated collective, or what NCCL's tuning model expects.
struct RowQuestion {
  CollectiveQuestion collective;
  std::optional<CollectiveField> nccl;
};

RowQuestion question_of(const CollectiveRow& row, const OptionTexts& common, const Value& value) {
  CollectiveQuestion question;
  const Algorithm& algorithm = algorithm_named(row.algorithm, value.child("algorithm").where());
  question.algorithm = algorithm.name;
  question.operation = operation_named(row.operation, "");
  question.messages = {row.size};
  question.block = row.block;
  apply_options(common, question, algorithm);
  apply_options(texts_in(row.options), question, algorithm);
  return {question, {}};
}

// The model has options of its own; those of the case that are for algorithms do not concern it.
RowQuestion nccl_question_of(const CollectiveRow& row, const OptionTexts& common,
                             const Value& value) {
  RowQuestion question;
  if (row.block) value.child("block").fail("nccl does not cut messages into blocks: leave it out");
  question.collective.algorithm = row.algorithm;
  question.collective.operation = operation_named(row.operation, "");
  question.collective.messages = {row.size};
  // One exchange alone: what a step pays for each message is no part of it.
  Json json = {{"algorithm", "nccl"}, {"launch", "0 us"}, {"options", Json::object()}};
  for (const OptionTexts& options : {common, texts_in(row.options)})
    for (const auto& [key, text] : options.entries) json["options"][key] = text.text();
  question.nccl = read_collective(Value(json, value.child("operation").where(), ""));
  return question;
}

CaseRow read_collective_row(const Value& value, const Cluster& cluster, const OptionTexts& common) {
  Object fields(value);
  CaseRow row;
  read_outcome(fields, row);
  const auto given = read_record<CollectiveRow>(fields);
  fields.done();
  const RowQuestion asked = given.algorithm == "nccl" ? nccl_question_of(given, common, value)
                                                      : question_of(given, common, value);
  const CollectiveQuestion& question = asked.collective;
  const int workers = cluster.network.workers();
  const int ranks = given.ranks ? static_cast<int>(given.ranks->whole(1, workers)) : workers;
  row.size = given.size;
  row.point = std::to_string(ranks) + " ranks, " + to_text(row.size);
  row.inputs = {.algorithm = question.algorithm,
                .operation = given.operation,
                .ranks = ranks,
                .size_B = row.size.count()};
  if (question.block) {
    row.point += ", blocks of " + to_text(*question.block);
    row.inputs.block_B = question.block->count();
  }
  const auto part = first_workers(cluster, ranks);
  if (asked.nccl) {
    const MessageCost cost = asked.nccl->cost(*part, question.operation);
    row.predict = [cost, size = row.size] { return Prediction{cost.of(size), {}}; };
    return row;
  }
  row.predict = [question, part, where = value.where()] {
    return Prediction{simulate_collective(question, *part, where).time, {}};
  };
  return row;
}

struct CollectiveCase {
  std::optional<Value> cluster = {};
  std::optional<Value> options = {};
  std::optional<Value> measured = {};
};

Json schema_of_machine() { return reference("../cluster/1"); }

Fields fields_of(CollectiveCase& o) {
  return {Field("cluster", o.cluster, "the machine, as in a cluster file (`sgdsim schema cluster`)")
              .needed()
              .like(schema_of_machine),
          Field("options", o.options,
                "options of every row by key, as `sgdsim list options` shows them")
              .like(schema_of_option_texts),
          Field("measured", o.measured, "what ran, and how long it took: collectives")
              .needed()
              .like(schema_of_case_rows<CollectiveRow>)};
}

std::vector<CaseRow> read_collective_rows(Object& fields) {
  const auto given = read_record<CollectiveCase>(fields);
  const ClusterFile cluster = read_cluster(*given.cluster);
  const OptionTexts common = texts_in(given.options);
  std::vector<CaseRow> rows;
  given.measured->for_each_item(
      [&](const Value& row) { rows.push_back(read_collective_row(row, cluster.cluster, common)); });
  return rows;
}

}  // namespace

CaseKind collective_case() {
  return {"collective", "single collectives, one per row", options_of<CollectiveCase>,
          read_collective_rows};
}

}  // namespace sgdsim
