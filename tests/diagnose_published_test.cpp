// The jobs of arXiv 2505.05713 (repository ByteDance-Seed/StragglerAnalysis, Apache-2.0): what its
// authors computed of three production jobs. Their timelines are files of megabytes that are not
// kept here: put timeline-ST.json.gz, timeline-AR.json.gz and timeline-SE.json.gz of the
// repository's folder `data` into a folder, and name it in SGDSIM_STRAGGLER_RECORDS.
//
// Values are those of result-*.json, ms-*.json and mw-*.json. The published program computes in
// float32, which is where the last digits differ, and takes clocks as they are.
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <map>
#include <optional>

#include "models/diagnose/clocks.h"
#include "study/diagnose/diagnose_answer.h"

namespace sgdsim {
namespace {

struct PublishedJob {
  const char* file;
  double step_s;
  double ideal_s;
  double slowdown;
  std::map<int, double> stages;
  std::map<int, double> replicas;
  std::map<std::string, double> kinds;
  double last_stage;
  double launch;
  std::optional<double> slow_workers = std::nullopt;
};

const PublishedJob jobs[] = {
    {"timeline-ST.json.gz",
     2.172697,
     1.843295824372035,
     1.1787021836556841,
     {{0, 0.9980450635272368},
      {1, 0.9830562530894704},
      {2, 0.9824931309511952},
      {3, 1.2322559543157936}},
     {{0, 1.1730828198099532}, {1, 1.1778704237064905}},
     {{"forward-compute", 1.0874989663025318},
      {"backward-compute", 1.074156472437866},
      {"embedding-grads-all-reduce", 1.0095504024370303},
      {"grads-reduce-scatter", 1.00266695254219},
      {"optimizer-clip-main-grad", 1.0023506224771044},
      {"optimizer", 1.0014767395023902},
      {"params-all-gather", 1.0011307740825817},
      {"layernorm-grads-all-reduce", 1.0000026919173086},
      {"backward-pp-comm", 0.999992994223364},
      {"forward-pp-comm", 0.9998586213458615}},
     1.219356,
     1.01921617557204},
    {"timeline-AR.json.gz",
     46.336373,
     23.484700,
     1.973045097,
     {{0, 1.979188638}, {1, 0.997112494}, {2, 0.995604113}, {3, 1.002369079}},
     {{0, 1.973044931}},
     {{"backward-compute", 1.580506},
      {"forward-compute", 1.368886},
      {"grads-reduce-scatter", 1.010782}},
     -0.00121196,
     1.006751,
     1.001702},
    {"timeline-SE.json.gz",
     9.066555,
     5.897478,
     1.537361371,
     {{0, 1.167812103}, {1, 1.435448007}},
     {{8, 1.204479823}, {27, 1.190060994}, {9, 1.187674630}},
     {},
     0.687711,
     1.005122}};

// Values printed with six digits bear no more.
bool agrees(double value, double published, double digits = 1e-6) {
  return std::abs(value - published) <= digits * std::abs(published);
}

void check_parts(const std::vector<diagnose::PartSlowdown>& parts,
                 const std::map<int, double>& published) {
  for (const auto& one : published) {
    CAPTURE(one.first);
    CHECK(agrees(parts.at(static_cast<std::size_t>(one.first)).slowdown, one.second));
  }
}

TEST_CASE("diagnose: published answers of three production jobs, where their records are") {
  const char* const folder = std::getenv("SGDSIM_STRAGGLER_RECORDS");
  if (folder == nullptr) {
    MESSAGE("skipped: SGDSIM_STRAGGLER_RECORDS names no folder with the published timelines");
    return;
  }
  for (const PublishedJob& job : jobs) {
    const std::string file = std::string(folder) + "/" + job.file;
    CAPTURE(file);
    if (!std::filesystem::exists(file)) {
      MESSAGE("skipped: " << file << " is not there");
      continue;
    }
    const diagnose::Diagnosis of =
        answer_diagnose(read_record(file), diagnose::ClockRule::recorded, {}).diagnosis;
    CHECK(agrees(of.played_s, job.step_s));
    CHECK(agrees(of.ideal_s, job.ideal_s));
    CHECK(agrees(of.slowdown(), job.slowdown));
    check_parts(of.stages, job.stages);
    check_parts(of.replicas, job.replicas);
    for (const diagnose::PartSlowdown& kind : of.kinds)
      if (const auto found = job.kinds.find(kind.name); found != job.kinds.end()) {
        CAPTURE(kind.name);
        CHECK(agrees(kind.slowdown, found->second));
      }
    REQUIRE(of.last_stage.has_value());
    CHECK(agrees(*of.last_stage, job.last_stage, 5e-6));
    CHECK(agrees(of.launch(), job.launch));
    if (job.slow_workers) CHECK(agrees(of.slow_workers.value_or(0), *job.slow_workers));
  }
}

}  // namespace
}  // namespace sgdsim
