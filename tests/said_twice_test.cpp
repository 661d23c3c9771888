// What an axis, a method or a setting says and another one overwrites at every point is refused;
// what is set within another's values is not.
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

#include "tests/json_of_run.h"
#include "tests/run_program.h"

namespace sgdsim::said_twice {
namespace {

using Words = std::vector<std::string>;

const std::string k80 = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";

Ran sweep_with(const Words& more) {
  Words words = {"sweep", k80, "-q"};
  words.insert(words.end(), more.begin(), more.end());
  return call_sgdsim(words);
}

int64_t time_of(const Words& more) {
  Words words = {"run", k80, "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return json_of_run(words)["iteration_ps"];
}

}  // namespace

TEST_CASE("sweep: what is overwritten at every point is refused") {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"--axis", "collective=ring,be", "--axis", "collective.algorithm=mst"},
       "--axis collective.algorithm: overwrites all in which values of the axis collective differ"},
      {{"--axis", "strategy.name=ddp", "--axis", "strategy=wfbp,naive"}, "--axis strategy.name: "},
      {{"--axis", R"(strategy=[{"name":"ddp","bucket":"1 MB"},{"name":"ddp","bucket":"2 MB"}])",
        "--axis", "strategy.bucket=3MB,4MB"},
       "--axis strategy.bucket: "},
      {{"--axis", "cluster.nodes=2,4", "--set", "cluster.nodes=8"},
       "--set cluster.nodes: --axis says cluster.nodes, too; give one of them"},
      {{"--axis", "collective=ring,be", "--set", "collective.options.alpha=wire"},
       "--set collective.options.alpha: --axis replaces all of collective"},
      {{"--axis", "cluster=10gbe_16,25gbe_16", "--set", "cluster.nodes=8"},
       "--set cluster.nodes: --axis replaces all of cluster"},
      {{"--method", "a: strategy=ddp", "--method", "b: strategy=wfbp", "--set", "strategy=naive"},
       "--set strategy: every method says strategy"},
      {{"--method", "a: collective=be", "--axis", "collective.algorithm=ring,mst"},
       "the method \"a\" sets collective, too"}};
  for (const auto& row : wrong) {
    CAPTURE(row.second);
    const Ran ran = sweep_with(row.first);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.second) != std::string::npos);
  }
  const Ran need = call_sgdsim({"need", k80, "--axis", "cluster.nodes=2..64", "--set",
                                "cluster.nodes=8", "--target", "efficiency=0.9"});
  CHECK(need.exit_code == 2);
  CHECK(need.log.find("--set cluster.nodes: --axis says cluster.nodes, too") != std::string::npos);
}

// Each point is what `run` says of the same.
TEST_CASE("sweep: what is set within the values of another goes with it") {
  struct Asked {
    Words words;
    std::vector<Words> points;
  };
  const std::vector<Asked> questions = {
      {{"--axis", "cluster=10gbe_16,25gbe_16", "--axis", "cluster.nodes=2"},
       {{"--set", "cluster=10gbe_16", "--set", "cluster.nodes=2"},
        {"--set", "cluster=25gbe_16", "--set", "cluster.nodes=2"}}},
      {{"--axis", "cluster.nodes=2,4", "--set", "cluster=25gbe_16"},
       {{"--set", "cluster=25gbe_16", "--set", "cluster.nodes=2"},
        {"--set", "cluster=25gbe_16", "--set", "cluster.nodes=4"}}},
      {{"--axis", "collective=ring,be", "--axis", "collective.options.alpha=wire"},
       {{"--set", "collective=ring", "--set", "collective.options.alpha=wire"},
        {"--set", "collective=be", "--set", "collective.options.alpha=wire"}}},
      {{"--method", "a: strategy=ddp", "--axis", "strategy.bucket=1MB,2MB"},
       {{"--set", "strategy=ddp", "--set", "strategy.bucket=1MB"},
        {"--set", "strategy=ddp", "--set", "strategy.bucket=2MB"}}},
      {{"--method", "a: strategy=ddp", "--method", "b: synchronization=none", "--set",
        "strategy=naive"},
       {{"--set", "strategy=ddp"}, {"--set", "strategy=naive"}}}};
  for (const Asked& one : questions) {
    CAPTURE(one.words.front() + " " + one.words[1]);
    Words words = one.words;
    words.insert(words.end(), {"--columns", "iteration_ps"});
    std::string expected = "iteration_ps\n";
    for (const Words& point : one.points) expected += std::to_string(time_of(point)) + "\n";
    CHECK(sweep_with(words).out == expected);
  }
}

}  // namespace sgdsim::said_twice
