// What a question of `sgdsim goodput` leaves open, and who answers it: nodes and GPUs that the step
// is simulated on.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/goodput/goodput_question.h"
#include "tests/run_program.h"

namespace sgdsim::goodput_machine {
namespace {

const std::string googlenet = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";

// Ten days of steps of a second.
Json ten_days(const Json& step) {
  return {{"step", step},
          {"steps", 864'000},
          {"failures", "rsc1_a100"},
          {"save", {{"stall", "1 s"}}},
          {"restart", {{"in_place", "0 s"}}},
          {"runs", 400}};
}

GoodputQuestion question_of(const Json& json) {
  return read_goodput_question(Value(json, "q.json", ""));
}

std::string refusal_to(const Json& json) {
  try {
    question_of(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

double step_on_nodes_s(int64_t nodes) {
  const Ran ran = run_sgdsim(
      {"run", googlenet, "--set", "cluster.nodes=" + std::to_string(nodes), "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["metrics"]["iteration_us"]["mean"].get<double>() / 1e6;
}

}  // namespace

// The experiment is of 16 nodes with one GPU each, whatever failures were counted on.
TEST_CASE("goodput machine: an experiment says its nodes, or is simulated on others") {
  Json json = ten_days(googlenet);
  const GoodputQuestion whole = question_of(json);
  CHECK(whole.machine.nodes == 16);
  CHECK(whole.gpus() == 16);
  CHECK(whole.plan.nodes == 16);
  json["nodes"] = 64;
  const GoodputQuestion wider = question_of(json);
  CHECK(wider.gpus() == 64);
  CHECK(wider.plan.step_s == doctest::Approx(step_on_nodes_s(64)).epsilon(1e-9));
  CHECK(wider.plan.step_s > 1.001 * whole.plan.step_s);
  json["gpus_per_node"] = 8;
  const std::string refusal = refusal_to(json);
  CAPTURE(refusal);
  CHECK(has(refusal, "/gpus_per_node"));
  CHECK(has(refusal, "nodes of 1 GPUs"));
}

TEST_CASE("goodput machine: a layout says its nodes, and a trace needs a cluster") {
  const Json layout = {
      {"layout", "tp8 dp4 ga8 zero1"}, {"model", "llama3.1_8b"}, {"cluster", "dgx_h100_4"}};
  Json json = ten_days(layout);
  CHECK(question_of(json).machine.nodes == 4);
  CHECK(question_of(json).gpus() == 32);
  // 400 nodes of 8 GPUs are 400 replicas of 8.
  json["nodes"] = 400;
  const std::string refusal = refusal_to(json);
  CAPTURE(refusal);
  for (const char* word : {"/nodes", "32 GPUs", "4 nodes", "tp8 dp400"}) CHECK(has(refusal, word));

  const std::string trace = refusal_to(ten_days("resnet50_v100"));
  CAPTURE(trace);
  for (const char* word : {"/step", "is a trace", "\"cluster\""}) CHECK(has(trace, word));
  const Json on_cluster = {{"experiment", "resnet50_v100"}, {"cluster", "dgx1_v100_2"}};
  CHECK(question_of(ten_days(on_cluster)).gpus() == 16);
}

}  // namespace sgdsim::goodput_machine
