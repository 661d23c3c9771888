// Incremental reading, and the line of a result.
#include "study/sweep/sweep_point.h"

#include <algorithm>
#include <set>

#include "sim/core/error.h"
#include "study/step/meant_field.h"
#include "study/step/override.h"
#include "study/step/result_json.h"
#include "study/step/warnings.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_states = 32;  // traces that are kept ready
constexpr int64_t values_checked = 200;  // of one axis
constexpr int64_t points_checked = 500;  // before an axis is refused

// A JSON list. Sentences of plain letters, as nearly all are, stand in quotes as they are.
std::string list_text(const std::vector<std::string>& sentences) {
  std::string text = "[";
  for (const std::string& sentence : sentences) {
    if (text.size() > 1) text += ',';
    const bool is_plain = std::all_of(sentence.begin(), sentence.end(), [](char letter) {
      return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
    });
    text += is_plain ? '"' + sentence + '"'
                     : Json(sentence).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + ']';
}

// Whether an axis changes how much network cards can carry.
bool changes_cards(const Sweep& sweep) {
  return std::any_of(sweep.axes.begin(), sweep.axes.end(), [](const Axis& axis) {
    const std::string& field = axis.field();
    return field == "cluster.nic" || field == "cluster.nic.bandwidth" ||
           field == "cluster.nic.per_byte" || field == "cluster.nic.efficiency";
  });
}

bool changes_batch(const Sweep& sweep) {
  return std::any_of(sweep.axes.begin(), sweep.axes.end(),
                     [](const Axis& axis) { return axis.field() == batch_field; });
}

}  // namespace

namespace {

// The parts of an experiment that an axis changes: the first step of its path, or of those that its
// methods set.
std::set<std::string> parts_of(const Sweep& sweep, const Axis& axis) {
  std::set<std::string> parts;
  for (const std::string& field : fields_of(sweep, axis.field()))
    parts.insert(field.substr(0, field.find('.')));
  return parts;
}

// Those that set more come first. A method may set all of a field or parts of it.
int order_of(const Sweep& sweep, const Axis& axis) {
  return 2 * static_cast<int>(axis.steps().size()) + (sweep.is_method(axis) ? 1 : 0);
}

}  // namespace

PointReader::PointReader(const Sweep& sweep) : sweep_(&sweep) {
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    for (const std::string& field : parts_of(sweep, sweep.axes[a])) {
      const auto found = std::find_if(parts_.begin(), parts_.end(),
                                      [&](const Part& part) { return part.field == field; });
      if (found == parts_.end())
        parts_.push_back({field, {a}});
      else
        found->axes.push_back(a);
    }
  may_change_cluster_ = sweep.base.cluster_changes.any() ||
                        std::any_of(parts_.begin(), parts_.end(),
                                    [](const Part& part) { return part.field == "cluster"; });
  for (Part& part : parts_)
    std::stable_sort(part.axes.begin(), part.axes.end(), [&](std::size_t a, std::size_t b) {
      return order_of(sweep, sweep.axes[a]) < order_of(sweep, sweep.axes[b]);
    });
  if (sweep.base.json.is_object())
    for (const auto& [field, value] : sweep.base.json.items())
      base_texts_[field] = text_in_id(value);
}

// What a point sets; of compressions also to what, as they may have a collective of their own.
std::vector<std::string> PointReader::fields_at(const Choice& choice) const {
  std::vector<std::string> fields;
  const auto add = [&](const std::string& field, const Json& value) {
    fields.push_back(field == "compression" ? field + "=" + value.dump() : field);
  };
  for (std::size_t a = 0; a < sweep_->axes.size(); ++a) {
    const Axis& axis = sweep_->axes[a];
    const Json value = axis.value(choice[a]);
    if (!sweep_->is_method(axis)) {
      add(axis.field(), value);
      continue;
    }
    for (const Method& method : sweep_->methods)
      if (method.label == value.get<std::string>())
        for (const auto& [field, set] : method.fields) add(field, set);
  }
  return fields;
}

// What the method of this label says of one part.
void PointReader::set_method(State& state, const std::string& label, const std::string& part) {
  for (const Method& method : sweep_->methods) {
    if (method.label != label) continue;
    for (const auto& [field, value] : method.fields)
      if (field.substr(0, field.find('.')) == part)
        set_field(state.resolved.json, steps_of(field, "method"), value,
                  "the method \"" + label + "\": " + field);
  }
}

void PointReader::set(State& state, const Axis& axis, const Json& value) {
  const std::string& field = axis.field();
  const bool is_file = value.is_string() && (field == "trace" || field == "cluster");
  if (!is_file) {
    return set_field(state.resolved.json, axis.steps(), value, state.resolved.file + ": " + field);
  }
  const Sweep::Content& content = sweep_->files.at(value.get<std::string>());
  state.resolved.json[field] = content.json;
  (field == "trace" ? state.resolved.trace_file : state.resolved.cluster_file) = content.file;
}

// Starts from the base's field, so that nothing of the point before is left.
void PointReader::put_in_place(State& state, const Part& part, const Choice& choice) {
  Choice chosen;
  for (const std::size_t axis : part.axes) chosen.push_back(choice[axis]);
  if (const auto there = state.choices.find(part.field);
      there != state.choices.end() && there->second == chosen)
    return;
  state.choices.erase(part.field);
  state.texts.erase(part.field);
  Json& json = state.resolved.json;
  if (sweep_->base.json.contains(part.field))
    json[part.field] = sweep_->base.json[part.field];
  else
    json.erase(part.field);
  if (part.field == "trace") state.resolved.trace_file = sweep_->base.trace_file;
  if (part.field == "cluster") state.resolved.cluster_file = sweep_->base.cluster_file;
  for (const std::size_t a : part.axes) {
    const Axis& axis = sweep_->axes[a];
    const Json value = axis.value(choice[a]);
    if (sweep_->is_method(axis))
      set_method(state, value.get<std::string>(), part.field);
    else
      set(state, axis, value);
  }
  state.choices[part.field] = std::move(chosen);
  Unchanged& unchanged = state.unchanged;
  unchanged.trace = unchanged.trace && part.field != "trace" && part.field != "accumulation";
  unchanged.cluster = unchanged.cluster && part.field != "cluster";
  for (const char* field :
       {"trace", "accumulation", "cluster", "collective", "compression", "synchronization"})
    unchanged.exchange = unchanged.exchange && part.field != field;
}

PointReader::State& PointReader::state_of(const Choice& choice) {
  Choice trace;
  for (const Part& part : parts_)
    if (part.field == "trace")
      for (const std::size_t axis : part.axes) trace.push_back(choice[axis]);
  if (states_.size() >= most_states && !states_.contains(trace)) states_.clear();
  const auto [place, is_new] = states_.try_emplace(std::move(trace));
  State& state = place->second;
  if (!is_new) return state;
  state.resolved = sweep_->base;
  state.texts = base_texts_;
  return state;
}

// A setting, unless an axis or a method may have changed what it says.
void PointReader::blame(const InputError& error, const ResolvedExperiment& resolved) const {
  std::vector<std::string> settings = resolved.settings;
  std::erase_if(settings, [&](const std::string& setting) {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      return path_of_setting(setting) == part.field || setting.starts_with(part.field + ".");
    });
  });
  blame_setting(error, resolved, settings);
}

const Experiment& PointReader::read(const Choice& choice) {
  last_ = nullptr;
  State& state = state_of(choice);
  for (const Part& part : parts_) put_in_place(state, part, choice);
  if (may_change_cluster_) {
    state.resolved.cluster_changes = sweep_->base.cluster_changes;
    state.resolved.cluster_changes.set(sweep_->base.json, fields_at(choice));
  }
  last_ = &state;
  const Unchanged unchanged = std::exchange(state.unchanged, {});
  try {
    read_changes(state.experiment, state.resolved, unchanged);
  } catch (const InputError& error) {
    blame(error, state.resolved);
    throw;
  }
  state.unchanged = {.trace = true, .cluster = true, .exchange = true};
  return state.experiment;
}

std::string PointReader::id() {
  if (last_ == nullptr) return "";
  for (const auto& [field, value] : last_->resolved.json.items())
    if (!last_->texts.contains(field)) last_->texts[field] = text_in_id(value);
  return id_of_fields(last_->texts);
}

std::vector<std::string> warnings_in(const Json& line) {
  return line.value("warnings", std::vector<std::string>());
}

PlayedPoint play_point(const Sweep& sweep, const Point& point, PointReader& reader, bool wants_id,
                       Stopper* stopper) {
  PlayedPoint played{.number = point.number, .choice = point.choice};
  try {
    const Experiment& experiment = reader.read(point.choice);
    StepQuestion question = experiment.question();
    question.stopper = stopper;
    const StepResult result = simulate_step(question);
    if (wants_id) played.id = reader.id();
    played.figures = summary_of(experiment, result);
    played.warnings = warnings_of(experiment, result);
    if (const std::string& note = experiment.cluster.cards_note;
        !note.empty() && changes_cards(sweep))
      played.warnings.push_back(note);
    if (changes_batch(sweep)) played.warnings.emplace_back(batch_note);
  } catch (const InputError& error) {
    // A point that could not even be resolved is known by what it was to be.
    played.figures.clear();
    if (wants_id) played.id = reader.id();
    if (wants_id && played.id.empty())
      played.id = id_of({{"sweep", sweep.id}, {"axes", axes_json(sweep, point.choice)}});
    played.error = error.what();
  }
  return played;
}

namespace {

Json schema_of_sweep_ids() { return {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}}; }
Json schema_of_point_numbers() { return {{"type", "integer"}, {"minimum", 0}}; }
Json schema_of_point_counts() { return {{"type", "integer"}, {"minimum", 1}}; }
Json schema_of_axis_values() {
  return {{"type", "object"}, {"additionalProperties", true}, {"minProperties", 1}};
}
Json schema_of_reasons() { return {{"type", "string"}, {"minLength", 1}}; }
Json schema_of_sentences() { return list_schema(text_schema(), 1); }

Fields line_fields(const PointLine& line) {
  return {
      answer_kind("sgdsim/point/1"),
      Field("sweep", line.sweep,
            "hash of all that decides the points of the sweep: lines of one sweep go together")
          .like(schema_of_sweep_ids),
      Field("point", line.point, "its number in the sweep, from 0").like(schema_of_point_numbers),
      Field("of", line.of, "how many points the sweep has").like(schema_of_point_counts),
      Field("id", line.id,
            "SHA-256 of the resolved experiment in canonical form, as in the result of `sgdsim "
            "run`; null where a table of points leaves it out")
          .like(schema_of_ids)
          .or_null(),
      Field("axes", line.axes, "the value of every axis at this point, by field")
          .like(schema_of_axis_values),
      Field("error", line.error, "why this point has no result").like(schema_of_reasons).if_any()};
}

Field warnings_field(const PointLine& line) {
  return Field("warnings", line.warnings, "what the reader must know before trusting the numbers")
      .like(schema_of_sentences)
      .if_any();
}

}  // namespace

Json to_json(const PointLine& line, const Figures& result) {
  Json json = written(line_fields(line));
  if (!result.empty()) json.update(json_of(result));
  json.update(written({warnings_field(line)}));
  return json;
}

// A point has an error, or all of a result.
Json schema_of_sweep_points() {
  const PointLine line;
  Json json = record_schema(line_fields(line) + Fields{warnings_field(line)});
  const Json summary = schema_of_summary();
  json["properties"].update(summary["properties"]);
  json["if"] = {{"required", Json::array({"error"})}};
  json["then"]["not"] = {{"required", Json::array({"metrics"})}};
  json["else"]["required"] = summary["required"];
  return json;
}

Json line_of(const Sweep& sweep, PlayedPoint point) {
  PointLine line{.sweep = sweep.id,
                 .point = point.number,
                 .of = sweep.points,
                 .id = std::move(point.id),
                 .axes = axes_json(sweep, point.choice)};
  if (!point.error.empty())
    line.error = std::move(point.error);
  else if (!point.warnings.empty())
    line.warnings = std::move(point.warnings);
  return to_json(line, point.figures);
}

Figures row_of(const Sweep& sweep, PlayedPoint point) {
  Figures row;
  row.reserve(point.figures.size() + sweep.axes.size() + 4);
  const auto add = [&](std::string_view path, FigureValue value) {
    row.push_back({FigurePath::lasting(path), std::move(value)});
  };
  add("point", point.number);
  if (!point.id.empty()) add("id", std::move(point.id));
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    add(sweep.axes[a].column(), sweep.axes[a].figure(point.choice[a]));
  std::move(point.figures.begin(), point.figures.end(), std::back_inserter(row));
  add("warnings", point.warnings.empty() ? FigureValue() : FigureValue(list_text(point.warnings)));
  add("error", point.error.empty() ? FigureValue() : FigureValue(std::move(point.error)));
  return row;
}

Json simulate_point(const Sweep& sweep, const Point& point, PointReader& reader) {
  return line_of(sweep, play_point(sweep, point, reader, true));
}

namespace {

// Nothing if the point can be read.
std::string problem_of(PointReader& reader, const Choice& choice) {
  try {
    reader.read(choice);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

bool any_reads(const Sweep& sweep, PointReader& reader) {
  for (const Point& point : spread_points(sweep, points_checked))
    if (problem_of(reader, point.choice).empty()) return true;
  return false;
}

// The axis whose field a problem names; else this one.
const Axis& axis_in(const Sweep& sweep, const std::string& problem, const Axis& other) {
  for (const Axis& axis : sweep.axes) {
    std::string path = "/" + axis.field();
    std::replace(path.begin(), path.end(), '.', '/');
    if (problem.find(path + ":") != std::string::npos) return axis;
  }
  return other;
}

}  // namespace

namespace {

// Axes that no exchange notices would pass for answers. One point that can be read says it for all.
void check_costs(const Sweep& sweep, PointReader& reader) {
  for (const Point& point : spread_points(sweep, values_checked)) {
    try {
      reader.read(point.choice);
      return;
    } catch (const StatedCosts& stated) {
      for (const Axis& axis : sweep.axes)
        if (axis.field() == stated.field()) throw InputError(axis.where(), stated.sentence());
      throw;
    } catch (const InputError&) {
      // Said below.
    }
  }
}

// An axis, or a method, of a whole `collective` says nothing of what an option said within.
void check_option(const Sweep& sweep, const std::string& option, const std::string& path) {
  for (const Axis& axis : sweep.axes)
    for (const std::string& field : fields_of(sweep, axis.field())) {
      const std::string whose = sweep.is_method(axis) ? "--method" : "--axis";
      if (field == path) throw said_by_axis(option, field, whose);
      if (!path.starts_with(field + ".")) continue;
      throw InputError(option, whose + " replaces all of " + field +
                                   " for each point, and what this option says of it; give " +
                                   whose + " collective.algorithm=..., which leaves it there");
    }
}

}  // namespace

std::vector<std::string> check_axes(const Sweep& sweep) {
  PointReader reader(sweep);
  check_costs(sweep, reader);
  for (const std::string& setting : sweep.base.options)
    check_option(sweep, option_of_setting(setting), path_of_setting(setting));
  std::vector<std::string> warnings;
  for (std::size_t g = 0; g < sweep.groups.size(); ++g) {
    const std::vector<std::size_t>& group = sweep.groups[g];
    const Axis& axis = sweep.axes[group.front()];
    const int64_t checked = std::min(axis.size(), values_checked);
    Choice choice(sweep.axes.size(), 0);
    std::string first_problem;
    int64_t problems = 0;
    for (int64_t i = 0; i < checked; ++i) {
      const int64_t index = checked == 1 ? 0 : i * (axis.size() - 1) / (checked - 1);
      for (const std::size_t member : group) choice[member] = index;
      const std::string problem = problem_of(reader, choice);
      if (problem.empty()) continue;
      if (problems++ == 0) first_problem = problem;
    }
    if (problems == 0) continue;
    const bool is_of_setting = first_problem.starts_with("--");
    if (problems == checked && is_of_setting && !any_reads(sweep, reader))
      throw InputError("", first_problem);
    if (problems == checked && !any_reads(sweep, reader)) {
      const Axis& its = axis_in(sweep, first_problem, axis);
      throw InputError(its.where(),
                       "no point can be read: " + with_meant_field(first_problem, its.field()));
    }
    warnings.push_back(axis.where() + ": " + std::to_string(problems) + " of " +
                       std::to_string(checked) +
                       " values fail beside the first values of the other axes: " + first_problem);
  }
  return warnings;
}

}  // namespace sgdsim
