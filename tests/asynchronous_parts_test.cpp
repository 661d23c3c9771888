// Asynchronous training on servers that hold whole tensors, by a hash: by hand, and against servers
// that hold even shares.
#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "models/server/parameter_server.h"
#include "models/step/step.h"
#include "sim/core/error.h"
#include "study/step/experiment.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

// Layers of so many bytes, none of which is parted (4,096,000); 1 ns/B, and no latency but 2 us of
// flight on each of two links.
Json experiment_of(const std::vector<int>& sizes_B, int workers, const Json& servers) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < sizes_B.size(); ++i)
    layers.push_back({{"name", "l" + std::to_string(i)},
                      {"parameters", sizes_B[i] / 4},
                      {"forward", i == 0 ? "1 ms" : "0 ms"},
                      {"backward", i == 0 ? "2 ms" : "0 ms"}});
  Json parameter_server = {{"placement", "dedicated"}, {"alpha", "wire"}};
  parameter_server.merge_patch(servers);
  return {{"trace", {{"layers", layers}}},
          {"cluster",
           {{"shape", "single_switch"},
            {"nodes", workers},
            {"nic", {{"latency", "2 us"}, {"per_byte", "1 ns/B"}}}}},
          {"collective", {{"parameter_server", parameter_server}}},
          {"synchronization", "async_ps"},
          {"iterations", 12},
          {"warm_up", 0}};
}

StepResult step_of(const Json& experiment, const char* fidelity) {
  Json json = experiment;
  json["fidelity"] = fidelity;
  return simulate_step(read_experiment(resolve_experiment(Value(json, "t", ""), {})).question());
}

// The bytes of each server of two.
std::map<int, int> on_two(const std::vector<int>& sizes_B) {
  std::map<int, int> bytes;
  for (std::size_t i = 0; i < sizes_B.size(); ++i)
    bytes[djb2_server(65536 * static_cast<int64_t>(i), 2)] += sizes_B[i];
  return bytes;
}

}  // namespace

// One worker pushes x bytes to the first server, then y to the second. The first answer comes when
// 2 x have gone, the second when x + 2 y have, and not before the first one: 4 us each way. An
// iteration is from one update of the first server to the next, so that the first is shorter.
TEST_CASE("asynchronous parts: one worker and two servers, by hand") {
  for (const std::vector<int>& sizes :
       {std::vector<int>{400'000, 800'000}, std::vector<int>{800'000, 400'000},
        std::vector<int>{100'000, 200'000, 400'000},
        std::vector<int>{4'000, 4'000, 4'000, 800'000}}) {
    std::map<int, int> bytes = on_two(sizes);
    REQUIRE(bytes.size() == 2);
    const int x = bytes[0];
    const int y = bytes[1];
    const Json experiment = experiment_of(sizes, 1, {{"servers", 2}, {"sharding", "byteps"}});
    const double whole_us = 3000 + 8 + (std::max(x + y, 2 * x) + y) / 1000.;
    for (const char* const fidelity : {"message", "flow"}) {
      CAPTURE(fidelity);
      const StepResult result = step_of(experiment, fidelity);
      CHECK(result.iterations.front().us() == doctest::Approx(3000 + 4 + x / 1000.).epsilon(1e-6));
      for (std::size_t i = 1; i < result.iterations.size(); ++i)
        CHECK(result.iterations[i].us() == doctest::Approx(whole_us).epsilon(1e-6));
      CHECK(result.message_count == 4);
      CHECK(result.wire_B == doctest::Approx(2. * (x + y)));
    }
  }
}

// One tensor is on one server: the others have nothing, and are not asked.
TEST_CASE("asynchronous parts: a tensor on one of five servers is a server alone") {
  for (const int workers : {1, 2, 5})
    for (const Json& synchronization : {Json("async_ps"), Json{{"name", "ssp"}, {"staleness", 1}}})
      for (const char* const fidelity : {"message", "flow", "packet"}) {
        CAPTURE(workers);
        CAPTURE(fidelity);
        const auto step_on = [&](const Json& servers) {
          Json experiment = experiment_of({1'000'000}, workers, servers);
          experiment["synchronization"] = synchronization;
          experiment["workers"]["slow"] = {{{"worker", 0}, {"factor", 1.3}}};
          return step_of(experiment, fidelity);
        };
        const StepResult alone = step_on({{"servers", 1}});
        const StepResult hashed = step_on({{"servers", 5}, {"sharding", "byteps"}});
        CHECK(hashed.iterations == alone.iterations);
        CHECK(hashed.message_count == alone.message_count);
        CHECK(hashed.wire_B == doctest::Approx(alone.wire_B));
        CHECK(hashed.quality.staleness_mean == alone.quality.staleness_mean);
      }
}

// The server with the larger part has P pushes of it to take, and as many answers to give, one
// after the other: no iteration is shorter. On workers its own worker sends nothing.
TEST_CASE("asynchronous parts: the fullest server is the limit") {
  const std::vector<int> sizes = {4'000, 4'000, 4'000, 4'000'000};
  std::map<int, int> bytes = on_two(sizes);
  const double most_us = std::max(bytes[0], bytes[1]) / 1000.;
  REQUIRE(most_us >= 4000);
  for (const int workers : {4, 7})
    for (const char* const placement : {"dedicated", "co_located"})
      for (const char* const fidelity : {"message", "flow"}) {
        CAPTURE(fidelity);
        const bool is_dedicated = std::string_view(placement) == "dedicated";
        Json experiment = experiment_of(
            sizes, workers, {{"servers", 2}, {"sharding", "byteps"}, {"placement", placement}});
        experiment["iterations"] = 40;
        experiment["warm_up"] = 10;
        experiment["synchronization"] = {{"name", "ssp"}, {"staleness", 2}};
        const StepResult result = step_of(experiment, fidelity);
        const double mean_us = result.total().us() / 40;
        CHECK(mean_us >= (workers - (is_dedicated ? 0 : 1)) * most_us * (1 - 1e-6));
        CHECK(mean_us <= (workers + 1) * (most_us + 100));
      }
}

TEST_CASE("asynchronous parts: no tensor at all, and no formula") {
  const Json experiment = experiment_of({0}, 2, {{"servers", 3}, {"sharding", "byteps"}});
  CHECK(step_of(experiment, "message").iterations.front().us() >= 3000);
  CHECK(step_of(experiment, "message").iterations.front().us() <= 3010);
  CHECK_THROWS_WITH_AS(step_of(experiment, "closed_form"), doctest::Contains("sharding byteps"),
                       InputError);
}

// Who does not wait has only servers to exchange with, and need not say so.
TEST_CASE("asynchronous: parameter servers are usual, in sweeps too") {
  const auto line = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "resnet50_v100", "-c", "10gbe_16", "--format", "json"});
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json(Json::parse(ran.out)["iteration_ps"]);
  };
  const std::string servers =
      R"(collective={"parameter_server": {"servers": 16, "placement": "co_located"}})";
  for (const std::string name : {"async_ps", "ssp"})
    CHECK(line({"--set", "synchronization=" + name}) ==
          line({"--set", "synchronization=" + name, "--set", servers}));
  const Ran ring = run_sgdsim({"run", "resnet50_v100", "-c", "10gbe_16", "--set",
                               "synchronization=async_ps", "--set", "collective=ring"});
  CHECK(ring.exit_code == 2);
  CHECK(ring.log.find("say collective=parameter_server") != std::string::npos);
  // Each point has its own, whatever came before it.
  const Temporary out(Temporary::Kind::folder);
  const std::string file = out.name() + "/points.jsonl";
  const Ran swept =
      run_sgdsim({"sweep", "resnet50_v100", "-c", "10gbe_16", "--axis",
                  "synchronization=none,async_ps,pipe_sgd", "-j", "1", "--out", file});
  CAPTURE(swept.log);
  REQUIRE(swept.exit_code == 0);
  std::ifstream lines(file);
  std::string text;
  std::vector<Json> found;
  while (std::getline(lines, text))
    if (const Json one = Json::parse(text); one.contains("axes"))
      found.push_back(one["iteration_ps"]);
  REQUIRE(found.size() == 3);
  CHECK(found[0] == line({}));
  CHECK(found[1] == line({"--set", "synchronization=async_ps"}));
  CHECK(found[2] == line({"--set", "synchronization=pipe_sgd"}));
}
