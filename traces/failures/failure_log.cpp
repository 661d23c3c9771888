// Which kind of log it is.
#include "traces/failures/failure_log.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "traces/failures/log_kinds.h"
#include "traces/measurement/words.h"
#include "traces/spreadsheet.h"

namespace sgdsim {
namespace {

constexpr std::size_t beginning_B = 1 << 16;

// The columns of the first line that is none of comments.
TableHead first_head(std::string_view text) {
  const LogText log{std::string(text.substr(0, beginning_B)), "", {}};
  for (const LogLine& line : lines_of(log))
    if (is_row(line)) return head_of(line, separator_of(line.text));
  return {};
}

}  // namespace

// "Down Until" is down_until.
TableHead head_of(const LogLine& line, char separator) {
  TableHead head;
  std::size_t place = 0;
  for (const std::string& title : cells_of(line, separator)) {
    std::string name = lower(title);
    std::replace(name.begin(), name.end(), ' ', '_');
    if (!head.emplace(std::move(name), place++).second)
      throw InputError(line.where, "the column " + title + " is there twice");
  }
  return head;
}

void read_rows(const LogText& log, const TakeRow& take) {
  std::optional<TableHead> head;
  char separator = ',';
  for (const LogLine& line : lines_of(log)) {
    if (!is_row(line)) continue;
    if (!head) {
      separator = separator_of(line.text);
      head = head_of(line, separator);
      continue;
    }
    const std::vector<std::string> cells = cells_of(line, separator);
    if (cells.size() != head->size())
      throw InputError(line.where, "expected " + std::to_string(head->size()) + " fields, got " +
                                       std::to_string(cells.size()));
    take(cells, *head, line.where);
  }
}

bool is_row(const LogLine& line) { return !line.text.empty() && line.text.front() != '#'; }

std::string unit_of_jobs(const FailureScope& scope) {
  for (const auto& [given, option] :
       {std::pair(scope.units > 0, "--units"), std::pair(!scope.since.empty(), "--since"),
        std::pair(!scope.until.empty(), "--until")})
    if (given) throw InputError(option, "is for a table of failures; here jobs say what ran when");
  if (scope.unit.empty() || scope.unit == "node" || scope.unit == "gpu")
    return scope.unit.empty() ? "node" : scope.unit;
  throw InputError("--unit", "jobs say how many nodes and GPUs they had: node or gpu");
}

bool is_failure_log(std::string_view text) {
  if (is_attempt_log(text.substr(0, beginning_B))) return true;
  try {
    const TableHead head = first_head(plain_table(text.substr(0, beginning_B), ""));
    return is_unit_log(head) || is_job_table(head);
  } catch (const InputError&) {
    return false;  // no table
  }
}

FailureRecord read_failure_log(const std::string& text, const std::string& file,
                               const FailureScope& scope) {
  if (is_attempt_log(std::string_view(text).substr(0, beginning_B)))
    return read_attempt_log({text, file, {}}, scope);
  const LogText log{plain_table(text, file), file, {}};
  const TableHead head = first_head(log.text);
  if (is_job_table(head)) return read_job_table(log, scope);
  if (is_unit_log(head)) return read_unit_log(log, scope);
  throw InputError(file,
                   "is no log of failures: expected a table with the columns time, unit, cause and "
                   "down_until, the jobs of Acme (node_num, state, start_time, end_time), or the "
                   "attempts of Philly");
}

}  // namespace sgdsim
