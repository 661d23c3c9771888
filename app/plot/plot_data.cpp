// Panels, curves and numbers out of a table.
#include "app/plot/plot_data.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/plot/plot_rows.h"
#include "sim/core/error.h"
#include "study/sweep/best.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_curves = 24;
constexpr std::size_t most_panels = 12;

// The one axis that varies besides.
std::string panel_axis(const PlotRequest& request, const PlotTable& table,
                       const std::vector<std::string>& curves) {
  if (!request.panel.empty()) return column_named(request.panel, table.columns, "--panel");
  std::vector<std::string> rest = varying_axes(table);
  std::erase_if(rest, [&](const std::string& axis) {
    return std::find(curves.begin(), curves.end(), axis) != curves.end();
  });
  if (rest.empty()) return "";
  if (rest.size() == 1) return rest.front();
  std::string list;
  for (const std::string& axis : rest) list += " " + where_held(table, axis);
  throw InputError("--panel",
                   "more than one other axis varies, which one picture cannot show; hold "
                   "all but one of them, as by" +
                       list);
}

std::size_t place_in(std::vector<std::string>& list, const std::string& text, std::size_t most,
                     const char* option, const char* what) {
  const auto found = std::find(list.begin(), list.end(), text);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  if (list.size() == most)
    throw InputError(option, "more than " + std::to_string(most) + " " + what +
                                 " cannot be told apart; leave some out with --where");
  list.push_back(text);
  return list.size() - 1;
}

// ---- numbers

struct Column {
  Amount::Kind kind = Amount::Kind::number;
  bool are_amounts = true;
  std::vector<double> numbers;
  double largest = 0;
};

Column column_over(const std::vector<PlotRow>& rows,
                   const std::function<Json(const PlotRow&)>& value) {
  Column column;
  std::optional<Amount> first;
  for (const PlotRow& row : rows) {
    const auto amount = amount_of(value(row));
    if (!first) first = amount;
    column.are_amounts = column.are_amounts && amount && amount->comparable(*first);
    if (!column.are_amounts) return column;
    column.kind = amount->kind;
    column.numbers.push_back(amount->value);
    column.largest = std::max(column.largest, std::abs(amount->value));
  }
  return column;
}

Json x_in(const PlotRow& row, const PlotTable& table) { return row.axes.value(table.x, Json()); }

// Among numbers, rows without one are left out; a text makes all of them texts, which is said where
// it is one of a few.
void leave_out_without_x(PlotTable& table, PlotData& data) {
  std::size_t empty = 0, texts = 0;
  std::string text;
  for (const PlotRow& row : table.rows) {
    const Json x = x_in(row, table);
    if (x.is_null())
      ++empty;
    else if (!amount_of(x) && ++texts == 1)
      text = value_label(x);
  }
  const std::size_t numbers = table.rows.size() - empty - texts;
  if (numbers > 0 && texts > 0 && texts <= numbers)
    data.notes.push_back("\"" + text + "\" in the column " + table.x +
                         " is no number, so that all values stand side by side as texts; leave "
                         "it out with --where");
  if (numbers == 0 || texts > 0 || empty == 0) return;
  std::erase_if(table.rows, [&](const PlotRow& row) { return x_in(row, table).is_null(); });
  data.notes.push_back((empty == 1 ? "1 row has" : std::to_string(empty) + " rows have") +
                       " nothing in the column " + table.x +
                       (empty == 1 ? ", and is left out" : ", and are left out"));
}

// x as numbers in their unit, or texts at whole numbers.
std::vector<double> x_of(const PlotTable& table, Spacing spacing, PlotData& data) {
  const auto value = [&](const PlotRow& row) { return x_in(row, table); };
  Column column = column_over(table.rows, value);
  if (column.are_amounts) {
    data.x = measure_of(table.x, column.kind, column.largest);
    for (double& number : column.numbers) number *= data.x.factor;
    return column.numbers;
  }
  if (spacing == Spacing::logarithmic)
    throw InputError("--log-x", "the column " + table.x +
                                    " has texts, which stand side by side; leave the option out, "
                                    "or keep rows with numbers, with --where");
  data.x = measure_of(table.x, Amount::Kind::number, 0);
  data.x.unit.clear();
  std::vector<double> places;
  for (const PlotRow& row : table.rows)
    places.push_back(static_cast<double>(
        place_in(data.x_words, value_label(value(row)), 40, "--x", "texts along an axis")));
  return places;
}

std::vector<double> y_of(const PlotTable& table, PlotData& data) {
  Column column = column_over(table.rows, [](const PlotRow& row) { return row.y; });
  if (!column.are_amounts)
    throw InputError("--y", "the column " + table.y + " has numbers of several kinds");
  data.y = measure_of(table.y, column.kind, column.largest);
  for (double& number : column.numbers) number *= data.y.factor;
  return column.numbers;
}

void sort_and_check(PlotData& data) {
  for (PlotPanel& panel : data.panels)
    for (PlotCurve& curve : panel.curves) {
      std::stable_sort(curve.spots.begin(), curve.spots.end(),
                       [](const CurveSpot& a, const CurveSpot& b) { return a.x < b.x; });
      const auto same = std::adjacent_find(curve.spots.begin(), curve.spots.end(),
                                           [](const auto& a, const auto& b) { return a.x == b.x; });
      if (same == curve.spots.end()) continue;
      const std::string& name = data.names[curve.name];
      throw InputError("--by", "several rows have the same x" +
                                   (name.empty() ? "" : " in the curve \"" + name + "\"") +
                                   "; tell them apart with --by or --panel, or leave some out "
                                   "with --where");
    }
}

std::string last_of(const std::string& path) {
  std::string text = path.substr(path.rfind('.') + 1);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

}  // namespace

PlotData plot_data(const PlotRequest& request) {
  PlotTable table = read_plot_table(request);
  PlotData data;
  leave_out_without_x(table, data);
  const std::vector<std::string> by = curve_axes(request, table);
  const std::string panel = panel_axis(request, table, by);
  data.left_out = table.left_out;
  const std::vector<double> xs = x_of(table, request.x_spacing, data);
  const std::vector<double> ys = y_of(table, data);
  std::vector<std::string> panels;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const PlotRow& row = table.rows[i];
    const std::string title = panel.empty() ? "" : value_label(row.axes.value(panel, Json()));
    const std::size_t at = place_in(panels, title, most_panels, "--panel", "panels");
    if (at == data.panels.size()) data.panels.push_back({title, {}});
    const std::size_t name =
        place_in(data.names, name_of_curve(row, by), most_curves, "--by", "curves");
    std::vector<PlotCurve>& curves = data.panels[at].curves;
    const auto found = std::find_if(curves.begin(), curves.end(),
                                    [&](const PlotCurve& one) { return one.name == name; });
    PlotCurve& curve = found == curves.end() ? curves.emplace_back(PlotCurve{name, {}}) : *found;
    curve.spots.push_back({xs[i], ys[i]});
  }
  if (!panel.empty()) data.panels_by = last_of(panel);
  sort_and_check(data);
  return data;
}

}  // namespace sgdsim
