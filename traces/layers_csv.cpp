// A table of layers that people write by hand or export from a notebook, with the header
//   index,name,params,bytes,fwd_us,bwd_us[,compress_us][,ready_us]
// index 1 is next to the input; rows may come in any order. fwd_us may be empty in all rows. There
// is no quoting, so names hold no commas. compress_us is checked and left out: how long a gradient
// takes to compress belongs to the strategy, not to the trace.
#include "sim/core/error.h"
#include "traces/complete.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

constexpr std::string_view columns = "index,name,params,bytes,fwd_us,bwd_us";
constexpr Duration microsecond = Duration::us(1);

struct Header {
  bool has_compress = false;
  bool has_ready = false;
  std::size_t fields() const { return 6U + (has_compress ? 1U : 0U) + (has_ready ? 1U : 0U); }
};

Header read_header(const LogLine& line) {
  for (const bool compress : {false, true})
    for (const bool ready : {false, true}) {
      std::string expected(columns);
      if (compress) expected += ",compress_us";
      if (ready) expected += ",ready_us";
      if (line.text == expected) return {compress, ready};
    }
  throw InputError(line.where, "expected the header \"" + std::string(columns) +
                                   "[,compress_us][,ready_us]\", got \"" +
                                   std::string(line.text.substr(0, 100)) + "\"");
}

struct Row {
  Layer layer;
  bool has_forward = false;
  std::string where;  // empty: no row had this index yet
};

Row read_row(const LogLine& line, const std::vector<std::string_view>& fields,
             const Header& header) {
  Row row;
  row.where = line.where;
  row.layer.name = std::string(fields[1]);
  row.layer.parameters = whole_in(fields[2], "params", 0, most_parameters, line.where);
  row.layer.gradient = Bytes(whole_in(fields[3], "bytes", 0, 16 * most_parameters, line.where));
  row.has_forward = !fields[4].empty();
  if (row.has_forward) row.layer.forward = time_in(fields[4], microsecond, "fwd_us", line.where);
  row.layer.backward = time_in(fields[5], microsecond, "bwd_us", line.where);
  if (header.has_compress) time_in(fields[6], microsecond, "compress_us", line.where);
  if (header.has_ready)
    row.layer.ready = time_in(fields.back(), microsecond, "ready_us", line.where);
  return row;
}

std::vector<Row> read_rows(const std::vector<LogLine>& lines, const Header& header) {
  std::vector<Row> rows;
  std::size_t count = 0;
  for (const LogLine& line : lines)
    if (!line.text.empty()) ++count;
  rows.resize(count - 1);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const LogLine& line = lines[i];
    if (line.text.empty()) continue;
    const auto fields = split(line.text);
    if (fields.size() != header.fields())
      throw InputError(line.where, "expected " + std::to_string(header.fields()) + " fields, got " +
                                       std::to_string(fields.size()));
    const auto index =
        whole_in(fields[0], "index", 1, static_cast<int64_t>(rows.size()), line.where);
    Row& row = rows[static_cast<std::size_t>(index - 1)];
    if (!row.where.empty())
      throw InputError(line.where, "the index " + std::to_string(index) + " occurs twice");
    row = read_row(line, fields, header);
  }
  return rows;
}

// Whether the rows have forward times; all or none must.
bool have_forward(const std::vector<Row>& rows) {
  for (const Row& row : rows)
    if (row.has_forward != rows.front().has_forward)
      throw InputError(row.where, "fwd_us is " + std::string(row.has_forward ? "given" : "empty") +
                                      " here and not in the first layer; all have it or none");
  return !rows.empty() && rows.front().has_forward;
}

}  // namespace

Trace layers_csv(const LogText& log) {
  const std::vector<LogLine> lines = lines_of(log);
  const Header header = read_header(lines.empty() ? LogLine{"", log.file + ": line 1"} : lines[0]);
  const std::vector<Row> rows = read_rows(lines, header);
  const bool has_forward = have_forward(rows);
  if (has_forward && log.forward)
    throw InputError(log.file, "the table has forward times; a total is one too many");
  Trace trace = trace_from(log, "layers-csv");
  trace.has_ready = header.has_ready;
  if (header.has_compress)
    trace.notes.push_back("compress_us was left out: the time to compress belongs to the strategy");
  for (const Row& row : rows) trace.layers.push_back(row.layer);
  if (has_forward)
    complete(trace, Forward::per_layer, {},
             {log.file, [&](std::size_t i) { return rows[i].where; }});
  else
    complete(trace, log);
  return trace;
}

}  // namespace sgdsim
