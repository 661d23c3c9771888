// The recorder of layer traces: its own tests, in Python, and a trace of its making read back.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

TEST_CASE("trace_layers.py: its own tests") {
  if (!has_python()) {
    MESSAGE("skipped: there is no python3");
    return;
  }
  const Ran ran = run_shell_line("python3 tests/trace_layers_test.py");
  INFO(ran.log);  // says what was skipped without PyTorch
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.find("Ran 40 tests") != std::string::npos);
}

TEST_CASE("traced_step.py: its own tests") {
  if (!has_python()) {
    MESSAGE("skipped: there is no python3");
    return;
  }
  const Ran ran = run_shell_line("python3 tests/traced_step_test.py");
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.find("Ran 6 tests") != std::string::npos);
}

TEST_CASE("trace_layers.py: what it writes is a trace") {
  if (!has_python()) {
    MESSAGE("skipped: there is no python3");
    return;
  }
  const Ran ran = run_shell_line("python3 tests/trace_layers_test.py --sample");
  REQUIRE(ran.exit_code == 0);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/trace/1", Json::parse(ran.out)) ==
        std::vector<std::string>{});
  const Temporary file(Temporary::Kind::file, ran.out);
  const Ran shown = run_sgdsim({"trace", "show", file.name(), "--format", "json"});
  REQUIRE(shown.exit_code == 0);
  const Json json = Json::parse(shown.out);
  CHECK(json["has_ready"] == true);
  CHECK(json["forward_us"] == 4000);
  CHECK(json["backward_us"] == 7000);
  CHECK(json["last_ready_us"] == 12000);
}

}  // namespace
}  // namespace sgdsim
