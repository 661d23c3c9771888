// Who sets what: of two paths the longer one is set behind the other, within what that gave.
#include "study/sweep/said_twice.h"

#include <algorithm>
#include <set>

#include "sim/core/error.h"
#include "study/step/override.h"

namespace sgdsim {
namespace {

constexpr int64_t values_compared = 1000;

bool is_within(const std::string& inner, const std::string& outer) {
  return inner.starts_with(outer + ".");
}

// Nothing where it cannot be set there: that point says so itself.
std::optional<Json> with_field(const Axis& outer, const Json& value, const std::string& inner) {
  try {
    Json json = Json::object();
    set_field(json, outer.steps(), value, "");
    set_field(json, steps_of(inner, ""), "", "");
    return json;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Whether two values of the axis are the same once a field within them is set. Those of files
// differ in more.
bool are_overwritten(const Axis& outer, const std::string& inner) {
  std::set<std::string> seen, left;
  for (int64_t i = 0; i < std::min(outer.size(), values_compared); ++i) {
    const Json value = outer.value(i);
    const bool is_file =
        value.is_string() && (outer.field() == "trace" || outer.field() == "cluster");
    if (is_file || !seen.insert(value.dump()).second) continue;
    const std::optional<Json> json = with_field(outer, value, inner);
    if (json && !left.insert(json->dump()).second) return true;
  }
  return false;
}

// "ddp" says the name of a strategy, and "ring" the algorithm of a collective.
bool says(const Json& value, const std::vector<std::string>& steps) {
  if (value.is_string())
    return steps.size() == 1 && (steps.front() == "name" || steps.front() == "algorithm");
  const Json* here = &value;
  for (const std::string& step : steps) {
    if (!here->is_object() || !here->contains(step)) return false;
    here = &(*here)[step];
  }
  return true;
}

void check_axis_in_axis(const Axis& inner, const Axis& outer) {
  if (!is_within(inner.field(), outer.field()) || !are_overwritten(outer, inner.field())) return;
  throw InputError(inner.where(), "overwrites all in which values of the axis " + outer.field() +
                                      " differ; give one of the two axes");
}

void check_method(const Method& method, const std::string& field, const Json& value,
                  const Axis& axis) {
  const bool is_of_both = axis.field() == field ||
                          (is_within(axis.field(), field) &&
                           says(value, steps_of(axis.field().substr(field.size() + 1), ""))) ||
                          (is_within(field, axis.field()) && are_overwritten(axis, field));
  if (is_of_both)
    throw InputError(axis.where(), "the method \"" + method.label + "\" sets " + field +
                                       ", too; make it a method of its own");
}

// Of methods those fields that every one of them sets.
std::vector<std::string> always_set(const Sweep& sweep, const Axis& axis) {
  std::vector<std::string> fields = fields_of(sweep, axis.field());
  if (!sweep.is_method(axis)) return fields;
  std::erase_if(fields, [&](const std::string& field) {
    return !std::all_of(sweep.methods.begin(), sweep.methods.end(), [&](const Method& method) {
      return std::any_of(method.fields.begin(), method.fields.end(),
                         [&](const auto& one) { return one.first == field; });
    });
  });
  return fields;
}

}  // namespace

void check_apart(const Sweep& sweep) {
  for (const Axis& inner : sweep.axes)
    for (const Axis& outer : sweep.axes) check_axis_in_axis(inner, outer);
  for (const Method& method : sweep.methods)
    for (const auto& [field, value] : method.fields)
      for (const Axis& axis : sweep.axes) check_method(method, field, value, axis);
}

void check_settings(const Sweep& sweep, const std::vector<std::string>& settings,
                    bool has_what_stands) {
  for (const std::string& setting : settings) {
    const std::string path = path_of_setting(setting);
    for (const Axis& axis : sweep.axes) {
      const std::string whose = sweep.is_method(axis)                ? "every method"
                                : axis.where().starts_with("--axis") ? "--axis"
                                                                     : "an axis of the sweep";
      for (const std::string& field : always_set(sweep, axis)) {
        if (field == path && !has_what_stands) throw said_by_axis("--set " + path, path, whose);
        if (is_within(path, field))
          throw InputError("--set " + path,
                           whose + " replaces all of " + field +
                               " for each point, and this with it; write it within those of its "
                               "values that have it, or where all have it give --axis " +
                               path + "=...");
      }
    }
  }
}

void note_options(Sweep& sweep, const WireWords& words) {
  const bool is_fidelity_varied =
      std::any_of(sweep.axes.begin(), sweep.axes.end(), [&](const Axis& axis) {
        const std::vector<std::string> fields = fields_of(sweep, axis.field());
        return std::find(fields.begin(), fields.end(), "fidelity") != fields.end();
      });
  note_options(sweep.base, words, is_fidelity_varied);
}

}  // namespace sgdsim
