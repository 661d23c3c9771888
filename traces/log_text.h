// Lines and numbers of text that other programs wrote, with errors that name the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/trace.h"

namespace sgdsim {

// A file to import, and what its format cannot know.
struct LogText {
  std::string text;
  std::string file;
  std::optional<Duration> forward;             // of the whole iteration
  std::optional<int64_t> batch = {};           // samples of a step, over all workers
  std::optional<int64_t> tokens_per_gpu = {};  // of a step
};

// The content of a file as read_text() has it, and of one in UTF-16 as UTF-8.
std::string read_log(const std::string& file);

struct LogLine {
  std::string_view text;  // without line end and surrounding blanks
  std::string where;      // "file: line 7"
};

std::vector<LogLine> lines_of(const LogText& log);
// The fields between commas, without surrounding blanks.
std::vector<std::string_view> split(std::string_view text);

// What separates the columns of a table: a comma, semicolon or tab, by its first line.
char separator_of(std::string_view head);
// The cells of a line. Within double quotes a separator is text, and two quotes are one.
std::vector<std::string> cells_of(const LogLine& line, char separator);

double number_in(std::string_view word, const std::string& what, const std::string& where);
int64_t whole_in(std::string_view word, const std::string& what, int64_t least, int64_t most,
                 const std::string& where);
// A time written as a plain number of units, each `unit` long.
Duration time_in(std::string_view word, Duration unit, const std::string& what,
                 const std::string& where);

// Name and source of a trace that was read from a log, before it is complete.
Trace trace_from(const LogText& log, const std::string& format);
// Checks the trace; half of backward is the forward time unless the log was given one.
void complete(Trace& trace, const LogText& log);

}  // namespace sgdsim
