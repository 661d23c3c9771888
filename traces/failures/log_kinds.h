// The kinds of logs of failures, each with its own file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "traces/failures/failure_log.h"
#include "traces/log_text.h"

namespace sgdsim {

// The columns of a table, by their names in lower case.
using TableHead = std::map<std::string, std::size_t, std::less<>>;
TableHead head_of(const LogLine& line, char separator);
// The lines of a table with something in them.
bool is_row(const LogLine& line);
// Every row behind the first one, which names the columns; InputError unless it has as many cells.
using TakeRow = std::function<void(const std::vector<std::string>& cells, const TableHead& head,
                                   const std::string& where)>;
void read_rows(const LogText& log, const TakeRow& take);

// Events: time, and unit, cause and down_until as far as they are there.
bool is_unit_log(const TableHead& head);
FailureRecord read_unit_log(const LogText& log, const FailureScope& scope);

// "node" or "gpu", whose rates are asked for of jobs, which say themselves what ran when;
// InputError where the scope says more.
std::string unit_of_jobs(const FailureScope& scope);

// Jobs of Shanghai AI Laboratory's Acme: trace_seren.csv, trace_kalos.csv.
bool is_job_table(const TableHead& head);
FailureRecord read_job_table(const LogText& log, const FailureScope& scope);

// Attempts of Microsoft's Philly: cluster_job_log.
bool is_attempt_log(std::string_view text);
FailureRecord read_attempt_log(const LogText& log, const FailureScope& scope);

}  // namespace sgdsim
