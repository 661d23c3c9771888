// Where `collective` states what an exchange costs, that holds whatever the cluster is: changes of
// the cluster that nothing would notice are refused by every command, in one sentence.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/json_of_run.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim::stated_costs {
namespace {

const std::string experiment = "app/experiments/resnet50_ddl_10gbe.json";  // 16 nodes, a and b
const std::string sentence = "`collective` says itself what an exchange costs";
const std::string help = "change collective.per_byte, or --set collective=ring";

using Words = std::vector<std::string>;

Words on(const std::string& command, const Words& more) {
  Words words = {command, experiment};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json answer_to(Words words) {
  words.insert(words.end(), {"--format", "json"});
  return json_of_run(words);
}

std::string warnings_of(const Words& words) {
  const Json json = answer_to(words);
  return json.contains("warnings") ? json["warnings"].dump() : "";
}

void check_refused(const Words& words, const std::string& where) {
  const Ran ran = call_sgdsim(words);
  CAPTURE(words.front());
  CAPTURE(where);
  CAPTURE(ran.log);
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.starts_with("sgdsim: " + where + ": " + sentence));
  CHECK(ran.log.find(help) != std::string::npos);
}

}  // namespace

TEST_CASE("stated costs: what a setting leaves as it is, is no change") {
  const Json as_it_is = answer_to({"run", experiment});
  CHECK(answer_to(on("run", {"--set", "cluster.nodes=16"}))["iteration_ps"] ==
        as_it_is["iteration_ps"]);
}

TEST_CASE("stated costs: a part of the cluster that no exchange notices is refused everywhere") {
  check_refused(on("run", {"--set", "cluster.nodes=256"}), "--set cluster.nodes=256");
  check_refused(on("run", {"--set", "cluster.nic.bandwidth=100Gbps"}),
                "--set cluster.nic.bandwidth=100Gbps");
  check_refused(on("plan", {"--also", "cluster.nodes=64"}), "--set cluster.nodes=64");
  check_refused(on("advise", {"--set", "cluster.nodes=64"}), "--set cluster.nodes=64");
  check_refused(on("learn", {"--axis", "cluster.nodes=4,16", "--iterations", "4"}),
                "--axis cluster.nodes");
  check_refused(on("sweep", {"--axis", "cluster.nodes=4,16"}), "--axis cluster.nodes");
  check_refused(on("tune", {"--axis", "cluster.nodes=4,16"}), "--axis cluster.nodes");
  check_refused(on("need", {"--axis", "cluster.nodes=4..64", "--target", "step=100ms"}),
                "--axis cluster.nodes");
  // Methods that leave the costs as they are.
  check_refused(on("sweep", {"--axis", "cluster.nodes=4,16", "--method", "wfbp"}),
                "--axis cluster.nodes");
}

TEST_CASE("stated costs: advise leaves such a change out, and says why") {
  const Json advice =
      answer_to(on("advise", {"--try", "cluster.nodes=64", "--try", "cluster.nic.bandwidth=100Gbps",
                              "--try", "cluster.nodes=64; collective=ring"}));
  for (const char* change : {"cluster.nodes=64", "cluster.nic.bandwidth=100Gbps"}) {
    CAPTURE(change);
    int said = 0;
    for (const Json& left : advice["left_out"])
      if (left["change"] == change &&
          left["why"].get<std::string>().find(sentence) != std::string::npos)
        ++said;
    CHECK(said == 1);
  }
  int tried = 0;
  for (const Json& line : advice["lines"]) {
    CHECK(line["change"] != "cluster.nodes=64");
    tried += line["change"] == "cluster.nodes=64; collective=ring" ? 1 : 0;
  }
  CHECK(tried == 1);
}

TEST_CASE("stated costs: goodput refuses other numbers of nodes of such a step") {
  const std::string question = R"({"steps": 1000, "step": ")" + experiment +
                               R"(", "save": {"stall": "1 s", "durable": "1 s"},
          "failures": {"causes": [{"name": "a", "unit": "node", "per_day": 0.1}]},
          "restart": {"in_place": "10 s"}})";
  const Words words = {"goodput", question, "--runs", "2"};
  CHECK(call_sgdsim(words).exit_code == 0);
  for (const Words& more : {Words{"--axis", "nodes=4,16"}, Words{"--axis", "nodes=16,64"}}) {
    Words axis = words;
    axis.insert(axis.end(), more.begin(), more.end());
    check_refused(axis, "--axis nodes");
  }
  Words other = words;
  other.insert(other.end(), {"--nodes", "64"});
  const Ran ran = call_sgdsim(other);
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find(sentence) != std::string::npos);
  CHECK(ran.log.find(R"("set": ["collective=ring"])") != std::string::npos);
}

TEST_CASE("stated costs: costs that are said with the cluster may be those of that cluster") {
  const auto runs = [](const Words& more) { return call_sgdsim(on("run", more)).exit_code == 0; };
  CHECK(runs({"--set", "cluster.nodes=256", "--set", "collective.per_byte=2ns/B"}));
  CHECK(runs({"--set", "cluster.nodes=256", "--set", "collective=ring"}));
  CHECK(runs({"--set", "cluster.nodes=256", "--method", "ring: collective=ring"}));
  const Ran swept = call_sgdsim(
      on("sweep", {"--axis", "collective.per_byte=1ns/B,2ns/B", "--set", "cluster.nodes=32"}));
  CHECK(swept.exit_code == 0);
  // Whether a compression brings a collective of its own is asked point by point.
  const Ran compressed = call_sgdsim(
      on("sweep", {"--axis", "compression=none,truncate16", "--axis", "cluster.nodes=16,32"}));
  CHECK(compressed.log.find("`collective` says itself what") != std::string::npos);
  // A later change that leaves them alone is one by itself.
  check_refused(on("plan", {"--set", "collective.per_byte=2ns/B", "--also", "cluster.nodes=64"}),
                "--set cluster.nodes=64");
}

TEST_CASE("stated costs: a compression that states its own is asked likewise") {
  const auto refused = [](const std::string& compression) {
    const Ran ran = call_sgdsim({"run", "resnet50_v100", "-c", "25gbe_16", "--set",
                                 "cluster.nodes=8", "--method", "own: compression=" + compression});
    CHECK(ran.exit_code == 0);  // they are said together
    return call_sgdsim({"plan", "resnet50_v100", "-c", "25gbe_16", "--set",
                        "compression=" + compression, "--also", "cluster.nodes=8"})
               .log.find(sentence) != std::string::npos;
  };
  CHECK(refused(
      R"({"name":"topk","density":0.01,"collective":{"start_up":"1 ms","per_byte":"1 ns/B"}})"));
  CHECK_FALSE(refused(R"({"name":"topk","density":0.01})"));
}

TEST_CASE("stated costs: what else reads the cluster stays free, and so do its names") {
  const auto runs = [](const Words& more) { return call_sgdsim(on("run", more)).exit_code == 0; };
  CHECK(runs({"--set", "cluster.name=ours", "--set", "cluster.gpu=v100", "--set",
              "cluster.network=gloo"}));
  // The tree of gTop-k goes over the cluster's links, whatever `collective` states: twice the
  // latency of one message is more than none.
  const auto ps = [&](const char* latency) {
    return answer_to(on("run", {"--method", "compression=gtopk", "--set",
                                std::string("cluster.nic.latency=") + latency}))["iteration_ps"]
        .get<int64_t>();
  };
  CHECK(ps("2 ms") > ps("1 ms"));
  // So does NCCL's model, a formula that knows the cluster.
  CHECK(call_sgdsim({"sweep", "resnet50_v100", "-c", "dgx_h100_4", "--axis", "cluster.nodes=2,4"})
            .exit_code == 0);
}

TEST_CASE("stated costs: a sweep's file may state the costs of the cluster that it sets") {
  const auto exit_code = [](const Json& base) {
    const Json sweep = {{"base", base},
                        {"set", {{"cluster.nodes", 8}}},
                        {"axes", {{"strategy", {"wfbp", "mg_wfbp"}}}}};
    const Temporary file(Temporary::Kind::file, sweep.dump());
    return call_sgdsim({"sweep", file.name()}).exit_code;
  };
  const std::string path = SGDSIM_SOURCE_DIR "/" + experiment;
  Json base = Document::read(path).root().json();
  base["trace"] = "resnet50_v100";
  CHECK(exit_code(base) == 0);
  CHECK(exit_code(path) == 2);
}

TEST_CASE("stated costs: another cluster as a whole is warned of") {
  const std::string said = "the cluster is another one than the experiment's";
  CHECK(warnings_of(on("run", {"-c", "25gbe_16"})).find(said) != std::string::npos);
  CHECK(warnings_of(on("run", {})).find(said) == std::string::npos);
  CHECK(warnings_of(on("run", {"-c", "25gbe_16", "--set", "collective=ring"})).find(said) ==
        std::string::npos);
  // Costs for a trace, which has no cluster of its own.
  CHECK(warnings_of({"run", "resnet50_v100", "-c", "25gbe_16", "--set",
                     R"(collective={"start_up":"1 ms","per_byte":"1 ns/B"})"})
            .find(said) == std::string::npos);
  const Ran swept = call_sgdsim(on("sweep", {"-c", "25gbe_16", "--axis", "strategy=wfbp,mg_wfbp"}));
  CHECK((swept.out + swept.log).find(said) != std::string::npos);
}

}  // namespace sgdsim::stated_costs
