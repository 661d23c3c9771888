// A row may have a model of its own; everything is read and checked before the first prediction.
#include "study/validate/training_rows.h"

#include <memory>

#include "models/training/played_step.h"
#include "models/training/transformer_file.h"
#include "study/layout/layout_files.h"

namespace sgdsim {
namespace {

// What all rows share.
struct TrainingCase {
  std::optional<Transformer> model;
  Gpu gpu;
  Precision precision = Precision::bf16;
  std::string where;   // the case
  bool plays = false;  // fidelity message; else the closed form
  Value cluster;
};

CaseRow read_training_row(const Value& value, const TrainingCase& shared,
                          void (*read_outcome)(Object& fields, CaseRow& row)) {
  Object fields(value);
  CaseRow row;
  read_outcome(fields, row);
  const auto own = fields.find("model");
  if (!own && !shared.model) value.fail("expected \"model\" here or beside \"measured\"");
  const Transformer model = own ? model_in(*own) : *shared.model;
  const Value layout_field = fields.at("layout");
  const Layout layout = read_layout(layout_field);
  const auto named = fields.find("precision");
  const Precision precision =
      named ? precision_named(named->text(), named->where()) : shared.precision;
  check_precision(shared.gpu, precision, named ? named->where() : shared.where);
  const auto length = fields.find("sequence");
  const int64_t sequence = length ? length->whole(1, most_sequence) : model.sequence;
  fields.done();
  check_sequence(model, sequence, value.where());
  check_layout(model, layout, sequence, layout_field.where());
  row.size = Bytes(4 * parameters_of(model).total);
  row.has_experts = model.experts.has_value();
  row.point = model.name + ", " + to_text(layout);
  row.inputs = {.model = model.name, .layout = to_text(layout), .sequence = sequence};
  const auto cluster =
      std::make_shared<const Cluster>(cluster_in(shared.cluster, layout.gpus()).cluster);
  row.predict = [=, gpu = shared.gpu, plays = shared.plays] {
    GroupTimes groups(*cluster, layout.gpus());
    const TrainingStep step{model, layout, sequence, gpu, precision};
    return Prediction{plays ? play_step(step, groups).step.time : hybrid_step(step, groups).time,
                      {}};
  };
  return row;
}

}  // namespace

std::vector<CaseRow> read_training_rows(Object& fields,
                                        void (*read_outcome)(Object& fields, CaseRow& row)) {
  TrainingCase shared{.model = {},
                      .gpu = gpu_in(fields.at("gpu")),
                      .where = fields.value().where(),
                      .cluster = fields.at("cluster")};
  if (const auto model = fields.find("model")) shared.model = model_in(*model);
  if (const auto precision = fields.find("precision"))
    shared.precision = precision_named(precision->text(), precision->where());
  if (const auto fidelity = fields.find("fidelity")) {
    shared.plays = fidelity->text() == "message";
    if (!shared.plays && fidelity->text() != "closed_form")
      fidelity->fail(unknown_name("fidelity", fidelity->text(), {"closed_form", "message"}));
  }
  std::vector<CaseRow> rows;
  for (const Value& row : fields.at("measured").items())
    rows.push_back(read_training_row(row, shared, read_outcome));
  return rows;
}

}  // namespace sgdsim
