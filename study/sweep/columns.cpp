// Columns of lines of points.
#include "study/sweep/columns.h"

#include <algorithm>
#include <limits>

#include "sim/core/error.h"
#include "study/step/override.h"

namespace sgdsim {
namespace {

Json plain(const Json& json) {
  if (json.is_object() && json.contains("mean")) return json["mean"];
  return json;
}

void list_below(const Json& json, const std::string& path, std::vector<std::string>& columns) {
  for (const auto& [name, value] : json.items()) {
    std::string here = path;
    if (!path.empty()) here += '.';
    here += name;
    if (here == "axes") continue;
    if (!value.is_object() || value.contains("mean")) columns.push_back(here);
    if (value.is_object()) list_below(value, here, columns);
  }
}

}  // namespace

Json column_of(const Json& line, const std::string& column) {
  if (line.contains("axes") && line["axes"].contains(column)) return line["axes"][column];
  const Json* value = &line;
  for (const std::string& step : steps_of(column, "column " + column)) {
    if (!value->is_object() || !value->contains(step)) return {};
    value = &(*value)[step];
  }
  return plain(*value);
}

double number_in(const Json& line, const std::string& column) {
  const Json value = column.empty() ? Json() : column_of(line, column);
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::string> columns_in(const Json& line) {
  std::vector<std::string> columns;
  if (line.contains("axes"))
    for (const auto& [name, value] : line["axes"].items()) columns.push_back(name);
  list_below(line, "", columns);
  return columns;
}

void check_columns(const std::vector<std::string>& columns, const Json& line,
                   const std::string& where) {
  std::vector<std::string> known = columns_in(line);
  for (const char* some : {"error", "warnings"})  // lines have them, others do not
    if (std::find(known.begin(), known.end(), some) == known.end()) known.emplace_back(some);
  for (const std::string& column : columns)
    if (std::find(known.begin(), known.end(), column) == known.end())
      throw InputError(where, unknown_name("column", column, known));
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) row += ',';
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      row += cell;
      continue;
    }
    row += '"';
    for (const char letter : cell) row += letter == '"' ? "\"\"" : std::string(1, letter);
    row += '"';
  }
  return row + "\n";
}

std::string csv_row(const Json& line, const std::vector<std::string>& columns) {
  std::vector<std::string> cells;
  for (const std::string& column : columns) {
    const Json value = column_of(line, column);
    cells.push_back(value.is_null()     ? ""
                    : value.is_string() ? value.get<std::string>()
                                        : value.dump());
  }
  return csv_row(cells);
}

}  // namespace sgdsim
