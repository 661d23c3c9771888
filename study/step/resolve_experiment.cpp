// From what people name to an experiment with its parts in place: files, what ships, settings.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "study/beside.h"
#include "study/import/profile_trace.h"
#include "study/shipped_inputs.h"
#include "study/step/collective_field.h"
#include "study/step/experiment.h"
#include "study/step/experiment_fields.h"
#include "study/step/override.h"
#include "study/step/part_names.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

// What a field names: something that ships, or a file whose path counts from the folder of another.
struct NamedFile {
  Json json;
  std::string file;
  bool ships = false;
};

// A profile becomes a trace.
Json content_of(const std::string& field, const std::string& file) {
  if (field == "trace" && file != "-" && is_profile(file)) return to_json(trace_of_profile(file));
  return Document::read(file).root().json();
}

NamedFile named(const std::string& field, const std::string& name, const std::string& from) {
  if (field == "trace")
    if (const auto shipped = shipped_trace(name)) return {shipped->root().json(), name, true};
  if (field == "cluster") {
    std::string place;
    Json json = cluster_document_in(from, name, place).root().json();
    return {std::move(json), std::move(place), shipped_cluster(name).has_value()};
  }
  std::string found = beside(from, name);
  std::error_code none;
  if (name.find_first_of("./") == std::string::npos && !std::filesystem::exists(found, none)) {
    if (const std::string why = unknown_trace(name); field == "trace" && !why.empty())
      throw InputError("", why);
  }
  return {content_of(field, found), std::move(found)};
}

// Replaces a name by what it names, and says where that came from. Paths count from the folder of
// `from`, or from the working folder if that is empty.
std::string put_in_place(ResolvedExperiment& resolved, const std::string& field,
                         const std::string& from) {
  Json& json = resolved.json;
  if (!json.is_object() || !json.contains(field) || !json[field].is_string()) return {};
  NamedFile found = named(field, json[field].get<std::string>(), from);
  json[field] = std::move(found.json);
  if (!found.ships) resolved.inputs.push_back(found.file);
  return found.file;
}

// The trace, which may be {"file": path, "compute_scale": 0.5}: its file with that scale, and
// likewise "gradient_scale".
std::string put_trace_in_place(ResolvedExperiment& resolved, const std::string& from) {
  Json& json = resolved.json;
  if (!json.is_object() || !json.contains("trace") || !json["trace"].is_object() ||
      !json["trace"].contains("file"))
    return put_in_place(resolved, "trace", from);
  const Json given = std::move(json["trace"]);
  const auto scaled = read_record<ScaledTrace>(Value(given, resolved.file, "/trace"));
  json["trace"] = scaled.file;
  Json scales = to_json_by_fields(scaled);
  scales.erase("file");
  const std::string found = put_in_place(resolved, "trace", from);
  if (json["trace"].is_object()) json["trace"].update(scales);
  return found;
}

// A collective by its name, or the path of a file that `sgdsim fit` wrote.
void put_collective_in_place(ResolvedExperiment& resolved, const std::string& from) {
  Json& json = resolved.json;
  if (!json.is_object()) return;
  if (json.contains("compression") && json["compression"].is_object() &&
      json["compression"].contains("collective")) {
    Json& own = json["compression"]["collective"];
    own = named_collective(std::move(own));
  }
  if (!json.contains("collective")) return;
  json["collective"] = named_collective(std::move(json["collective"]));
  if (!json["collective"].is_string()) return;
  const auto name = json["collective"].get<std::string>();
  // A word that is neither a name nor a file was probably meant as a name.
  std::error_code none;
  if (name.find_first_of("./") == std::string::npos &&
      !std::filesystem::exists(beside(from, name), none)) {
    const Value field = Value(json, resolved.file, resolved.path).child("collective");
    check_name(field, "collective");
    read_collective(field);
  }
  put_in_place(resolved, "collective", from);
}

// The experiment as its file has it; its parts are put in place.
ResolvedExperiment begin_with(const Value& value, const std::vector<std::string>& settings) {
  ResolvedExperiment resolved;
  resolved.file = value.file();
  resolved.path = value.path();
  resolved.json = value.json();
  resolved.inputs.push_back(value.file());
  resolved.settings = settings;
  return resolved;
}

void put_parts_in_place(ResolvedExperiment& resolved, const std::string& from) {
  if (auto trace = put_trace_in_place(resolved, from); !trace.empty()) resolved.trace_file = trace;
  if (auto cluster = put_in_place(resolved, "cluster", from); !cluster.empty())
    resolved.cluster_file = cluster;
  put_collective_in_place(resolved, from);
  if (resolved.json.is_object() && !is_none(resolved.json.value("traffic", Json())))
    put_in_place(resolved, "traffic", from);
  put_in_place(resolved, "convergence", from);
}

// One setting may name another file, and the next one change a field of it.
void apply_in_turn(ResolvedExperiment& resolved, const std::vector<std::string>& settings,
                   const std::string& from) {
  for (const std::string& setting : outer_first(settings)) {
    apply_settings(resolved.json, {setting});
    put_parts_in_place(resolved, from);
  }
}

ResolvedExperiment with_parts(ResolvedExperiment resolved) {
  put_parts_in_place(resolved, resolved.file);
  resolved.cluster_changes.set(resolved.json, resolved.settings);
  apply_in_turn(resolved, resolved.settings, "");
  return resolved;
}

// The trace that ships under this name, or the content of a file.
NamedFile named_experiment(const std::string& file) {
  if (const auto shipped = shipped_trace(file)) return {shipped->root().json(), file, true};
  if (const std::string why = unknown_trace(file); !why.empty()) throw InputError("", why);
  if (place_of(file) != file) return {Document::read(file).root().json(), place_of(file)};
  return {content_of("trace", file), file};
}

void put_cluster(ResolvedExperiment& resolved, const std::string& cluster) {
  if (cluster.empty()) return;
  const Document document = cluster_document(cluster);
  resolved.cluster_changes.replace(resolved.json);
  resolved.json["cluster"] = document.root().json();
  resolved.cluster_file = place_of(cluster);
  if (!shipped_cluster(cluster) && resolved.cluster_file == cluster)
    resolved.inputs.push_back(cluster);
}

// The recorded step; on a cluster, its all-reduces are simulated.
ResolvedExperiment resolve_profile(const std::string& file,
                                   const std::vector<std::string>& settings,
                                   const std::string& cluster) {
  const auto recorded = std::make_shared<const RecordedStep>(recorded_step(file));
  if (!recorded->why_no_replay().empty()) throw NoReplay(recorded);
  const Json json = experiment_of(*recorded, cluster.empty());
  ResolvedExperiment resolved = begin_with(Value(json, file, ""), settings);
  resolved.trace_file = file;
  resolved.recorded = recorded;
  put_cluster(resolved, cluster);
  return with_parts(std::move(resolved));
}

}  // namespace

ResolvedExperiment resolve_experiment(const std::string& file,
                                      const std::vector<std::string>& settings,
                                      const std::string& cluster) {
  const bool sets_cluster = std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    return path_of_setting(setting) == "cluster";
  });
  if (sets_cluster && !cluster.empty())
    throw InputError("--cluster", "--set says cluster, too; give one of them");
  const std::string place = place_of(file);
  const bool is_inline = place != file;
  const bool is_file =
      file != "-" && !is_inline && !shipped_trace(file) && unknown_trace(file).empty();
  if (is_file && is_profile(file)) return resolve_profile(file, settings, cluster);
  std::error_code none;
  if (is_file && std::filesystem::is_regular_file(file, none))
    refuse_unread(file, beginning_of(file, 1 << 18));
  const NamedFile given = named_experiment(file);
  const Json& json = given.json;
  ResolvedExperiment resolved = begin_with(Value(json, place, ""), settings);
  if (given.ships || is_inline) resolved.inputs.clear();
  if (text_member(json, "schema") == trace_schema) {
    resolved.json = {{"name", text_member(json, "name")}, {"trace", json}};
    resolved.trace_file = place;
    if (cluster.empty() && !sets_cluster)
      throw InputError(place,
                       "is a trace: name a cluster with --cluster or --set cluster=NAME (one of "
                       "`sgdsim list clusters`, or a file), or an experiment");
  }
  if (!resolved.json.is_object())
    throw InputError(place, "expected an experiment, which is an object, got " +
                                resolved.json.dump().substr(0, 60));
  put_cluster(resolved, cluster);
  return with_parts(std::move(resolved));
}

ResolvedExperiment resolve_experiment(const Value& value,
                                      const std::vector<std::string>& settings) {
  return with_parts(begin_with(value, settings));
}

ResolvedExperiment with_settings(ResolvedExperiment resolved,
                                 const std::vector<std::string>& settings) {
  return with_settings_of("", std::move(resolved), settings);
}

ResolvedExperiment with_settings_of(const std::string& file, ResolvedExperiment resolved,
                                    const std::vector<std::string>& settings) {
  resolved.cluster_changes.set(resolved.json, settings);
  apply_in_turn(resolved, settings, file);
  resolved.settings.insert(resolved.settings.end(), settings.begin(), settings.end());
  return resolved;
}

}  // namespace sgdsim
