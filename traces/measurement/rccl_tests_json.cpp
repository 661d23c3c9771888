// What rccl-tests writes as JSON: one object a line, one line a side of a row.
//
//   {"name":"AllReduce","size":4,"type":"float","redop":"sum","inPlace":0,"time":9.1,
//    "algBw":0.0,"busBw":0.0,"#wrong":0,"gpus":8}
//
// Lines of other programs and lines that were cut off are dropped and counted.
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/measurement/json_words.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr std::string_view first_field = "\"busBw\"";

// A line as a series of one point; empty if it is no row.
std::optional<Series> series_of(const Json& json, const MeasuredText& text) {
  if (!json.is_object()) return std::nullopt;
  const auto size = number_of(json, "size");
  const auto time = number_of(json, "time");
  const auto gpus = number_of(json, "gpus");
  if (!size || !time || *size < 0 || *size > 0x1p62) return std::nullopt;
  Series series;
  series.operation = nccl_operation_in(text_of(json, "name"));
  if (series.operation.empty()) series.operation = text.operation;
  series.type = text_of(json, "type");
  series.in_place = number_of(json, "inPlace").value_or(0) != 0;
  if (gpus && *gpus >= 1 && *gpus <= most_measured_ranks) series.ranks = static_cast<int>(*gpus);
  if (series.ranks == 0) series.ranks = text.ranks.value_or(0);
  if (series.operation.empty()) return std::nullopt;
  if (series.ranks == 0)
    throw InputError(text.file,
                     "a line has no \"gpus\", so that the number of ranks is not known; "
                     "give --ranks");
  if (const auto length = measured_time(*time); length && *size > 0)
    series.points.push_back({Bytes(static_cast<int64_t>(*size)), *length});
  return series;
}

}  // namespace

bool is_rccl_tests_json(std::string_view text) {
  return text.find(first_field) != std::string_view::npos;
}

Measurement rccl_tests_json(const MeasuredText& text) {
  Measurement measurement;
  measurement.source = "rccl-tests JSON " + text.file;
  int64_t dropped = 0;
  LineReader lines(text.text);
  for (std::string_view line; lines.next(line);) {
    // What a launcher put before the object, and the comma of a list after it.
    const std::size_t from = line.find('{');
    const std::size_t to = line.rfind('}');
    if (from == std::string_view::npos) continue;
    const bool closed = to != std::string_view::npos && to > from;
    const Json json =
        closed ? Json::parse(line.substr(from, to - from + 1), nullptr, false) : Json();
    auto series = series_of(json, text);
    if (!series)
      ++dropped;
    else if (!measurement.series.empty() &&
             measurement.series.back().in_place == series->in_place &&
             measurement.series.back().operation == series->operation &&
             measurement.series.back().type == series->type &&
             measurement.series.back().ranks == series->ranks)
      measurement.series.back().points.insert(measurement.series.back().points.end(),
                                              series->points.begin(), series->points.end());
    else
      measurement.series.push_back(std::move(*series));
  }
  if (dropped > 0) measurement.notes.push_back(dropped_note(dropped, "no row of rccl-tests"));
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
