// Which results no measurement could tell apart: those within the error of the kind of change that
// lies between them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "study/advise/measured_errors.h"

namespace sgdsim {

// What a row of results says of how gradients were exchanged: a method with a label is another one
// by those of them that vary.
inline constexpr std::array<const char*, 4> exchange_columns = {"strategy", "collective",
                                                                "compression", "synchronization"};

// The axis of methods with a label, of a sweep or of a table.
inline constexpr char method_axis[] = "method";

bool is_strategy_field(const std::string& field);

// The fields that an axis changes: the one that it names, or those by which methods with a label
// differ, of which `varies` says which do.
template <class Varies>
std::vector<std::string> fields_of_axis(const std::string& axis, const Varies& varies) {
  if (axis != method_axis) return {axis};
  std::vector<std::string> fields;
  for (const char* column : exchange_columns)
    if (varies(column)) fields.emplace_back(column);
  return fields;
}

// Of steps that differ in this field; null if none like them were ever measured.
const MeasuredErrors* errors_of_field(const std::string& field);

// Errors are those of columns like this.
bool is_step_time(const std::string& column);

struct Apart {
  double error = 0;  // nine of ten measured ratios were within a factor of 1 + error; 0: unknown
  std::string of;    // what was measured, or why nothing is known
  std::optional<double> percent() const {
    return error > 0 ? std::optional(100 * error) : std::nullopt;
  }
  // Results of an iteration, in any unit of time. Without a measured error a millionth counts.
  bool is_as_good(double value, double best) const;
};

// For steps that differ in these fields of the experiment ("strategy", "cluster.nic.bandwidth").
// Errors of several kinds multiply. `objective` is the column that is compared: the errors are
// those of iteration times.
Apart apart_by(const std::vector<std::string>& fields, const std::string& objective);

// What stands behind "as good": " (within 12.1 %, the error of such predictions)", or nothing.
std::string as_good_within(double error);

// "12.1 % (36 pairs of steps of two networks on 2 to 16 GPUs under three or four schedules)".
std::string error_text(const Apart& apart);

}  // namespace sgdsim
