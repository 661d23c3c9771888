// A table of two ways: one figure over two columns, for people, spreadsheets and programs.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "app/plot/plot_table.h"

namespace sgdsim {

struct Pivot {
  std::string x, y, cell;                     // whole names of columns
  std::vector<Json> across = {};              // values of x, in the order of the rows of the file
  std::vector<Json> down = {};                // of y
  std::vector<std::vector<Json>> cells = {};  // by y, then x; null: no row has a result
  LeftOut left_out;
};

// `cell`: the column that cells have. InputError where several rows are of one cell.
Pivot pivot_of(const PlotRequest& request, const std::string& cell);
// As "table", "csv", or "json" (sgdsim/pivot/1).
void print(std::ostream& out, const Pivot& pivot, const std::string& format);
Json schema_of_pivots();

}  // namespace sgdsim
