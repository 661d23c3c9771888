// Faults that were simulated, found again in the timelines: the step takes what the simulator said,
// and the slow worker comes first.
#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/json.h"
#include "study/diagnose/diagnose_answer.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

Json diagnosed(const Temporary& timeline) {
  const Ran ran = run_sgdsim({"diagnose", timeline.name(), "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

TEST_CASE("diagnose timelines: workers of run, by strategy") {
  for (const char* strategy : {"ddp", "wfbp", "naive", "horovod"})
    for (const bool is_slow : {false, true}) {
      CAPTURE(strategy);
      const Temporary timeline(Temporary::Kind::file);
      const std::string workers =
          is_slow ? R"(workers={"slow": [{"worker": 3, "factor": 1.3}]})" : "workers={}";
      const Ran ran = run_sgdsim({"run",
                                  "resnet50_v100",
                                  "-c",
                                  "cloud_v100_25gbe",
                                  "--set",
                                  "cluster.nodes=8",
                                  "--set",
                                  "cluster.network=paper",
                                  "--set",
                                  "iterations=2",
                                  "--set",
                                  workers,
                                  "--set",
                                  "strategy=" + std::string(strategy),
                                  "--timeline",
                                  timeline.name(),
                                  "--timeline-workers",
                                  "0-7",
                                  "--timeline-iterations",
                                  "2-3",
                                  "--format",
                                  "json"});
      REQUIRE(ran.exit_code == 0);
      const double iteration_us = Json::parse(ran.out)["metrics"]["iteration_us"]["mean"];
      const Json of = diagnosed(timeline);
      // Horovod looks for ready gradients in cycles of 5 ms: a delay of at most one for each of two
      // messages.
      const double least_s = std::string(strategy) == "horovod" ? iteration_us / 1e6 - 0.010
                                                                : iteration_us / 1e6 * (1 - 1e-6);
      CHECK(of["step_s"].get<double>() >= least_s);
      CHECK(of["step_s"].get<double>() <= iteration_us / 1e6 * (1 + 1e-6));
      // Where the network is the bottleneck, exchanges may come before the worker.
      bool is_found = false;
      for (const Json& part : of["parts"])
        if (part["part"] == "worker") {
          CHECK(part["replica"] == 3);
          is_found = true;
        }
      CHECK(is_found == is_slow);
    }
}

// Two channels, and pushes in flight to servers: exchanges lie beside each other, and a step that
// is played takes what it took.
TEST_CASE("diagnose timelines: exchanges beside each other are played so") {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--set", "channels=2", "--set", "collective=ring", "--set",
                                 "strategy=ddp", "--set", "strategy.bucket=1MB"},
        {"--set", "collective=parameter_server", "--set", "strategy=wfbp", "--set",
         "cluster.network=tcp"}}) {
    const Temporary timeline(Temporary::Kind::file);
    std::vector<std::string> words = {"run",
                                      "resnet50_v100",
                                      "-c",
                                      "10gbe_16",
                                      "--set",
                                      "cluster.nodes=4",
                                      "--set",
                                      "iterations=2",
                                      "--timeline",
                                      timeline.name(),
                                      "--timeline-workers",
                                      "0-3",
                                      "--timeline-iterations",
                                      "2-3",
                                      "--format",
                                      "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_sgdsim(words);
    REQUIRE(ran.exit_code == 0);
    const double iteration_us = Json::parse(ran.out)["metrics"]["iteration_us"]["mean"];
    const Json of = diagnosed(timeline);
    CHECK(of["step_s"].get<double>() * 1e6 == doctest::Approx(iteration_us).epsilon(1e-6));
    for (const Json& note : of["notes"])
      CHECK(note.get<std::string>().find("side by side") == std::string::npos);
  }
}

// Two forward passes of 10 ms side by side, then a backward pass of 10 ms: a step of 20 ms that no
// worker of one stream can do in less than 30.
TEST_CASE("diagnose: a step that is played for longer than it was recorded is told") {
  StepRecord record;
  record.steps = {0};
  constexpr int64_t ms = 1'000'000;
  for (const auto& [start_ns, kind] :
       {std::pair(int64_t{0}, Recorded::forward), std::pair(int64_t{0}, Recorded::forward),
        std::pair(10 * ms, Recorded::backward)})
    record.operations.push_back({.start_ns = start_ns, .end_ns = start_ns + 10 * ms, .kind = kind});
  const DiagnoseAnswer answer =
      answer_diagnose({.record = record}, diagnose::ClockRule::recorded, {});
  CHECK(answer.diagnosis.played_s == doctest::Approx(0.03));
  CHECK(answer.notes.back().find("takes 30.0 ms, longer than the recorded 20.0 ms") !=
        std::string::npos);
}

// They have ranks and workers, too, but no training steps of replicas.
TEST_CASE("diagnose timelines: those of schedules, collectives and jobs are refused") {
  const Temporary timeline(Temporary::Kind::file);
  const std::string file = timeline.name();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"replay", "app/schedules/ring_4.goal", "--L", "5", "--G", "1"},
        {"collective", "-a", "ring", "-p", "4", "-n", "1 MB", "--alpha", "10us", "--beta",
         "0.8ns/B"}}) {
    std::vector<std::string> asked = words;
    asked.insert(asked.end(), {"--timeline", file, "--force"});
    REQUIRE(run_sgdsim(asked).exit_code == 0);
    const Ran ran = run_sgdsim({"diagnose", file});
    CHECK(ran.exit_code == 2);
    CHECK(holds(ran.log, "is a timeline of sgdsim " + words[0] +
                             "; expected a timeline of training steps, as sgdsim run and sgdsim "
                             "layout write"));
  }
  // As older versions wrote them.
  std::ofstream(file) << R"({"displayTimeUnit":"ns","otherData":{"tool":"sgdsim","config":"ring"},)"
                      << R"("traceEvents":[{"ph":"M","name":"process_name","pid":0,"tid":0,)"
                      << R"("args":{"name":"rank 0"}},{"ph":"X","pid":0,"tid":0,"ts":0,"dur":1,)"
                      << R"("name":"receive from 3","cat":"comm","args":{}}]})";
  CHECK(holds(run_sgdsim({"diagnose", file}).log, "expected a timeline of training steps"));
}

TEST_CASE("diagnose timelines: import says who reads them") {
  const Temporary timeline(Temporary::Kind::file);
  REQUIRE(run_sgdsim({"run", "app/experiments/googlenet_k80.json", "--set", "cluster.nodes=4",
                      "--timeline", timeline.name()})
              .exit_code == 0);
  for (const std::string& file : {timeline.name(), std::string("tests/data/slow_host.json.gz")})
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"import", file}, {"import", "kineto", file}}) {
      const Ran ran = run_sgdsim(words);
      CHECK(ran.exit_code == 2);
      CHECK_MESSAGE(holds(ran.log, "sgdsim diagnose reads"), ran.log);
    }
  // Steps are numbered from 120 there; `run` has one iteration after three to warm up.
  CHECK(holds(run_sgdsim({"diagnose", "tests/data/slow_host.json.gz", "--steps", "999"}).log,
              "has no step 999; it has 3 steps from 120 to 122"));
  CHECK(holds(run_sgdsim({"diagnose", timeline.name(), "--steps", "999"}).log,
              "has no step 999; it has "));
}

TEST_CASE("diagnose timelines: layouts, pass by pass and on wires") {
  struct Row {
    const char* layout;
    const char* fidelity;
    int slow_gpu;
    int replica;  // where it is: GPUs are numbered tensor, data, pipeline
    int stage;
  };
  const std::vector<Row> rows = {{"tp1 pp4 dp8 ga8 zero0", "message", 9, 1, 1},
                                 {"tp2 pp2 dp8 ga8 zero1", "message", 9, 4, 0},
                                 {"tp1 pp4 vp2 dp8 ga8 zero1", "message", 9, 1, 1},
                                 {"tp2 pp4 dp4 ga8 zero1", "flow", 9, 0, 1}};
  for (const Row& row : rows) {
    CAPTURE(row.layout);
    const Temporary timeline(Temporary::Kind::file);
    const Ran ran = run_sgdsim(
        {"layout", "llama3.1_8b", "--gpus", "32", "--layout", row.layout, "--fidelity",
         row.fidelity, "-c", "topologies/data/dgx_h100_4.json", "--workers",
         R"({"slow": [{"worker": )" + std::to_string(row.slow_gpu) + R"(, "factor": 1.25}]})",
         "--timeline", timeline.name(), "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    const double step_us = Json::parse(ran.out)["layouts"][0]["step_us"];
    const Json of = diagnosed(timeline);
    // On wires, what replicas exchange slows sends of the passes, which the record does not say.
    const double tolerance = std::string(row.fidelity) == "flow" ? 1e-3 : 1e-6;
    CHECK(of["step_s"].get<double>() == doctest::Approx(step_us / 1e6).epsilon(tolerance));
    // The last stage has the output's matrix to compute: that is a true fault, too.
    bool is_found = false;
    for (const Json& part : of["parts"])
      if (part["part"] == "worker") {
        CHECK(part["stage"] == row.stage);
        // Replicas that are alike are played once; the slow one is one of two.
        CHECK(part["replica"] ==
              (std::string(row.fidelity) == "flow" ? row.replica : (row.replica > 0 ? 1 : 0)));
        is_found = true;
        break;
      }
    CHECK(is_found);
  }
}

}  // namespace
}  // namespace sgdsim
