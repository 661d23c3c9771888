// The interval between saves: what an option says replaces what the file says, and the hint to
// another one compares it with the one that the runs had.
//
// One failure, 1500 s after the start; 10,000 s of work, a save of 10 s after every interval and at
// the end, a restart of 100 s. Saves every 1000 s: at 1500 s 1000 s are safe, work goes on at
// 1600 s, and nine intervals of 1010 s are left: 10,690 s. Every 1360 s: the first save ends at
// 1370 s, work goes on at 1600 s; six intervals of 1370 s, 480 s and the last save: 10,310 s.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim::goodput_interval {
namespace {

Json question(const Json& save) {
  return {{"step", "10 s"},
          {"steps", 1000},
          {"nodes", 1},
          {"gpus_per_node", 8},
          {"failures",
           {{"causes",
             {{{"name", "a"},
               {"unit", "node"},
               {"law", {{"recorded", {"1500 s"}}}},
               {"restart", "in_place"}}}}}},
          {"save", save},
          {"restart", {{"in_place", "100 s"}, {"detect", "0 s"}}},
          {"runs", 2}};
}

const Json in_steps = {{"every_steps", 100}, {"stall", "10 s"}, {"durable", "0 s"}};
const Json best = {{"stall", "10 s"}, {"durable", "0 s"}};

Json answer_to(const Json& asked, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"goodput", asked.dump(), "--format", "json"});
  const Ran ran = call_sgdsim(more);
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  return Json::parse(ran.out);
}

std::string hint_in(const Json& answer) {
  for (const Json& warning : answer.value("warnings", Json::array()))
    if (warning.get<std::string>().find("say --interval") != std::string::npos) return warning;
  return "";
}

double wall_s(const Json& answer) { return answer["wall"]["mean_days"].get<double>() * 86'400; }

}  // namespace

TEST_CASE("goodput interval: the hint compares what the runs had with what it suggests") {
  const Json asked = answer_to(question(in_steps));
  CHECK(wall_s(asked) == doctest::Approx(10'690));
  const std::string hint = hint_in(asked);
  CAPTURE(hint);
  CHECK(hint.starts_with("with a save every 16.7 min the runs take 3.7 % longer"));  // 10690/10310
  CHECK(hint.ends_with("than with a save every 22.7 min; say --interval '1360 s'"));
}

TEST_CASE("goodput interval: an option replaces the interval of the file, and the hint then ends") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--interval", "1360 s"}, {"--set", "save.interval=1360 s"}}) {
    const Json followed = answer_to(question(in_steps), words);
    CHECK(wall_s(followed) == doctest::Approx(10'310));
    CHECK(hint_in(followed).empty());
  }
  CHECK(hint_in(answer_to(question({{"every_steps", 136}, {"stall", "10 s"}, {"durable", "0 s"}})))
            .empty());
}

TEST_CASE("goodput interval: of the best one by formula the hint says so") {
  const Json by_formula = answer_to(question(best));
  const std::string hint = hint_in(by_formula);
  CHECK(hint.starts_with("the best interval is that of a formula"));
  // The other way round: steps in place of the file's interval.
  const Json other = question({{"interval", "1000 s"}, {"stall", "10 s"}, {"durable", "0 s"}});
  CHECK(wall_s(answer_to(other, {"--set", "save.every_steps=136"})) == doctest::Approx(10'310));
}

TEST_CASE("goodput interval: options replace what the file says of the work in another way") {
  Json tokens = question(in_steps);
  tokens.erase("steps");
  tokens["tokens"] = "1000M";
  tokens["tokens_per_step"] = "2M";  // 500 steps
  CHECK(answer_to(tokens)["question"]["steps"] == 500);
  // Half of another way replaces nothing.
  CHECK(call_sgdsim({"goodput", question(in_steps).dump(), "--tokens-per-step", "2M"})
            .log.find("not both") != std::string::npos);
  CHECK(answer_to(tokens, {"--steps", "1000"})["question"]["steps"] == 1000);
  const Json back = answer_to(question(in_steps), {"--tokens", "1000M", "--tokens-per-step", "2M"});
  CHECK(back["question"]["steps"] == 500);
}

TEST_CASE("goodput interval: two options for one thing are refused") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--interval", "1360 s", "--set", "save.every_steps=10"},
           {"--steps", "10", "--tokens", "1000M", "--tokens-per-step", "2M"}}) {
    std::vector<std::string> all = {"goodput", question(in_steps).dump()};
    all.insert(all.end(), words.begin(), words.end());
    const Ran ran = call_sgdsim(all);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("not both") != std::string::npos);
  }
}

// Corruption is noticed after two hours, and the 20 saves that are kept must reach back as far: 19
// intervals of 380 s with their second of stalling do, 95 steps each; 94 steps do not.
TEST_CASE("goodput interval: the best one reaches back with the saves that are kept") {
  const auto asked = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"goodput", "app/goodput_questions/memory_copies.json", "--format", "json"});
    const Ran ran = call_sgdsim(more);
    REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
    return Json(Json::parse(ran.out));
  };
  const Json answer = asked({"--runs", "400"});
  CHECK(answer["warnings"].empty());
  CHECK(answer["interval"]["best_steps"] == 95);
  CHECK(answer["interval"]["flat_from_s"] == 380);
  double least_days = 1e9;
  double its_interval_s = 0;
  for (const Json& one : answer["intervals"])
    if (one["days"].get<double>() < least_days) {
      least_days = one["days"];
      its_interval_s = one["interval_s"];
    }
  CHECK(its_interval_s >= 380);
  // With all saves, or 30 (29 of them 248 s apart), nothing keeps it from the formula's.
  const auto best_of = [&](const char* setting) {
    return asked({"--runs", "10", "--set", setting})["interval"];
  };
  const Json all = best_of("save.keep=null");
  CHECK(all["best_steps"].get<int>() < 95);
  const Json more = best_of("save.keep=30");
  CHECK(more["best_steps"] == all["best_steps"]);
  CHECK(more["flat_from_s"] == 248);
  // Corruption that hardly ever comes is not worth longer intervals.
  CHECK(best_of("failures.causes.4.per_day=1e-15")["best_steps"].get<int>() < 95);
}

}  // namespace sgdsim::goodput_interval
