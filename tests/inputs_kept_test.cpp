// No command replaces a file that it reads, whether its words name that file or another file does,
// and standard input is there for all that ask for it.
#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// Files of a small question, each of which names others.
struct KeptFiles {
  Temporary folder{Temporary::Kind::folder};
  std::string at(const std::string& name) const { return folder.name() + "/" + name; }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
  }
  KeptFiles() {
    put("trace.json",
        R"({"schema": "sgdsim/trace/1", "name": "t", "model": "t", "framework": "x",
            "device": "x", "date": "2024-01", "source": "s", "batch": 32, "update": "1 ms",
            "forward": "9 ms",
            "layers": [{"name": "a", "parameters": 250000, "backward": "6 ms"},
                       {"name": "b", "parameters": 500000, "backward": "8 ms"}]})");
    put("cluster.json",
        R"({"schema": "sgdsim/cluster/1", "name": "c", "shape": "single_switch", "nodes": 4,
            "nic": {"bandwidth": "8 Gbps", "latency": "5 us"}})");
    put("traffic.json", R"({"schema": "sgdsim/traffic/1",
            "flows": [{"generator": "incast", "size": "1 KB"}]})");
    put("experiment.json", R"({"schema": "sgdsim/experiment/1", "trace": "trace.json",
            "cluster": "cluster.json", "collective": "ring"})");
    put("jobs.json", R"({"schema": "sgdsim/jobs/1", "cluster": "cluster.json",
            "jobs": [{"experiment": "experiment.json", "workers": 4}]})");
    put("failures.json",
        read_text(std::string(SGDSIM_SOURCE_DIR) + "/models/goodput/data/llama3_h100.json"));
    put("goodput.json", R"({"schema": "sgdsim/goodput-question/1"})");
  }
};

}  // namespace

TEST_CASE("inputs kept: no output takes the place of what a command reads") {
  const KeptFiles files;
  using Words = std::vector<std::string>;
  const std::string experiment = files.at("experiment.json");
  const std::string traffic = files.at("traffic.json");
  const Words two = {"--axis", "cluster.nodes=2,4"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Words on_wires = {"--fidelity", "flow", "--traffic", traffic};
  const Words need = with({"need", experiment, "--target", "step=1s"}, two);
  struct Case {
    Words words;
    std::string option;
    std::vector<const char*> inputs;
  };
  const std::vector<Case> cases = {
      {{"run", experiment}, "-o", {"trace.json", "cluster.json", "experiment.json"}},
      {{"plan", experiment}, "-o", {"trace.json", "cluster.json", "experiment.json"}},
      {with({"plan", experiment}, on_wires), "-o", {"traffic.json"}},
      {{"advise", experiment}, "-o", {"trace.json", "cluster.json", "experiment.json"}},
      {with({"advise", experiment}, on_wires), "-o", {"traffic.json"}},
      {with({"advise", experiment}, {"--steps", "100", "--goodput", files.at("goodput.json")}),
       "-o",
       {"goodput.json"}},
      {need, "-o", {"trace.json", "cluster.json", "experiment.json"}},
      {with(need, on_wires), "-o", {"traffic.json"}},
      {with({"sweep", experiment}, two), "-o", {"trace.json", "cluster.json"}},
      {with(with({"sweep", experiment}, two), on_wires), "-o", {"traffic.json"}},
      {with({"tune", experiment}, two), "-o", {"trace.json", "cluster.json"}},
      {with(with({"tune", experiment}, two), on_wires), "-o", {"traffic.json"}},
      {{"jobs", files.at("jobs.json")},
       "--timeline",
       {"trace.json", "cluster.json", "experiment.json", "jobs.json"}},
      {{"goodput", "--step", "8s", "--steps", "1000", "--nodes", "16", "--failures",
        files.at("failures.json"), "--set", "save.stall=10s", "--set", "save.durable=1min",
        "--runs", "10", "--axis", "nodes=8,16"},
       "-o",
       {"failures.json"}},
      {{"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "8", "--layout", "tp8 zero1 sp",
        "--fidelity", "flow", "--traffic", traffic},
       "--timeline",
       {"traffic.json"}}};
  for (const Case& one : cases)
    for (const char* input : one.inputs) {
      const std::string name = files.at(input);
      const std::string before = read_text(name);
      const Ran ran = run_sgdsim(with(one.words, {one.option, name, "--force"}));
      INFO(one.words.front());
      INFO(input);
      INFO(ran.log);
      CHECK(ran.exit_code == 2);
      CHECK(ran.log.find("is an input of this command") != std::string::npos);
      CHECK(read_text(name) == before);
    }
}

TEST_CASE("inputs kept: what was read in one command may be written by the next") {
  const KeptFiles files;
  const std::string out = files.at("out.json");
  for (int i = 0; i < 2; ++i)
    CHECK(call_sgdsim({"run", files.at("experiment.json"), "-o", out, "--force"}).exit_code == 0);
  CHECK(call_sgdsim({"report", out, "-o", files.at("page.html")}).exit_code == 0);
  CHECK(call_sgdsim({"run", files.at("experiment.json"), "-o", out, "--force"}).exit_code == 0);
}

TEST_CASE("inputs kept: standard input is read once, for all that ask") {
  const KeptFiles files;
  const std::string experiment = R"({"schema": "sgdsim/experiment/1", "trace": )" +
                                 read_text(files.at("trace.json")) + R"(, "cluster": )" +
                                 read_text(files.at("cluster.json")) + R"(, "collective": "ring"})";
  const auto answers = [](const std::vector<std::string>& words, const std::string& text) {
    const Temporary input(Temporary::Kind::file, text);
    const Ran ran = run_sgdsim(words, {.input_file = input.name(), .output_file = {}});
    INFO(words.front());
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    return ran.out;
  };
  for (const char* command : {"run", "plan", "tune", "advise"}) {
    const std::string by_input = answers({command, "-", "--format", "json"}, experiment);
    CHECK(by_input.size() > 100);
  }
  const std::string from_file =
      answers({"plan", files.at("experiment.json")}, "nobody asks for this");
  CHECK(answers({"plan", files.at("experiment.json"), "-c", "-"},
                read_text(files.at("cluster.json"))) == from_file);
}

}  // namespace sgdsim
