// What a question of `sgdsim goodput` leaves open, and who answers it: nodes and GPUs that the step
// is simulated on, saves that reach back beyond corruption, numbers as people write them.
#include <doctest/doctest.h>

#include "models/goodput/closed_forms.h"
#include "sim/core/error.h"
#include "study/goodput/goodput_answer.h"
#include "study/goodput/plan_formulas.h"
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

bool is_assumed(const GoodputQuestion& question, const std::string& word) {
  for (const std::string& one : question.assumed)
    if (has(one, word)) return true;
  return false;
}

double step_on_nodes_s(int64_t nodes) {
  const Ran ran = run_sgdsim(
      {"run", googlenet, "--set", "cluster.nodes=" + std::to_string(nodes), "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["metrics"]["iteration_us"]["mean"].get<double>() / 1e6;
}

// The whole job is corrupted so often a day, and that is detected two hours later.
Json corrupted(double per_day, const Json& save) {
  Json json = ten_days("1 s");
  json["nodes"] = 10;
  json["save"] = save;
  json["failures"] = {{"causes",
                       {{{"name", "flip"},
                         {"unit", "job"},
                         {"per_day", per_day},
                         {"effect", "corrupt"},
                         {"detect", "2 h"}}}}};
  return json;
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

// One corruption in ten days: until it is detected 2 h, and half of an interval of 1 h before it.
// Exactly, with M = 240 h: (240 + 2) (e^(1/240) - 1) = 1.01044 of the work, and 240 saves of 1 s.
TEST_CASE("goodput machine: as many saves are kept as corruption needs") {
  const Json json = corrupted(0.1, {{"stall", "1 s"}, {"interval", "1 h"}});
  const GoodputQuestion question = question_of(json);
  CHECK(is_assumed(question, "save.keep: 3 saves"));
  const GoodputAnswer answer = answer_goodput(question, 2, [] {});
  CHECK(goodput::to_s(answer.runs.wall) / 86'400 ==
        doctest::Approx(10.1044 + 240. / 86'400).epsilon(0.003));
  CHECK(answer.mean_to_stop_s == doctest::Approx(864'000));
  CHECK(answer.warnings.empty());
  // The best interval is that of a failure every ten days: about sqrt(2 x 1 s x 864,000 s).
  const GoodputQuestion best = question_of(corrupted(0.1, {{"stall", "1 s"}}));
  CHECK(best.plan.interval == doctest::Approx(1'314).epsilon(0.01));
  // Two hours in saves of 1 h and 1 s are two at most, so that the third before is good.
  const Json kept = corrupted(0.1, {{"stall", "1 s"}, {"interval", "1 h"}, {"keep", 1}});
  const GoodputAnswer lost = answer_goodput(question_of(kept), 2, [] {});
  REQUIRE(!lost.warnings.empty());
  CHECK(has(lost.warnings.front(), "save.keep=3"));
}

// Ten times in ten days, each of which loses all: e^10 / 10 times the work.
TEST_CASE("goodput machine: corruption that loses all work again and again never ends") {
  const std::string refusal =
      refusal_to(corrupted(1, {{"stall", "1 s"}, {"interval", "1 h"}, {"keep", 1}}));
  CAPTURE(refusal);
  for (const char* word : {"never ends", "corruption", "at least 3", "10"})
    CHECK(has(refusal, word));
  CHECK(refusal_to(corrupted(1, {{"stall", "1 s"}, {"interval", "1 h"}})) == "");
}

TEST_CASE("goodput machine: downtimes that nothing hits") {
  CHECK(goodput::Downtimes{{}, true, 5}.mean(100) == 5);
  CHECK(goodput::Downtimes{{{0.5, 10}}, false, 3}.mean(100) == doctest::Approx(8));
  // Half of the failures have a restart of 10 that others of that half hit, one every 200 on
  // average: 200 (e^0.05 - 1) = 10.2542.
  CHECK(goodput::Downtimes{{{0.5, 10}}, true, 3}.mean(100) ==
        doctest::Approx(0.5 * 10.2542 + 3).epsilon(1e-5));
}

TEST_CASE("goodput machine: what is said once more, or not at all") {
  Json json = ten_days("1 s");
  json["nodes"] = 10;
  CHECK(!is_assumed(question_of(json), "gpus_per_node"));  // its source says 8
  json["steps"] = "10k";
  CHECK(question_of(json).plan.steps == 10'000);
  json["steps"] = "10x";
  CHECK(has(refusal_to(json), "/steps"));
  json["steps"] = 1'000;
  json["failures"] = {{"causes", {{{"name", "a"}, {"unit", "gpu"}, {"per_day", 0.1}}}}};
  CHECK(is_assumed(question_of(json), "gpus_per_node: 8"));
  json["failures"] = {
      {"causes", {{{"name", "a"}, {"unit", "job"}, {"law", {{"recorded", {"1 min"}}}}}}}};
  json["rate_factor"] = 2;
  const std::string refusal = refusal_to(json);
  CHECK(has(refusal, "/rate_factor"));
  CHECK(has(refusal, "recorded times"));
}

// RSC counted nodes of eight GPUs, 0.0065 a day: 0.0008125 of a GPU. A machine of as many GPUs
// fails as often, however they stand in nodes.
TEST_CASE("goodput machine: rates of nodes grow with their GPUs") {
  for (const auto& [nodes, gpus] : {std::pair(16, 8), std::pair(128, 1), std::pair(2, 64)}) {
    const int of_node = gpus;  // a structured binding is not captured
    CAPTURE(of_node);
    Json json = ten_days("1 s");
    json["nodes"] = nodes;
    json["gpus_per_node"] = gpus;
    const GoodputQuestion question = question_of(json);
    CHECK(question.plan.causes[0].rate() * 86'400 == doctest::Approx(0.0008125 * 128));
    CHECK(is_assumed(question, "rsc1_a100 counts nodes of 8 GPUs") == (gpus != 8));
  }
  // A source that does not say what nodes it counts is of the question's; what other units have
  // does not depend on nodes, and recorded times are of this machine.
  const Json causes = Json::parse(R"([
      {"name": "node", "unit": "node", "per_day": 0.1},
      {"name": "gpu", "unit": "gpu", "per_day": 0.1},
      {"name": "link", "unit": "link", "per_day": 0.1},
      {"name": "leaf", "unit": "leaf", "per_day": 0.1},
      {"name": "job", "unit": "job", "per_day": 0.1},
      {"name": "seen", "unit": "node", "law": {"recorded": ["1 h"]}}])");
  Json json = ten_days("1 s");
  json["nodes"] = 8;
  json["gpus_per_node"] = 4;
  json["links_per_node"] = 2;
  json["nodes_per_leaf"] = 4;
  json["failures"] = {{"causes", causes}};
  const auto per_day = [](const GoodputQuestion& question) {
    std::vector<double> rates;
    for (std::size_t i = 0; i < 5; ++i) rates.push_back(question.plan.causes[i].rate() * 86'400);
    return rates;
  };
  std::vector<double> expected = {0.8, 3.2, 1.6, 0.2, 0.1};  // 8 nodes, 32 GPUs, 16 links, 2 leaves
  for (const int source : {0, 16}) {
    if (source > 0) {
      json["failures"]["gpus_per_node"] = source;
      expected[0] /= 4;
    }
    const GoodputQuestion question = question_of(json);
    const std::vector<double> rates = per_day(question);
    for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == doctest::Approx(expected[i]));
    CHECK(question.plan.causes[5].at_s == std::vector<double>{3600});
    CHECK(is_assumed(question, "0.2500 times as often") == (source > 0));
  }
  json["failures"]["causes"] = {causes[1]};
  CHECK(!is_assumed(question_of(json), "times as often"));
}

TEST_CASE("goodput machine: a repair that every cause has is not assumed") {
  Json cause = {{"name", "a"}, {"unit", "node"}, {"per_day", 0.001}, {"restart", "new_node"}};
  Json json = ten_days("1 s");
  json["nodes"] = 10;
  json["spares"] = 2;
  json["failures"] = {{"causes", {cause}}};
  CHECK(is_assumed(question_of(json), "repair: 1 day"));
  cause["repair"] = "2 h";
  json["failures"] = {{"causes", {cause}}};
  CHECK(!is_assumed(question_of(json), "repair"));
  // One that needs no other node waits for none.
  json["failures"]["causes"].push_back({{"name", "b"}, {"unit", "node"}, {"per_day", 0.001}});
  CHECK(!is_assumed(question_of(json), "repair"));
}

// What is suggested is taken as it is.
TEST_CASE("goodput machine: a slow cause without a factor is told what to write") {
  Json cause = {
      {"name", "slow"}, {"unit", "node"}, {"per_day", 1}, {"effect", "slow"}, {"lasts", "1 h"}};
  Json json = ten_days(googlenet);
  json["failures"] = {{"causes", {cause}}};
  const std::string refusal = refusal_to(json);
  const std::string before = "or `degraded`, as ";
  REQUIRE(has(refusal, before));
  const std::size_t from = refusal.find(before) + before.size();
  const std::string suggested = refusal.substr(from, refusal.find(", and not both") - from);
  CHECK(suggested == R"({"gpu": 0.5})");
  cause["degraded"] = Json::parse(suggested);
  json["failures"] = {{"causes", {cause}}};
  CHECK(question_of(json).plan.causes[0].factor > 1);
}

// A leaf switch takes its 16 nodes along, and with them both copies where pairs are neighbours.
TEST_CASE("goodput machine: copies of neighbours die with their leaf") {
  Json json = ten_days("1 s");
  json["nodes"] = 64;
  json["nodes_per_leaf"] = 16;
  json["failures"] = {{"causes", {{{"name", "a"}, {"unit", "leaf"}, {"per_day", 0.1}}}}};
  json["save"]["store"] = {{"every", 10}, {"stall", "1 s"}};
  CHECK(question_of(json).plan.causes[0].memory_survives);
  json["save"]["copies_in_leaf"] = true;
  CHECK(!question_of(json).plan.causes[0].memory_survives);
  json["save"].erase("store");
  CHECK(has(refusal_to(json), "copies_in_leaf"));
}

}  // namespace sgdsim::goodput_machine
