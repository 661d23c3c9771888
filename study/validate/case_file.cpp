// The fields that every case has, and one reader per kind of case for the rest.
#include "study/validate/case_file.h"

#include <algorithm>
#include <memory>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/step/collective_field.h"
#include "study/step/experiment.h"
#include "study/validate/schedule_rows.h"
#include "study/validate/training_rows.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr double largest_percent = 1000;

Value read_one_of(Object& fields, const std::string& field, const std::string& what,
                  const std::vector<std::string>& known) {
  Value value = fields.at(field);
  if (std::find(known.begin(), known.end(), value.text()) == known.end())
    value.fail(unknown_name(what, value.text(), known));
  return value;
}

std::string read_filled(Object& fields, const std::string& field) {
  const Value value = fields.at(field);
  if (value.text().empty()) value.fail("expected some text, got an empty string");
  return value.text();
}

// Nothing is computed from the source, but a case without one is a rumour.
void check_source(const Value& value) {
  Object fields(value);
  read_filled(fields, "origin");
  read_filled(fields, "measured");
  read_filled(fields, "fitted");
  if (const auto date = fields.find("date")) date->text();
  fields.done();
}

Tolerance read_tolerance(const Value& value) {
  Object fields(value);
  auto percent = [&](const char* name) { return fields.at(name).number(0, largest_percent); };
  Tolerance tolerance{.median_percent = percent("median_percent"),
                      .p90_percent = percent("p90_percent"),
                      .per_label_median_percent = percent("per_algorithm_median_percent"),
                      .from_size = fields.at("from_size").bytes(),
                      .max_percent = {}};
  if (fields.has("max_percent")) tolerance.max_percent = percent("max_percent");
  fields.done();
  return tolerance;
}

// ---- what a row of any kind has

void read_use(Object& fields, CaseRow& row) {
  const auto fitted = fields.find("fitted");
  const auto held = fields.find("held");
  const auto reason = fields.find("reason");
  if (fitted && fitted->flag()) {
    row.use = RowUse::fitted;
    if (held) held->fail("a fitted row is never held; leave \"held\" out");
  } else if (held && !held->flag()) {
    row.use = RowUse::reported;
    row.reason = read_filled(fields, "reason");
  }
  if (reason && row.use != RowUse::reported)
    reason->fail("a reason belongs to a row with \"held\": false");
}

Duration read_time(const Value& value) {
  const Duration time = value.duration();
  if (time == Duration()) value.fail("expected a time above 0");
  return time;
}

void read_outcome(Object& fields, CaseRow& row) {
  row.label = read_filled(fields, "label");
  row.measured = read_time(fields.at("time"));
  if (const auto quartiles = fields.find("quartiles")) {
    const std::vector<Value> ends = quartiles->items();
    if (ends.size() != 2)
      quartiles->fail("expected the lower and the upper quartile, got " +
                      std::to_string(ends.size()) + " values");
    row.quartiles = {ends[0].duration(), ends[1].duration()};
    if (row.quartiles->first > row.measured || row.measured > row.quartiles->second)
      quartiles->fail("expected quartiles around the time of " + to_text(row.measured) + ", got " +
                      to_text(row.quartiles->first) + " and " + to_text(row.quartiles->second));
  }
  read_use(fields, row);
}

// ---- kind "collective"

// Options of the whole case hold for every row; a row adds its own, which win.
struct OptionTexts {
  std::string where;
  std::vector<std::pair<std::string, Value>> entries;
};

OptionTexts read_options(Object& fields) {
  const auto options = fields.find("options");
  if (!options) return {};
  return {options->where(), options->entries()};
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

CollectiveQuestion read_question(Object& fields, const OptionTexts& common) {
  CollectiveQuestion question;
  const Value algorithm_name = fields.at("algorithm");
  const Algorithm& algorithm = algorithm_named(algorithm_name.text(), algorithm_name.where());
  question.algorithm = algorithm.name;
  const Value operation = fields.at("operation");
  question.operation = operation_named(operation.text(), operation.where());
  question.messages = {fields.at("size").bytes()};
  if (const auto block = fields.find("block")) question.block = block->bytes();
  apply_options(common, question, algorithm);
  apply_options(read_options(fields), question, algorithm);
  return question;
}

// What a row asks: a simulated collective, or what NCCL's tuning model expects.
struct RowQuestion {
  CollectiveQuestion collective;
  std::optional<CollectiveField> nccl;
};

// The model has options of its own; those of the case that are for algorithms do not concern it.
RowQuestion read_nccl_question(Object& fields, const OptionTexts& common) {
  RowQuestion question;
  question.collective.algorithm = fields.at("algorithm").text();
  const Value operation = fields.at("operation");
  question.collective.operation = operation_named(operation.text(), operation.where());
  question.collective.messages = {fields.at("size").bytes()};
  // One exchange alone: what a step pays for each message is no part of it.
  Json json = {{"algorithm", "nccl"}, {"launch", "0 us"}, {"options", Json::object()}};
  for (const OptionTexts& options : {common, read_options(fields)})
    for (const auto& [key, value] : options.entries) json["options"][key] = value.text();
  question.nccl = read_collective(Value(json, operation.where(), ""));
  return question;
}

CaseRow read_collective_row(const Value& value, const Cluster& cluster, const OptionTexts& common) {
  Object fields(value);
  CaseRow row;
  read_outcome(fields, row);
  const RowQuestion asked = fields.at("algorithm").text() == "nccl"
                                ? read_nccl_question(fields, common)
                                : RowQuestion{read_question(fields, common), {}};
  const CollectiveQuestion& question = asked.collective;
  const int workers = cluster.network.workers();
  const auto count = fields.find("ranks");
  const int ranks = count ? static_cast<int>(count->whole(1, workers)) : workers;
  fields.done();
  row.size = question.messages.front();
  row.point = std::to_string(ranks) + " ranks, " + to_text(row.size);
  row.inputs = {.algorithm = question.algorithm,
                .operation = std::string(name_of(question.operation)),
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

std::vector<CaseRow> read_collective_rows(Object& fields) {
  const ClusterFile cluster = read_cluster(fields.at("cluster"));
  const OptionTexts common = read_options(fields);
  std::vector<CaseRow> rows;
  for (const Value& row : fields.at("measured").items())
    rows.push_back(read_collective_row(row, cluster.cluster, common));
  return rows;
}

// ---- kind "experiment"

std::vector<std::string> read_settings(Object& fields) {
  std::vector<std::string> settings;
  if (const auto list = fields.find("set"))
    for (const Value& setting : list->items()) settings.push_back(setting.text());
  return settings;
}

std::optional<std::vector<Bytes>> read_messages(Object& fields) {
  const auto list = fields.find("messages_B");
  if (!list) return {};
  std::vector<Bytes> messages;
  for (const Value& size : list->items()) messages.emplace_back(size.whole(1, int64_t{1} << 62));
  if (messages.empty()) list->fail("expected the size of at least one message");
  return messages;
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
                       const std::vector<Bytes>& measured) {
  if (planned.size() != measured.size())
    return "the plan has " + std::to_string(planned.size()) + " messages, measured were " +
           std::to_string(measured.size());
  for (std::size_t i = 0; i < planned.size(); ++i)
    if (planned[i].size != measured[i])
      return "message " + std::to_string(i) + " of the plan has " +
             std::to_string(planned[i].size.count()) + " B, measured were " +
             std::to_string(measured[i].count()) + " B";
  return {};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

// What of a step was measured, and what the result says of it.
struct StepPart {
  std::string name;
  Duration (*of)(const StepResult& result);
};

Duration mean_iteration(const StepResult& result) {
  Duration sum;
  for (const Duration iteration : result.iterations) sum += iteration;
  return Duration::ps(sum.ps() / static_cast<int64_t>(result.iterations.size()));
}

const StepPart& read_part(Object& fields) {
  static const std::vector<StepPart> parts = {
      {"iteration", mean_iteration},
      {"backward", [](const StepResult& result) { return result.mean.backward; }},
      {"exposed", [](const StepResult& result) { return result.mean.exposed; }}};
  if (!fields.has("of")) return parts.front();
  std::vector<std::string> names;
  for (const StepPart& part : parts) names.push_back(part.name);
  const std::string name = read_one_of(fields, "of", "part of a step", names).text();
  return *std::find_if(parts.begin(), parts.end(),
                       [&](const StepPart& part) { return part.name == name; });
}

CaseRow read_experiment_row(const Value& value, const Value& base) {
  Object fields(value);
  CaseRow row;
  read_outcome(fields, row);
  const std::vector<std::string> settings = read_settings(fields);
  const auto messages = read_messages(fields);
  const StepPart& part = read_part(fields);
  fields.done();
  const auto experiment = read_set_experiment(base, settings, value);
  for (const Layer& layer : experiment->trace.layers) row.size += layer.gradient;
  row.point = settings.empty() ? "as it is" : joined(settings);
  row.inputs.set = settings;
  if (part.name != "iteration") {
    row.point += ", " + part.name;
    row.inputs.of = part.name;
  }
  row.predict = [experiment, messages, of = part.of] {
    const StepResult result = simulate_step(experiment->question());
    return Prediction{of(result), messages ? difference(result.messages, *messages) : ""};
  };
  return row;
}

std::vector<CaseRow> read_experiment_rows(Object& fields) {
  const Value experiment = fields.at("experiment");
  std::vector<CaseRow> rows;
  for (const Value& row : fields.at("measured").items())
    rows.push_back(read_experiment_row(row, experiment));
  return rows;
}

// ---- kind "training"

std::vector<CaseRow> read_training(Object& fields) {
  return read_training_rows(fields, read_outcome);
}

// ---- kind "schedule"

std::vector<CaseRow> read_schedules(Object& fields) {
  return read_schedule_rows(fields, read_outcome);
}

// ---- all kinds

struct CaseKind {
  std::string name;
  std::vector<CaseRow> (*read_rows)(Object& fields);  // takes the fields of its kind
};

const CaseKind& read_kind(Object& fields) {
  static const std::vector<CaseKind> kinds = {{"collective", read_collective_rows},
                                              {"experiment", read_experiment_rows},
                                              {"training", read_training},
                                              {"schedule", read_schedules}};
  std::vector<std::string> names;
  for (const CaseKind& kind : kinds) names.push_back(kind.name);
  const std::string name = read_one_of(fields, "kind", "kind of case", names).text();
  return kinds[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) -
                                        names.begin())];
}

}  // namespace

std::string_view name_of(RowUse use) {
  switch (use) {
    case RowUse::held:
      return "held";
    case RowUse::fitted:
      return "fitted";
    case RowUse::reported:
      return "reported";
    case RowUse::below_range:
      return "below range";
  }
  return "";
}

CaseFile read_case(const Value& value) {
  Object fields(value);
  const Value schema = fields.at("schema");
  if (schema.text() != case_schema)
    schema.fail("expected \"" + std::string(case_schema) + "\", got \"" + schema.text() + "\"");
  CaseFile one;
  one.file = value.file();
  one.name = read_filled(fields, "name");
  one.suite = fields.has("suite") ? read_filled(fields, "suite") : one.name;
  one.grade = read_one_of(fields, "grade", "grade", {"A", "B", "C"}).text();
  one.description = read_filled(fields, "description");
  check_source(fields.at("source"));
  one.tolerance = read_tolerance(fields.at("tolerance"));
  one.rows = read_kind(fields).read_rows(fields);
  fields.done();
  bool holds_any = false;
  for (CaseRow& row : one.rows) {
    if (row.use != RowUse::fitted && row.size < one.tolerance.from_size)
      row.use = RowUse::below_range;
    holds_any |= row.use == RowUse::held;
  }
  if (!holds_any) value.fail("no row is held, so that no prediction could fail");
  return one;
}

CaseFile read_case_file(const std::string& file) {
  const Document document = Document::read(file);
  return read_case(document.root());
}

}  // namespace sgdsim
