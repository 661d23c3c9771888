// The scales of a trace's compute times and gradients in experiments and sweeps. One worker sends
// nothing, so that an iteration takes forward, backward and update: 10 + 20 + 2 us times the scale.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "traces/trace_file.h"

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

// 1,001 B of a gradient, half of it rounded up; and a layer of two tensors becomes one.
TEST_CASE("trace.gradient_scale: in a trace, beside a path, by --set") {
  const std::string layers = R"("layers": [
      {"name": "a", "parameters": 300, "gradient": "1001 B", "backward": "1 us"},
      {"name": "b", "parameters": 0, "backward": "1 us"},
      {"name": "c", "parameters": 3, "backward": "1 us", "tensors": [1, 2]}]})";
  const auto read = [](const std::string& text) {
    const Json json = Json::parse(text);
    return read_trace(Value(json, "f", ""));
  };
  const Trace half = read(R"({"gradient_scale": 0.5, )" + layers);
  CHECK(half.layers[0].gradient == Bytes(501));
  CHECK(half.layers[1].gradient == Bytes(0));
  CHECK(half.layers[2].gradient == Bytes(6));
  CHECK(half.layers[2].tensors.empty());
  CHECK(half.layers[0].parameters == 300);
  CHECK(read(R"({"gradient_scale": 1, )" + layers) == read("{" + layers));
  CHECK(read(R"({"gradient_scale": 1e-6, )" + layers).layers[0].gradient == Bytes(1));
  for (const char* wrong : {"0", "1.01", "-1", "\"1\""}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH_AS(read(R"({"gradient_scale": )" + std::string(wrong) + ", " + layers),
                         doctest::Contains("f: /gradient_scale: expected a number"), InputError);
  }
  // Beside a path, and set.
  const Temporary file(Temporary::Kind::file, "{" + layers);
  const auto sent_B = [&](const std::string& scale, const std::vector<std::string>& more) {
    const Temporary experiment(Temporary::Kind::file, R"({"trace": {"file": ")" + file.name() +
                                                          '"' + scale + R"(}, "strategy": "naive",
            "cluster": {"shape": "single_switch", "nodes": 4,
                        "nic": {"latency": "1 us", "bandwidth": "1 GBps"}}})");
    std::vector<std::string> line = {"run", experiment.name(), "--format", "json"};
    line.insert(line.end(), more.begin(), more.end());
    const Ran ran = run_sgdsim(line);
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    double sum_B = 0;
    const Json json = Json::parse(ran.out);
    for (const Json& message : json["messages"]) sum_B += message["size_B"].get<double>();
    return sum_B;
  };
  CHECK(sent_B("", {}) == 1013);
  CHECK(sent_B(R"(, "gradient_scale": 0.5)", {}) == 507);
  CHECK(sent_B("", {"--set", "trace.gradient_scale=0.5"}) == 507);
  CHECK(sent_B(R"(, "gradient_scale": 0.5, "compute_scale": 2)", {}) == 507);
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
