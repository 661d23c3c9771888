// A table of layers that people write by hand or export from a notebook. The first line names the
// columns, in any order: name, params and bwd_us are required; index, bytes, fwd_us, compress_us
// and ready_us are not. Times may be in ns, us, ms or s, as the end of the column's name says.
//
// Without an index the rows are in forward order; index 1 is next to the input. Without bytes a
// parameter has 4. Forward times may be empty in all rows. Columns are separated by commas,
// semicolons or tabs, and a cell in double quotes may hold any of them. compress_us is checked and
// left out: how long a gradient takes to compress belongs to the strategy, not to the trace.
#include <algorithm>
#include <array>
#include <map>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/letters.h"
#include "sim/core/quantity.h"
#include "traces/complete.h"
#include "traces/measurement/words.h"
#include "traces/registry.h"
#include "traces/spreadsheet.h"

namespace sgdsim {
namespace {

enum class Meaning { index, name, params, bytes, tensors, forward, backward, compress, ready };

struct Name {
  std::string_view text;
  Meaning field = Meaning::name;
};
constexpr std::array<Name, 13> known_names{{{"index", Meaning::index},
                                            {"name", Meaning::name},
                                            {"layer", Meaning::name},
                                            {"params", Meaning::params},
                                            {"parameters", Meaning::params},
                                            {"bytes", Meaning::bytes},
                                            {"tensors", Meaning::tensors},
                                            {"fwd", Meaning::forward},
                                            {"forward", Meaning::forward},
                                            {"bwd", Meaning::backward},
                                            {"backward", Meaning::backward},
                                            {"compress", Meaning::compress},
                                            {"ready", Meaning::ready}}};

struct Unit {
  std::string_view ending;
  Duration length;
};
constexpr std::array<Unit, 4> units{{{"_ns", Duration::ns(1)},
                                     {"_us", Duration::us(1)},
                                     {"_ms", Duration::ms(1)},
                                     {"_s", Duration::s(1)}}};

struct Column {
  std::string title;  // as the file writes it
  std::size_t place = 0;
  Duration unit = Duration::us(1);
  bool states_unit = false;
};

struct Header {
  std::map<Meaning, Column> columns;
  std::size_t count = 0;
  char separator = ',';
  const Column* find(Meaning field) const {
    const auto found = columns.find(field);
    return found == columns.end() ? nullptr : &found->second;
  }
};

bool is_time(Meaning field) { return field >= Meaning::forward; }

void add_column(Header& header, const std::string& title, const LogLine& line) {
  Column column{.title = title, .place = header.count++};
  std::string name = in_lower_case(title);
  for (const Unit& unit : units)
    if (name.ends_with(unit.ending) && !column.states_unit) {
      column.unit = unit.length;
      column.states_unit = true;
      name.resize(name.size() - unit.ending.size());
    }
  const auto* const found =
      std::find_if(known_names.begin(), known_names.end(), [&](const Name& known) {
        return known.text == name && (is_time(known.field) || !column.states_unit);
      });
  if (found == known_names.end())
    throw InputError(line.where, unknown_name("column", title,
                                              {"index", "name", "params", "bytes", "tensors",
                                               "fwd_us", "bwd_us", "compress_us", "ready_us"}) +
                                     "; times may also end in _ns, _ms or _s");
  const auto [place, is_new] = header.columns.emplace(found->field, column);
  if (!is_new)
    throw InputError(line.where, "the columns \"" + place->second.title + "\" and \"" + title +
                                     "\" say the same; keep one");
}

Header read_header(const LogLine& line) {
  Header header;
  header.separator = separator_of(line.text);
  const std::vector<std::string> titles = cells_of(line, header.separator);
  for (const std::string& title : titles)
    if (titles.size() > 1 || !title.empty()) add_column(header, title, line);
  for (const auto& [field, name] :
       {std::pair(Meaning::name, "name"), std::pair(Meaning::params, "params"),
        std::pair(Meaning::backward, "bwd_us")})
    if (header.find(field) == nullptr)
      throw InputError(line.where,
                       "expected a header with the columns name, params and bwd_us; \"" +
                           std::string(name) + "\" is missing");
  return header;
}

struct Row {
  Layer layer;
  bool has_forward = false;
  std::string where;  // empty: no row had this index yet
};

// One line of the table, asked for its cells by column.
struct Cells {
  const Header* header = nullptr;
  std::vector<std::string> texts;
  std::string where;

  const std::string& text(const Column& column) const { return texts[column.place]; }
  bool has(Meaning field) const {
    const Column* const column = header->find(field);
    return column != nullptr && !text(*column).empty();
  }
  int64_t whole(Meaning field, int64_t least, int64_t most) const {
    const Column& column = *header->find(field);
    return whole_in(text(column), column.title, least, most, where);
  }
  // A column without a unit may have one in its cells; a plain number is microseconds then.
  Duration time(Meaning field) const {
    const Column& column = *header->find(field);
    const std::string& cell = text(column);
    const bool has_unit = !column.states_unit && !cell.empty() && cell.back() == 's';
    return has_unit ? parse_duration(cell, where + ": " + column.title)
                    : time_in(cell, column.unit, column.title, where);
  }
};

// Parameters per tensor with blanks between them; an empty cell is one tensor.
std::vector<int64_t> read_tensors(const Cells& cells, int64_t parameters) {
  const Column* const column = cells.header->find(Meaning::tensors);
  if (column == nullptr) return {};
  std::vector<std::string_view> words;
  split_words(cells.text(*column), words);
  std::vector<int64_t> tensors;
  int64_t sum = 0;
  for (const std::string_view word : words) {
    tensors.push_back(whole_in(word, "a tensor's parameters", 0, parameters, cells.where));
    sum += tensors.back();
    if (sum > parameters) break;
  }
  if (!tensors.empty() && sum != parameters)
    throw InputError(cells.where, "expected tensors that add up to the " +
                                      std::to_string(parameters) + " parameters of the layer");
  return tensors;
}

Row read_row(const Cells& cells) {
  Row row;
  row.where = cells.where;
  row.layer.name = cells.text(*cells.header->find(Meaning::name));
  row.layer.parameters = cells.whole(Meaning::params, 0, most_parameters);
  row.layer.gradient = cells.header->find(Meaning::bytes) != nullptr
                           ? Bytes(cells.whole(Meaning::bytes, 0, 16 * most_parameters))
                           : Bytes(usual_bytes_per_parameter * row.layer.parameters);
  row.layer.tensors = read_tensors(cells, row.layer.parameters);
  row.has_forward = cells.has(Meaning::forward);
  if (row.has_forward) row.layer.forward = cells.time(Meaning::forward);
  row.layer.backward = cells.time(Meaning::backward);
  if (cells.header->find(Meaning::compress) != nullptr) cells.time(Meaning::compress);
  if (cells.header->find(Meaning::ready) != nullptr) row.layer.ready = cells.time(Meaning::ready);
  return row;
}

std::vector<Row> read_rows(const std::vector<LogLine>& lines, const Header& header) {
  const auto filled = std::count_if(lines.begin(), lines.end(),
                                    [](const LogLine& line) { return !line.text.empty(); });
  std::vector<Row> rows(static_cast<std::size_t>(filled - 1));
  int64_t next = 1;
  DecimalCommas commas;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].text.empty()) continue;
    Cells cells{&header, cells_of(lines[i], header.separator), lines[i].where};
    if (header.separator != ',')
      for (std::size_t place = 0; place < cells.texts.size(); ++place)
        if (place != header.find(Meaning::name)->place) {
          commas.see(cells.texts[place], cells.where);
          cells.texts[place] = with_decimal_point(std::move(cells.texts[place]));
        }
    if (cells.texts.size() != header.count)
      throw InputError(cells.where, "expected " + std::to_string(header.count) + " fields, got " +
                                        std::to_string(cells.texts.size()));
    const int64_t index = header.find(Meaning::index) != nullptr
                              ? cells.whole(Meaning::index, 1, static_cast<int64_t>(rows.size()))
                              : next++;
    Row& row = rows[static_cast<std::size_t>(index - 1)];
    if (!row.where.empty())
      throw InputError(cells.where, "the index " + std::to_string(index) + " occurs twice");
    row = read_row(cells);
  }
  commas.check();
  return rows;
}

// Whether the rows have forward times; all or none must.
bool have_forward(const std::vector<Row>& rows, const Header& header) {
  for (const Row& row : rows)
    if (row.has_forward != rows.front().has_forward)
      throw InputError(row.where, header.find(Meaning::forward)->title + " is " +
                                      (row.has_forward ? "given" : "empty") +
                                      " here and not in the first layer; all have it or none");
  return !rows.empty() && rows.front().has_forward;
}

// The header is the first line that is not blank.
std::vector<LogLine> table_of(const LogText& log) {
  std::vector<LogLine> lines = lines_of(log);
  lines.erase(lines.begin(), std::find_if(lines.begin(), lines.end(),
                                          [](const LogLine& line) { return !line.text.empty(); }));
  if (lines.empty()) lines.push_back({"", log.file + ": line 1"});
  return lines;
}

void add_notes(const Header& header, Trace& trace) {
  if (header.find(Meaning::compress) != nullptr)
    trace.notes.push_back("compress_us was left out: the time to compress belongs to the strategy");
  for (const auto& [field, column] : header.columns)
    if (is_time(field) && !column.states_unit)
      trace.notes.push_back("the column \"" + column.title +
                            "\" states no unit; its plain numbers are taken as microseconds");
}

}  // namespace

// A header with the names of layers and their parameters, whatever else it has.
bool is_layers_csv(std::string_view all) {
  if (is_workbook(all)) return true;  // to be refused by a sentence that helps
  constexpr std::size_t longest_header = 4096;
  std::string plain;
  try {
    plain = plain_table(all.substr(0, std::min(all.size(), 4 * longest_header)), "");
  } catch (const InputError&) {
    return false;
  }
  std::string_view text = plain;
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  std::string header =
      in_lower_case(std::string(text.substr(0, std::min(text.find('\n'), longest_header))));
  std::replace_if(
      header.begin(), header.end(),
      [](char letter) { return letter == ';' || letter == '\t' || letter == ','; }, ' ');
  std::erase_if(header, [](char letter) { return letter == '"' || letter == '\r'; });
  std::vector<std::string_view> words;
  split_words(header, words);
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return (has("name") || has("layer")) && (has("params") || has("parameters"));
}

Trace layers_csv(const LogText& given) {
  LogText log = given;
  log.text = plain_table(given.text, given.file);
  const std::vector<LogLine> lines = table_of(log);
  const Header header = read_header(lines[0]);
  const std::vector<Row> rows = read_rows(lines, header);
  const bool has_forward = have_forward(rows, header);
  if (has_forward && log.forward)
    throw InputError(log.file, "the table has forward times; a total is one too many");
  Trace trace = trace_from(log, "layers-csv");
  trace.has_ready = header.find(Meaning::ready) != nullptr;
  add_notes(header, trace);
  for (const Row& row : rows) trace.layers.push_back(row.layer);
  if (has_forward)
    complete(trace, Forward::per_layer, {},
             {log.file, [&](std::size_t i) { return rows[i].where; }});
  else
    complete(trace, log);
  return trace;
}

}  // namespace sgdsim
