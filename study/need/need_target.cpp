// Reading targets, and finding their figures in answers.
#include "study/need/need_target.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/layout/layout_files.h"
#include "study/sweep/columns.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::array<std::string_view, 3> parts = {"mfu", "metrics.efficiency",
                                                   "metrics.overlap_ratio"};

bool is_part(const std::string& column) {
  return std::find(parts.begin(), parts.end(), column) != parts.end();
}

// Of figures without a name of their own: less of a time, of memory and of days is better.
bool is_usually_at_most(const std::string& column) {
  return column.ends_with("_us") || column.find("_us.") != column.npos ||
         column.ends_with("_GiB") || column.ends_with("days") || column.ends_with("hours") ||
         column.ends_with("_B");
}

double number_of(const std::string& text, const std::string& where) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = read_decimal(text.data(), end, number);
  const std::string unit(rest, end);
  const bool is_percent = unit == "%" || unit == " %";
  if (problem != std::errc() || !(unit.empty() || is_percent) || !std::isfinite(number) ||
      number <= 0)
    throw InputError(
        where, "expected a number above 0, as 0.4 or 40%, got \"" + text.substr(0, 40) + "\"");
  return is_percent ? number / 100 : number;
}

// A size, or a bare number of GiB.
double gib_of(const std::string& text, const std::string& where) {
  double number = 0;
  const char* end = text.data() + text.size();
  if (read_decimal(text.data(), end, number).ptr == end) return number_of(text, where);
  const Bytes size = parse_bytes(text, where);
  if (size == Bytes()) throw InputError(where, "expected a size above 0, got " + text);
  return static_cast<double>(size.count()) / bytes_of_gib;
}

double value_of(const NeedTarget& target, const std::string& text, const std::string& where) {
  if (target.is_memory()) return gib_of(text, where);
  if (!target.is_time()) {
    const double number = number_of(text, where);
    if (is_part(target.column) && number > 1)
      throw InputError(
          where, "expected a part of at most 1, as 0.9 or 90%, got \"" + text.substr(0, 40) + "\"");
    return number;
  }
  const Duration time = parse_duration(text, where);
  if (time == Duration()) throw InputError(where, "expected a time above 0, got " + text);
  return time.us();
}

}  // namespace

NeedTarget target_in(const std::string& text, const std::vector<NamedFigureOf>& named) {
  const std::size_t end = text.find_first_of("<>=");
  const std::string where = "--target " + text.substr(0, std::min<std::size_t>(end, 80));
  const bool has_two =
      end != std::string::npos && text[end] != '=' && end + 1 < text.size() && text[end + 1] == '=';
  const std::size_t begin = end == std::string::npos ? end : end + (has_two ? 2 : 1);
  if (end == std::string::npos || end == 0 || begin >= text.size() ||
      (text[end] != '=' && !has_two))
    throw InputError(where,
                     "expected FIGURE=VALUE, FIGURE<=VALUE or FIGURE>=VALUE, as in "
                     "step=120ms or " +
                         std::string(named[1].name) + ">=0.4");
  NeedTarget target;
  target.name = target.column = text.substr(0, end);
  target.goal.at_most = is_usually_at_most(target.column);
  for (const NamedFigureOf& one : named)
    if (target.name == one.name) {
      target.column = one.column;
      target.goal.at_most = one.at_most;
    }
  if (text[end] != '=') target.goal.at_most = text[end] == '<';
  target.goal.value = value_of(target, text.substr(begin), where);
  return target;
}

double figure_of(const Json& answer, const NeedTarget& target,
                 const std::vector<NamedFigureOf>& named) {
  const double figure = number_in(answer, target.column);
  if (target.name == "throughput" && figure == 0)
    throw InputError("--target", "throughput is not known: the trace states no `batch`");
  if (!std::isnan(figure)) return figure;
  std::vector<std::string> known;
  for (const NamedFigureOf& one : named) known.emplace_back(one.name);
  Json figures = answer;
  for (const char* of_line : {"axes", "point", "of"}) figures.erase(of_line);
  for (const std::string& column : columns_in(figures))
    if (!std::isnan(number_in(figures, column))) known.push_back(column);
  const bool is_of_trainings = target.name == "days" || target.name == "gpu_hours";
  if (is_of_trainings && std::find(known.begin(), known.end(), target.name) != known.end())
    throw InputError("--target", target.name +
                                     " are those of a whole training; --tokens says how "
                                     "many it has, as in --tokens 2e12");
  throw InputError("--target", unknown_name("figure", target.name, known));
}

std::string figure_text(const NeedTarget& target, double figure, int digits) {
  if (target.is_time()) return short_duration(figure, digits);
  if (target.is_memory()) return rounded(figure, digits) + " GiB";
  return is_part(target.column) ? part_text(figure, digits) : rounded(figure, digits);
}

}  // namespace sgdsim
