// Warnings: every command that plays an experiment repeats them, once, on stderr and in its JSON.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string note = "half of the layers were guessed";

// A trace with a note.
std::string experiment() {
  return R"({"schema": "sgdsim/experiment/1",
    "trace": {"schema": "sgdsim/trace/1", "name": "noted", "notes": [")" +
         note + R"("], "layers": [
      {"name": "l", "parameters": 250000, "gradient": "1 MB", "forward": "1 ms", "backward": "1 ms"}]},
    "cluster": {"schema": "sgdsim/cluster/1", "shape": "single_switch", "nodes": 4,
      "nic": {"latency": "10 us", "bandwidth": "10 Gbit/s"}}})";
}

int64_t count_in(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

void check_schema(const char* schema, const Json& json) {
  CHECK(faults_of_value(embedded_shelf(), schema, json).empty());
}

TEST_CASE("warnings: run, plan, sweep and tune repeat them on stderr and in JSON") {
  const Temporary file(Temporary::Kind::file, experiment());
  const std::string line = "sgdsim: warning: " + note + "\n";
  SUBCASE("run") {
    const Ran ran = run_sgdsim({"run", file.name(), "--format", "json"});
    CHECK(ran.log == line);
    CHECK(Json::parse(ran.out)["warnings"] == Json{note});
  }
  SUBCASE("plan: once for all strategies") {
    const Ran ran = run_sgdsim({"plan", file.name(), "--format", "json"});
    CHECK(ran.log == line);
    const Json json = Json::parse(ran.out);
    check_schema("sgdsim/plan/1", json);
    for (const Json& plan : json["plans"])
      if (!plan.contains("why_not")) CHECK(plan["warnings"] == Json{note});
  }
  SUBCASE("plan: a warning of some of them says of whom") {
    const Ran ran = run_sgdsim({"plan", file.name(), "--also", "trace.notes=[\"other\"]"});
    const std::string half = " plans (first: ";
    CHECK(count_in(ran.log, half) == 2);
    CHECK(count_in(ran.log, "): other\n") == 1);
    CHECK(count_in(ran.log, "): " + note + "\n") == 1);
  }
  SUBCASE("sweep: in each line, once at the end, also after --resume; not with -q") {
    const Temporary folder(Temporary::Kind::folder);
    const std::string out = folder.name() + "/out";
    std::vector<std::string> words = {"sweep", file.name(), "--axis", "cluster.nodes=2,4",
                                      "--out", out};
    CHECK(run_sgdsim(words).log.ends_with("\n" + line));
    const std::string text = read_text(out);
    const Json point = Json::parse(text.substr(0, text.find('\n')));
    check_schema("sgdsim/point/1", point);
    CHECK(point["warnings"] == Json{note});
    words.emplace_back("--resume");
    CHECK(run_sgdsim(words).log.ends_with("\n" + line));
    words.emplace_back("-q");
    CHECK(run_sgdsim(words).log.empty());
  }
  SUBCASE("sweep: of how many points, and as a column") {
    const Ran ran = run_sgdsim({"sweep", file.name(), "--axis", "compression=none,qsgd", "--set",
                                "fidelity=message", "--columns", "point,warnings"});
    CHECK(count_in(ran.log, line) == 1);
    CHECK(count_in(ran.log, "sgdsim: warning: 1 of 2 points (first: point 1): compression: ") == 1);
    CHECK(count_in(ran.out, note) == 2);
    CHECK(count_in(ran.out, "compression: ") == 1);
  }
  SUBCASE("tune: of the best point") {
    const Ran ran = run_sgdsim({"tune", file.name(), "--format", "json"});
    CHECK(ran.log == line);
    const Json json = Json::parse(ran.out);
    check_schema("sgdsim/tune/1", json);
    CHECK(json["warnings"] == Json{note});
  }
}

// 100 iterations; the curve says 1.5 times as many at a mean staleness of 1, and ends there.
// Pipe-SGD of width 4 has 3, where the time to the target is that of 150 iterations, if one takes
// the curve's word.
TEST_CASE("warnings: iterations to the target beyond the curves, or without one") {
  const Temporary file(Temporary::Kind::file, experiment());
  const auto said = [&](const std::string& curves, const std::vector<std::string>& settings) {
    std::vector<std::string> words = {"run",  file.name(), "--format",
                                      "json", "--set",     "trace.notes=[]"};
    words.insert(words.end(), {"--set", R"(convergence={"iterations": 100)" + curves + "}"});
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const Ran ran = call_sgdsim(words);
    INFO(ran.log);
    REQUIRE(ran.exit_code == 0);
    const Json json = Json::parse(ran.out);
    std::string lines;
    for (const Json& warning : json["warnings"])
      if (const auto text = warning.get<std::string>(); text.starts_with("iterations"))
        lines += text + "\n";
    CHECK(count_in(ran.log, "sgdsim: warning: iterations to the target") ==
          count_in(lines, "iterations to the target"));
    return std::to_string(std::lround(json["convergence"]["iterations"].get<double>())) + "\n" +
           lines;
  };
  const std::string stale = R"(, "staleness": [{"at": 0, "factor": 1}, {"at": 1, "factor": 1.5}])";
  const std::string sparse = R"(, "density": [{"at": 0.1, "factor": 2}, {"at": 1, "factor": 1}])";
  const std::vector<std::string> late = {"strategy=sync_easgd",
                                         R"(synchronization={"name": "pipe_sgd", "width": 4})"};
  CHECK(said(stale, {}) == "100\n");
  CHECK(
      said(stale, late) ==
      "150\niterations to the target: the mean staleness is 3, beyond its curve, which ends at 1: "
      "the factor there, 1.5, is taken\n");
  CHECK(said(sparse, late) ==
        "100\niterations to the target: the mean staleness is 3, and `convergence` has no curve "
        "\"staleness\": no extra iterations are counted for it\n");
  // Top-k delivers less, too: one curve tells of both. 0.55 is half way from 1 to 0.1.
  CHECK(said(sparse, {R"(compression={"name": "topk", "density": 0.55})"}) == "150\n");
  const std::string thin = said(sparse, {R"(compression={"name": "topk", "density": 0.01})"});
  CHECK(thin ==
        "200\niterations to the target: the density is 0.01, beyond its curve, which ends at 0.1: "
        "the factor there, 2, is taken\n");
}

}  // namespace
}  // namespace sgdsim
