// The step of a training from an experiment or a layout, and how much longer it takes with a part
// that is slow or gone: what `sgdsim run` and `sgdsim layout` say of the same.
#include <algorithm>
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/goodput/goodput_question.h"
#include "tests/run_program.h"

namespace sgdsim::goodput_step {
namespace {

const std::string experiment =
    std::string(SGDSIM_SOURCE_DIR) + "/app/experiments/resnet50_ddp_straggler.json";
const std::string link_at_a_quarter =
    R"({"changes":[{"at":"0 s","link":["node0/switch","switch"],"bandwidth":0.25}]})";

Json question_about(const Json& step, const Json& degraded) {
  return {{"step", step},
          {"steps", 1000},
          {"failures",
           {{"causes",
             {{{"name", "slow"},
               {"unit", "node"},
               {"per_day", 0.1},
               {"effect", "slow"},
               {"lasts", "10 min"},
               {"degraded", degraded}},
              {{"name", "again"},
               {"unit", "node"},
               {"per_day", 0.2},
               {"effect", "slow"},
               {"lasts", "10 min"},
               {"degraded", degraded}}}}}},
          {"save", {{"stall", "1 s"}}},
          {"restart", {{"in_place", "1 min"}}}};
}

GoodputQuestion read(const Json& json) { return read_goodput_question(Value(json, "q.json", "")); }

double factor_with(const Json& step, const Json& degraded) {
  const GoodputQuestion question = read(question_about(step, degraded));
  CHECK(question.plan.causes[0].factor == question.plan.causes[1].factor);
  return question.plan.causes[0].factor;
}

std::string refusal_of(const Json& json) {
  try {
    read(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

double iteration_us(std::vector<std::string> more) {
  more.insert(more.begin(), {"run", experiment, "--format", "json"});
  const Ran ran = run_sgdsim(more);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["metrics"]["iteration_us"]["mean"];
}

}  // namespace

TEST_CASE("goodput step: an experiment is what `sgdsim run` says, whole and degraded") {
  const double whole = iteration_us({});
  CHECK(read(question_about(experiment, {{"gpu", 0.5}})).plan.step_s ==
        doctest::Approx(whole / 1e6).epsilon(1e-9));
  // Worker 3 is slow already, and stays so.
  const double slow = iteration_us(
      {"--set", R"(workers.slow=[{"worker":3,"factor":1.2},{"worker":0,"factor":2}])"});
  CHECK(factor_with(experiment, {{"gpu", 0.5}}) == doctest::Approx(slow / whole).epsilon(1e-9));
  CHECK(slow > whole);
  const double flows = iteration_us({"--fidelity", "flow"});
  const double link = iteration_us({"--fidelity", "flow", "--traffic", link_at_a_quarter});
  CHECK(factor_with(experiment, {{"link", {"node0/switch", "switch"}}, {"bandwidth", 0.25}}) ==
        doctest::Approx(link / flows).epsilon(1e-9));
  CHECK(link > flows);
  // Fields of the question's own experiment, and of the degraded one.
  const Json changed = {{"experiment", experiment}, {"set", {"strategy=wfbp"}}};
  const double wfbp = iteration_us({"--set", "strategy=wfbp"});
  CHECK(read(question_about(changed, {{"gpu", 0.5}})).plan.step_s ==
        doctest::Approx(wfbp / 1e6).epsilon(1e-9));
  const double fewer = iteration_us({"--set", "cluster.nodes=8"});
  CHECK(factor_with(experiment, {{"set", {"cluster.nodes=8"}}}) ==
        doctest::Approx(std::max(1., fewer / whole)).epsilon(1e-9));
}

TEST_CASE("goodput step: a layout is what `sgdsim layout` says, and shrinks by a replica") {
  const Json step = {
      {"layout", "tp8 dp4 ga8 zero1"}, {"model", "llama3.1_8b"}, {"cluster", "dgx_h100_4"}};
  const auto step_us = [](const std::string& layout, std::vector<std::string> more) {
    more.insert(more.begin(), {"layout", "llama3.1_8b", "--layout", layout, "-c", "dgx_h100_4",
                               "--format", "json"});
    const Ran ran = run_sgdsim(more);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["layouts"][0]["step_us"].get<double>();
  };
  const double whole = step_us("tp8 dp4 ga8 zero1", {});
  CHECK(read(question_about(step, {{"gpu", 0.5}})).plan.step_s ==
        doctest::Approx(whole / 1e6).epsilon(1e-6));
  const double slow = step_us("tp8 dp4 ga8 zero1", {"--fidelity", "message", "--workers",
                                                    R"({"slow":[{"worker":0,"factor":2}]})"});
  const double played = step_us("tp8 dp4 ga8 zero1", {"--fidelity", "message"});
  CHECK(factor_with(step, {{"gpu", 0.5}}) == doctest::Approx(slow / played).epsilon(1e-6));
  CHECK(slow > 1.2 * played);
  // Three replicas have three quarters of the samples.
  Json json = question_about(step, {{"gpu", 0.5}});
  json["policy"] = "shrink";
  json["shrink"] = {{"replicas", 4}, {"stall", "1 s"}, {"degraded", {{"replicas_away", 1}}}};
  json["save"]["every_steps"] = 100;
  const double fewer = step_us("tp8 dp3 ga8 zero1", {});
  const auto factors = read(json).plan.shrink->step_factors;
  REQUIRE(factors.size() == 3);
  CHECK(factors[0] == doctest::Approx(std::max(1., fewer / whole * 4 / 3)).epsilon(1e-6));
  CHECK(factors[2] == doctest::Approx(std::max(1., fewer / whole * 4)).epsilon(1e-6));
}

TEST_CASE("goodput step: a layout is priced for the GPUs of the cluster, or it is said") {
  Json box = Document::read(std::string(SGDSIM_SOURCE_DIR) + "/topologies/data/dgx_a100_2.json")
                 .root()
                 .json();
  box["gpu"] = "p100";
  const Temporary file(Temporary::Kind::file, box.dump());
  Json step = {{"layout", "tp8 dp2 ga8 zero1"}, {"model", "llama3.1_8b"}, {"cluster", file.name()}};
  const GoodputQuestion p100 = read(question_about(step, {{"gpu", 0.5}}));
  REQUIRE(p100.step_notes.size() == 1);
  CHECK(p100.step_notes.front().find("of which no file ships") != std::string::npos);
  step["cluster"] = "dgx_a100_2";
  const GoodputQuestion a100 = read(question_about(step, {{"gpu", 0.5}}));
  CHECK(a100.step_notes.empty());
  step["gpu"] = "a100";
  CHECK(read(question_about(step, {{"gpu", 0.5}})).plan.step_s == a100.plan.step_s);
  step["gpu"] = "h100";
  CHECK(read(question_about(step, {{"gpu", 0.5}})).plan.step_s < a100.plan.step_s);
}

TEST_CASE("goodput step: what cannot be simulated is refused with the field") {
  struct Row {
    Json step;
    Json degraded;
    std::vector<std::string> words;
  };
  const Json layout = {
      {"layout", "tp8 dp4 ga8 zero1"}, {"model", "llama3.1_8b"}, {"cluster", "dgx_h100_4"}};
  for (const Row& row : {
           Row{"8 s", {{"gpu", 0.5}}, {"/failures/causes/0/degraded", "is a number", "factor"}},
           Row{experiment, {{"gpu", 0}}, {"/failures/causes/0/degraded/gpu"}},
           Row{experiment, {{"gpu", 0.5}, {"vertex", "switch"}}, {"expected one of"}},
           Row{experiment, Json::object(), {"expected one of"}},
           Row{experiment,
               {{"vertex", "node0"}, {"bandwidth", 0.5}},
               {"unknown vertex", "node0/switch"}},
           Row{experiment,
               {{"link", {"node0/switch", "switch"}}, {"bandwidth", 0}},
               {"never ends", "\"stop\""}},
           Row{experiment, {{"replicas_away", 1}}, {"cluster.nodes=15"}},
           Row{layout, {{"vertex", "node0"}, {"bandwidth", 0.5}}, {"links need an experiment"}},
           Row{layout, {{"replicas_away", 4}}, {"4 replicas"}},
           Row{"no_such.json", {{"gpu", 0.5}}, {"no_such.json"}},
           Row{{{"experiment", "no_such.json"}}, {{"gpu", 0.5}}, {"no_such.json"}},
           Row{{{"layout", "tp8"}}, {{"gpu", 0.5}}, {"model"}},
       }) {
    const std::string refusal = refusal_of(question_about(row.step, row.degraded));
    CAPTURE(row.degraded.dump());
    CAPTURE(refusal);
    CHECK(!refusal.empty());
    for (const std::string& word : row.words) CHECK(refusal.find(word) != std::string::npos);
  }
}

}  // namespace sgdsim::goodput_step
