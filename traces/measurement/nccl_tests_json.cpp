// What nccl-tests writes with -J FILE: one object with the configuration and all rows.
//
// Read leniently, as a log is: other fields do not matter, numbers may be text, and a row without
// a usable time is dropped and counted. With -C 1 the time is called cpu_time.
#include <cmath>

#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "traces/json_members.h"
#include "traces/measurement/json_words.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

NcclSide side_of(const Json& row, const char* name) {
  if (!row.contains(name)) return {};
  const Json& json = row[name];
  const auto time = number_of(json, "time");
  return {(time ? time : number_of(json, "cpu_time")).value_or(0),
          number_of(json, "alg_bw").value_or(0), number_of(json, "bus_bw").value_or(0)};
}

std::optional<LogRow> row_of(const Json& json) {
  const auto size = number_of(json, "size");
  if (!size || *size < 0 || *size > 0x1p62 || *size != std::floor(*size)) return std::nullopt;
  LogRow row;
  row.size_B = static_cast<int64_t>(*size);
  row.type = text_of(json, "type");
  row.has_operator = !text_of(json, "redop").empty() && text_of(json, "redop") != "none";
  row.out_of_place = side_of(json, "out_of_place");
  row.in_place = side_of(json, "in_place");
  if (!measured_time(row.out_of_place.time_us) && !measured_time(row.in_place.time_us))
    return std::nullopt;
  return row;
}

void read_devices(const Json& root, LogTable& table) {
  if (!root.contains("config") || !root["config"].is_object()) return;
  const Json& config = root["config"];
  if (!config.contains("devices") || !config["devices"].is_array()) return;
  table.listed_ranks = static_cast<int>(config["devices"].size());
  for (const Json& device : config["devices"]) table.device = text_of(device, "device_info");
}

}  // namespace

bool is_nccl_tests_json(std::string_view text) {
  return first_of_json(text) == '{' && text.find("\"results\"") != std::string_view::npos;
}

Measurement nccl_tests_json(const MeasuredText& text) {
  const Json root = foreign_json(text.text, text.file);
  const Value results = Object(Value(root, text.file, "")).at("results");
  LogTable table;
  if (root.contains("args") && root["args"].is_array() && !root["args"].empty() &&
      root["args"][0].is_string())
    table.operation = nccl_operation_in(root["args"][0].get_ref<const std::string&>());
  read_devices(root, table);
  int64_t dropped = 0;
  for (const Value& item : results.items()) {
    if (auto row = row_of(item.json()))
      table.rows.push_back(*row);
    else
      ++dropped;
  }
  Measurement measurement;
  measurement.source = "nccl-tests JSON " + text.file;
  if (dropped > 0) measurement.notes.push_back(dropped_note(dropped, "no size or no time"));
  if (!table.rows.empty()) add_tables(measurement, {table}, text);
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
