// Tuned values: as JSON, and as text.
#include <cmath>

#include "sim/core/quantity.h"
#include "study/step/plan.h"
#include "study/sweep/gains.h"
#include "study/sweep/sweep_question.h"
#include "study/table.h"
#include "study/tie.h"

namespace sgdsim {
namespace {

// Sizes of many bytes in a unit that can be read; the JSON has them exactly.
std::string shown(const Json& value) {
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  constexpr int64_t many_B = 10'000;
  if (text.ends_with(" B")) {
    const double size_B = static_cast<double>(parse_bytes(text, "").count());
    if (size_B >= many_B) return short_size(size_B) + " (" + text + ")";
  }
  return text;
}

Fields tuned_fields(const TuneAnswer& answer) {
  const Tuned& tuned = answer.tuned;
  return {
      answer_kind("sgdsim/tune/1"),
      {"objective", answer.objective,
       "the column that is to be small, or large where more of it is better"},
      Field("is_by_samples", answer.is_by_samples,
            "nobody named a column, and steps have different numbers of samples, so that it is "
            "samples a second and not the time of a step")
          .if_any(),
      Field("best", tuned.best,
            "the values of the axes at the best point; empty if the experiment as it stands is "
            "better than all of them")
          .like(any_object_schema),
      {"value", tuned.value, "the objective there, in its unit"},
      Field("method", tuned.exhaustive,
            "exhaustive: every point was tried; coordinates: one axis at a time, by golden section")
          .one_of({"coordinates", "exhaustive"}),
      Field("evaluated", tuned.evaluated, "how many points were simulated").at_least(1),
      {"failed", tuned.failed, "how many of them have no result"},
      Field("points", answer.sweep.points, "how many there are").at_least(1),
      {"before", answer.before,
       "the objective of the experiment as it stands, if it can be simulated"},
      Field("warnings", tuned.warnings, "what the reader must know before trusting the best point")
          .filled("warning")
          .if_any(),
      {"bound", tuned.bound,
       "the objective of strategies that no program simulates, which are never the best"},
      {"error_percent", answer.apart.percent(),
       "how far apart results have to be to tell, where that was measured"},
      Field("interrupted", tuned.interrupted,
            "a signal ended the search early; the best is that of the points evaluated")
          .if_any(),
      Field("alters_learning", answer.notes.altering,
            "fields of it that alter learning: the training may need more iterations to the same "
            "loss, which `sgdsim learn` asks small models")
          .filled("field")
          .if_any(),
      Field("at_end", answer.notes.at_end,
            "axes of numbers whose best value is an end of what was tried")
          .if_any()};
}

}  // namespace

Json to_json(const TuneAnswer& answer) { return written(tuned_fields(answer)); }
Json schema_of_tuned() { return record_schema(tuned_fields({})); }

void print(std::ostream& out, const TuneAnswer& answer) {
  const Tuned& tuned = answer.tuned;
  const std::optional<double>& before = answer.before;
  const std::string& objective = answer.objective;
  const auto amount = [is_time = objective.ends_with("_us")](double value) {
    return is_time ? short_duration(value, 5) : rounded(value, 5);
  };
  const bool is_better = before && as_cost(objective, tuned.value) < as_cost(objective, *before);
  if (tuned.best.empty()) {
    out << "Nothing that was tried is better than the experiment as it stands.\n";
  } else {
    Table table({"field", "best"});
    for (const auto& [field, value] : tuned.best.items()) table.add({field, shown(value)});
    table.print(out, 1);
  }
  out << '\n' << objective << ": " << amount(tuned.value);
  if (before && is_tie(*before, tuned.value) && !tuned.best.empty())
    out << ", the same as the experiment as it stands";
  else if (is_better)
    out << "; as the experiment stands: " << amount(*before) << " ("
        << rounded(100 * std::abs(*before / tuned.value - 1), 3)
        << (*before > tuned.value ? " % more)" : " % less)");
  if (is_better && !is_tie(*before, tuned.value) && answer.apart.is_as_good(*before, tuned.value))
    out << "\nThat is within " << error_text(answer.apart)
        << ", the error of such predictions: nothing is surely better; this is the likeliest";
  if (tuned.bound)
    out << "\noptimal ("
        << bound_text(as_cost(objective, *tuned.bound) > as_cost(objective, tuned.value))
        << "): " << amount(*tuned.bound);
  out << '\n'
      << tuned.evaluated << " of " << answer.sweep.points << " points evaluated"
      << (tuned.interrupted  ? ", then interrupted"
          : tuned.exhaustive ? ": all of them"
                             : ", one axis at a time, by golden section");
  if (tuned.failed > 0) out << "; " << tuned.failed << " have no result";
  out << '\n';
  if (answer.is_by_samples)
    out << "By samples a second, because steps have different numbers of samples.\n";
  print(out, answer.notes);
}

}  // namespace sgdsim
