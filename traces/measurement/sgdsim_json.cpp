// Our own measurement files: what sgdsim-calibrate and `sgdsim import` write. Read strictly, as
// every file of ours.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

constexpr double most_flop = 1e24;
constexpr int64_t most_nccl_channels = 1024;

std::string text_or_nothing(Object& fields, const std::string& name) {
  const auto value = fields.find(name);
  return value ? value->text() : "";
}

void check_numbers(Object& fields, const std::string& name) {
  if (const auto list = fields.find(name))
    for (const Value& item : list->items()) item.number(0, longest_us);
}

MeasuredPoint read_point(const Value& value) {
  Object fields(value);
  MeasuredPoint point;
  point.size = Bytes(fields.at("size_B").whole(0, int64_t{1} << 62));
  const Value time = fields.at("time_us");
  const auto length = measured_time(time.number(0, longest_us));
  if (!length) time.fail("expected a time above 0");
  point.time = *length;
  check_numbers(fields, "samples_us");
  for (const char* name : {"outliers", "slow"})
    if (const auto places = fields.find(name))
      for (const Value& item : places->items()) item.whole(0, 1'000'000'000);
  if (const auto error = fields.find("relative_error")) point.error = error->number(0, 1e9);
  for (const char* name : {"visits", "interval_us", "clocks_MHz"}) check_numbers(fields, name);
  if (const auto spread = fields.find("spread")) spread->number(0, 1e9);
  if (const auto moved = fields.find("moved_B")) moved->whole(0, int64_t{1} << 62);
  if (const auto rounds = fields.find("rounds")) rounds->whole(1, 1'000'000'000);
  if (const auto verified = fields.find("verified")) verified->flag();
  if (const auto flop = fields.find("flop")) point.flop = flop->number(1, most_flop);
  fields.done();
  return point;
}

// Of attention the pass must be known, and the FLOP, which do not follow from a size.
void check_attention(const Value& value, const Series& series) {
  if (series.operation != "attention") return;
  if (series.algorithm != "forward" && series.algorithm != "backward")
    value.fail("expected attention with the algorithm \"forward\" or \"backward\"");
  for (const MeasuredPoint& point : series.points)
    if (point.flop <= 0) value.fail("expected \"flop\" in every point of attention");
}

// What is missing of it, only whoever asked knows what to make of.
void check_asked(const Value& value) {
  Object fields(value);
  fields.at("operation").text();
  for (const char* name : {"algorithm", "type", "note"}) text_or_nothing(fields, name);
  fields.at("ranks").whole(1, most_measured_ranks);
  if (const auto block = fields.find("block_B")) block->whole(1, INT64_MAX);
  for (const Value& size : fields.at("sizes_B").items()) size.whole(0, int64_t{1} << 62);
  fields.done();
}

void check_state(const Value& value) {
  Object fields(value);
  for (const char* name : {"when", "device", "driver"}) text_or_nothing(fields, name);
  for (const char* name : {"temperature_C", "power_W", "power_limit_W", "clock_MHz",
                           "memory_clock_MHz", "ecc_errors", "processes"})
    if (const auto number = fields.find(name)) number->number(-1e18, 1e18);
  for (const char* name : {"ecc", "mig"})
    if (const auto flag = fields.find(name)) flag->flag();
  if (const auto reasons = fields.find("slowed_by"))
    for (const Value& reason : reasons->items()) reason.text();
  fields.done();
}

NcclSetting read_nccl(const Value& value) {
  Object fields(value);
  NcclSetting nccl{text_or_nothing(fields, "algorithm"), text_or_nothing(fields, "protocol")};
  if (const auto channels = fields.find("channels"))
    nccl.channels = static_cast<int>(channels->whole(1, most_nccl_channels));
  if (const auto in_graph = fields.find("in_graph")) nccl.in_graph = in_graph->flag();
  fields.done();
  return nccl;
}

Json to_json(const NcclSetting& nccl) {
  Json json = Json::object();
  if (!nccl.algorithm.empty()) json["algorithm"] = nccl.algorithm;
  if (!nccl.protocol.empty()) json["protocol"] = nccl.protocol;
  if (nccl.channels > 0) json["channels"] = nccl.channels;
  if (nccl.in_graph) json["in_graph"] = true;
  return json;
}

Series read_series(const Value& value) {
  Object fields(value);
  Series series;
  const Value operation = fields.at("operation");
  series.operation = operation.text();
  const auto& known = measured_operations();
  if (std::find(known.begin(), known.end(), series.operation) == known.end())
    operation.fail(unknown_name("operation", series.operation, known));
  series.algorithm = text_or_nothing(fields, "algorithm");
  series.type = text_or_nothing(fields, "type");
  if (const auto in_place = fields.find("in_place")) series.in_place = in_place->flag();
  series.ranks = static_cast<int>(fields.at("ranks").whole(1, most_measured_ranks));
  if (const auto block = fields.find("block_B")) series.block = Bytes(block->whole(1, INT64_MAX));
  series.group = text_or_nothing(fields, "group");
  series.placement = text_or_nothing(fields, "placement");
  if (const auto processes = fields.find("processes")) processes->whole(1, most_measured_ranks);
  if (const auto nodes = fields.find("nodes"))
    series.nodes = static_cast<int>(nodes->whole(1, most_measured_ranks));
  series.note = text_or_nothing(fields, "note");
  if (const auto nccl = fields.find("nccl")) series.nccl = read_nccl(*nccl);
  for (const Value& item : fields.at("points").items()) series.points.push_back(read_point(item));
  fields.done();
  check_attention(value, series);
  return series;
}

Json to_json(const Series& series) {
  Json json = {{"operation", series.operation}};
  if (!series.algorithm.empty()) json["algorithm"] = series.algorithm;
  if (!series.type.empty()) json["type"] = series.type;
  if (series.in_place) json["in_place"] = true;
  json["ranks"] = series.ranks;
  if (series.block) json["block_B"] = series.block->count();
  if (!series.group.empty()) json["group"] = series.group;
  if (!series.placement.empty()) json["placement"] = series.placement;
  if (!series.note.empty()) json["note"] = series.note;
  if (const Json nccl = to_json(series.nccl); !nccl.empty()) json["nccl"] = nccl;
  json["points"] = Json::array();
  for (const MeasuredPoint& point : series.points) {
    json["points"].push_back({{"size_B", point.size.count()}, {"time_us", point.time.us()}});
    if (point.flop > 0) json["points"].back()["flop"] = point.flop;
    if (point.error > 0) json["points"].back()["relative_error"] = point.error;
  }
  return json;
}

}  // namespace

std::string to_text(const Measurement& measurement) {
  Json json = {{"schema", measurement_schema}, {"name", measurement.name}};
  if (!measurement.source.empty()) json["source"] = measurement.source;
  if (!measurement.device.empty()) json["device"] = measurement.device;
  if (!measurement.notes.empty()) json["notes"] = measurement.notes;
  json["series"] = Json::array();
  for (const Series& series : measurement.series)
    if (series.ranks > 0) json["series"].push_back(to_json(series));
  // Names of files may hold bytes that are not UTF-8; they become U+FFFD.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_sgdsim_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"sgdsim/") != std::string_view::npos;
}

Measurement sgdsim_json(const MeasuredText& text) {
  const Document document = Document::parse(text.text, text.file);
  Object fields(document.root());
  const Value schema = fields.at("schema");
  if (schema.text() != measurement_schema)
    schema.fail("expected \"" + std::string(measurement_schema) + "\", got \"" + schema.text() +
                "\"");
  Measurement measurement;
  measurement.name = text_or_nothing(fields, "name");
  measurement.source = text_or_nothing(fields, "source");
  measurement.device = text_or_nothing(fields, "device");
  for (const char* name : {"backend", "driver", "compiler", "commit", "date", "clocks"})
    text_or_nothing(fields, name);
  if (const auto complete = fields.find("complete"))
    if (!complete->flag())
      measurement.notes.emplace_back(
          "the measurement ended before every median had reached the requested confidence");
  if (const auto notes = fields.find("notes"))
    for (const Value& item : notes->items()) item.text();
  for (const char* name : {"highest_clock_MHz", "memory_GBps"})
    if (const auto number = fields.find(name)) number->number(0, 1e9);
  if (const auto states = fields.find("states"))
    for (const Value& item : states->items()) check_state(item);
  if (const auto asked = fields.find("asked"))
    for (const Value& item : asked->items()) check_asked(item);
  for (const Value& item : fields.at("series").items())
    measurement.series.push_back(read_series(item));
  fields.done();
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
