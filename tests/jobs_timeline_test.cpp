// What every job of a file did when, whatever it is.
#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim::jobs_timeline {
namespace {

// Process by its name, what was done, from when and for how long, in microseconds.
using Done = std::tuple<std::string, std::string, double, double>;

std::vector<Done> slices_in(const std::string& file, const std::string& prefix) {
  const Json json = Json::parse(read_text(file));
  std::map<int, std::string> processes;
  std::vector<Done> all;
  for (const Json& event : json["traceEvents"])
    if (event["ph"] == "M" && event["name"] == "process_name")
      processes[event["pid"]] = event["args"]["name"];
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const std::string& process = processes[event["pid"]];
    if (process.rfind(prefix, 0) != 0) continue;
    all.emplace_back(process.substr(prefix.size()), event["name"], event["ts"], event["dur"]);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

// The ring of four ranks by itself, and behind a start of 5 ms beside a training and a layout.
TEST_CASE(
    "jobs, timeline: a schedule does what replay shows, a layout and a collective are there") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string replayed = folder.name() + "/replayed.json";
  REQUIRE(run_sgdsim({"replay", "app/schedules/ring_4.goal", "-c", "10gbe_16", "--fidelity", "flow",
                      "--timeline", replayed})
              .exit_code == 0);
  const std::vector<Done> alone = slices_in(replayed, "");
  REQUIRE(!alone.empty());
  const Temporary file(Temporary::Kind::file, R"({"schema": "sgdsim/jobs/1", "cluster": "10gbe_16",
    "jobs": [
      {"name": "layout", "layout": {"model": "llama3.1_8b", "layout": "pp2 dp2 ga2 zero1",
       "memory": "300 GB", "sequence": 1024}, "placement": [8, 9, 10, 11]},
      {"name": "ring", "schedule": ")" SGDSIM_SOURCE_DIR R"(/app/schedules/ring_4.goal",
       "placement": [0, 1, 2, 3], "start": "5 ms"},
      {"name": "sums", "collective": {"algorithm": "lp", "bytes": "1 MB"},
       "placement": [4, 5, 6, 7], "iterations": 3}]})");
  const std::string shown = folder.name() + "/jobs.json";
  const Ran ran = run_sgdsim({"jobs", file.name(), "--timeline", shown});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  const std::vector<Done> ring = slices_in(shown, "ring: ");
  REQUIRE(ring.size() == alone.size());
  for (std::size_t i = 0; i < ring.size(); ++i) {
    CHECK(std::get<0>(ring[i]) == std::get<0>(alone[i]));
    CHECK(std::get<1>(ring[i]) == std::get<1>(alone[i]));
    CHECK(std::get<2>(ring[i]) == doctest::Approx(std::get<2>(alone[i]) + 5000));
    CHECK(std::get<3>(ring[i]) == doctest::Approx(std::get<3>(alone[i])));
  }
  // Three collectives on each of four ranks, none before the one before it has ended.
  const std::vector<Done> sums = slices_in(shown, "sums: ");
  CHECK(sums.size() == 12);
  for (std::size_t i = 1; i < sums.size(); ++i)
    if (std::get<0>(sums[i]) == std::get<0>(sums[i - 1]))
      CHECK(std::get<2>(sums[i]) >= std::get<2>(sums[i - 1]) + std::get<3>(sums[i - 1]) - 1e-6);
  CHECK(!slices_in(shown, "layout: rank 3").empty());
}

}  // namespace sgdsim::jobs_timeline
