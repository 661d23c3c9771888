// What nccl-tests writes with -J FILE: one object with the configuration and all rows.
//
// Read leniently, as a log is: other fields do not matter, numbers may be text, and a row without
// a usable time, or with wrong results, is dropped and counted. With -C 1 the time is called
// cpu_time.
#include <algorithm>
#include <cmath>
#include <set>

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

// Not checked is null.
bool has_wrong_side(const Json& row) {
  const auto fails = [&](const char* name) {
    return row.contains(name) && number_of(row[name], "nwrong").value_or(0) > 0;
  };
  return row.is_object() && (fails("out_of_place") || fails("in_place"));
}

bool has_cpu_time(const Json& row) {
  const auto has = [&](const char* name) {
    return row.contains(name) && number_of(row[name], "cpu_time") && !number_of(row[name], "time");
  };
  return row.is_object() && (has("out_of_place") || has("in_place"));
}

// What the whole run says of its results, as text or not.
bool is_out_of_bounds(const Json& root) {
  if (!root.contains("out_of_bounds") || !root["out_of_bounds"].is_object()) return false;
  const Json& bounds = root["out_of_bounds"];
  return bounds.contains("okay") && (bounds["okay"] == false || bounds["okay"] == "false");
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

// 1 where it is not stated.
double count_of(const Json& config, const char* name) {
  return std::max(1., number_of(config, name).value_or(1));
}

// The program lists one device for each process, the first of its threads and GPUs: ranks 0, 8, 16,
// ... of eight. A list that holds rank 1 names every rank. Groups are communicators of their own,
// and the rows are those of the first.
void read_devices(const Json& root, LogTable& table) {
  if (!root.contains("config") || !root["config"].is_object()) return;
  const Json& config = root["config"];
  if (!config.contains("devices") || !config["devices"].is_array()) return;
  const double each = count_of(config, "nthreads") * count_of(config, "ngpus");
  std::set<double> groups;
  double in_first = 0;
  bool names_all = false;
  const double first =
      config["devices"].empty() ? 0 : number_of(config["devices"].front(), "group").value_or(0);
  for (const Json& device : config["devices"]) {
    const double group = number_of(device, "group").value_or(0);
    groups.insert(group);
    if (group == first) ++in_first;
    if (number_of(device, "rank") == 1) names_all = true;
    table.device = text_of(device, "device_info");
  }
  const double ranks = in_first * (names_all ? 1 : each);
  if (ranks <= most_measured_ranks) table.listed_ranks = static_cast<int>(ranks);
  table.listed_groups = static_cast<int>(groups.size());
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
  DroppedLines dropped;
  DroppedLines wrong;
  DroppedLines coarse;
  for (const Value& item : results.items()) {
    const auto row = row_of(item.json());
    if (!row) {
      dropped.add(0);
    } else if (has_wrong_side(item.json())) {
      wrong.add(0);
    } else {
      table.rows.push_back(*row);
      table.has_cpu_time = table.has_cpu_time || has_cpu_time(item.json());
    }
  }
  constexpr double six_decimals_GBps = 5e-7;
  take_times_of_bandwidths(table, six_decimals_GBps, coarse);
  Measurement measurement;
  measurement.source = "nccl-tests JSON " + text.file;
  dropped.tell("no size or no time", measurement.notes);
  wrong.tell(wrong_results, measurement.notes);
  coarse.tell(coarse_bandwidth, measurement.notes);
  if (is_out_of_bounds(root) && !wrong.any())
    measurement.notes.emplace_back("out_of_bounds says that results are wrong, and no row does");
  if (!table.rows.empty()) add_tables(measurement, {table}, text);
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
