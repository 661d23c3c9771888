// `sgdsim plan`: every line names the run that gives it.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

using namespace sgdsim;

TEST_CASE("plan: the command of a line gives that line") {
  const std::string small = "topologies/data/mgwfbp_paper_10gbe.json";
  const std::vector<std::vector<std::string>> questions = {
      {"app/experiments/googlenet_k80.json", "--set", "cluster.nodes=64"},
      {"app/experiments/resnet50_servers_18.json"},
      {"app/experiments/alexnet_pipe_sgd.json", "--set", "iterations=3"},
      {"app/experiments/alexnet_gtopk_1gbe.json", "--also", "compression=truncate16"},
      {"app/experiments/googlenet_k80.json", "--set",
       R"(strategy={"name": "ddp", "bucket": "1 MiB"})", "--also", "strategy=p3"},
      {"traces/data/googlenet_k80.json", "-c", small, "--fidelity", "packet", "--transport",
       "dctcp packet=9000B", "--set", "cluster.nodes=2", "--set", "cluster.name=it's"},
  };
  for (std::vector<std::string> words : questions) {
    CAPTURE(words.front());
    words.insert(words.begin(), "plan");
    words.insert(words.end(), {"--format", "json"});
    const Ran planned = run_sgdsim(words);
    REQUIRE(planned.exit_code == 0);
    const bool in_one = words[1] == "app/experiments/alexnet_pipe_sgd.json";  // message
    std::size_t compared = 0;
    const Json answer = Json::parse(planned.out);
    for (const Json& plan : answer["plans"]) {
      if (plan.contains("why_not")) {
        CHECK_FALSE(plan.contains("command"));
        continue;
      }
      CAPTURE(plan["command"].dump());
      const Ran ran = run_shell_line(plan["command"].get<std::string>() + " --format json");
      REQUIRE(ran.exit_code == 0);
      const Json result = Json::parse(ran.out);
      CHECK(result["strategy"] == plan["strategy"]);
      CHECK(result["iteration_ps"] == plan["iteration_ps"]);
      CHECK(result["messages"] == plan["groups"]);
      ++compared;
    }
    CHECK(compared >= (in_one ? 1 : 8));
  }
}
