// The timeline is read back: slices of one track must nest, every message needs an arrow from its
// gradient, and the iteration and the exposed communication come out of the slices again.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <set>

#include "sim/core/json.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

struct Track {
  std::vector<std::pair<double, double>> slices;  // start and end, us
};

// Disjoint slices also nest; ours never lie within each other.
bool is_disjoint(Track track) {
  std::sort(track.slices.begin(), track.slices.end());
  for (std::size_t i = 1; i < track.slices.size(); ++i)
    if (track.slices[i].first < track.slices[i - 1].second - 1e-6) return false;
  return true;
}

void check_timeline(const std::string& fidelity, const std::vector<std::string>& settings) {
  const Temporary file(Temporary::Kind::file);
  std::vector<std::string> arguments = {"run",
                                        "app/experiments/googlenet_k80.json",
                                        "--fidelity",
                                        fidelity,
                                        "--timeline",
                                        file.name(),
                                        "--timeline-workers",
                                        "0,3",
                                        "--format",
                                        "json",
                                        "--set",
                                        "cluster.nodes=4"};
  for (const std::string& setting : settings) {
    arguments.emplace_back("--set");
    arguments.push_back(setting);
  }
  const Ran ran = run_sgdsim(arguments);
  REQUIRE(ran.exit_code == 0);
  const Json result = Json::parse(ran.out);
  const Document document = Document::read(file.name());
  std::map<std::pair<int, int>, Track> tracks;
  double compute_us = 0, first_us = 1e300, last_us = 0;  // of worker 0
  std::set<int> starts, ends;
  std::size_t messages = 0;
  for (const Json& event : document.root().json()["traceEvents"]) {
    if (event["ph"] == "s") starts.insert(event["id"].get<int>());
    if (event["ph"] == "f") ends.insert(event["id"].get<int>());
    if (event["ph"] != "X") continue;
    const double start = event["ts"].get<double>();
    const double end = start + event["dur"].get<double>();
    const int worker = event["pid"].get<int>();
    const int thread = event["tid"].get<int>();
    tracks[{worker, thread}].slices.emplace_back(start, end);
    if (event["cat"] == "comm") ++messages;
    if (worker != 0) continue;
    first_us = std::min(first_us, start);
    last_us = std::max(last_us, end);
    if (thread == 1) compute_us += end - start;
  }
  CHECK(tracks.size() >= 4);  // two workers, compute and a channel each
  for (const auto& [place, track] : tracks) CHECK(is_disjoint(track));
  CHECK(starts == ends);
  CHECK(starts.size() == messages);
  // Alike workers: every iteration takes as long as the recorded one. Six decimals are written.
  const Json& metrics = result["metrics"];
  CHECK(std::abs(last_us - first_us - metrics["iteration_us"]["mean"].get<double>()) < 1e-3);
  CHECK(std::abs(last_us - first_us - compute_us - metrics["comm_exposed_us"].get<double>()) <
        1e-3);
}

}  // namespace

TEST_CASE("timeline: nesting, arrows, and the same iteration as the result") {
  for (const std::string fidelity : {"closed_form", "message"}) {
    CAPTURE(fidelity);
    for (const std::string strategy :
         {"wfbp", "mg_wfbp", "sync_easgd", "ddp", "horovod", "bsp_lp"}) {
      CAPTURE(strategy);
      check_timeline(fidelity, {"strategy=" + strategy});
    }
    check_timeline(fidelity, {"strategy=wfbp", "channels=3"});
    check_timeline(fidelity, {R"(strategy={"name":"bsp_lp","form":"lockstep"})"});
    check_timeline(fidelity, {"strategy=wfbp", "interference=1.3"});
  }
}
