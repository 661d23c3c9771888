// CUSUM by hand, its promises on random steps, and followed records.
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "models/diagnose/alarm.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "tests/pipeline_job.h"
#include "tests/run_program.h"
#include "tests/shipped_job.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

using diagnose::Alarm;
using diagnose::AlarmRule;

// Ten residuals -1 and +1 in turn: median 0 (of -1 and 1), median absolute deviation 1, so the
// spread is 1.4826. Then 3 spreads above: the sum grows by 2.5 a step and exceeds 10 after the
// fifth.
TEST_CASE("diagnose alarm: sums as by hand") {
  Alarm alarm(AlarmRule{.h = 10, .k = 0.5, .reference = 10});
  for (int i = 0; i < 10; ++i) {
    CHECK(!alarm.is_ready());
    alarm.add(i % 2 == 0 ? -1 : 1);
  }
  REQUIRE(alarm.is_ready());
  CHECK(alarm.centre() == 0);
  CHECK(alarm.spread() == doctest::Approx(1.4826));
  for (int i = 1; i <= 3; ++i) {
    alarm.add(3.2 * 1.4826);
    CHECK(alarm.up() == doctest::Approx(2.7 * i));
    CHECK(alarm.down() == 0);
    CHECK(alarm.sign() == 0);
    CHECK(alarm.since() == i);
  }
  alarm.add(3.2 * 1.4826);
  CHECK(alarm.sign() == 1);
  Alarm other(AlarmRule{.h = 10, .k = 0.5, .reference = 10});
  for (int i = 0; i < 10; ++i) other.add(i % 2 == 0 ? -1 : 1);
  for (int i = 0; i < 4; ++i) other.add(-3.2 * 1.4826);
  CHECK(other.sign() == -1);
}

// Steps vary by 1 %, and one in 100 by up to 20 %, as a step does that waits for a file system.
double clean_residual(Random& random) {
  const double jitter = random.normal(0, 0.01);
  return random.uniform() < 0.01 ? jitter + random.uniform(0, 0.2) : jitter;
}

TEST_CASE("diagnose alarm: none in 10,000 clean steps, and soon after a shift of 5 %") {
  constexpr int jobs = 20;
  int false_alarms = 0;
  for (uint64_t seed = 1; seed <= jobs; ++seed) {
    Random random(seed);
    Alarm alarm{AlarmRule{}};
    int steps = 0;
    while (steps < 10'000 && alarm.sign() == 0) {
      alarm.add(clean_residual(random));
      ++steps;
    }
    if (alarm.sign() != 0) {
      ++false_alarms;
      continue;
    }
    // Five spreads count as four, less a half of slack: from 0, three steps; more where the sum had
    // already grown for a while, because half of the steps since then must be off.
    int until = 0;
    while (alarm.sign() == 0 && until < 100) {
      alarm.add(0.05 + random.normal(0, 0.01));
      ++until;
    }
    CHECK(alarm.sign() == 1);
    CHECK(until <= 20);
  }
  CHECK(false_alarms == 0);
}

// A shift of 1 % is below the 2 % that are worth an alarm; one of 3 % is not.
TEST_CASE("diagnose alarm: small shifts are none, however long they last") {
  for (const double shift : {0.01, 0.03}) {
    Random random(1);
    Alarm alarm{AlarmRule{}};
    for (int i = 0; i < 200; ++i) alarm.add(random.normal(0, 0.001));
    int until = 0;
    while (until < 1000 && alarm.sign() == 0) {
      alarm.add(shift + random.normal(0, 0.001));
      ++until;
    }
    CHECK((alarm.sign() == 1) == (shift > 0.02));
  }
}

TEST_CASE("diagnose alarm: steps that are all alike") {
  Alarm alarm(AlarmRule{.h = 10, .k = 0.5, .reference = 10});
  for (int i = 0; i < 1000; ++i) alarm.add(0.125);
  CHECK(alarm.sign() == 0);
}

// Files of 12 steps; from the fifth on, stage 2 of replica 1 computes 1.3 times as long.
TEST_CASE("diagnose alarm: a folder of records, and the worker is named") {
  const Temporary folder(Temporary::Kind::folder);
  for (int file = 0; file < 6; ++file) {
    PipelineJob job = file < 4 ? usual_job() : shipped_job();
    job.first_step = 12 * file;
    job.steps = 12;
    job.pass = [file, pass = job.pass](int step, int replica, int stage, int micro_batch,
                                       bool is_backward) {
      return pass(step, replica, stage, micro_batch, is_backward) +
             (step * 7 + file * 3) % 5 * 9'000;
    };
    std::ofstream(folder.name() + "/steps" + std::to_string(file) + ".json")
        << timeline_text(job.record());
  }
  const std::vector<std::string> asked = {"compare",
                                          "tests/data/usual_host.json.gz",
                                          "--follow",
                                          folder.name(),
                                          "--once",
                                          "--reference",
                                          "40",
                                          "--names",
                                          "tests/data/slow_host_names.csv"};
  const Ran ran = run_sgdsim(asked);
  CHECK(ran.exit_code == 5);
  CHECK(holds(ran.out,
              "alarm: steps have become slower since step 48: "
              "computing of stage 2 of replica 1 (gpu-node-16), by "));
  std::vector<std::string> prometheus = asked;
  prometheus.insert(prometheus.end(), {"--format", "prometheus"});
  const Ran metrics = run_sgdsim(prometheus);
  CHECK(metrics.exit_code == 5);
  CHECK(holds(metrics.out, "\nsgdsim_alarm 1\n"));
  // Without the last files nothing has happened.
  std::filesystem::remove(folder.name() + "/steps4.json");
  std::filesystem::remove(folder.name() + "/steps5.json");
  const Ran quiet = run_sgdsim(asked);
  CHECK(quiet.exit_code == 0);
  CHECK(!holds(quiet.out, "alarm"));
}

// A record of every hundredth step: it is step 4800 from which on they are slower, not the one that
// is as many records back.
TEST_CASE("diagnose alarm: the number of a step is the record's, gaps or not") {
  const Temporary folder(Temporary::Kind::folder);
  for (int file = 0; file < 60; ++file) {
    PipelineJob job = file < 48 ? usual_job() : shipped_job();
    job.first_step = 100 * file;
    job.steps = 1;
    job.pass = [file, pass = job.pass](int step, int replica, int stage, int micro_batch,
                                       bool is_backward) {
      return pass(step, replica, stage, micro_batch, is_backward) + (file * 7 + 1) % 5 * 9'000;
    };
    std::ofstream(folder.name() + "/steps" + std::to_string(file) + ".json")
        << timeline_text(job.record());
  }
  const Ran ran = run_sgdsim({"compare", "tests/data/usual_host.json.gz", "--follow", folder.name(),
                              "--once", "--reference", "40"});
  CHECK(ran.exit_code == 5);
  CHECK_MESSAGE(holds(ran.out, "alarm: steps have become slower since step 4800: "), ran.out);
}

// Seven steps of 247 ms: a seventh of each, added up, is not 247 ms to the last bit.
TEST_CASE("diagnose compare: what only alarms need, and settings of a record, are refused") {
  const std::string record = "tests/data/usual_host.json.gz";
  for (const char* option : {"--threshold", "--slack", "--reference", "--least"}) {
    CAPTURE(std::string(option));
    const Ran ran = run_sgdsim({"compare", record, record, option, "10"});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log == "sgdsim: " + std::string(option) + ": is of --follow DIR, which is missing\n");
  }
  const Ran ran = run_sgdsim({"compare", record, record, "--set", "cluster.nodes=4"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log == "sgdsim: --set: changes a field of an experiment, and " + record +
                       " is a record: give an experiment, or leave --set out\n");
  CHECK(run_sgdsim({"compare", record, record, "--cluster", "10gbe_16"}).log ==
        "sgdsim: --cluster: changes a field of an experiment, and " + record +
            " is a record: give an experiment, or leave --cluster out\n");
}

TEST_CASE("diagnose compare: a record beside itself differs by nothing") {
  PipelineJob job;
  job.steps = 7;
  const Temporary folder(Temporary::Kind::folder);
  const std::string file = folder.name() + "/steps.json";
  std::ofstream(file) << timeline_text(job.record());
  const Ran once = run_sgdsim({"compare", file, file});
  REQUIRE(once.exit_code == 0);
  CHECK(!holds(once.out, "e-"));
  const Ran followed = run_sgdsim({"compare", file, "--follow", folder.name(), "--once"});
  REQUIRE(followed.exit_code == 0);
  CHECK_MESSAGE(holds(followed.out, ", +0 % of the prediction, smoothed +0 %"), followed.out);
  CHECK(!holds(followed.out, "e-"));
}

TEST_CASE("diagnose compare: the record of a slow host beside that of the week before") {
  const Ran ran =
      run_sgdsim({"compare", "tests/data/slow_host.json.gz", "tests/data/usual_host.json.gz",
                  "--names", "tests/data/slow_host_names.csv", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  // What the jobs themselves say of their steps.
  CHECK(json["measured_s"].get<double>() == doctest::Approx(shipped_job().step_s()).epsilon(1e-9));
  CHECK(json["predicted_s"].get<double>() == doctest::Approx(usual_job().step_s()).epsilon(1e-9));
  CHECK(json["slowest_part"]["meaning"] == "computing of stage 2 of replica 1 (gpu-node-16)");
  CHECK(json["slowest_part"]["explained"].get<double>() > 0.95);
}

// The same experiment on both sides: a record of all that is played, at the same cluster.
TEST_CASE("diagnose compare: an experiment beside its own timeline, and beside a slower network") {
  const Temporary timeline(Temporary::Kind::file);
  REQUIRE(
      run_sgdsim({"run", "app/experiments/googlenet_k80.json", "--set", "cluster.nodes=4", "--set",
                  "strategy=wfbp", "--timeline", timeline.name(), "--timeline-workers", "0-3"})
          .exit_code == 0);
  const auto compared = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> asked = {"compare", timeline.name(),
                                      "app/experiments/googlenet_k80.json", "--format", "json"};
    for (const std::string& setting : settings) {
      asked.emplace_back("--set");
      asked.push_back(setting);
    }
    const Ran ran = run_sgdsim(asked);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out);
  };
  const Json same = compared({"cluster.nodes=4", "strategy=wfbp"});
  CHECK(std::abs(same["residual"].get<double>()) < 1e-6);
  const Json slower =
      compared({"cluster.nodes=4", "strategy=wfbp", "cluster.nic.bandwidth=500 Mbps"});
  CHECK(slower["residual"].get<double>() < -0.01);
  CHECK(slower["explanations"][0]["part"] == "replicas");
  CHECK(slower["explanations"][0]["explained"].get<double>() > 0.9);
}

}  // namespace
}  // namespace sgdsim
