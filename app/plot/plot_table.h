// The rows that a picture shows, with the columns that a question names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/plot/scale.h"
#include "sim/core/json.h"

namespace sgdsim {

// What columns are called by who asks, in refusals.
struct PlotOptions {
  const char* x = "--x";
  const char* y = "--y";
  const char* panel = "--panel";
};

struct PlotRequest {
  std::string file;
  std::string x, y;
  std::string by = {};     // one curve for each of its values; empty: what was compared
  std::string panel = {};  // one panel for each of its values; empty: what else varies
  std::vector<std::string> where = {};
  std::string title = {}, x_label = {}, y_label = {};
  PlotOptions options = {};
  Spacing x_spacing = Spacing::by_range;
  Spacing y_spacing = Spacing::by_range;
};

struct PlotRow {
  Json axes;  // and the columns that the question names
  Json y;
  Json exchange = {};  // what the row says of it: exchange_columns
};

// What is not shown, though it was asked.
struct LeftOut {
  int64_t without_result = 0;  // rows
  int64_t missing = 0;         // points of a sweep that are not in the file,
  int64_t of = 0;              // and how many it has
  int64_t torn_line = 0;       // the last one, which is cut off; 0: none
};

struct PlotTable {
  std::string x, y;  // whole names
  Json columns;      // a row with all that rows have
  std::vector<PlotRow> rows;
  LeftOut left_out;
};

// Rows for which all conditions hold. InputError if the file or a column cannot be used.
PlotTable read_plot_table(const PlotRequest& request);
// For a table or map over --x and --y: of each place it has the column `value`, which `option`
// names.
PlotRequest over_both(PlotRequest request, const std::string& value, const char* option);

std::vector<std::string> axes_in(const Json& axes);
bool varies(const std::vector<PlotRow>& rows, const std::string& axis);
// All that vary, but x and y.
std::vector<std::string> varying_axes(const PlotTable& table);
// The option that keeps the rows with the first one's value of this axis, ready to be typed.
std::string where_held(const PlotTable& table, const std::string& axis);
// InputError, naming `option`, if an axis varies that is none of these.
void hold_others(const PlotTable& table, const std::vector<std::string>& used, const char* option);
// The axes that name a curve.
std::vector<std::string> curve_axes(const PlotRequest& request, const PlotTable& table);
std::string name_of_curve(const PlotRow& row, const std::vector<std::string>& axes);

}  // namespace sgdsim
