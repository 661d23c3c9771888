// Training steps as Chakra traces: they take, replayed, as long as they take in the other engine.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>

#include "models/strategy/registry.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "study/step/experiment.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/chakra.h"

namespace sgdsim {
namespace {

Json experiment_of(Random& random, int workers, const std::string& strategy, int64_t unit_ps) {
  Json layers = Json::array();
  const auto time = [&](uint64_t most_us) {
    const auto most = static_cast<uint64_t>(1'000'000 / unit_ps) * most_us;
    return std::to_string(random.below(most) * static_cast<uint64_t>(unit_ps)) + " ps";
  };
  for (std::size_t l = 0; l < 1 + random.below(6); ++l)
    layers.push_back({{"name", "l" + std::to_string(l)},
                      {"parameters", (1 + random.below(9'000)) * static_cast<uint64_t>(workers)},
                      {"forward", time(40)},
                      {"backward", time(80)}});
  return {{"schema", "sgdsim/experiment/1"},
          {"trace", {{"schema", "sgdsim/trace/1"}, {"update", time(9)}, {"layers", layers}}},
          {"cluster",
           {{"schema", "sgdsim/cluster/1"},
            {"shape", "single_switch"},
            {"nodes", workers},
            {"nic", {{"latency", "3 us"}, {"bandwidth", "25 Gbit/s"}, {"reduce", "0.1 ns/B"}}}}},
          {"collective", {{"algorithm", "ring"}}},
          {"strategy", strategy},
          {"fidelity", "message"},
          {"warm_up", 0}};
}

// What the trace of a rank computes up to each of its nodes, against the layers' own times.
void check_rounding(const std::string& file, const Trace& trace) {
  std::map<std::string, Duration> exact = {{"update", trace.update}};
  for (const Layer& layer : trace.layers) {
    exact[layer.name + " forward"] = layer.forward;
    exact[layer.name + " backward"] = layer.backward;
  }
  Duration sum;
  Duration written;
  read_chakra(file, [&](ChakraNode& node) {
    if (node.type != ChakraType::compute) return;
    sum += exact.at(node.name);
    written += Duration::us(static_cast<int64_t>(node.duration_us));
    CHECK(std::abs((sum - written).ps()) <= 500'000);
  });
}

}  // namespace

// In whole microseconds the replay takes the time of the step. Otherwise computing up to a message
// is off by half a microsecond at most, and so is all computing: the update by one.
TEST_CASE("chakra: an exported step takes the time of the step") {
  Random random(81);
  int exact = 0;
  int rounded = 0;
  for (int round = 0; round < 6; ++round)
    for (const StrategyKind& strategy : strategies()) {
      const bool is_whole = random.below(2) == 0;
      const int workers = 1 + static_cast<int>(random.below(6));
      Json json =
          experiment_of(random, workers, std::string(strategy.name), is_whole ? 1'000'000 : 1);
      // The rounding of the last worker is looked at below.
      if (!is_whole && workers > 1)
        json["workers"] = {{"slow", {{{"worker", 0}, {"factor", 1.4}}}}};
      const Temporary folder(Temporary::Kind::folder);
      const std::string name = folder.name() + "/e.json";
      std::ofstream(name) << json.dump();
      std::ofstream(folder.name() + "/c.json") << json["cluster"].dump();
      CAPTURE(json.dump());
      const Ran written = run_sgdsim({"export", "chakra", name, "--out", folder.name() + "/step"});
      if (written.exit_code == 2) {
        CHECK(holds(written.log, "a schedule of sends and receives cannot say"));
        continue;
      }
      REQUIRE(written.exit_code == 0);
      std::vector<std::string> command = {"replay"};
      for (int rank = 0; rank < workers; ++rank)
        command.push_back(folder.name() + "/step." + std::to_string(rank) + ".et");
      const Experiment experiment =
          read_experiment(resolve_experiment(name, std::vector<std::string>{}));
      check_rounding(command.back(), experiment.trace);
      command.insert(command.end(), {"-c", folder.name() + "/c.json", "--groups",
                                     folder.name() + "/step.groups.json", "--format", "json"});
      const Ran played = run_sgdsim(command);
      CAPTURE(played.log);
      REQUIRE(played.exit_code == 0);
      const Duration step = simulate_step(experiment.question()).iterations.front();
      const int64_t off_ps =
          std::abs(Json::parse(played.out)["makespan_ps"].get<int64_t>() - step.ps());
      CHECK(off_ps <= (is_whole ? 0 : 1'500'000));
      ++(is_whole ? exact : rounded);
    }
  CHECK(exact >= 20);
  CHECK(rounded >= 20);
}

// Pipelines of blocks have no rounds: ranks call them. Times of Chakra are whole microseconds.
TEST_CASE("chakra: collectives of blocks take what they take in the step") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string prefix = folder.name() + "/step";
  const Ran written =
      run_sgdsim({"export", "chakra", "resnet50_v100", "--cluster", "10gbe_16", "--set",
                  "cluster.nodes=4", "--set", "strategy=wfbp", "--out", prefix});
  REQUIRE(written.exit_code == 0);
  for (const char* algorithm : {"ring", "lp", "double_binary_tree"}) {
    CAPTURE(algorithm);
    const Json step =
        json_of_run({"run", "resnet50_v100", "--cluster", "10gbe_16", "--set", "cluster.nodes=4",
                     "--set", "strategy=wfbp", "--set", std::string("collective=") + algorithm,
                     "--set", "warm_up=0", "--fidelity", "flow", "--format", "json"});
    std::vector<std::string> words = {"replay"};
    for (int rank = 0; rank < 4; ++rank)
      words.push_back(prefix + "." + std::to_string(rank) + ".et");
    words.insert(words.end(), {"--cluster", "10gbe_16", "--algorithm", algorithm});
    std::vector<std::string> on_wires = words;
    on_wires.insert(on_wires.end(), {"--fidelity", "flow", "--format", "json"});
    const Json replayed = json_of_run(on_wires);
    CHECK(replayed["makespan_ps"].get<double>() / 1e6 ==
          doctest::Approx(step["metrics"]["iteration_us"]["mean"].get<double>()).epsilon(1e-5));
    // The busiest link carries what its worker sends, and is never in use for longer than there is.
    REQUIRE(!replayed["busiest"].empty());
    CHECK(replayed["busiest"][0]["utilisation"].get<double>() <= 1);
    // In turns only what has rounds meets other messages.
    CHECK((run_sgdsim(words).exit_code == 0) == (std::string(algorithm) == "ring"));
    words.insert(words.end(), {"--ports", "shared", "--gantt"});
    CHECK(run_sgdsim(words).exit_code == 0);
  }
}

TEST_CASE("chakra: export replaces nothing without --force, and refuses what it cannot say") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string prefix = folder.name() + "/step";
  const std::vector<std::string> command = {
      "export", "chakra", "app/experiments/googlenet_k80.json", "--set", "cluster.nodes=2",
      "--out",  prefix};
  REQUIRE(run_sgdsim(command).exit_code == 0);
  const std::string before = read_text(prefix + ".1.et");
  std::filesystem::remove(prefix + ".0.et");
  const Ran again = run_sgdsim(command);
  CHECK(again.exit_code == 2);
  CHECK(holds(again.log, "--out: " + prefix + ".groups.json exists"));
  CHECK_FALSE(std::filesystem::exists(prefix + ".0.et"));
  std::vector<std::string> forced = command;
  forced.emplace_back("--force");
  CHECK(run_sgdsim(forced).exit_code == 0);
  CHECK(read_text(prefix + ".1.et") == before);
  CHECK(Json::parse(read_text(prefix + ".groups.json")) == Json{{"0", {0, 1}}});
  // Files of more ranks would be replayed with those of fewer.
  std::ofstream(prefix + ".2.et") << "of before";
  const Ran fewer = run_sgdsim(forced);
  CHECK(fewer.exit_code == 2);
  CHECK(holds(fewer.log, "step.2.et\" is there: a trace of more ranks"));
  CHECK(read_text(prefix + ".1.et") == before);
  const Ran priority = run_sgdsim({"export", "chakra", "app/experiments/googlenet_k80.json",
                                   "--set", "strategy=p3", "--out", folder.name() + "/p"});
  CHECK(priority.exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder.name() + "/p.0.et"));
  const Ran missing = run_sgdsim({"export", "chakra", "app/experiments/googlenet_k80.json", "--set",
                                  "cluster.nodes=2", "--out", "no_such_folder/step"});
  CHECK(missing.exit_code == 2);
}

}  // namespace sgdsim
