// `sgdsim plan`: every line names the run that gives it; and what neither it nor `advise` puts
// first.
#include <doctest/doctest.h>

#include "study/table.h"
#include "tests/json_of_run.h"

using namespace sgdsim;

TEST_CASE("plan: the command of a line gives that line") {
  const std::string small = "topologies/data/mgwfbp_paper_10gbe.json";
  const std::vector<std::vector<std::string>> questions = {
      {"app/experiments/googlenet_k80.json", "--set", "cluster.nodes=64"},
      {"app/experiments/resnet50_servers_18.json"},
      // How many messages are in flight follows from the strategy, the servers and the network.
      {"app/experiments/googlenet_k80.json", "--set", "cluster.network=gloo"},
      {"app/experiments/googlenet_k80.json", "--set", "cluster.network=tcp", "--set",
       R"(collective={"parameter_server": {"servers": 1, "placement": "dedicated"}})"},
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

// The closed form of double_binary_tree moves a byte once where every all-reduce moves 2 (P-1)/P.
TEST_CASE("advise: what no program reaches is no advice") {
  const std::vector<std::string> words = {"advise",   "resnet50_v100", "-c",
                                          "10gbe_16", "--format",      "json"};
  const std::string tree = "double_binary_tree";
  const Json quick = json_of_run(words);
  for (const Json& line : quick["lines"]) CHECK(line.dump().find(tree) == std::string::npos);
  CHECK(quick.dump().find(tree) != std::string::npos);  // left out, with the reason
  std::vector<std::string> simulated = words;
  simulated.insert(simulated.end(), {"--fidelity", "message"});
  CHECK(json_of_run(simulated)["lines"].dump().find(tree) != std::string::npos);
  const Ran ran = run_sgdsim({"run", "resnet50_v100", "-c", "10gbe_16", "--fidelity", "closed_form",
                              "--set", "collective=" + tree});
  CHECK(ran.log.find("the published form of " + tree) != std::string::npos);
}

// Four micro-batches a step are four times the samples, for which four steps of one are needed.
TEST_CASE("plan: steps with more samples win by samples, not by steps") {
  const std::vector<std::string> words = {
      "plan",     "resnet50_v100",      "-c",       "10gbe_16",
      "--method", "one: strategy=wfbp", "--method", "four: accumulation=4"};
  std::vector<std::string> in_json = words;
  in_json.insert(in_json.end(), {"--format", "json"});
  const Json plans = json_of_run(in_json)["plans"];
  REQUIRE(plans.size() == 2);
  CHECK(plans[0]["method"] == "four");
  CHECK(plans[0]["is_winner"] == true);
  CHECK_FALSE(plans[0].contains("steps"));
  CHECK(plans[1]["steps"] == 4);
  CHECK_FALSE(plans[1].contains("is_winner"));
  CHECK(plans[1]["iteration_us"] < plans[0]["iteration_us"]);
  const double behind =
      100 *
      (4 * plans[1]["iteration_us"].get<double>() / plans[0]["iteration_us"].get<double>() - 1);
  const Ran printed = run_sgdsim(words);
  CHECK(printed.out.find("four wins.") != std::string::npos);
  CHECK(printed.out.find("one is the next, " + rounded(behind, 3) + " % behind the first.") !=
        std::string::npos);
  CHECK(printed.out.find("because steps have different numbers of") != std::string::npos);
}
