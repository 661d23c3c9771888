// The what-if page asks in JSON; its answers must be those of the command line.
#include "app/page/page.h"

#include <doctest/doctest.h>
#include <filesystem>

#include "app/page/page_input.h"
#include "sim/core/json.h"
#include "study/shell_word.h"
#include "tests/repository.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

// Names count from the root of the repository here, as for the program.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_;
};

Json ask(const Json& question) { return Json::parse(page_answer(question.dump())); }

Json input_of(const std::string& experiment, const std::string& cluster,
              const std::vector<std::string>& settings) {
  return {{"experiment", experiment}, {"cluster", cluster}, {"settings", settings}};
}

const std::vector<Json> inputs = {
    input_of("app/experiments/googlenet_k80.json", "", {"cluster.nodes=64"}),
    input_of("app/experiments/resnet50_ddl_10gbe.json", "", {}),
    input_of("app/experiments/alexnet_pipe_sgd.json", "", {"iterations=3"}),
    input_of("traces/data/resnet50_v100.json", "topologies/data/mgwfbp_paper_10gbe.json",
             {"strategy=optimal", "fidelity=closed_form", "cluster.nic.bandwidth=2.5 Gbps"}),
    input_of("traces/data/bert_large_v100.json", "topologies/data/dgx_h100_4.json",
             {"strategy={\"name\": \"ddp\", \"bucket\": \"10 MiB\"}", "collective.algorithm=nccl"}),
    input_of("traces/data/vgg16_v100.json", "topologies/data/two_boxes_explicit.json",
             {"compression.name=topk", "compression.density=0.01"}),
};

}  // namespace

TEST_CASE("page: a run is what the command beside it prints") {
  const InFolder here(repository.string());
  for (const Json& input : inputs) {
    CAPTURE(input.dump());
    const Json answer = ask({{"ask", "run"}, {"input", input}});
    REQUIRE_FALSE(answer.contains("error"));
    const Ran ran = run_shell_line(answer["command"].get<std::string>());
    REQUIRE(ran.exit_code == 0);
    CHECK(answer["result"] == Json::parse(ran.out));
  }
}

TEST_CASE("page: a plan and a timeline are what the commands beside them write") {
  const InFolder here(repository.string());
  for (const Json& input : inputs) {
    CAPTURE(input.dump());
    const Json plan = ask({{"ask", "plan"}, {"input", input}});
    const Ran planned = run_shell_line(plan["command"].get<std::string>());
    CHECK(plan["plan"] == Json::parse(planned.out));
    const Json timeline = ask({{"ask", "timeline"}, {"input", input}});
    const Ran ran = run_shell_line(timeline["command"].get<std::string>() +
                                   " >results/table && cat timeline.json");
    REQUIRE(ran.exit_code == 0);
    CHECK(timeline["timeline"] == Json::parse(ran.out));
  }
}

TEST_CASE("page: the end of a training is that of the command beside it") {
  const InFolder here(repository.string());
  const Json goodput =
      Json::parse(R"({"steps": 1000000, "save": {"stall": "30 s", "interval": "best"},
    "failures": {"causes": [{"name": "node", "unit": "node", "per_day": 0.0038}]},
    "restart": {"in_place": "10 min"}})");
  const auto ask_end = [&](const Json& input, const Json& question) {
    return ask({{"ask", "training"},
                {"input", input},
                {"step_ps", 250'000'000'000},
                {"goodput", question}});
  };
  for (const Json& input : {inputs[0], inputs[4]}) {
    const Json answer = ask_end(input, goodput);
    CAPTURE(answer.dump());
    REQUIRE_FALSE(answer.contains("error"));
    const Ran ran = run_shell_line(answer["command"].get<std::string>() + " --format json");
    REQUIRE(ran.exit_code == 0);
    const Json native = Json::parse(ran.out);
    CHECK(answer["end"]["days"] == native["wall"]["closed_form_days"]);
    CHECK(answer["end"]["interval_s"] == native["question"]["interval_s"]);
    CHECK(answer["interval"] == native["interval"]);
    CHECK(answer["intervals"] == native["intervals"]);
    CHECK(native["question"]["step_s"] == 0.25);
    // As often as one expects within that time.
    CHECK(answer["failures"].get<double>() ==
          doctest::Approx(answer["end"]["days"].get<double>() * 24 /
                          native["mean_to_failure_h"].get<double>()));
  }
  Json wrong = goodput;
  wrong["failures"]["causes"][0]["per_day"] = "many";
  CHECK(ask_end(inputs[0], wrong)["error"].get<std::string>().find("per_day") != std::string::npos);
  Json played = goodput;
  played["spares"] = 2;
  CHECK(ask_end(inputs[0], played)["error"].get<std::string>().find("no formula holds") !=
        std::string::npos);
}

TEST_CASE("page: a saved experiment gives the same result from its own file") {
  const InFolder here(repository.string());
  for (const Json& input : inputs) {
    CAPTURE(input.dump());
    const Json saved = ask({{"ask", "save"}, {"input", input}});
    const Temporary file(Temporary::Kind::file, saved["text"].get<std::string>());
    const Ran ran = run_sgdsim({"run", file.name(), "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    CHECK(ask({{"ask", "run"}, {"input", input}})["result"] == Json::parse(ran.out));
  }
}

TEST_CASE("page: a grid has the points of the sweep and its winners") {
  const InFolder here(repository.string());
  const Json axes = {{"cluster.nodes", {2, 16, 256}},
                     {"cluster.nic.bandwidth", {"1 Gbps", "25 Gbps", "100 Gbps"}},
                     {"strategy", {"wfbp", "sync_easgd", "mg_wfbp", "optimal", "p3"}}};
  const Json input = inputs.front();
  const Json answer = ask({{"ask", "grid"}, {"input", input}, {"axes", axes}});
  REQUIRE_FALSE(answer.contains("error"));
  const std::vector<std::string> sweep = {"sweep",  "app/experiments/googlenet_k80.json",
                                          "--axis", "cluster.nodes=2,16,256",
                                          "--axis", "cluster.nic.bandwidth=1 Gbps,25 Gbps,100 Gbps",
                                          "--axis", "strategy=wfbp,sync_easgd,mg_wfbp,optimal,p3"};
  std::vector<std::string> lines = sweep, best = sweep;
  lines.insert(lines.end(), {"--out", "-"});
  const Ran ran = run_sgdsim(lines);
  REQUIRE(ran.exit_code == 0);
  std::size_t at = 0, number = 0;
  Json times = Json::array();
  for (; at < ran.out.size(); at = ran.out.find('\n', at) + 1, ++number)
    times.push_back(Json::parse(ran.out.substr(at, ran.out.find('\n', at) - at))["iteration_ps"]);
  CHECK(number == 45);
  CHECK(answer["points"] == 45);
  CHECK(answer["iteration_ps"] == times);
  REQUIRE(answer["winners"].size() == 9);
  for (std::size_t cell = 0; cell < 9; ++cell) {
    CAPTURE(cell);
    constexpr std::size_t bound = 3;  // optimal
    int64_t least = times[5 * cell].get<int64_t>();
    for (const std::size_t i : {1U, 2U, 4U})
      least = std::min(least, times[5 * cell + i].get<int64_t>());
    const auto winner = answer["winners"][cell]["best"].get<std::size_t>();
    CHECK(times[5 * cell + winner].get<int64_t>() == least);
    for (const Json& tie : answer["winners"][cell]["ties"]) CHECK(tie != bound);
  }
}

TEST_CASE("page: a point that cannot be simulated leaves a gap and a sentence") {
  const InFolder here(repository.string());
  const Json input =
      input_of("traces/data/resnet50_v100.json", "topologies/data/mgwfbp_paper_10gbe.json",
               {"collective.algorithm=torus_ring", "fidelity=closed_form"});
  const Json good =
      input_of("traces/data/resnet50_v100.json", "topologies/data/mgwfbp_paper_10gbe.json", {});
  const Json axes = {{"cluster.nodes", {2, 0}}, {"strategy", {"wfbp"}}};
  const Json answer = ask({{"ask", "grid"}, {"input", good}, {"axes", axes}});
  REQUIRE(answer["iteration_ps"].size() == 2);
  CHECK(answer["iteration_ps"][0].is_number());
  CHECK(answer["iteration_ps"][1].is_null());
  CHECK(answer["winners"][1] == Json::object());
  CHECK(answer["errors"][0]["points"] == 1);
  const Json refused = ask({{"ask", "run"}, {"input", input}});
  CHECK(refused["exit"] == 2);
}

TEST_CASE("page: errors are the sentences of the program") {
  const InFolder here(repository.string());
  const std::vector<Json> wrong = {
      input_of("traces/data/resnet50_v100.json", "", {}),
      input_of("traces/data/none.json", "topologies/data/mgwfbp_paper_10gbe.json", {}),
      input_of("app/experiments/googlenet_k80.json", "", {"strategy=mg_wfpb"}),
      input_of("app/experiments/googlenet_k80.json", "", {"cluster.nodes=-1"}),
      input_of("app/experiments/googlenet_k80.json", "", {"cluster.nodes=1e99"}),
      input_of("app/experiments/googlenet_k80.json", "", {"cluster.nic.bandwidth=fast"}),
      input_of("app/experiments/googlenet_k80.json", "", {"nodes"}),
      input_of("app/experiments/googlenet_k80.json", "", {"trace.compute_scale=NaN"}),
  };
  for (const Json& input : wrong) {
    CAPTURE(input.dump());
    const Json answer = ask({{"ask", "run"}, {"input", input}});
    REQUIRE(answer.contains("error"));
    CHECK(answer["exit"] == 2);
    const PageInput read = read_page_input(Value(input, "", ""));
    const Ran ran = run_shell_line(command_of(read, "run"));
    CHECK(ran.exit_code == 2);
    CHECK(ran.log == "sgdsim: " + answer["error"].get<std::string>() + "\n");
  }
}

TEST_CASE("page: what is no question is refused") {
  for (const char* text :
       {"", "{", "[]", "null", "{}", R"({"ask": "everything"})", R"({"ask": "run"})",
        R"({"ask": "run", "input": {}})", R"({"ask": "run", "input": {"experiment": 5}})",
        R"({"ask": "grid", "input": {"experiment": "a"}, "axes": []})"}) {
    CAPTURE(text);
    const Json answer = Json::parse(page_answer(text));
    CHECK(answer["exit"] == 2);
    CHECK(answer["error"].get<std::string>().size() > 10);
  }
}

TEST_CASE("page: words for a shell") {
  for (const std::string word :
       {"a", "", "two words", "it's", "''", "$HOME `id` $(id)", "a\\b", "\"", "*?[a]", "~", "-n",
        "a\nb", "\u00e9 \U0001f600", "a;b|c&d"}) {
    CAPTURE(word);
    CHECK(run_shell_line("printf %s " + shell_word(word)).out == word);
  }
}
