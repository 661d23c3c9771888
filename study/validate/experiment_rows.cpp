// Cases of kind "experiment": training steps, each with the settings that make the experiment its
// own.
#include <algorithm>
#include <memory>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/step/experiment.h"
#include "study/validate/case_kind.h"

namespace sgdsim {
namespace {

// What of a step was measured.
enum class StepPart : uint8_t { iteration, backward, exposed };
constexpr Named<StepPart, 3> step_parts{{{"iteration", StepPart::iteration},
                                         {"backward", StepPart::backward},
                                         {"exposed", StepPart::exposed}}};
const auto& names_of(StepPart) { return step_parts; }

Json schema_of_row_settings() {
  Json setting = text_schema();
  setting["pattern"] = "^[^=]+=";
  return list_schema(setting);
}

struct StepRow {
  std::vector<std::string> set = {};
  std::optional<std::vector<int64_t>> messages_B = {};
  StepPart of = StepPart::iteration;
};

Fields fields_of(StepRow& o) {
  return {Field("set", o.set,
                "settings that make the experiment that of this row, path=value, as `sgdsim run "
                "--set` takes them")
              .like(schema_of_row_settings),
          Field("messages_B", o.messages_B,
                "bytes of the gradient messages of an iteration, in order, which the plan must "
                "have exactly; not compared if not given")
              .from(1, int64_t{1} << 62)
              .filled("message"),
          Field("of", o.of,
                "what the time is that of: iteration (if not given), backward, or exposed: what "
                "communication adds to the iteration")
              .called("part of a step")};
}

// Errors of a setting, or of what it makes of the experiment, name the row that has it.
std::shared_ptr<const Experiment> read_set_experiment(const Value& experiment,
                                                      const std::vector<std::string>& settings,
                                                      const Value& row) {
  try {
    return std::make_shared<const Experiment>(read_experiment(
        with_settings_of(row.file(), resolve_experiment(experiment, {}), settings)));
  } catch (const InputError& error) {
    throw InputError(row.where(), error.what());
  }
}

// Empty if the messages of the plan are those that were measured.
std::string difference(const std::vector<MessageRecord>& planned,
                       const std::vector<int64_t>& measured_B) {
  if (planned.size() != measured_B.size())
    return "the plan has " + std::to_string(planned.size()) + " messages, measured were " +
           std::to_string(measured_B.size());
  for (std::size_t i = 0; i < planned.size(); ++i)
    if (planned[i].size.count() != measured_B[i])
      return "message " + std::to_string(i) + " of the plan has " +
             std::to_string(planned[i].size.count()) + " B, measured were " +
             std::to_string(measured_B[i]) + " B";
  return {};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

Duration mean_iteration(const StepResult& result) {
  Duration sum;
  for (const Duration iteration : result.iterations) sum += iteration;
  return Duration::ps(sum.ps() / static_cast<int64_t>(result.iterations.size()));
}

Duration time_of(StepPart part, const StepResult& result) {
  switch (part) {
    case StepPart::iteration:
      return mean_iteration(result);
    case StepPart::backward:
      return result.mean.backward;
    case StepPart::exposed:
      return result.mean.exposed;
  }
  return {};
}

CaseRow read_experiment_row(const Value& value, const Value& base) {
  Object fields(value);
  CaseRow row;
  read_outcome(fields, row);
  const auto given = read_record<StepRow>(fields);
  fields.done();
  const auto experiment = read_set_experiment(base, given.set, value);
  for (const Layer& layer : experiment->trace.layers) row.size += layer.gradient;
  row.point = given.set.empty() ? "as it is" : joined(given.set);
  row.inputs.set = given.set;
  if (given.of != StepPart::iteration) {
    row.inputs.of = name_in(step_parts, given.of);
    row.point += ", " + row.inputs.of;
  }
  row.predict = [experiment, messages_B = given.messages_B, of = given.of] {
    const StepResult result = simulate_step(experiment->question());
    Prediction predicted{time_of(of, result),
                         messages_B ? difference(result.messages, *messages_B) : ""};
    if (of == StepPart::iteration) predicted.one_worker = experiment->one_worker();
    return predicted;
  };
  return row;
}

struct ExperimentCase {
  std::optional<Value> experiment = {};
  std::optional<Value> measured = {};
};

Json schema_of_base() { return reference("../experiment/1"); }

Fields fields_of(ExperimentCase& o) {
  return {Field("experiment", o.experiment,
                "what every row starts from, as in an experiment file (`sgdsim schema "
                "experiment`); paths are relative to the case file")
              .needed()
              .like(schema_of_base),
          Field("measured", o.measured, "what ran, and how long it took: steps of the experiment")
              .needed()
              .like(schema_of_case_rows<StepRow>)};
}

std::vector<CaseRow> read_experiment_rows(Object& fields) {
  const auto given = read_record<ExperimentCase>(fields);
  std::vector<CaseRow> rows;
  given.measured->for_each_item(
      [&](const Value& row) { rows.push_back(read_experiment_row(row, *given.experiment)); });
  return rows;
}

}  // namespace

CaseKind experiment_case() {
  return {"experiment", "training steps, one per row", options_of<ExperimentCase>,
          read_experiment_rows};
}

}  // namespace sgdsim
