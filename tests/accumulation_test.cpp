// Several micro-batches in a step, of which the last one exchanges gradients.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/json_of_run.h"
#include "tests/one_layer.h"
#include "tests/run_program.h"

namespace sgdsim::accumulation {
namespace {

Json two_layers() {
  Json json = one_layer();
  json["trace"]["layers"] = {
      {{"name", "a"}, {"parameters", 5000000}, {"forward", "10 ms"}, {"backward", "20 ms"}},
      {{"name", "b"}, {"parameters", 2500000}, {"forward", "5 ms"}, {"backward", "10 ms"}}};
  return json;
}

Json metrics_of(const Json& experiment, const std::vector<std::string>& more = {}) {
  const Temporary file(Temporary::Kind::file, experiment.dump());
  std::vector<std::string> words = {"run", file.name(), "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return json_of_run(words)["metrics"];
}

}  // namespace

// Each micro-batch takes 30 ms; the ring of 100 MB among 16 begins behind the last one.
TEST_CASE("accumulation: by hand, in closed form and by messages") {
  const double ring_us = 30 * 20 + 2 * 15. / 16 * 100e6 / 1.25e9 * 1e6;
  for (const int passes : {1, 2, 7}) {
    for (const char* fidelity : {"closed_form", "message", "flow"}) {
      CAPTURE(passes);
      CAPTURE(fidelity);
      Json json = one_layer();
      json["accumulation"] = passes;
      json["fidelity"] = fidelity;
      const Json metrics = metrics_of(json);
      const double iteration_us = metrics["iteration_us"]["mean"];
      CHECK(iteration_us == doctest::Approx(passes * 30e3 + ring_us));
      CHECK(metrics["forward_us"].get<double>() == doctest::Approx(passes * 10e3));
      CHECK(metrics["backward_us"].get<double>() == doctest::Approx(passes * 20e3));
      CHECK(metrics["comm_exposed_us"].get<double>() == doctest::Approx(ring_us));
      // 8 samples of each micro-batch and worker.
      CHECK(metrics["throughput_samples_per_s"].get<double>() ==
            doctest::Approx(passes * 8 * 16 / iteration_us * 1e6));
    }
  }
}

// The gradient of the last layer lies under the backward pass of the first one, once: 20 ms hide
// 10 MB, which take 16 ms and 30 start-ups, whatever was computed before.
TEST_CASE("accumulation: what is exposed is that of one micro-batch") {
  for (const char* strategy : {"wfbp", "sync_easgd", "mg_wfbp", "ddp", "p3", "bytescheduler"})
    for (const char* fidelity : {"message", "flow"}) {
      CAPTURE(strategy);
      CAPTURE(fidelity);
      Json json = two_layers();
      json["strategy"] = strategy;
      json["fidelity"] = fidelity;
      const double once_us = metrics_of(json)["iteration_us"]["mean"];
      json["accumulation"] = 5;
      const double five_us = metrics_of(json)["iteration_us"]["mean"];
      CHECK(five_us - once_us == doctest::Approx(4 * 45e3));
    }
}

TEST_CASE("accumulation: stated times of gradients, reading, sweeps, and what is refused") {
  // `ready` counts from the start of the iteration, of the last micro-batch; reading three batches
  // takes 300 ms, longer than computing them.
  Json json = two_layers();
  json["trace"]["layers"][0]["ready"] = "45 ms";
  json["trace"]["layers"][1]["ready"] = "25 ms";
  const double once_us = metrics_of(json)["iteration_us"]["mean"];
  json["accumulation"] = 3;
  CHECK(metrics_of(json)["iteration_us"]["mean"].get<double>() ==
        doctest::Approx(once_us + 2 * 45e3));
  json["trace"]["load"] = "100 ms";
  CHECK(metrics_of(json)["iteration_us"]["mean"].get<double>() == doctest::Approx(300e3));

  const Temporary file(Temporary::Kind::file, two_layers().dump());
  std::vector<double> swept;
  for (const char* axes : {"accumulation=1,2,4", "accumulation=4,2,1"}) {
    const Ran ran = run_sgdsim({"sweep", file.name(), "--axis", axes, "-j", "1"});
    REQUIRE(ran.exit_code == 0);
    std::size_t at = 0;
    std::vector<double> all;
    for (std::size_t end = ran.out.find('\n'); end != std::string::npos;
         at = end + 1, end = ran.out.find('\n', at))
      all.push_back(Json::parse(ran.out.substr(at, end - at))["metrics"]["iteration_us"]["mean"]);
    REQUIRE(all.size() == 3);
    if (swept.empty()) swept = {all.rbegin(), all.rend()};
    CHECK(all.size() == swept.size());
    if (std::string(axes) == "accumulation=4,2,1") CHECK(all == swept);
  }
  CHECK(swept[0] - swept[2] == doctest::Approx(3 * 45e3));

  for (const char* wrong : {"0", "-1", "1.5", "65537", "\"many\""}) {
    CAPTURE(wrong);
    CHECK(call_sgdsim({"run", file.name(), "--set", std::string("accumulation=") + wrong})
              .exit_code == 2);
  }
  // 65,536 times an hour is no time.
  CHECK(call_sgdsim({"run", file.name(), "--set", "accumulation=65536", "--set",
                     "trace.compute_scale=100000"})
            .exit_code == 2);
}

}  // namespace sgdsim::accumulation
