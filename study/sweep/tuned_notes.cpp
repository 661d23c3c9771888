// Axes by what they change, and by their values.
#include "study/sweep/tuned_notes.h"

#include <algorithm>
#include <utility>

#include "study/advise/own_change.h"
#include "study/sweep/amount.h"

namespace sgdsim {
namespace {

// "least" or "largest"; empty: between the ends, or there are none.
std::string end_of(const Axis& axis, const Json& best) {
  const auto value = amount_of(best);
  if (!value || axis.size() < 2) return "";
  bool is_least = true;
  bool is_largest = true;
  const bool has_ends = axis.is_ordered();
  for (int64_t i = 0; i < axis.size(); i += has_ends ? axis.size() - 1 : 1) {
    const auto other = amount_of(axis.value(i));
    if (!other || !other->comparable(*value)) return "";
    is_least = is_least && value->value <= other->value;
    is_largest = is_largest && value->value >= other->value;
  }
  return is_least ? "least" : is_largest ? "largest" : "";
}

// "none" and one micro-batch are what an experiment has that says nothing of it.
Json without_usual(const std::string& field, const Json& value) {
  return value == "none" || (field == "accumulation" && value == 1) ? Json() : value;
}

// Of the experiment as it stands; null where it has no such field.
Json value_at(const Json& json, const std::string& path) {
  const std::size_t dot = path.find('.');
  const std::string step = path.substr(0, dot);
  if (!json.is_object() || !json.contains(step)) return {};
  return dot == std::string::npos ? json[step] : value_at(json[step], path.substr(dot + 1));
}

// What the best value of an axis sets: its field, or those of a method.
std::vector<std::pair<std::string, Json>> set_by(const Sweep& sweep, const Axis& axis,
                                                 const Json& best) {
  if (!sweep.is_method(axis)) return {{axis.field(), best}};
  for (const Method& method : sweep.methods)
    if (method.label == best) return method.fields;
  return {};
}

}  // namespace

Fields fields_of(const AtEnd& o) {
  return {{"field", o.field, "an axis"},
          Field("end", o.end, "of the values that were tried").one_of({"least", "largest"})};
}

TunedNotes notes_of(const Sweep& sweep, const Json& best) {
  TunedNotes notes;
  for (const Axis& axis : sweep.axes) {
    if (!best.contains(axis.field())) continue;
    for (const auto& [field, value] : set_by(sweep, axis, best[axis.field()]))
      if (alters_learning(kind_of_field(field)) &&
          without_usual(field, value) != without_usual(field, value_at(sweep.base.json, field)))
        notes.altering.push_back(field);
    if (std::string end = end_of(axis, best[axis.field()]); !end.empty())
      notes.at_end.push_back({axis.field(), std::move(end)});
  }
  return notes;
}

void print(std::ostream& out, const TunedNotes& notes) {
  if (!notes.altering.empty()) {
    std::string names;
    for (const std::string& field : notes.altering) names += (names.empty() ? "" : ", ") + field;
    out << "Alters learning (" << names
        << "): it may need more iterations to the same loss, which can cost more than it gains;\n"
           "`sgdsim learn` asks small models how many.\n";
  }
  for (const AtEnd& one : notes.at_end)
    out << one.field << ": the best value is the " << one.end << " that was tried; "
        << (one.end == "least" ? "less" : "more") << " may be better still.\n";
}

}  // namespace sgdsim
