// The scale of a trace's compute times in experiments and sweeps. One worker sends nothing, so that
// an iteration takes forward, backward and update: 10 + 20 + 2 us times the scale.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string trace =
    R"({"layers": [{"name": "a", "parameters": 1, "forward": "10 us", "backward": "20 us"}],
        "update": "2 us", "load": "1 us"})";

std::string experiment_of(const std::string& trace_field) {
  return R"({"schema": "sgdsim/experiment/1", "trace": )" + trace_field +
         R"(, "cluster": {"shape": "single_switch", "nodes": 1,
             "nic": {"latency": "1 us", "bandwidth": "1 GBps"}}})";
}

double iteration_us(const std::string& experiment, const std::vector<std::string>& more = {}) {
  const Temporary file(Temporary::Kind::file, experiment);
  std::vector<std::string> line = {"run", file.name(), "--format", "json"};
  line.insert(line.end(), more.begin(), more.end());
  const Ran ran = run_sgdsim(line);
  CHECK(ran.log == "");
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["metrics"]["iteration_us"]["mean"].get<double>();
}

TEST_CASE("trace.compute_scale: in a trace, beside a path, by --set") {
  CHECK(iteration_us(experiment_of(trace)) == 32);
  CHECK(iteration_us(experiment_of(trace), {"--set", "trace.compute_scale=0.5"}) == 16);
  const Temporary file(Temporary::Kind::file, trace);
  const std::string path = '"' + file.name() + '"';
  const std::string scaled = experiment_of(R"({"file": )" + path + R"(, "compute_scale": 2})");
  CHECK(iteration_us(experiment_of(path), {"--set", "trace.compute_scale=3"}) == 96);
  CHECK(iteration_us(experiment_of(R"({"file": )" + path + "}")) == 32);
  CHECK(iteration_us(scaled) == 64);
  CHECK(iteration_us(scaled, {"--set", "trace.compute_scale=1"}) == 32);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/experiment/1", Json::parse(scaled)).empty());
  const Temporary wrong(Temporary::Kind::file,
                        experiment_of(R"({"file": )" + path + R"(, "compute_scal": 2})"));
  CHECK(run_sgdsim({"run", wrong.name()}).log.find("did you mean \"compute_scale\"?") !=
        std::string::npos);
}

TEST_CASE("trace.compute_scale: an axis of a sweep") {
  const Temporary base(Temporary::Kind::file, experiment_of(trace));
  const Temporary file(Temporary::Kind::file,
                       R"({"schema": "sgdsim/sweep/1", "base": ")" + base.name() +
                           R"(", "axes": {"trace.compute_scale": [0.5, 1, 4]}})");
  const Ran ran = run_sgdsim(
      {"sweep", file.name(), "-q", "--columns", "trace.compute_scale,metrics.iteration_us.mean"});
  CHECK(ran.log == "");
  CHECK(ran.out == "trace.compute_scale,metrics.iteration_us.mean\n0.5,16.0\n1,32.0\n4,128.0\n");
}

}  // namespace
}  // namespace sgdsim
