// `sgdsim layout --axis`: every point is what the command gives alone.
#include <algorithm>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::vector<std::string> question = {"layout", "llama3.1_8b", "-c",
                                           "topologies/data/dgx_h100_4.json"};

Ran with(std::vector<std::string> more) {
  more.insert(more.begin(), question.begin(), question.end());
  return run_sgdsim(more);
}

std::vector<Json> lines_in(const std::string& text) {
  std::vector<Json> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(Json::parse(text.substr(at, text.find('\n', at) - at)));
  return lines;
}

}  // namespace

TEST_CASE("layout sweep: every point is the answer to its question alone") {
  const Ran ran = with({"--axis", "gpus=16..64", "--axis",
                        "cluster.nic.bandwidth=100 Gbps,400 Gbps", "--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const std::vector<Json> lines = lines_in(ran.out);
  REQUIRE(lines.size() == 6);
  std::size_t place = 0;
  for (const char* gpus : {"16", "32", "64"})
    for (const char* rate : {"100 Gbps", "400 Gbps"}) {
      const Json& line = lines[place++];
      CHECK(faults_of_value(embedded_shelf(), "sgdsim/layout-point/1", line) ==
            std::vector<std::string>{});
      CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", line["answer"]) ==
            std::vector<std::string>{});
      CHECK(line["axes"] == Json({{"gpus", std::stoi(gpus)}, {"cluster.nic.bandwidth", rate}}));
      const Ran alone = with({"--gpus", gpus, "--set", "nic.bandwidth=" + std::string(rate),
                              "--lines", "1", "--format", "json"});
      REQUIRE(alone.exit_code == 0);
      CHECK(line["answer"] == Json::parse(alone.out));
    }
  // A link of a quarter makes no step shorter.
  for (std::size_t i = 0; i < lines.size(); i += 2)
    CHECK(lines[i]["answer"]["layouts"][0]["step_ps"] >=
          lines[i + 1]["answer"]["layouts"][0]["step_ps"]);
}

// More than are answered at a time, of which some have none.
TEST_CASE("layout sweep: points of one layout stand in order, whatever core was first") {
  const Ran ran = with({"--gpus", "16", "--layout", "tp8 zero1 sp", "--axis",
                        R"(sequence={"from": 64, "to": 38464, "step": 128})", "--axis",
                        "global_batch=2,3", "--format", "json"});
  CHECK(ran.exit_code == 1);  // three sequences are not twice as many
  const std::vector<Json> lines = lines_in(ran.out);
  REQUIRE(lines.size() == 602);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i]["axes"] ==
          Json({{"sequence", 64 + 128 * (i / 2)}, {"global_batch", 2 + i % 2}}));
    CHECK(lines[i].contains("error") == (i % 2 == 1));
  }
  for (const std::size_t i : {0U, 300U, 600U}) {
    const Ran alone =
        with({"--gpus", "16", "--layout", "tp8 zero1 sp", "--sequence",
              lines[i]["axes"]["sequence"].dump(), "--global-batch", "2", "--format", "json"});
    REQUIRE(alone.exit_code == 0);
    CHECK(lines[i]["answer"] == Json::parse(alone.out));
  }
}

TEST_CASE("layout sweep: points without an answer say why, and the others are given") {
  const Ran ran = with({"--axis", "layout=tp8 dp4,tp3", "--fidelity", "flow", "--format", "json"});
  CHECK(ran.exit_code == 1);
  CHECK(ran.log == "sgdsim: 1 of 2 points failed\n");
  const std::vector<Json> lines = lines_in(ran.out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["answer"]["fidelity"] == "flow");
  CHECK(lines[1]["error"].get<std::string>().find("do not divide by tp3") != std::string::npos);
  const Ran table = with({"--axis", "layout=tp8 dp4,tp3"});
  CHECK(table.out.find("do not divide by tp3") != std::string::npos);
  CHECK(table.out.find("tp8 dp4") != std::string::npos);
}

TEST_CASE("layout sweep: a warning of several points is said once") {
  const Ran ran = with({"--gpu", "h100", "--axis", "memory=200GB,300GB", "--gpus", "16", "--layout",
                        "--tensor-model-parallel-size 2"});
  CAPTURE(ran.log);
  CHECK(ran.exit_code == 0);
  const std::size_t first = ran.log.find("sgdsim: warning: ");
  REQUIRE(first != std::string::npos);
  const std::string line = ran.log.substr(first, ran.log.find('\n', first) - first);
  CHECK(ran.log.find(line, first + 1) == std::string::npos);
}

TEST_CASE("layout sweep: a table has what --lines, --margins and --breaks ask for") {
  const Ran one = with({"--gpus", "16", "--lines", "3", "--format", "json"});
  const Ran ran = with({"--axis", "gpus=16,32", "--lines", "3", "--margins", "--breaks"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 1 + 2 * 3);
  for (const Json& layout : Json::parse(one.out)["layouts"])
    CHECK(ran.out.find(layout["layout"].get<std::string>()) != std::string::npos);
  for (const char* word : {"first flips with", "most sensitive to", " below ", ", half: +"})
    CHECK(ran.out.find(word) != std::string::npos);
  // A field that some shapes alone have.
  CHECK(with({"--axis", "cluster.shape=single_switch,leaf_spine", "--axis", "cluster.spines=2",
              "--set", "nodes_per_leaf=2"})
            .exit_code == 1);
}

TEST_CASE("layout sweep: what is refused") {
  const std::vector<std::pair<std::vector<std::string>, const char*>> rows = {
      {{"--axis", "nodes=4"}, "--axis nodes: unknown field \"nodes\" (did you mean \"model\"?)"},
      {{"--axis", "cluster.=4"}, "an empty step in the path"},
      {{"--axis", "cluster=4"}, "unknown field \"cluster\""},
      {{"--axis", "gpus"}, "expected FIELD=VALUES"},
      {{"--axis", "gpus=8", "--axis", "gpus=16"}, "this axis occurs twice"},
      {{"--axis", "gpus=1..1000000:1", "--axis", "sequence=1..1000000:1"}, "more than 1000000"},
      {{"--axis", "layout=tp8", "--fidelity", "message", "--gantt"}, "--gantt: shows one step"},
      {{"--axis", "layout=tp8", "--fidelity", "message", "--timeline", "t.json"},
       "--timeline: shows one step"},
      {{"--axis", "gpus=16,32", "--gpus", "8"}, "--gpus: --axis says gpus, too"},
      {{"--axis", "global_batch=16,32", "--global-batch", "8"},
       "--global-batch: --axis says global_batch, too"},
      {{"--axis", "sequence=2048", "--sequence", "8192"}, "--sequence: --axis says sequence, too"},
      {{"--axis", "cluster.foo=1,2"},
       "--axis cluster.foo: no point can be read: topologies/data/dgx_h100_4.json: /: unknown "
       "field \"foo\""},
      {{"--axis", "gpus=16,32", "--axis", "cluster.nic.foo=1,2"}, "--axis cluster.nic.foo: no"},
      {{"--layout", "tp8 dp4", "--lines", "3"}, "--lines: is about a search"},
      {{"--set", "nic.colour=3"}, "nic"}};
  for (const auto& [more, sentence] : rows) {
    const Ran ran = with(more);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(sentence) != std::string::npos);
  }
}

}  // namespace sgdsim
