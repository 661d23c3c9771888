// What is needed, as sentences with a table, and as JSON.
#include <cmath>
#include <ostream>

#include "study/need/need_question.h"
#include "study/sweep/axis_points.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr double percent = 100;

struct PointOut {
  Json value;
  std::optional<double> reached;
  bool meets = false;
  std::string limit, layout, error;
};

Fields fields_of(const PointOut& o) {
  return {Field("value", o.value, "of the field"),
          {"reached", o.reached, "the figure there, times in us, memory in GiB"},
          {"meets", o.meets, "whether that meets the target"},
          Field("limit", o.limit, "the largest part of the time").if_any(),
          Field("layout", o.layout, "the layout, of a search the fastest one").if_any(),
          Field("error", o.error, "why there is no figure").if_any()};
}

PointOut out_of(const NeedPoint& point) {
  return {point.value, point.reached, point.meets, point.limit, point.layout, point.error};
}
std::optional<PointOut> out_of(const std::optional<NeedPoint>& point) {
  if (!point) return {};
  return out_of(*point);
}
std::vector<PointOut> out_of(const std::vector<NeedPoint>& points) {
  std::vector<PointOut> all;
  for (const NeedPoint& point : points) all.push_back(out_of(point));
  return all;
}

struct StretchOut {
  Json from, to;
};
Fields fields_of(const StretchOut& o) {
  return {{"from", o.from, "the first value that meets the target"},
          {"to", o.to, "the last value in a row that does"}};
}

struct KneeOut {
  PointOut at;
  double gain_percent = 0;
  bool is_halving = false;
  bool is_within = true;
};
Fields fields_of(const KneeOut& o) {
  return {
      {"at", o.at, "the value from which more gains less than asked"},
      {"gain_percent", o.gain_percent, "what doubling gains there"},
      {"halving", o.is_halving, "less is better: it is halving that gains"},
      {"within", o.is_within,
       "false: the range has no such value, and this is the last one that can be doubled in it"}};
}

struct NeedOut {
  const NeedAnswer& answer;
  std::vector<StretchOut> met;
  std::optional<KneeOut> knee;
};

// Whether the figure is the same wherever there is one.
bool changes_nothing(const NeedFound& found) {
  const NeedPoint* first = nullptr;
  bool is_compared = false;
  for (const NeedPoint& point : found.points) {
    if (!point.reached) continue;
    if (first != nullptr && *point.reached != *first->reached) return false;
    is_compared = is_compared || first != nullptr;
    first = &point;
  }
  return is_compared;
}

NeedOut out_of(const NeedAnswer& answer) {
  NeedOut out{answer, {}, {}};
  for (const NeedStretch& one : answer.found.met) out.met.push_back({one.from.value, one.to.value});
  if (const auto& knee = answer.found.knee; knee && !changes_nothing(answer.found))
    out.knee =
        KneeOut{out_of(knee->point), percent * knee->gain, knee->is_halving, knee->is_within};
  return out;
}

// Whether larger values than those that are met from some value on miss the target again.
bool is_lost_again(const NeedAnswer& answer) {
  const NeedFound& found = answer.found;
  return !found.met.empty() && !found.is_everywhere &&
         (found.met.size() > 1 ||
          (!found.is_largest && found.met.front().to.value != answer.range.last()));
}

std::string verdict_of(const NeedAnswer& answer) {
  const NeedFound& found = answer.found;
  if (found.met.empty()) return "nowhere";
  if (found.is_everywhere) return "everywhere";
  if (is_lost_again(answer)) return "within";
  return found.is_largest ? "at_most" : "at_least";
}

Fields fields_of(const NeedOut& o) {
  const NeedFound& found = o.answer.found;
  const NeedTarget& target = o.answer.target;
  return {answer_kind("sgdsim/need/1"),
          {"field", o.answer.range.field(), "the field whose value is looked for"},
          {"from", o.answer.range.first(), "the lower end of the range"},
          {"to", o.answer.range.last(), "the upper end of the range"},
          {"figure", target.name, "what must be reached"},
          {"column", target.column, "where the answer of each value has it"},
          Field("must_be", target.goal.at_most, "whether the figure has to be small or large")
              .one_of({"at_least", "at_most"}),
          {"target", target.goal.value, "how small or large, times in us, memory in GiB"},
          Field("met", verdict_of(o.answer),
                "with which values: at least the needed one, at most the needed one, those within "
                "the stretches, all, none")
              .one_of({"at_least", "at_most", "within", "everywhere", "nowhere"}),
          {"needed", out_of(found.needed),
           "the smallest value that meets the target; the largest, where smaller ones meet it"},
          {"before", out_of(found.before), "its neighbour that does not meet it"},
          {"stretches", o.met,
           "values in a row that meet the target; more than one: it is met, lost and met again"},
          {"best", out_of(found.best), "the best figure in the range"},
          {"knee", o.knee, "from where on doubling gains little; none if nothing can be doubled"},
          Field("changes_nothing", changes_nothing(found),
                "the figure is the same at all values that were asked")
              .if_any(),
          {"points", out_of(found.points), "all values that were asked, in order"},
          Field("warnings", o.answer.warnings, "of the answer at the value that is needed")
              .filled("warning")
              .if_any()};
}

// ---- for people

std::string reached_text(const NeedAnswer& answer, const NeedPoint& point, int digits = 5) {
  return point.reached ? figure_text(answer.target, *point.reached, digits) : "no answer";
}
std::string at_text(const NeedAnswer& answer, const NeedPoint& point, int digits = 5) {
  return reached_text(answer, point, digits) + " at " + text_of_value(point.value);
}

// So many digits that two figures are told apart.
int digits_apart(const NeedAnswer& answer, const NeedPoint& a, const NeedPoint& b) {
  constexpr int most = 9;
  int digits = 5;
  while (digits < most && reached_text(answer, a, digits) == reached_text(answer, b, digits))
    ++digits;
  return digits;
}

void print_needed(std::ostream& out, const NeedAnswer& answer) {
  const NeedFound& found = answer.found;
  if (found.met.empty()) {
    out << "Not reached: the best is " << at_text(answer, *found.best) << "; its largest part is "
        << found.best->limit << '\n';
    return;
  }
  if (found.is_everywhere) {
    out << "Every value of the range will do; the best is " << at_text(answer, *found.best) << '\n';
    return;
  }
  const int digits = digits_apart(answer, *found.needed, *found.before);
  out << "Needed: at " << (found.is_largest ? "most " : "least ")
      << text_of_value(found.needed->value) << ", which gives "
      << reached_text(answer, *found.needed, digits) << "; "
      << at_text(answer, *found.before, digits)
      << (found.before->reached ? "" : ": " + printable(found.before->error)) << '\n';
  if (!found.needed->layout.empty()) out << "With the layout " << found.needed->layout << '\n';
  if (!is_lost_again(answer)) return;
  out << (found.met.size() > 1 ? "The target is met, lost and met again."
                               : "Larger values miss the target again.")
      << " It is met";
  for (const NeedStretch& one : found.met)
    out << (&one == &found.met.front() ? " from " : ", and from ") << text_of_value(one.from.value)
        << " to " << text_of_value(one.to.value);
  out << '\n';
}

void print_knee(std::ostream& out, const NeedAnswer& answer) {
  if (changes_nothing(answer.found)) {
    out << answer.range.field() << " changes nothing here: " << answer.target.name
        << " is the same at all values that were asked\n";
    return;
  }
  if (!answer.found.knee) return;
  const NeedKnee& knee = *answer.found.knee;
  const char* twice = knee.is_halving ? "halving" : "doubling";
  const std::string value = text_of_value(knee.point.value);
  const std::string gain = rounded(std::abs(percent * knee.gain), 3) + " %";
  if (!knee.is_within)
    out << "No knee in the range: " << twice << " still gains " << gain << " at " << value << '\n';
  else if (knee.gain < 0)
    out << "The knee: from " << value << (knee.is_halving ? " down, " : " on, ") << twice
        << " gains nothing (it loses " << gain << " there)\n";
  else
    out << "The knee: from " << value << (knee.is_halving ? " down, " : " on, ") << twice
        << " gains less than " << rounded(percent * answer.gain, 3) << " % (" << gain
        << " there)\n";
}

std::string note_of(const NeedFound& found, const NeedPoint& point) {
  const auto is = [&](const std::optional<NeedPoint>& one) {
    return one && one->value == point.value;
  };
  if (is(found.needed)) return "needed";
  if (found.knee && found.knee->is_within && !changes_nothing(found) &&
      found.knee->point.value == point.value)
    return "knee";
  return point.meets ? "meets" : "";
}

}  // namespace

Json to_json(const NeedAnswer& answer) { return written(fields_of(out_of(answer))); }

Json schema_of_needs() {
  const NeedAnswer none{FieldRange("x", 0, 0), {}, 0, {}, {}, false};
  return record_schema(fields_of(NeedOut{none, {}, {}}));
}

void print(std::ostream& out, const NeedAnswer& answer) {
  const NeedTarget& target = answer.target;
  out << answer.range.field() << " from " << text_of_value(answer.range.first()) << " to "
      << text_of_value(answer.range.last()) << ", for " << target.name
      << (target.goal.at_most ? " of at most " : " of at least ")
      << figure_text(target, target.goal.value, 4) << '\n';
  print_needed(out, answer);
  print_knee(out, answer);
  out << '\n';
  Table table({answer.range.field(), target.name, "", "largest part"});
  for (const NeedPoint& point : answer.found.points) {
    if (!point.is_shown) continue;
    table.add({text_of_value(point.value),
               point.reached ? figure_text(target, *point.reached) : "-",
               note_of(answer.found, point),
               point.reached ? point.limit : printable(point.error).substr(0, 60)});
  }
  table.print(out, 0);
}

}  // namespace sgdsim
