// Plain numbers become quantities here: the unit is the format's, not written in the file.
#include "traces/log_text.h"

#include <charconv>
#include <cmath>
#include <filesystem>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "traces/complete.h"
#include "traces/utf16.h"

namespace sgdsim {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t from = text.find_first_not_of(blanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blanks) - from + 1);
}

std::string quoted(std::string_view word) { return "\"" + std::string(word.substr(0, 60)) + "\""; }

}  // namespace

std::string read_log(const std::string& file) { return as_utf8(read_text(file), file); }

std::vector<LogLine> lines_of(const LogText& log) {
  std::vector<LogLine> lines;
  const std::string_view text = log.text;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back({trimmed(text.substr(from, end - from)),
                     log.file + ": line " + std::to_string(lines.size() + 1)});
    from = end + 1;
  }
  return lines;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = text.find(',');
    fields.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    text.remove_prefix(comma + 1);
  }
}

char separator_of(std::string_view head) {
  std::string plain;
  bool quoted = false;
  for (const char letter : head) {
    if (letter == '"') quoted = !quoted;
    if (!quoted) plain += letter;
  }
  char found = ',';
  for (const char separator : {'\t', ';', ','})
    if (plain.find(separator) != std::string::npos) found = separator;
  return found;
}

std::vector<std::string> cells_of(const LogLine& line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.text.size(); ++i) {
    const char letter = line.text[i];
    if (letter == '"') {
      const bool doubled = quoted && i + 1 < line.text.size() && line.text[i + 1] == '"';
      if (doubled) cells.back() += line.text[++i];
      if (!doubled) quoted = !quoted;
    } else if (letter == separator && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += letter;
    }
  }
  if (quoted) throw InputError(line.where, "a double quote is not closed on this line");
  for (std::string& cell : cells) {
    const std::size_t from = cell.find_first_not_of(" \t");
    const std::size_t last = cell.find_last_not_of(" \t");
    cell = from == std::string::npos ? "" : cell.substr(from, last - from + 1);
  }
  return cells;
}

double number_in(std::string_view word, const std::string& what, const std::string& where) {
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, problem] = read_decimal(word.data(), end, number);
  if (problem != std::errc{} || rest != end || !std::isfinite(number) || std::signbit(number))
    throw InputError(where, "expected " + what + ", a number of at least 0, got " + quoted(word));
  return number;
}

int64_t whole_in(std::string_view word, const std::string& what, int64_t least, int64_t most,
                 const std::string& where) {
  int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, problem] = std::from_chars(word.data(), end, number);
  if (problem != std::errc{} || rest != end || number < least || number > most)
    throw InputError(where, "expected " + what + ", a whole number from " + std::to_string(least) +
                                " to " + std::to_string(most) + ", got " + quoted(word));
  return number;
}

Duration time_in(std::string_view word, Duration unit, const std::string& what,
                 const std::string& where) {
  const double ps = number_in(word, what, where) * static_cast<double>(unit.ps());
  if (ps > static_cast<double>(longest_step.ps()))
    throw InputError(where, "expected " + what + " of at most " + to_text(longest_step) + ", got " +
                                quoted(word) + " times " + to_text(unit));
  return Duration::nearest_ps(ps);
}

Trace trace_from(const LogText& log, const std::string& format) {
  Trace trace;
  trace.name = log.file == "-" ? "trace" : std::filesystem::path(log.file).stem().string();
  trace.source = "imported from " + log.file + " (" + format + ")";
  return trace;
}

void complete(Trace& trace, const LogText& log) {
  const Origin origin = {log.file, [&](std::size_t i) {
                           return log.file + ": layer \"" + trace.layers[i].name + "\"";
                         }};
  complete(trace, log.forward ? Forward::total : Forward::missing, log.forward.value_or(Duration{}),
           origin);
}

}  // namespace sgdsim
