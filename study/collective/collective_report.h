// Answered points as JSON, and as tables for people.
#pragma once

#include <ostream>
#include <vector>

#include "sim/core/json.h"
#include "study/collective/collective_point.h"

namespace sgdsim {

// Schema sgdsim/collective/1.
Json to_json(const CollectivePoint& point, const CollectiveArguments& arguments);
Json schema_of_collective_answers();
// Schema sgdsim/collective-sweep/1.
Json to_json(const std::vector<CollectivePoint>& points, const CollectiveArguments& arguments);
Json schema_of_collective_sweeps();

void print_point(std::ostream& out, const CollectivePoint& point);

// A row per ranks and size, a column per algorithm; `columns` points make a row.
void print_sweep(std::ostream& out, const std::vector<CollectivePoint>& points,
                 std::size_t columns);

// A line for each point that has an answer, below one with the names of the columns.
std::string csv_of(const std::vector<CollectivePoint>& points);
inline constexpr char csv_beginning[] = "algorithm,operation,ranks,size_B,";

// Every warning once, in the order in which they came up.
std::vector<std::string> warnings_of(const std::vector<CollectivePoint>& points);

}  // namespace sgdsim
