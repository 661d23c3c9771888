// The script that times attention: its own tests, in Python, and a measurement of its making
// fitted.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

TEST_CASE("time_attention.py: its own tests") {
  if (!has_python()) {
    MESSAGE("skipped: there is no python3");
    return;
  }
  const Ran ran = run_shell_line("python3 tests/time_attention_test.py");
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.find("Ran 7 tests") != std::string::npos);
}

// The sample is of an H100 that reaches half of its peak forward, and two fifths backward.
TEST_CASE("time_attention.py: what it writes is a measurement, and becomes a GPU file") {
  if (!has_python()) {
    MESSAGE("skipped: there is no python3");
    return;
  }
  const Ran ran = run_shell_line("python3 tests/time_attention_test.py --sample");
  REQUIRE(ran.exit_code == 0);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/measurement/1", Json::parse(ran.out)) ==
        std::vector<std::string>{});
  const Temporary file(Temporary::Kind::file, ran.out);
  const Ran fitted = run_sgdsim({"fit", file.name(), "--gpu", "h100", "--format", "json"});
  REQUIRE(fitted.exit_code == 0);
  const Json gpu = Json::parse(fitted.out);
  CHECK(gpu["attention_forward"].get<double>() == doctest::Approx(0.5).epsilon(1e-5));
  CHECK(gpu["attention_backward"].get<double>() == doctest::Approx(0.4).epsilon(1e-5));
  const Ran curve = run_sgdsim({"fit", file.name()});
  CHECK(curve.exit_code == 2);
  CHECK(curve.log.find("no series is left to fit; there are: ") != std::string::npos);
}

}  // namespace
}  // namespace sgdsim
