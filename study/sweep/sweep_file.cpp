// Reading sweeps, and counting through them.
#include "study/sweep/sweep_file.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "study/beside.h"
#include "study/collective/ranges.h"
#include "study/import/profile_trace.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/sweep/said_twice.h"
#include "study/sweep/sweep_fields.h"

namespace sgdsim {
namespace {

constexpr int64_t most_watched = 20'000'000;

// Groups of axes: those of a zip together, every other one by itself, in the order of their first.
void group_axes(Sweep& sweep, const std::optional<Value>& zips) {
  std::vector<std::string> fields;
  for (const Axis& axis : sweep.axes) fields.push_back(axis.field());
  std::vector<std::vector<std::size_t>> zipped;
  std::set<std::size_t> taken;
  for (const Value& zip : zips ? zips->items() : std::vector<Value>()) {
    std::vector<std::size_t> group;
    for (const Value& name : zip.items()) {
      const auto found = std::find(fields.begin(), fields.end(), name.text());
      if (found == fields.end()) name.fail(unknown_name("axis", name.text(), fields));
      const auto axis = static_cast<std::size_t>(found - fields.begin());
      if (!taken.insert(axis).second) name.fail("this axis is in a zip already");
      group.push_back(axis);
      const Axis& first = sweep.axes[group.front()];
      const Axis& other = sweep.axes[axis];
      if (first.size() != other.size())
        zip.fail("axes that move together need equally many values; \"" + first.field() +
                 "\" has " + std::to_string(first.size()) + " and \"" + other.field() + "\" has " +
                 std::to_string(other.size()));
    }
    if (group.empty()) zip.fail("expected the names of axes");
    zipped.push_back(std::move(group));
  }
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    if (!taken.contains(a)) zipped.push_back({a});
  for (const std::vector<std::size_t>& group : zipped) {
    std::vector<const Axis*> together;
    for (const std::size_t axis : group) together.push_back(&sweep.axes[axis]);
    Axis::check_distinct(together);
  }
  std::sort(zipped.begin(), zipped.end(), [](const auto& a, const auto& b) {
    return *std::min_element(a.begin(), a.end()) < *std::min_element(b.begin(), b.end());
  });
  sweep.groups = std::move(zipped);
}

// Reads the files that an axis of traces or of clusters names.
void load_files(Sweep& sweep) {
  for (const Axis& axis : sweep.axes) {
    if (axis.field() != "trace" && axis.field() != "cluster") continue;
    for (int64_t i = 0; i < axis.size(); ++i) {
      const Json value = axis.value(i);
      if (!value.is_string()) continue;
      const std::filesystem::path path = value.get<std::string>();
      const auto shipped = axis.field() == "trace" ? shipped_trace(path) : shipped_cluster(path);
      if (shipped) {
        sweep.files[path] = {shipped->root().json(), path};
        continue;
      }
      const bool from_here = axis.where().starts_with("--axis");
      const std::string found = beside(from_here ? "" : sweep.file, path.string());
      sweep.inputs.push_back(found);
      sweep.files[value.get<std::string>()] = {Document::read(found).root().json(),
                                               path.filename().string()};
    }
  }
}

void count_points(Sweep& sweep) {
  for (std::size_t g = 0; g < sweep.groups.size(); ++g)
    if (__builtin_mul_overflow(sweep.product, sweep.size_of(g), &sweep.product))
      throw InputError(sweep.file, "the axes have more than 2^63 points together");
  sweep.points = sweep.product;
  if (sweep.where.axes().empty()) return;
  int64_t combinations = 1;
  for (std::size_t g = 0; g < sweep.groups.size(); ++g) {
    const auto& group = sweep.groups[g];
    if (std::none_of(group.begin(), group.end(),
                     [&](std::size_t a) { return sweep.where.axes().contains(a); }))
      continue;
    sweep.watched.push_back(g);
    if (__builtin_mul_overflow(combinations, sweep.size_of(g), &combinations) ||
        combinations > most_watched)
      throw InputError(sweep.file + ": /where", "the axes that are named here have more than " +
                                                    std::to_string(most_watched) + " combinations");
  }
  const int64_t others = sweep.product / combinations;
  Choice choice(sweep.axes.size(), 0);
  int64_t kept = 0;
  for (int64_t i = 0; i < combinations; ++i) {
    int64_t rest = i;
    for (std::size_t w = sweep.watched.size(); w-- > 0;) {
      const std::size_t group = sweep.watched[w];
      for (const std::size_t axis : sweep.groups[group]) choice[axis] = rest % sweep.size_of(group);
      rest /= sweep.size_of(group);
    }
    sweep.kept.push_back(sweep.where.holds(sweep.axes, choice));
    kept += sweep.kept.back() ? 1 : 0;
  }
  sweep.points = kept * others;
  for (std::size_t w = 0; w < sweep.watched.size(); ++w) {
    int64_t below = 1;  // combinations of the groups after this one
    for (std::size_t after = w + 1; after < sweep.watched.size(); ++after)
      below *= sweep.size_of(sweep.watched[after]);
    std::vector<int32_t>& places = sweep.leading.emplace_back();
    for (int64_t i = 0; i < combinations; ++i)
      if (sweep.kept[static_cast<std::size_t>(i)] && (places.empty() || places.back() != i / below))
        places.push_back(static_cast<int32_t>(i / below));
  }
  if (kept == 0) throw InputError(sweep.file + ": /where", "this leaves no point");
}

// Errors of points name files without their folders: they are the same wherever a point runs.
void forget_folders(ResolvedExperiment& base) {
  for (std::string* file : {&base.file, &base.trace_file, &base.cluster_file})
    *file = std::filesystem::path(*file).filename().string();
}

std::string id_of_sweep(const Sweep& sweep, const Json& axes, const Json& zip, const Json& where) {
  Json all = {{"base", sweep.base.json}, {"axes", Json::array()}, {"zip", zip}, {"where", where}};
  // Their order counts, and canonical JSON would sort them.
  for (const auto& [field, values] : axes.items()) all["axes"].push_back({field, values});
  for (const auto& [path, content] : sweep.files) all["files"][path] = content.json;
  return id_of_text(canonical(all)).substr(7, 16);
}

ResolvedExperiment resolve_base(const Value& base) {
  if (!base.json().is_string() && !base.json().is_object())
    base.fail("expected the path of an experiment, or an experiment, got " + base.json().dump());
  if (!base.json().is_string()) return resolve_experiment(base, {});
  return resolve_experiment(beside(base.file(), base.text()), {});
}

// Another cluster than the base's, or one for a base that has none.
void put_cluster(ResolvedExperiment& base, const std::string& cluster) {
  if (cluster.empty()) return;
  Json json = cluster_document(cluster).root().json();
  base.cluster_changes.replace(base.json);
  base.json["cluster"] = std::move(json);
  base.cluster_file = cluster;
  if (!shipped_cluster(cluster)) base.inputs.push_back(cluster);
}

// The axis whose values are the labels of methods.
void add_methods(Sweep& sweep, std::vector<Method> methods, const std::string& where) {
  for (const Axis& axis : sweep.axes)
    if (axis.field() == method_axis) throw InputError(where, "this axis occurs twice");
  Json labels = Json::array();
  for (const Method& method : methods) labels.push_back(method.label);
  const Value values(labels, where, "");
  sweep.axes.emplace_back(method_axis, values);
  sweep.methods = std::move(methods);
}

}  // namespace

Json axis_values(const std::string& text, const std::string& where) {
  if (text.starts_with('[') || text.starts_with('{')) {
    Json json = value_in(text, where);
    if (json.is_string()) throw InputError(where, "not JSON: " + text.substr(0, 60));
    return json;
  }
  auto value_of = [&](const std::string& one) { return value_in(one, where); };
  const std::size_t dots = text.find("..");
  const bool begins_with_amount = amount_of(value_of(text.substr(0, dots))).has_value();
  if (dots != std::string::npos && begins_with_amount && text.find(',') == std::string::npos) {
    const std::size_t colon = text.find(':', dots);
    Json range = {{"from", value_of(text.substr(0, dots))},
                  {"to", value_of(text.substr(dots + 2, colon - dots - 2))}};
    if (colon == std::string::npos)
      range["factor"] = 2;
    else
      range["step"] = value_of(text.substr(colon + 1));
    return range;
  }
  Json list = Json::array();
  for (const std::string& one : split_list(text)) list.push_back(value_of(one));
  return list;
}

void add_axes(std::vector<Axis>& axes, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string where = "--axis " + text.substr(0, std::min<std::size_t>(equals, 80));
    if (equals == std::string::npos || equals == 0)
      throw InputError(where, "expected FIELD=VALUES, as in cluster.nodes=2..256");
    const Json values = axis_values(text.substr(equals + 1), where);
    const std::string field = text.substr(0, equals);
    if (field == method_axis)
      throw InputError(where,
                       "methods have labels: --method \"LABEL: field=value\", once for each");
    for (const Axis& axis : axes)
      if (axis.field() == field) throw InputError(where, "this axis occurs twice");
    axes.emplace_back(field, Value(values, "--axis " + field, ""));
  }
}

std::vector<std::string> fields_of(const Sweep& sweep, const std::string& axis) {
  if (sweep.methods.empty() || axis != method_axis) return {axis};
  std::vector<std::string> fields;
  for (const Method& method : sweep.methods)
    for (const auto& [field, value] : method.fields)
      if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
  return fields;
}

std::vector<std::string> fields_of(const Sweep& sweep) {
  std::vector<std::string> fields;
  for (const Axis& axis : sweep.axes)
    for (std::string& field : fields_of(sweep, axis.field())) fields.push_back(std::move(field));
  return fields;
}

Choice Sweep::choice_at(int64_t place) const {
  Choice choice(axes.size());
  for (std::size_t g = groups.size(); g-- > 0;) {
    const int64_t size = size_of(g);
    for (const std::size_t axis : groups[g]) choice[axis] = place % size;
    place /= size;
  }
  return choice;
}

namespace {

// A sweep has a base or axes; whatever else is read as `sgdsim run` reads it.
bool is_sweep(const Json& json) {
  return json.is_object() && (json.contains("base") || json.contains("axes") ||
                              text_member(json, "schema") == sweep_schema);
}

// The first of those that are an axis: a trace needs one to be read.
std::string first_cluster(const SweepWords& words) {
  constexpr std::string_view axis = "cluster=";
  for (const std::string& text : words.axes) {
    if (!text.starts_with(axis)) continue;
    const Json values = axis_values(text.substr(axis.size()), "--axis cluster");
    if (values.is_array() && !values.empty() && values.front().is_string())
      return values.front().get<std::string>();
  }
  return "";
}

// A trace for which an axis names clusters does not stand without it.
void read_base(Sweep& sweep, const SweepWords& words) {
  const std::string first = words.cluster.empty() ? first_cluster(words) : "";
  try {
    sweep.base = resolve_experiment(sweep.file, words.settings, words.cluster);
  } catch (const InputError&) {
    if (first.empty()) throw;
    sweep.base = resolve_experiment(sweep.file, words.settings, first);
    sweep.stands_alone = false;
  }
}

// Nothing for the name of a trace that ships, and for a profile, which may be long.
std::optional<Document> sweep_document(const std::string& file) {
  if (shipped_trace(file)) return std::nullopt;
  if (const std::string why = unknown_trace(file); !why.empty()) throw InputError("", why);
  if (file != "-" && is_profile(file)) return std::nullopt;
  Document document = Document::read(file);
  if (!is_sweep(document.root().json()) && file != "-") return std::nullopt;
  return document;
}

}  // namespace

Sweep read_sweep(const std::string& file, const std::vector<std::string>& settings,
                 const std::vector<std::string>& axes) {
  return read_sweep(file, SweepWords{settings, axes, {}, {}});
}

Sweep read_sweep(const std::string& file, const SweepWords& words) {
  const std::optional<Document> document = sweep_document(file);
  Sweep sweep;
  sweep.file = file;
  const Json none = Json::object();
  Json spec_axes = none, zip, where;
  std::optional<Value> zips, conditions;
  const bool is_experiment = !document || !is_sweep(document->root().json());
  if (!document) {
    read_base(sweep, words);
  } else if (is_experiment) {
    sweep.base = resolve_experiment(document->root(), {});
    put_cluster(sweep.base, words.cluster);
    sweep.base = with_settings(std::move(sweep.base), words.settings);
  } else {
    const Value root = document->root();
    const auto text = read_record<SweepFields>(root);
    sweep.name = text.head.name;
    std::vector<std::string> settings;
    if (text.set)
      for (const auto& [field, value] : text.set->entries())
        settings.push_back(field + "=" + value.json().dump());
    const std::optional<Value>& given = text.axes;
    zips = text.zip;
    conditions = text.where;
    sweep.base = with_settings_of(file, resolve_base(*text.base), settings);
    // One file says the costs and this cluster.
    if (text.base->json().is_object()) sweep.base.cluster_changes = {};
    put_cluster(sweep.base, words.cluster);
    sweep.base = with_settings(std::move(sweep.base), words.settings);
    if (given) {
      spec_axes = given->json();
      for (const auto& [field, values] : given->entries()) {
        if (field == method_axis)
          add_methods(sweep, methods_in(values), values.where());
        else
          sweep.axes.emplace_back(field, values);
      }
    }
  }
  if (sweep.name.empty()) sweep.name = std::filesystem::path(file).stem().string();
  add_axes(sweep.axes, words.axes);
  for (const std::string& text : words.axes)
    spec_axes[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  if (!words.methods.empty()) {
    check_distinct(words.methods, "--method");
    spec_axes[method_axis] = to_json(words.methods);
    add_methods(sweep, words.methods, "--method");
  }
  check_apart(sweep);
  if (sweep.axes.empty())
    throw InputError(file, is_experiment
                               ? "an experiment has no axes; give some with --axis or --method"
                               : "expected at least one axis in \"axes\"");
  group_axes(sweep, zips);
  if (conditions) {
    where = conditions->json();
    sweep.where = Where(*conditions, sweep.axes, sweep.base.json);
  }
  if (zips) zip = zips->json();
  sweep.inputs = sweep.base.inputs;
  sweep.inputs.push_back(file);
  load_files(sweep);
  forget_folders(sweep.base);
  count_points(sweep);
  sweep.id = id_of_sweep(sweep, spec_axes, zip, where);
  return sweep;
}

Sweep sweep_over(ResolvedExperiment base, std::vector<Axis> axes) {
  Sweep sweep;
  sweep.file = base.file;
  sweep.inputs = base.inputs;
  sweep.base = std::move(base);
  sweep.axes = std::move(axes);
  if (sweep.axes.empty()) throw InputError(sweep.file, "expected at least one axis");
  group_axes(sweep, std::nullopt);
  load_files(sweep);
  forget_folders(sweep.base);
  count_points(sweep);
  return sweep;
}

std::optional<Point> Points::next() {
  if (sweep_->kept.empty()) {
    if (place_ == 0) place_ = shard_.index;
    if (place_ >= sweep_->product) return std::nullopt;
    Point point{place_, sweep_->choice_at(place_)};
    place_ += shard_.count;
    return point;
  }
  while (advance()) {
    const int64_t number = number_++;
    if (number % shard_.count != shard_.index) continue;
    Point point{number, Choice(sweep_->axes.size())};
    for (std::size_t g = 0; g < values_.size(); ++g)
      for (const std::size_t axis : sweep_->groups[g]) point.choice[axis] = values_[g];
    return point;
  }
  return std::nullopt;
}

// The first values from here on that lead to a point: of this group at least `from`, of the later
// ones any. Only values that lead to points are touched, so that a few points of a huge product are
// found at once.
bool Points::settle(std::size_t group, int64_t from) {
  for (; group < values_.size(); ++group, from = 0) {
    const int64_t size = sweep_->size_of(group);
    const auto& watched = sweep_->watched;
    const auto level = std::lower_bound(watched.begin(), watched.end(), group);
    leads_[group + 1] = leads_[group];
    values_[group] = from;
    if (level != watched.end() && *level == group) {
      const auto& places = sweep_->leading[static_cast<std::size_t>(level - watched.begin())];
      const int64_t first = leads_[group] * size;
      const auto place = std::lower_bound(places.begin(), places.end(), first + from);
      values_[group] = place == places.end() ? size : *place - first;
      leads_[group + 1] = first + values_[group];
    }
    if (values_[group] >= size) return false;
  }
  return true;
}

bool Points::advance() {
  if (values_.empty()) {
    values_.resize(sweep_->groups.size());
    leads_.resize(values_.size() + 1);
    return settle(0, 0);
  }
  for (std::size_t group = values_.size(); group-- > 0;)
    if (settle(group, values_[group] + 1)) return true;
  return false;
}

std::vector<Point> spread_points(const Sweep& sweep, int64_t count) {
  std::vector<Point> points;
  if (sweep.points <= count) {
    Points all(sweep, {});
    while (auto point = all.next()) points.push_back(std::move(*point));
    return points;
  }
  const int64_t tries = std::min(count, sweep.product);
  for (int64_t i = 0; i < tries; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(tries);
    const auto place = static_cast<int64_t>(part * static_cast<double>(sweep.product));
    Choice choice = sweep.choice_at(std::min(place, sweep.product - 1));
    if (sweep.keeps(choice)) points.push_back({static_cast<int64_t>(points.size()), choice});
  }
  return points;
}

Json axes_json(const Sweep& sweep, const Choice& choice) {
  Json json = Json::object();
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    json[sweep.axes[a].field()] = sweep.axes[a].value(choice[a]);
  return json;
}

}  // namespace sgdsim
