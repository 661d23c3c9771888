// The timeline is read back: slices of one track must nest, every message needs an arrow from its
// gradient, and the iteration and the exposed communication come out of the slices again.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/json.h"
#include "study/step/timeline_json.h"
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

// The lines of the file are 1, 1, 2 (with its arrow), 2 and 1.
TEST_CASE("timeline: what is beyond the most that is shown is left out, which is said") {
  Timeline timeline;
  const auto add = [&](Activity activity, int64_t start_us, int64_t end_us) {
    Slice slice;
    slice.activity = activity;
    slice.start = Time() + Duration::us(start_us);
    slice.end = Time() + Duration::us(end_us);
    timeline.add(slice);
  };
  add(Activity::update, 40, 50);
  add(Activity::forward, 0, 10);
  add(Activity::message, 18, 40);
  add(Activity::backward, 10, 20);
  add(Activity::message, 15, 30);
  CHECK(keep_shown(timeline, 7).empty());
  CHECK(timeline.slices.size() == 5);
  const std::string said = keep_shown(timeline, 5);
  CHECK(
      said.starts_with("the timeline has 5 slices, more than are shown (5 with the arrows of "
                       "messages): it has the 3 that begin before 18"));
  REQUIRE(timeline.slices.size() == 3);
  for (const Slice& slice : timeline.slices) CHECK(slice.start < Time() + Duration::us(18));
}

// Waits from 0 to 30, 10 to 60 and 20 to 25, and a message from 30 to 40.
TEST_CASE("timeline: waiting is shown where nothing else is on its lane") {
  Timeline timeline;
  const auto add = [&](Activity activity, int worker, int64_t start_us, int64_t end_us) {
    Slice slice;
    slice.worker = worker;
    slice.activity = activity;
    slice.start = Time() + Duration::us(start_us);
    slice.end = Time() + Duration::us(end_us);
    timeline.add(slice);
  };
  add(Activity::waiting, 0, 0, 30);
  add(Activity::waiting, 0, 10, 60);
  add(Activity::waiting, 0, 20, 25);
  add(Activity::message, 0, 30, 40);
  add(Activity::waiting, 1, 5, 20);
  clip_waiting(timeline);
  std::set<std::tuple<int, int64_t, int64_t>> waits;
  for (const Slice& slice : timeline.slices)
    if (slice.activity == Activity::waiting)
      waits.insert({slice.worker, (slice.start - Time()).ps() / 1'000'000,
                    (slice.end - Time()).ps() / 1'000'000});
  CHECK(waits == std::set<std::tuple<int, int64_t, int64_t>>{{0, 0, 30}, {0, 40, 60}, {1, 5, 20}});
  CHECK(timeline.slices.size() == 4);
}

// With a slow worker buckets wait for it while others of theirs are under way.
TEST_CASE("timeline: lanes of horovod beside a slow worker hold one thing at a time") {
  const Temporary file(Temporary::Kind::file);
  const Ran ran =
      run_sgdsim({"run", "googlenet_k80", "-c", "10gbe_16", "--set", "cluster.nodes=4", "--set",
                  "strategy=horovod", "--set", R"(workers={"slow":[{"worker":1,"factor":1.5}]})",
                  "--fidelity", "packet", "--timeline", file.name(), "--timeline-workers", "0-3"});
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  std::map<std::pair<int, int>, Track> tracks;
  bool waits = false;
  const Document document = Document::read(file.name());
  for (const Json& event : document.root().json()["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double start = event["ts"].get<double>();
    tracks[{event["pid"].get<int>(), event["tid"].get<int>()}].slices.emplace_back(
        start, start + event["dur"].get<double>());
    waits = waits || event["cat"] == "wait";
  }
  CHECK(waits);
  CHECK(tracks.size() == 8);  // four workers, computing and a channel each
  for (const auto& [place, track] : tracks) CHECK(is_disjoint(track));
}

// GPU 13 of tp4 dp4 pp2 is in the last of four replicas, of which the three others are alike.
TEST_CASE("timeline: replicas of a layout with a slow GPU are kinds, and each of them updates") {
  const Temporary file(Temporary::Kind::file);
  const Ran ran = run_sgdsim({"layout", "Llama-3 8B", "-c", "dgx_h100_4", "--layout",
                              "tp4 pp2 dp4 ga4 zero1 sp", "--workers",
                              R"({"slow": [{"worker": 13, "factor": 1.3}]})", "--fidelity",
                              "message", "--timeline", file.name()});
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  std::set<std::string> names;
  std::map<int, int> updates, reductions;
  const Document document = Document::read(file.name());
  for (const Json& event : document.root().json()["traceEvents"]) {
    if (event["name"] == "process_name") names.insert(event["args"]["name"].get<std::string>());
    if (event["name"] == "optimizer") ++updates[event["pid"].get<int>()];
    if (event["name"] == "reduce gradients") ++reductions[event["pid"].get<int>()];
  }
  CHECK(names == std::set<std::string>{
                     "rank 0, replica 0 of 2 unlike ones", "rank 0, replica 1 of 2 unlike ones",
                     "rank 1, replica 0 of 2 unlike ones", "rank 1, replica 1 of 2 unlike ones"});
  CHECK(updates == std::map<int, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}});
  CHECK(reductions.size() == 4);
  const Ran diagnosed = run_sgdsim({"diagnose", file.name()});
  CHECK_MESSAGE(diagnosed.exit_code == 0, diagnosed.log);
}

TEST_CASE("timeline: it is not mixed with an answer on standard output") {
  const std::vector<std::string> run = {"run", "googlenet_k80", "-c", "10gbe_16"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return call_sgdsim(words);
  };
  const std::string refusal =
      "sgdsim: --timeline: - is standard output, which has the answer; name a file, as --timeline "
      "timeline.json";
  for (const auto& [words, instead] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {run, ", or add --format json --out FILE"},
           {{"jobs", "app/job_files/two_jobs.json"}, ""},
           {{"replay", "app/schedules/ring_4.goal", "--L", "2000", "--G", "1"}, ""},
           {{"layout", "Llama-3 8B", "-c", "dgx_h100_4", "--layout", "tp8", "--fidelity",
             "message"},
            ""},
           {{"collective", "-a", "ring", "-p", "2", "-n", "4B", "--alpha", "0us", "--beta",
             "1 us/B"},
            ", or add --out FILE"}}) {
    const std::string command = words.front();
    CAPTURE(command);
    const Ran ran = with(words, {"--timeline", "-"});
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log == refusal + instead + "\n");
  }
  const Temporary answer(Temporary::Kind::file);
  for (const char* format : {"json", "table"}) {
    const Ran both =
        with(run, {"--timeline", "-", "--format", format, "--out", answer.name(), "--force"});
    CHECK(both.exit_code == (format == std::string("json") ? 0 : 2));
    CHECK(Json::accept(both.out) == (both.exit_code == 0));
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
