// Cases of kind "training": a GPU, a cluster, and the layouts of models that were measured. A row
// may have a model of its own; everything is read and checked before the first prediction.
#include <memory>

#include "models/training/link_load.h"
#include "models/training/transformer_file.h"
#include "study/layout/layout_files.h"
#include "study/validate/case_kind.h"

namespace sgdsim {
namespace {

Json schema_of_named_cluster() { return any_of({reference("../cluster/1"), text_schema()}); }
Json schema_of_named_gpu() { return any_of({reference("../gpu/1"), text_schema()}); }
Json schema_of_named_model() { return any_of({reference("../model/1"), text_schema()}); }
Json schema_of_layout_or_text() { return any_of({reference("../layout/1"), text_schema()}); }

struct LayoutRow {
  std::optional<Value> model = {};
  std::optional<Value> layout = {};
  std::optional<Precision> precision = {};
  std::optional<int64_t> sequence = {};
};

Fields fields_of(LayoutRow& o) {
  return {
      Field("model", o.model, "what was trained").like(schema_of_named_model),
      Field("layout", o.layout, "how it was laid out (`sgdsim schema layout`), or its short text")
          .needed()
          .like(schema_of_layout_or_text),
      {"precision", o.precision,
       "precision of matrix products in layers; that of the case if not given"},
      Field("sequence", o.sequence, "tokens of a sequence; the model's own if not given")
          .from(1, most_sequence)};
}

enum class TrainingFidelity : uint8_t { closed_form, message };
constexpr Named<TrainingFidelity, 2> training_fidelities{
    {{"closed_form", TrainingFidelity::closed_form}, {"message", TrainingFidelity::message}}};
const auto& names_of(TrainingFidelity) { return training_fidelities; }

struct TrainingCaseFields {
  std::optional<Value> gpu = {};
  std::optional<Value> cluster = {};
  std::optional<Value> model = {};
  Precision precision = Precision::bf16;
  TrainingFidelity fidelity = TrainingFidelity::closed_form;
  std::optional<Value> measured = {};
};

Fields fields_of(TrainingCaseFields& o) {
  return {Field("gpu", o.gpu,
                "a GPU of `sgdsim list gpus`, the path of a file, or the object itself (`sgdsim "
                "schema gpu`)")
              .needed()
              .like(schema_of_named_gpu),
          Field("cluster", o.cluster,
                "the machine (`sgdsim schema cluster`), or the path of one beside this file; "
                "boxes at one switch grow to the GPUs of a row")
              .needed()
              .like(schema_of_named_cluster),
          Field("model", o.model, "the model of rows that have none").like(schema_of_named_model),
          {"precision", o.precision,
           "precision of matrix products in layers, of rows that say nothing; bf16 if not given"},
          {"fidelity", o.fidelity,
           "closed_form (if not given), or message: passes and sends are simulated"},
          Field("measured", o.measured, "what ran, and how long it took: steps")
              .needed()
              .like(schema_of_case_rows<LayoutRow>)};
}

// What all rows share.
struct TrainingCase {
  std::optional<Transformer> model;
  Gpu gpu;
  Precision precision = Precision::bf16;
  std::string where;   // the case
  bool plays = false;  // fidelity message; else the closed form
  Value cluster;
};

CaseRow read_training_row(const Value& value, const TrainingCase& shared) {
  Object fields(value);
  CaseRow row;
  read_outcome(fields, row);
  const auto given = read_record<LayoutRow>(fields);
  fields.done();
  if (!given.model && !shared.model) value.fail("expected \"model\" here or beside \"measured\"");
  const Transformer model = given.model ? model_in(*given.model) : *shared.model;
  const Layout layout = read_layout(*given.layout);
  const Precision precision = given.precision.value_or(shared.precision);
  check_precision(shared.gpu, precision,
                  given.precision ? value.child("precision").where() : shared.where);
  const int64_t sequence = given.sequence.value_or(model.sequence);
  check_sequence(model, sequence, value.where());
  check_layout(model, layout, sequence, given.layout->where());
  row.size = Bytes(4 * parameters_of(model).total);
  row.has_experts = model.experts.has_value();
  row.point = model.name + ", " + to_text(layout);
  row.inputs = {.model = model.name, .layout = to_text(layout), .sequence = sequence};
  const auto cluster =
      std::make_shared<const Cluster>(cluster_in(shared.cluster, layout.gpus()).cluster);
  row.predict = [=, gpu = shared.gpu, plays = shared.plays] {
    GroupTimes groups(*cluster, layout.gpus());
    const TrainingStep step{model, layout, sequence, gpu, precision};
    const HybridStep priced =
        plays ? play_on_links(step, groups).step : step_on_links(step, groups);
    return Prediction{priced.time, {}};
  };
  return row;
}

std::vector<CaseRow> read_training_rows(Object& fields) {
  const auto given = read_record<TrainingCaseFields>(fields);
  TrainingCase shared{.model = {},
                      .gpu = gpu_in(*given.gpu),
                      .precision = given.precision,
                      .where = fields.value().where(),
                      .plays = given.fidelity == TrainingFidelity::message,
                      .cluster = *given.cluster};
  if (given.model) shared.model = model_in(*given.model);
  std::vector<CaseRow> rows;
  given.measured->for_each_item(
      [&](const Value& row) { rows.push_back(read_training_row(row, shared)); });
  return rows;
}

}  // namespace

CaseKind training_case() {
  return {"training", "steps of hybrid-parallel layouts", options_of<TrainingCaseFields>,
          read_training_rows};
}

}  // namespace sgdsim
