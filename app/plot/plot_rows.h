// Rows of a file as a picture needs them: points of a sweep, as lines or in a database, a document
// with a list of objects, or comma-separated values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

// Calls `use` for every row, in order, each an object; of CSV the fields of a row by their titles.
// InputError if the file is none of these.
// Of a point whose answer is a list, as of layouts, the row has the first of it. Returns the number
// of a last line that is cut off, which a killed process leaves; 0: none.
int64_t read_plot_rows(const std::string& file, const std::function<void(const Json& row)>& take);

// Adds the columns of a row to those of the rows before, with a value of each if there is one.
void add_columns(Json& all, const Json& row);

// Whether a name is a column's whole path or its end, with or without the unit: "iteration" is
// metrics.iteration_us.
bool means(const std::string& name, const std::string& column);
// The column that a user means, of `row`, which has what any row has: its whole path, or the end of
// it, with or without the unit: "nodes", "iteration". Axes come first. InputError, naming `option`,
// if there is none or several.
std::string column_named(const std::string& name, const Json& row, const std::string& option);

}  // namespace sgdsim
