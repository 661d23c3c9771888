// Rows of a file become cells; what else varies has to be held.
#include "app/plot/pivot.h"

#include <map>

#include "app/plot/plot_rows.h"
#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "study/sweep/best.h"
#include "study/sweep/columns.h"
#include "study/sweep/gains.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_values = 1000;  // along a side

// Values along a side, and where each is.
class Side {
 public:
  Side(std::vector<Json>& values, const char* option) : values_(values), option_(option) {}
  std::size_t place_of(const Json& value) {
    const auto [place, is_new] = places_.try_emplace(value.dump(), values_.size());
    if (!is_new) return place->second;
    if (values_.size() == most_values)
      throw InputError(option_, "more than " + std::to_string(most_values) +
                                    " values are no table; leave some out with --where");
    values_.push_back(value);
    return place->second;
  }

 private:
  std::vector<Json>& values_;
  const char* option_;
  std::map<std::string, std::size_t> places_;
};

std::string text_of_cell(const Json& cell, bool is_time) {
  if (cell.is_null()) return "-";
  if (!cell.is_number()) return printable(value_label(cell));
  const auto value = cell.get<double>();
  return is_time ? short_duration(value, 5) : rounded(value, 5);
}

// A time of its own unit in every cell.
bool has_times(const Pivot& pivot) { return field_of_column(pivot.cell).ends_with("_us"); }

std::string without_unit(std::string column) {
  const std::string field = field_of_column(column);
  return column.erase(column.rfind(field) + field.size() - 3, 3);
}

void print_table(std::ostream& out, const Pivot& pivot) {
  const bool is_time = has_times(pivot);
  std::vector<std::string> head{pivot.y};
  for (const Json& value : pivot.across) head.push_back(printable(value_label(value)));
  Table table(std::move(head));
  for (std::size_t y = 0; y < pivot.down.size(); ++y) {
    std::vector<std::string> row{printable(value_label(pivot.down[y]))};
    for (const Json& cell : pivot.cells[y]) row.push_back(text_of_cell(cell, is_time));
    table.add(std::move(row));
  }
  out << (is_time ? without_unit(pivot.cell) : pivot.cell) << " by " << pivot.x << " (across)\n\n";
  table.print(out);
}

// The first title says what cells are, and so their unit.
void print_csv(std::ostream& out, const Pivot& pivot) {
  std::vector<std::string> head{pivot.y + " (" + pivot.cell + " over " + pivot.x + ")"};
  for (const Json& value : pivot.across) head.push_back(value_label(value));
  out << csv_row(head);
  for (std::size_t y = 0; y < pivot.down.size(); ++y) {
    std::vector<std::string> row{value_label(pivot.down[y])};
    for (const Json& cell : pivot.cells[y]) row.push_back(cell.is_null() ? "" : value_label(cell));
    out << csv_row(row);
  }
}

Json any_value_schema() { return Json::object(); }
Json schema_of_values() { return list_schema(any_value_schema()); }

struct PivotRow {
  Json y = {};
  std::vector<Json> cells = {};
};
Fields fields_of(const PivotRow& row) {
  return {Field("y", row.y, "the value of the column `y`").like(any_value_schema),
          Field("cells", row.cells, "one for each value across; null: no row has a result")
              .like(schema_of_values)};
}

Fields pivot_fields(const Pivot& pivot) {
  std::vector<PivotRow> rows;
  for (std::size_t y = 0; y < pivot.down.size(); ++y)
    rows.push_back({pivot.down[y], pivot.cells[y]});
  return {answer_kind("sgdsim/pivot/1"),
          {"x", pivot.x, "the column across"},
          {"y", pivot.y, "the column down"},
          {"cell", pivot.cell, "the column that cells have"},
          Field("across", pivot.across, "its values across").like(schema_of_values),
          {"rows", std::move(rows), "one for each value down"}};
}

}  // namespace

Pivot pivot_of(const PlotRequest& request, const std::string& cell) {
  const PlotTable table = read_plot_table(over_both(request, cell, "--cell"));
  Pivot pivot{.x = table.x,
              .y = column_named(request.y, table.columns, "--y"),
              .cell = table.y,
              .left_out = table.left_out};
  if (pivot.x == pivot.y) throw InputError("--y", "is the same column as --x; name another one");
  hold_others(table, {pivot.x, pivot.y}, "--cell");
  Side across(pivot.across, "--x");
  Side down(pivot.down, "--y");
  for (const PlotRow& row : table.rows) {
    const Json& x = row.axes[pivot.x];
    const Json& y = row.axes[pivot.y];
    const std::size_t column = across.place_of(x);
    const std::size_t line = down.place_of(y);
    if (line == pivot.cells.size()) pivot.cells.emplace_back();
    std::vector<Json>& cells = pivot.cells[line];
    cells.resize(std::max(cells.size(), column + 1));
    if (!cells[column].is_null())
      throw InputError("--cell", "several rows have " + pivot.x + " " + printable(value_label(x)) +
                                     " and " + pivot.y + " " + printable(value_label(y)) +
                                     "; leave all but one out with --where");
    cells[column] = row.y;
  }
  for (std::vector<Json>& cells : pivot.cells) cells.resize(pivot.across.size());
  return pivot;
}

void print(std::ostream& out, const Pivot& pivot, const std::string& format) {
  if (format == "json")
    out << written(pivot_fields(pivot)).dump(1) << '\n';
  else if (format == "csv")
    print_csv(out, pivot);
  else
    print_table(out, pivot);
}

Json schema_of_pivots() { return record_schema(pivot_fields({})); }

}  // namespace sgdsim
