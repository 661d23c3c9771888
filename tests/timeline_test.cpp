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

// An exchange that takes longer than the computation beside it: everybody's channel is always busy,
// and the computation of an iteration begins when the exchange of the one before the last ends.
TEST_CASE("timeline: iterations that overlap") {
  for (const std::string fidelity : {"closed_form", "message"}) {
    CAPTURE(fidelity);
    const Temporary file(Temporary::Kind::file);
    const Ran ran = run_sgdsim({"run",
                                "app/experiments/googlenet_k80.json",
                                "--fidelity",
                                fidelity,
                                "--timeline",
                                file.name(),
                                "--timeline-iterations",
                                "4-7",
                                "--format",
                                "json",
                                "--set",
                                "cluster.nodes=4",
                                "--set",
                                "synchronization=pipe_sgd",
                                "--set",
                                "strategy=sync_easgd",
                                "--set",
                                "cluster.nic.bandwidth=0.3 Gb/s",
                                "--set",
                                "warm_up=4",
                                "--set",
                                "iterations=4"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    const Json metrics = Json::parse(ran.out)["metrics"];
    const double iteration_us = metrics["iteration_us"]["mean"].get<double>();
    Track compute;
    Track channel;
    std::map<int, double> begins;  // of the computation, per iteration
    std::map<int, double> ends;    // of the exchange
    const Document document = Document::read(file.name());
    for (const Json& event : document.root().json()["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const double start = event["ts"].get<double>();
      const double end = start + event["dur"].get<double>();
      const int iteration = event["args"]["iteration"].get<int>();
      const bool is_message = event["cat"] == "comm";
      (is_message ? channel : compute).slices.emplace_back(start, end);
      if (is_message)
        ends[iteration] = end;
      else
        begins[iteration] = std::min(begins.try_emplace(iteration, start).first->second, start);
    }
    CHECK(is_disjoint(compute));
    REQUIRE(channel.slices.size() == 4);
    for (std::size_t i = 1; i < 4; ++i)
      CHECK(std::abs(channel.slices[i].first - channel.slices[i - 1].second) < 1e-3);
    for (int i = 5; i <= 7; ++i) CHECK(std::abs(ends[i] - ends[i - 1] - iteration_us) < 1e-3);
    for (int i = 6; i <= 7; ++i) CHECK(std::abs(begins[i] - ends[i - 2]) < 1e-3);
  }
}

// 161 layers twice are 322 passes of a worker and iteration: 6,211 workers have 1,999,942 of them.
TEST_CASE("timeline: more than anybody can look at is refused before it is simulated") {
  const auto ran = [](const std::string& workers, const std::string& iterations) {
    std::vector<std::string> words = {"run",     "resnet50_v100",      "-c",         "10gbe_16",
                                      "--set",   "cluster.nodes=8000", "--timeline", "/dev/null",
                                      "--force", "--timeline-workers", workers};
    if (!iterations.empty()) words.insert(words.end(), {"--timeline-iterations", iterations});
    return run_sgdsim(words);
  };
  const Ran many = ran("0-6211", "");
  CHECK(many.exit_code == 2);
  CHECK(many.log.find("--timeline-workers: a timeline of 6212 workers and 1 iteration has more "
                      "than 2 million passes") != std::string::npos);
  CHECK(ran("0-3200", "1-2").exit_code == 2);
  CHECK(ran("0-99", "").exit_code == 0);
}
