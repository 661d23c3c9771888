// A series is a run of tasks of one curve.
#include "calibrate/record.h"

#include <cmath>

#include "calibrate/version.h"

namespace sgdsim::calibrate {
namespace {

// A sample at less than this part of the highest clock rate is marked.
constexpr double slow_clock = 0.75;

// What tells it from other series.
Json kind_of(const Task& task) {
  Json series = {{"operation", task.operation}};
  if (!task.algorithm.empty()) series["algorithm"] = task.algorithm;
  series["type"] = std::string(name_of(task.type));
  series["ranks"] = task.plan.ranks;
  if (task.block_B) series["block_B"] = *task.block_B;
  if (!task.note.empty()) series["note"] = task.note;
  return series;
}

Json series_of(const Backend& backend, const Task& task) {
  Json series = kind_of(task);
  series["placement"] = backend.placement(task.plan.ranks);
  if (const int processes = backend.processes(task.plan.ranks); processes > 0) {
    series["processes"] = processes;
    series["nodes"] = backend.nodes(task.plan.ranks);
  }
  if (task.algorithm == "nccl") {
    const LibrarySetting& setting = task.plan.setting;
    Json nccl = Json::object();
    if (!setting.algorithm.empty()) nccl["algorithm"] = setting.algorithm;
    if (!setting.protocol.empty()) nccl["protocol"] = setting.protocol;
    if (setting.channels > 0) nccl["channels"] = setting.channels;
    if (task.plan.in_graph) nccl["in_graph"] = true;
    if (!nccl.empty()) series["nccl"] = nccl;
  }
  series["points"] = Json::array();
  return series;
}

Json point_of(const Task& task, const Measured& measured, double highest_clock_MHz) {
  // Clocks have a nanosecond and no more.
  const double digits = task.repeats > 1 || measured.rounds > 1 ? 1e6 : 1e3;
  const auto rounded_us = [digits](double us) { return std::round(us * digits) / digits; };
  Json point = {{"size_B", task.bytes}, {"time_us", rounded_us(measured.time_us())}};
  for (const double sample : measured.samples_us) point["samples_us"].push_back(rounded_us(sample));
  for (const std::size_t outlier : outliers(measured.samples_us))
    point["outliers"].push_back(outlier);
  const std::vector<double> medians_us = measured.medians_us();
  point["visits"] = measured.visits;
  if (const auto interval = interval_of(medians_us)) {
    point["interval_us"] = {rounded_us(interval->low), rounded_us(interval->high)};
    point["relative_error"] = std::round(relative_error(medians_us) * 1e4) / 1e4;
    point["spread"] = std::round(spread(medians_us) * 1e4) / 1e4;
  }
  // Of all samples, or they are of none that a reader could name.
  const bool has_clocks = measured.clocks_MHz.size() == measured.samples_us.size();
  for (std::size_t i = 0; has_clocks && i < measured.clocks_MHz.size(); ++i) {
    point["clocks_MHz"].push_back(std::round(measured.clocks_MHz[i]));
    if (measured.clocks_MHz[i] < slow_clock * highest_clock_MHz) point["slow"].push_back(i);
  }
  if (const auto moved_B = task.plan.moved_B()) point["moved_B"] = *moved_B;
  if (measured.rounds > 1) point["rounds"] = measured.rounds;
  point["verified"] = measured.verified;
  return point;
}

Json json_of(const DeviceState& state, const char* when) {
  Json json = {{"when", when}, {"device", state.device}, {"driver", state.driver}};
  const auto add = [&json](const char* name, const auto& value) {
    if (value) json[name] = *value;
  };
  add("temperature_C", state.temperature_C);
  add("power_W", state.power_W);
  add("power_limit_W", state.power_limit_W);
  add("clock_MHz", state.clock_MHz);
  add("memory_clock_MHz", state.memory_clock_MHz);
  add("ecc", state.ecc);
  add("ecc_errors", state.ecc_errors);
  add("mig", state.mig);
  add("processes", state.processes);
  json["slowed_by"] = state.slowed_by;
  return json;
}

}  // namespace

Json asked_of(const std::vector<Task>& tasks) {
  Json asked = Json::array();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i == 0 || !is_same_series(tasks[i], tasks[i - 1])) {
      asked.push_back(kind_of(tasks[i]));
      asked.back()["sizes_B"] = Json::array();
    }
    asked.back()["sizes_B"].push_back(tasks[i].bytes);
  }
  return asked;
}

Json record_of(const Backend& backend, const Machine& machine, const std::vector<Task>& tasks,
               const Outcome& outcome, const Provenance& provenance) {
  Json notes = machine.notes;
  notes.push_back(provenance.cold ? "caches were flushed before every repetition"
                                  : "caches hold what the repetition before left there");
  for (const std::string& reason : provenance.left_out) notes.push_back(reason);
  for (const std::string& wrong : outcome.wrong) notes.push_back("not timed: " + wrong);
  if (!outcome.failure.empty()) notes.push_back("ended by a failure: " + outcome.failure);
  for (const std::string& note : outcome.notes) notes.push_back(note);
  for (const std::string& line : missing_of(tasks, outcome, false)) notes.push_back(line);
  Json json = {{"schema", "sgdsim/measurement/1"},
               {"name", provenance.name},
               {"source", "sgdsim-calibrate --backend " + machine.backend},
               {"backend", machine.backend},
               {"device", machine.device},
               {"driver", machine.driver},
               {"compiler", std::string(version_compiler)},
               {"commit", std::string(version_commit)},
               {"date", provenance.date},
               {"clocks", machine.clocks},
               {"complete", outcome.is_complete},
               {"notes", notes},
               {"asked", provenance.asked},
               {"series", Json::array()}};
  const double highest_clock_MHz = backend.highest_clock_MHz();
  if (highest_clock_MHz > 0) json["highest_clock_MHz"] = highest_clock_MHz;
  if (machine.memory_GBps > 0) json["memory_GBps"] = machine.memory_GBps;
  for (const DeviceState& state : provenance.before)
    json["states"].push_back(json_of(state, "before"));
  for (const DeviceState& state : provenance.after)
    json["states"].push_back(json_of(state, "after"));
  const Task* before = nullptr;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (outcome.points[i].samples_us.empty()) continue;
    Json& all = json["series"];
    if (before == nullptr || !is_same_series(tasks[i], *before))
      all.push_back(series_of(backend, tasks[i]));
    all.back()["points"].push_back(point_of(tasks[i], outcome.points[i], highest_clock_MHz));
    before = &tasks[i];
  }
  return json;
}

}  // namespace sgdsim::calibrate
