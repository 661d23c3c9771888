// `sgdsim goodput`: answers that formulas know, sums, refusals that say what to type, and hostile
// values.
#include <cmath>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/goodput/closed_forms.h"
#include "sim/core/error.h"
#include "study/goodput/goodput_answer.h"
#include "study/goodput/plan_formulas.h"
#include "study/goodput/spans.h"
#include "tests/run_program.h"

namespace sgdsim::goodput_command {
namespace {

// A day of steps of a minute on 100 nodes, one of which fails every 100 days.
Json small_question() {
  return Json::parse(R"({
    "step": "1 min", "steps": 1440, "nodes": 100,
    "failures": {"causes": [{"name": "node", "unit": "node", "per_day": 0.01}]},
    "save": {"every_steps": 20, "stall": "30 s"},
    "restart": {"in_place": "10 min"},
    "runs": 400
  })");
}

Json with(const std::string& pointer, const Json& value) {
  Json json = small_question();
  json[Json::json_pointer(pointer)] = value;
  return json;
}
Json without(const std::string& field) {
  Json json = small_question();
  json.erase(field);
  return json;
}

// 100 GB a GPU at 50 GB/s to the host, and from there at 1 GB/s.
Json copied(const std::string& pointer, const Json& value, bool with_stall = false) {
  Json json = small_question();
  json["save"] = {{"every_steps", 20},
                  {"copy", {{"bytes", "100 GB"}, {"to_host", "50 GB/s"}, {"write", "1 GB/s"}}}};
  if (with_stall) json["save"]["stall"] = "1 s";
  json["save"]["copy"][Json::json_pointer(pointer)] = value;
  if (value.is_null()) json["save"]["copy"].erase(pointer.substr(1));
  return json;
}

GoodputAnswer answer_to(const Json& json) {
  return answer_goodput(read_goodput_question(Value(json, "q.json", "")), 2, [] {});
}

std::string refusal_of(const Json& json) {
  try {
    answer_to(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Json asked(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"goodput", "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

// Digits of whole numbers of any length.
std::string sum_of(const std::string& a, const std::string& b) {
  std::string sum;
  int carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    const int digits = carry + (i < a.size() ? a[a.size() - 1 - i] - '0' : 0) +
                       (i < b.size() ? b[b.size() - 1 - i] - '0' : 0);
    sum.insert(sum.begin(), static_cast<char>('0' + digits % 10));
    carry = digits / 10;
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "goodput command: the answer is what formulas say, and its parts add up to the picosecond") {
  const Json answer = asked({"app/goodput_questions/llama3_405b.json", "--runs", "2000"});
  const double M = 54. * 24 / 419;  // h
  CHECK(answer["mean_to_failure_h"].get<double>() == doctest::Approx(M).epsilon(1e-9));
  CHECK(answer["failures_per_node_day"].get<double>() == doctest::Approx(3.7887e-3).epsilon(1e-5));
  const double interval = answer["question"]["interval_s"];
  // The best interval is Lambert's, in whole steps of 5.9 s, and not shorter than a save.
  const double best = goodput::best_interval(0.59, M * 3600);
  CHECK(std::abs(interval - best) <= 5.9);
  // All but 7 of 419 failures are noticed in a minute, those of the watchdog in ten.
  const goodput::Downtimes down{{{412. / 419, 660}, {7. / 419, 1200}}, true};
  const double expected =
      goodput::expected_wall(975'000 * 5.9, interval, {0.59, 51.06}, down, M * 3600) / 86'400;
  CHECK(answer["wall"]["closed_form_days"].get<double>() ==
        doctest::Approx(expected).epsilon(1e-12));
  const double error = answer["wall"]["standard_error_days"];
  CHECK(std::abs(answer["wall"]["mean_days"].get<double>() - expected) < 4 * error);
  std::string sum = "0";
  for (const Json& part : answer["account"]) sum = sum_of(sum, part["ps"]);
  CHECK(sum == answer["wall"]["ps"].get<std::string>());
  CHECK(answer["account"][0]["ps"] == "5752500000000000000");  // 975,000 steps of 5.9 s
  // By elasticity: all times of the formula 1 % longer, and failures 1 % rarer, make all 1 %
  // longer.
  double all = 0;
  for (const Json& lever : answer["levers"])
    all += lever["elasticity"].get<double>() * (lever["field"] == "failure rate" ? -1 : 1);
  CHECK(all == doctest::Approx(1).epsilon(0.01));
  // More failures, a later end: the sources in order.
  double before = 0;
  for (const Json& source : answer["sources"]) {
    CHECK(source["mean_days"].get<double>() >= before);
    before = source["mean_days"];
  }
}

TEST_CASE("goodput command: progress and intervals") {
  // Nothing fails: after half of the time half of the work is done, but for the stall of a save.
  Json calm = small_question();
  calm["rate_factor"] = 0;
  const GoodputAnswer without = answer_to(calm);
  CHECK(without.intervals.empty());
  for (const goodput::Progress& one : without.progress) {
    CHECK(one.low == one.high);
    const double stalled_s = std::floor(one.at_s / (20 * 60 + 30)) * 30;
    CHECK(std::abs(one.middle * 86'400 - (one.at_s - stalled_s)) <= 30 + 1e-6);
  }
  // One that is known to fail at 30 min, when a save at 20.5 min is durable, and is back at 40 min:
  // 9.5 min of work are lost.
  Json known = small_question();
  known["failures"]["causes"][0] =
      Json::parse(R"({"name": "a", "unit": "job", "law": {"recorded": ["30 min"]}})");
  const GoodputAnswer once = answer_to(known);
  const goodput::Plan plan = read_goodput_question(Value(known, "q", "")).plan;
  struct Row {
    double minute;
    double done;  // minutes of work
  };
  const std::vector<Row> rows = {{0, 0}, {10, 10}, {20.5, 20}, {29, 28.5}, {35, 20}, {45, 25}};
  std::vector<double> moments_s;
  for (const Row& row : rows) moments_s.push_back(row.minute * 60);
  const auto progress = goodput::progress_at(plan, moments_s, {3, 1, 2, {}});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].minute);
    CHECK(progress[i].middle == doctest::Approx(rows[i].done / 1'440));
  }
  CHECK(once.progress.front().middle == 0);
  CHECK(once.progress.back().low == 1);
  // Each interval has the days of a question of its own, and the best one none below it.
  const Json base = small_question();
  const GoodputAnswer answer = answer_to(base);
  REQUIRE(answer.intervals.size() > 10);
  double least = 1e300;
  double best = 0;
  for (const IntervalEnd& one : answer.intervals) {
    Json other = base;
    other["save"]["every_steps"] = one.steps;
    CHECK(closed_form_s(read_goodput_question(Value(other, "q", "")).plan) == one.wall_s);
    least = std::min(least, one.wall_s);
    if (one.steps == answer.interval->best_steps) best = one.wall_s;
  }
  CHECK(best == doctest::Approx(least).epsilon(2e-3));  // the last interval of a run is shorter
}

TEST_CASE("goodput command: options and --set are fields, and threads change nothing") {
  const std::vector<std::string> words = {
      "--step",     "8s",        "--steps", "20000",  "--nodes", "256",
      "--failures", "rsc1_a100", "--runs",  "300",    "--set",   "save.stall=10s",
      "--interval", "20 min",    "--until", "2 days", "--seed",  "3"};
  const Json one = asked(words);
  CHECK(one["mean_to_failure_h"].get<double>() == doctest::Approx(24 / (256 * 6.5e-3)));
  CHECK(one["question"]["interval_steps"] == 150);
  CHECK(one["assumed"].size() == 1);
  std::vector<std::string> threads = words;
  threads.insert(threads.end(), {"-j", "3"});
  CHECK(asked(threads) == one);
  // 15T tokens of 16M each: 937,500 steps.
  const Json tokens =
      asked({"--step", "8s", "--tokens", "15T", "--tokens-per-step", "16M", "--nodes", "2",
             "--failures", "rsc1_a100", "--set", "save.stall=10s", "--runs", "10"});
  CHECK(tokens["question"]["steps"] == 937'500);
}

TEST_CASE("goodput command: saves take what they copy") {
  struct Row {
    const char* why;
    Json copy;
    double stall_s;
    double durable_s;
  };
  const std::vector<Row> rows = {
      {"to the host, then on",
       {{"bytes", "100 GB"}, {"to_host", "50 GB/s"}, {"write", "1 GB/s"}},
       2,
       100},
      {"with room on the GPU both are beside the work",
       {{"bytes", "100 GB"},
        {"to_host", "50 GB/s"},
        {"write", "1 GB/s"},
        {"on_gpu", "1 TB/s"},
        {"free", "100 GB"}},
       0.1,
       102},
      {"a byte too little",
       {{"bytes", "100 GB"},
        {"to_host", "50 GB/s"},
        {"write", "1 GB/s"},
        {"on_gpu", "1 TB/s"},
        {"free", "99999999999 B"}},
       2,
       100},
      {"nothing to save", {{"bytes", "0 B"}, {"to_host", "50 GB/s"}, {"write", "1 GB/s"}}, 0, 0},
  };
  for (const Row& row : rows) {
    INFO(row.why);
    Json json = small_question();
    json["save"] = {{"every_steps", 20}, {"copy", row.copy}};
    const GoodputQuestion question = read_goodput_question(Value(json, "q.json", ""));
    CHECK(question.plan.stall_s == doctest::Approx(row.stall_s));
    CHECK(question.plan.durable_s == doctest::Approx(row.durable_s));
  }
}

TEST_CASE("goodput command: refusals name file and field, and say what to type") {
  struct Row {
    Json json;
    std::vector<std::string> words;
  };
  const std::vector<Row> rows = {
      {without("save"), {"q.json: /", "needs `save`", "\"stall\""}},
      {without("steps"), {"needs `steps`", "tokens_per_step"}},
      {without("failures"), {"needs `failures`", "llama3_h100"}},
      {without("nodes"), {"nodes"}},
      {without("step"), {"step"}},
      {with("/step", "8"), {"q.json: /step", "unit"}},
      {with("/step", "0 s"), {"/step", "at least 1 ns"}},
      {with("/step", "-1 s"), {"/step", "0 to 300000 years"}},
      {with("/step", "nan s"), {"/step"}},
      {with("/step", "1e300 s"), {"/step", "300000 years"}},
      {with("/step", "1000 years"), {"at most 3000 years"}},
      {with("/steps", 0), {"/steps"}},
      {with("/steps", 1e13), {"/steps"}},
      {with("/stepz", 1), {"stepz", "steps"}},
      {with("/nodes", 0), {"/nodes"}},
      {with("/runs", 1), {"/runs"}},
      {with("/risk", 0), {"/risk"}},
      {with("/failures", "lama3_h100"), {"/failures", "llama3_h100"}},
      {with("/failures/causes/0/per_day", -1), {"/failures/causes/0/per_day"}},
      {with("/failures/causes/0/unit", "gpus"), {"/failures/causes/0/unit", "gpu"}},
      {with("/failures/causes/0/unit", "leaf"), {"nodes_per_leaf"}},
      {with("/failures/causes/0/unit", "link"), {"links_per_node"}},
      {with("/failures/causes/0/effect", "slow"), {"factor"}},
      {with("/failures/causes/0/factor", 2), {"slow"}},
      {with("/failures/causes/0/law", {{"weibull", 0}}), {"/law/weibull"}},
      {with("/failures/causes/0/law", "normal"), {"/law", "exponential"}},
      {with("/failures/causes/0/events", 3), {"not both"}},
      {with("/failures/causes", Json::array()), {"1 to 1000 causes"}},
      {with("/save/durable", "25 min"), {"/save", "25.0 min", "at least 25 steps"}},
      {with("/save/interval", "5 min"), {"not both"}},
      {with("/save/copies", 2), {"store"}},
      {with("/save", Json::object()), {"/save", "needs `stall`", "`copy`"}},
      {copied("/bytes", "1 GB", true), {"/save/copy", "leave out `stall`"}},
      {copied("/bytes", nullptr), {"/save/copy", "needs `bytes`"}},
      {copied("/bytes", "12"), {"/save/copy/bytes", "unit"}},
      {copied("/bytes", "-1 GB"), {"/save/copy/bytes"}},
      {copied("/to_host", "0 GB/s"), {"/save/copy/to_host"}},
      {copied("/to_host", nullptr), {"/save/copy", "to_host"}},
      {copied("/write", nullptr), {"/save/copy", "write"}},
      {copied("/write", "nan GB/s"), {"/save/copy/write"}},
      {copied("/on_gpu", "1 TB/s"), {"/save/copy/on_gpu", "needs `free`"}},
      {copied("/free", "1 GB"), {"/save/copy/free", "say `on_gpu`"}},
      {copied("/write", "1 B/s"), {"/save", "durable after"}},
      {copied("/writ", "1 GB/s"), {"/save/copy", "writ", "did you mean \"write\""}},
      {with("/policy", "shrink"), {"/policy", "replicas"}},
      {with("/shrink", {{"replicas", 4}, {"stall", "1 s"}}), {"policy"}},
      {with("/planned", {{"every", "1 h"}, {"lasts", "1 h"}}),
       {"/planned/every", "leaves no time"}},
      {with("/formula", "folklore"), {"/formula", "rsc"}},
      {with("/schema", "sgdsim/sweep/1"), {"/schema", "goodput-question"}},
      // Where it never ends, with the numbers that say so: 100 nodes, each failing 100 times a day.
      {with("/failures/causes/0/per_day", 100), {"never ends", "8.64 s", "10.0 min", "20.5 min"}},
      {with("/restart/in_place", "1 year"), {"never ends"}},
      // So often that chances are beyond what a number can say.
      {with("/failures/causes/0/per_day", 1e8), {"never ends"}},
      // A node a day fails for 30 days, so that 23 of 100 are away, and there are two spares.
      {[] {
         Json json = with("/spares", 2);
         json["failures"]["causes"][0]["restart"] = "new_node";
         json["steps"] = 1'000'000;
         json["repair"] = "30 days";
         return json;
       }(),
       {"never ends", "23.1 nodes are being repaired", "2 spares"}},
      // 0.5 of productive time is the end of RSC's range: (1 - (720 + 10) / 1440) / 1.025 is 0.48.
      {[] {
         Json json = with("/formula", "rsc");
         json["restart"]["in_place"] = "12 h";
         return json;
       }(),
       {"formula", "first order"}},
  };
  for (const Row& row : rows) {
    const std::string refusal = refusal_of(row.json);
    CAPTURE(row.json.dump());
    CAPTURE(refusal);
    CHECK(!refusal.empty());
    for (const std::string& word : row.words) CHECK(refusal.find(word) != std::string::npos);
  }
  CHECK(call_sgdsim({"goodput"}).exit_code == 2);
  CHECK(call_sgdsim({"goodput", "no_such_file.json"}).exit_code == 2);
  CHECK(call_sgdsim({"goodput", "--nodes", "many"}).exit_code == 2);
}

TEST_CASE("goodput command: hostile values have defined answers") {
  const auto wall_h = [](const GoodputAnswer& answer) {
    return goodput::to_s(answer.runs.wall) / 3600;
  };
  // 24 h of work and 72 saves of half a minute.
  const double free_h = 24 + 72 * 0.5 / 60;
  CHECK(wall_h(answer_to(with("/failures/causes/0/per_day", 0))) ==
        doctest::Approx(free_h).epsilon(1e-12));
  CHECK(wall_h(answer_to(with("/rate_factor", 0))) == doctest::Approx(free_h).epsilon(1e-12));
  CHECK(answer_to(with("/rate_factor", 0)).levers.size() ==
        3);  // step, stall and restart, which does not matter
  CHECK(wall_h(answer_to(with("/failures/causes/0/per_day", 1e-300))) == doctest::Approx(free_h));
  // One step: a minute and its save.
  CHECK(wall_h(answer_to(with("/steps", 1))) == doctest::Approx(1.5 / 60).epsilon(0.05));
  // An interval below a step is a step; one beyond the run is the run.
  Json interval = small_question();
  interval["save"] = {{"interval", "1 s"}, {"stall", "0 s"}};
  CHECK(read_goodput_question(Value(interval, "q", "")).plan.interval == 1);
  interval["save"]["interval"] = "1 year";
  CHECK(read_goodput_question(Value(interval, "q", "")).plan.interval == 1'440);
  interval["save"] = {{"stall", "0 s"}};  // best: saves cost nothing
  CHECK(read_goodput_question(Value(interval, "q", "")).plan.interval == 1);
  // A million nodes that fail once in 3,000 years.
  Json many = with("/nodes", 1'000'000);
  many["failures"]["causes"][0]["per_day"] = 1e-6;
  CHECK(answer_to(many).mean_to_stop_s == doctest::Approx(86'400));
  CHECK(answer_to(many).cost.money == std::nullopt);
  // A date that has passed already, and one that is far away.
  CHECK(answer_to(with("/until", "0 s")).deadline->late == 1);
  CHECK(answer_to(with("/until", "1 day")).deadline->late == 1);
  CHECK(answer_to(with("/until", "100 years")).deadline->late == 0);
  // No spare, and repairs that take no time, are like spares without end.
  Json spares = small_question();
  spares["failures"]["causes"][0]["restart"] = "new_node";
  const double unlimited = wall_h(answer_to(spares));
  spares["spares"] = 0;
  spares["repair"] = "0 s";
  CHECK(wall_h(answer_to(spares)) == doctest::Approx(unlimited).epsilon(1e-9));
  spares["repair"] = "2 h";
  CHECK(wall_h(answer_to(spares)) > unlimited + 0.5);
  // One replica that shrinks to none waits.
  Json shrunk = small_question();
  shrunk["policy"] = "shrink";
  shrunk["shrink"] = {{"replicas", 1}, {"stall", "0 s"}};
  shrunk["repair"] = "2 h";
  CHECK(answer_to(shrunk).runs.account[static_cast<std::size_t>(goodput::Part::waiting)] > 0);
}

TEST_CASE("goodput command: money, energy and carbon of the published run") {
  // Llama 3.1 405B's model card: 30.84 M GPU-hours at 700 W are 21.588 GWh.
  Json json = small_question();
  json["nodes"] = 2'048;
  json["step"] = "1 h";
  json["save"] = {{"every_steps", 100'000}, {"stall", "0 s"}};
  json["steps"] = 1'882;  // 30.84e6 / 16,384 = 1,882.3 h
  json["failures"]["causes"][0]["per_day"] = 0;
  json["prices"] = {{"gpu_hour", 2}};
  json["power"] = {{"busy_W", 700}, {"idle_W", 100}, {"grid_kg_per_kWh", 0.5}};
  const GoodputAnswer answer = answer_to(json);
  CHECK(answer.cost.gpu_hours == doctest::Approx(30.84e6).epsilon(2e-4));
  CHECK(*answer.cost.money == doctest::Approx(2 * answer.cost.gpu_hours));
  CHECK(*answer.cost.kWh == doctest::Approx(21.588e6).epsilon(2e-4));
  CHECK(*answer.cost.kg == doctest::Approx(*answer.cost.kWh / 2));
  CHECK(answer.per_node_day == 0);  // and not one in the age of the universe
  // A 32nd as many nodes wait beside them: they are paid for, and idle at a seventh of the power.
  json["spares"] = 64;
  const GoodputAnswer spared = answer_to(json);
  CHECK(spared.cost.gpu_hours == doctest::Approx(answer.cost.gpu_hours * 33 / 32));
  CHECK(*spared.cost.money == doctest::Approx(2 * spared.cost.gpu_hours));
  CHECK(*spared.cost.kWh == doctest::Approx(*answer.cost.kWh * (1 + 1. / 32 / 7)));
}

TEST_CASE("goodput command: the sources that ship have the published rates") {
  struct Row {
    const char* name;
    double per_node_day;
  };
  for (const Row& row : {Row{"llama3_h100", 419. / 2'048 / 54}, Row{"rsc1_a100", 6.5e-3},
                         Row{"rsc2_a100", 2.34e-3}, Row{"aegis_a100", 1. / 400},
                         Row{"aegis_h100", 1. / 200}, Row{"opt_175b", 105. / 124 / 61}}) {
    const Json json = row.name;
    const FailureSource source = load_failures(Value(json, "q", ""));
    const auto causes = causes_on(source, {2'048, 8, 0, 0}, {}, "q");
    CHECK(stops_per_node_day(causes, 2'048) == doctest::Approx(row.per_node_day).epsilon(1e-12));
  }
  // Job MTBF of Llama 3's 54 days: 3.0931 h.
  const Json json = "llama3_h100";
  const FailureSource source = load_failures(Value(json, "q", ""));
  int64_t events = 0;
  for (const FailureCause& cause : source.causes) events += cause.events;
  CHECK(events == 419);
}

TEST_CASE("goodput command: times of trainings") {
  CHECK(parse_span("54 days", "x") == 54 * 86'400);
  CHECK(parse_span("1 week", "x") == 604'800);
  CHECK(parse_span("2h", "x") == 7'200);
  CHECK(parse_span("0 s", "x") == 0);
  for (const char* bad : {"", "5", "5 m", "-1 s", "inf s", "1e300 years", "days"})
    CHECK_THROWS_AS(parse_span(bad, "x"), InputError);
}

// Without failures a step and a save take what they take, however long the save; three hours beside
// eight seconds, on a node that fails twice a year, too.
TEST_CASE("goodput command: long saves are no failures") {
  const Json none =
      asked({"--step", "100ms", "--steps", "1", "--nodes", "256", "--failures", "rsc1_a100",
             "--set", "rate_factor=0", "--set", "save.stall=5min", "--set", "save.durable=0s"});
  CHECK(none["wall"]["mean_days"].get<double>() * 86'400 == doctest::Approx(300.1).epsilon(1e-6));
  const Json rare = asked({"--step", "8s", "--steps", "1", "--nodes", "1", "--failures",
                           "rsc1_a100", "--set", "save.stall=3h", "--set", "save.durable=0s"});
  CHECK(rare["wall"]["mean_days"].get<double>() * 86'400 == doctest::Approx(10'808).epsilon(0.02));
}

}  // namespace sgdsim::goodput_command
