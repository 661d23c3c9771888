// Parameter servers whose workers push when the last of them is ready.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// AlexNet's gradients among four workers and one server: b = 50 us + 243,860,896 B at 0.8 ns/B is
// 195.1387168 ms.
constexpr double b_ms = 195.1387168;

double iteration_ms(const std::string& servers, const std::string& fidelity,
                    const std::string& computing = "0 ms") {
  const Ran run = run_sgdsim(
      {"run",
       "papers/pipe_sgd/recurrence.json",
       "--set",
       "trace.layers.0.parameters=60965224",
       "--set",
       "trace.layers.0.forward=0 ms",
       "--set",
       "trace.layers.0.backward=" + computing,
       "--set",
       "synchronization=none",
       "--set",
       R"(cluster={"shape":"single_switch","nodes":4,"nic":{"latency":"25 us","bandwidth":"10 Gbps"}})",
       "--set",
       "collective={\"parameter_server\":{" + servers + "}}",
       "--set",
       "fidelity=" + fidelity,
       "--set",
       "iterations=5",
       "--set",
       "warm_up=2",
       "--format",
       "json"});
  REQUIRE_MESSAGE(run.exit_code == 0, run.log);
  return Json::parse(run.out).at("metrics").at("iteration_us").at("mean").get<double>() / 1e3;
}

TEST_CASE("servers: with a barrier all push at once, 2 P b; without one, (P + 1) b") {
  for (const char* fidelity : {"closed_form", "message"}) {
    INFO(fidelity);
    CHECK(iteration_ms(R"("barrier":true)", fidelity) == doctest::Approx(8 * b_ms).epsilon(1e-6));
    CHECK(iteration_ms(R"("barrier":false)", fidelity) == doctest::Approx(5 * b_ms).epsilon(1e-6));
    CHECK(iteration_ms("", fidelity) == doctest::Approx(5 * b_ms).epsilon(1e-6));
    // What is computed comes before the push, of all.
    CHECK(iteration_ms(R"("barrier":true)", fidelity, "100 ms") ==
          doctest::Approx(100 + 8 * b_ms).epsilon(1e-6));
  }
}

TEST_CASE("servers: asynchronous workers have no barrier") {
  const Ran run = run_sgdsim({"run", "papers/pipe_sgd/recurrence.json", "--set",
                              "synchronization=async_ps", "--set", "strategy=sync_easgd", "--set",
                              R"(collective={"parameter_server":{"barrier":true}})"});
  CHECK(run.exit_code == 2);
  CHECK(run.log.find("leave out `barrier`") != std::string::npos);
}

}  // namespace
}  // namespace sgdsim
