// Line by line.
#include "traces/flows_csv.h"

#include <array>
#include <limits>
#include <optional>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/log_text.h"
#include "traces/measurement/words.h"
#include "traces/spreadsheet.h"

namespace sgdsim {
namespace {

enum FlowColumn { start, from, to, size, columns };

struct StartUnit {
  std::string_view title;
  Duration length;
};
constexpr std::array<StartUnit, 4> start_units{{{"start_us", Duration::us(1)},
                                                {"start_ns", Duration::ns(1)},
                                                {"start_ms", Duration::ms(1)},
                                                {"start_s", Duration::s(1)}}};

struct FlowTable {
  std::array<std::size_t, columns> places{};
  std::size_t count = 0;
  Duration unit = Duration::us(1);
  char separator = ',';
};

// What is neither empty nor a comment.
bool has_cells(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first != std::string_view::npos && line[first] != '#';
}

FlowTable read_head(std::string_view line, const std::string& where) {
  FlowTable table;
  table.separator = separator_of(line);
  std::array<bool, columns> is_there{};
  for (const std::string& title : cells_of({line, where}, table.separator)) {
    std::optional<FlowColumn> column;
    if (title == "from") column = from;
    if (title == "to") column = to;
    if (title == "size_B") column = size;
    for (const StartUnit& unit : start_units)
      if (title == unit.title) {
        column = start;
        table.unit = unit.length;
      }
    if (!column)
      throw InputError(where, unknown_name("column", title, {"start_us", "from", "to", "size_B"}) +
                                  "; starts may also be in ns, ms or s");
    if (is_there[*column]) throw InputError(where, "the column " + title + " is there twice");
    is_there[*column] = true;
    table.places[*column] = table.count++;
  }
  constexpr std::array<const char*, columns> names = {"start_us", "from", "to", "size_B"};
  for (std::size_t c = 0; c < columns; ++c)
    if (!is_there[c])
      throw InputError(where, std::string("the column ") + names[c] + " is missing");
  return table;
}

PlainFlow read_row(const LogLine& line, const FlowTable& table, int workers,
                   DecimalCommas& commas) {
  const std::string& where = line.where;
  std::vector<std::string> cells = cells_of(line, table.separator);
  if (table.separator != ',')
    for (std::string& cell : cells) {
      commas.see(cell, where);
      cell = with_decimal_point(std::move(cell));
    }
  if (cells.size() != table.count)
    throw InputError(where, "expected " + std::to_string(table.count) + " fields, got " +
                                std::to_string(cells.size()));
  PlainFlow flow;
  flow.start = Time() + time_in(cells[table.places[start]], table.unit, "a start", where);
  flow.from =
      static_cast<int>(whole_in(cells[table.places[from]], "a worker", 0, workers - 1, where));
  flow.to = static_cast<int>(whole_in(cells[table.places[to]], "a worker", 0, workers - 1, where));
  flow.size = Bytes(whole_in(cells[table.places[size]], "a size in bytes", 1,
                             std::numeric_limits<int64_t>::max() / 1024, where));
  if (flow.from == flow.to)
    throw InputError(where, "worker " + std::to_string(flow.to) + " would send to itself");
  return flow;
}

}  // namespace

bool is_flows_csv(std::string_view text) {
  constexpr std::size_t beginning_B = 1 << 16;
  try {
    const std::string plain = plain_table(text.substr(0, beginning_B), "");
    LineReader lines(plain);
    std::string_view line;
    while (lines.next(line))
      if (has_cells(line)) return read_head(line, "").count > 0;
  } catch (const InputError&) {
    return false;  // another table, or none
  }
  return false;
}

std::vector<PlainFlow> parse_flows_csv(const std::string& text, const std::string& file,
                                       int workers) {
  std::vector<PlainFlow> flows;
  std::optional<FlowTable> table;
  DecimalCommas commas;
  const std::string plain = plain_table(text, file);
  LineReader lines(plain);
  std::string_view line;
  for (int64_t number = 1; lines.next(line); ++number) {
    if (!has_cells(line)) continue;
    const std::string where = file + ": line " + std::to_string(number);
    if (!table) {
      table = read_head(line, where);
      continue;
    }
    if (flows.size() == most_flows)
      throw InputError(where, "more than " + std::to_string(most_flows) + " flows");
    flows.push_back(read_row({line, where}, *table, workers, commas));
  }
  commas.check();
  if (flows.empty()) throw InputError(file, "no flows");
  sort_by_start(flows);
  return flows;
}

}  // namespace sgdsim
