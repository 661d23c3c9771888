// Results as a table: columns of the lines of points, for spreadsheets and pandas.
#pragma once

#include <string>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

// What a column names in a line: an axis (cluster.nodes), or a path into the line
// (metrics.speedup); metrics.iteration_us is its mean. Null if the line has no such thing.
Json column_of(const Json& line, const std::string& column);

// The same as a number; not a number (NaN) if it is none.
double number_in(const Json& line, const std::string& column);

// All columns that this line has.
std::vector<std::string> columns_in(const Json& line);
// An InputError if a column is none of this line.
void check_columns(const std::vector<std::string>& columns, const Json& line,
                   const std::string& where);

// Comma-separated (RFC 4180), with the end of line.
std::string csv_row(const std::vector<std::string>& cells);
std::string csv_row(const Json& line, const std::vector<std::string>& columns);

}  // namespace sgdsim
