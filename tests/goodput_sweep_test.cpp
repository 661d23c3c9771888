// `sgdsim goodput --axis`: every point is what the command gives alone, and every field of a
// question can be an axis.
#include <doctest/doctest.h>
#include <map>

#include "app/schema_check.h"
#include "app/schemas.h"
#include "study/answer.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim::goodput_sweep {
namespace {

const std::string llama = SGDSIM_SOURCE_DIR "/app/goodput_questions/llama3_405b.json";

Ran with(std::vector<std::string> more) {
  more.insert(more.begin(), {"goodput", llama, "--runs", "20", "--set", "tokens=500B"});  // days
  return call_sgdsim(more);
}

std::vector<Json> lines_in(const std::string& text) {
  std::vector<Json> lines;
  for (const std::string& line : house::split(text, '\n'))
    if (!line.empty()) lines.push_back(Json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("goodput sweep: every point is the answer to its question alone, on any threads") {
  const std::vector<std::string> axes = {"--axis", "nodes=512..2048", "--axis",
                                         "save.stall=1s,1min"};
  const auto as_json = [&](const char* threads) {
    std::vector<std::string> words = axes;
    words.insert(words.end(), {"--format", "json", "-j", threads});
    return with(words);
  };
  const Ran ran = as_json("1");
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(as_json("3").out == ran.out);
  const std::vector<Json> lines = lines_in(ran.out);
  REQUIRE(lines.size() == 6);
  std::size_t place = 0;
  for (const int nodes : {512, 1024, 2048})
    for (const char* stall : {"1s", "1min"}) {
      const Json& line = lines[place++];
      CHECK(faults_of_value(embedded_shelf(), "sgdsim/goodput-point/1", line) ==
            std::vector<std::string>{});
      CHECK(line["axes"] == Json({{"nodes", nodes}, {"save.stall", stall}}));
      const Ran alone = with({"--set", "nodes=" + std::to_string(nodes), "--set",
                              "save.stall=" + std::string(stall), "--format", "json"});
      CHECK(line["answer"] == Json::parse(alone.out));
    }
  // The same table and lines, in a file and as one answer.
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/points.jsonl";
  std::vector<std::string> words = axes;
  words.insert(words.end(), {"--out", out});
  const Ran table = with(words);
  CHECK(table.exit_code == 0);
  CHECK(read_text(out) == ran.out);
  for (const char* word : {"save.stall", "95 % before", "2048", "1min", "GPU-hours"})
    CHECK(table.out.find(word) != std::string::npos);
  CHECK(table.out.find("cost") == std::string::npos);  // nobody named a price
  CHECK(with(words).exit_code == 0);                   // its own file is replaced, and no other one
  words.back() = SGDSIM_SOURCE_DIR "/README.md";
  CHECK(with(words).exit_code == 2);
  const Answer asked = answer({{"ask", "goodput"},
                               {"question", llama},
                               {"runs", 20},
                               {"set", {{"tokens", "500B"}}},
                               {"axis", {"nodes=512..2048", "save.stall=1s,1min"}}});
  CHECK(asked.json == Json(lines));
}

TEST_CASE("goodput sweep: columns of what only an axis asks, and points that are none") {
  const Ran ran = with({"--axis", "prices.gpu_hour=2,null", "--axis", "until=60 days,80 days"});
  CAPTURE(ran.log);
  CHECK(ran.exit_code == 0);
  for (const char* title : {"prices.gpu_hour", "cost", "late"})
    CHECK(ran.out.find(title) != std::string::npos);
  // A machine that never gets anywhere, beside one that does.
  const Ran rates = with({"--axis", "rate_factor=0,1,1e6", "--format", "json"});
  CHECK(rates.exit_code == 1);
  const std::vector<Json> lines = lines_in(rates.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["answer"]["failures"] == 0);
  CHECK(lines[2]["error"].get<std::string>().find("the run never ends") != std::string::npos);
}

TEST_CASE("goodput sweep: every field of the schema can be an axis") {
  const Json schema = schema_of_goodput_questions();
  // Values that are taken, where the field of the shipped question is not one.
  const std::map<std::string, std::string> values = {
      {"schema", "sgdsim/goodput-question/1"},
      {"step", R"(["5 s"])"},
      {"tokens", "15T"},
      {"tokens_per_step", "16M"},
      {"failures", "rsc1_a100,llama3_h100"},
      {"save", R"([{"stall":"1 s"}])"},
      {"restart", R"([{"in_place":"1 min"}])"},
      {"policy", "restart"},
      {"planned", R"([{"every":"1 week","lasts":"1 h"}])"},
      {"prices", R"([{"gpu_hour":2}])"},
      {"power", R"([{"busy_W":700,"idle_W":100}])"},
      {"until", "80 days"},
      {"repair", "2 h"},
      {"formula", "young,daly"},
      {"runs", "2,3"},
      {"spares", "16"},
      {"shrink", ""},  // with a policy only: below
      {"steps", ""}};  // in place of tokens: below
  for (const auto& [field, description] : schema["properties"].items()) {
    const auto found = values.find(field);
    const std::string value = found == values.end() ? "1" : found->second;
    if (value.empty()) continue;
    const bool is_text = description.value("type", Json()) == "string";
    const Ran ran =
        with({"--axis", field + "=" + (is_text && found == values.end() ? "\"x\"" : value)});
    const std::string name = field;
    CAPTURE(name);
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
  }
  CHECK(with({"--set", "tokens=null", "--set", "tokens_per_step=null", "--axis", "steps=100,1000"})
            .exit_code == 0);
  CHECK(with({"--set", "policy=shrink", "--set", "save.interval=1h", "--set", "shrink.stall=1 min",
              "--axis", "shrink.replicas=8,16"})
            .exit_code == 0);
  CHECK(with({"--set", R"(failures={"causes":[{"name":"a","unit":"node","per_day":0.01}]})",
              "--axis", "failures.causes.0.per_day=0.001,0.01"})
            .exit_code == 0);
}

TEST_CASE("goodput sweep: what is refused") {
  const std::vector<std::pair<std::vector<std::string>, const char*>> rows = {
      {{"--axis", "node=4"}, "--axis node: unknown field \"node\" (did you mean \"nodes\"?)"},
      {{"--axis", "save.stal=1s"},
       "--axis save.stal: unknown field \"stal\" (did you mean \"stall\"?)"},
      {{"--axis", "saves.stall=1s"},
       "--axis saves.stall: unknown field \"saves\" (did you mean \"save\"?)"},
      {{"--axis", "nodes=512", "--axis", "restart.detects=1s,2s"}, "--axis restart.detects"},
      {{"--axis", "nodes"}, "expected FIELD=VALUES"},
      {{"--axis", "nodes=8,8"}, "this value occurs twice"},
      {{"--axis", "nodes=8", "--axis", "nodes=16"}, "this axis occurs twice"},
      {{"--axis", "nodes=0,-1"}, "no point is a question; the first one"},
      {{"--axis", "nodes=1..1000:1", "--axis", "seed=1..1000:1"}, "more than 100000"},
      {{"--axis", "failures.causes.0.per_day=1"}, "there is nothing below the value"},
      {{"--out", "points.jsonl"}, "--out: is for the points of --axis"}};
  for (const auto& [more, sentence] : rows) {
    const Ran ran = with(more);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(sentence) != std::string::npos);
  }
}

// A save of 1 s every 5 s, whichever way the stall is given.
TEST_CASE("goodput: an option counts beside an object that is set whole") {
  for (const char* save : {"save.stall=1 s", R"(save={"stall": "1 s"})"}) {
    const Ran ran = call_sgdsim({"goodput", "--step", "1 s", "--steps", "100", "--nodes", "4",
                                 "--failures", "rsc1_a100", "--runs", "20", "--interval", "5 s",
                                 "--set", save, "--format", "json"});
    CHECK(Json::parse(ran.out)["question"]["interval_s"] == 5.);
  }
}

TEST_CASE("goodput: a field that an option and --set say is refused") {
  const std::vector<std::string> all = {"goodput",   "--step",     "1 s", "--steps",
                                        "100",       "--nodes",    "4",   "--failures",
                                        "rsc1_a100", "--interval", "5 s", "--set"};
  for (const char* setting : {"save.interval=9 s", R"(save={"stall": "1 s", "interval": "9 s"})",
                              "step=2 s", "nodes=8"}) {
    CAPTURE(setting);
    std::vector<std::string> words = all;
    words.emplace_back(setting);
    const Ran ran = call_sgdsim(words);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("too; give one of them") != std::string::npos);
  }
}

// 100 nodes that fail once in 100 days each are one a day, whatever the shape of their law: they
// have run for long when the job begins.
TEST_CASE("goodput: units with a memory fail as often at the start as later") {
  const auto said = [](const Json& law) {
    const Json causes = {
        {"causes", {{{"name", "node"}, {"unit", "node"}, {"per_day", 0.01}, {"law", law}}}}};
    const Ran ran =
        call_sgdsim({"goodput", "--step", "1 min", "--steps", "14400", "--nodes", "100", "--runs",
                     "400", "--set", "failures=" + causes.dump(), "--set",
                     "save={\"stall\": \"1 s\", \"every_steps\": 20}", "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out);
  };
  // Ten days and a little more, of which the runs' own mean length is known: within four standard
  // errors of the mean of 400 runs of about ten failures, whose counts vary up to twice as much.
  for (const Json& law : {Json("exponential"), Json{{"weibull", 0.56}}, Json{{"weibull", 2}}}) {
    const Json answer = said(law);
    INFO(answer.dump());
    const double days = answer["wall"]["mean_days"].get<double>();
    CHECK(answer["failures"].get<double>() ==
          doctest::Approx(days).epsilon(4 * 2 / std::sqrt(400 * days)));
  }
}

}  // namespace sgdsim::goodput_sweep
