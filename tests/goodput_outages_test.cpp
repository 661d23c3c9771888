// Trainings that wait for several things at once: outages that a crash does not end, leaves that
// take many nodes along, spares, dates that something rare decides, and saves that go to a store.
#include <cmath>
#include <doctest/doctest.h>

#include "models/goodput/closed_forms.h"
#include "models/goodput/runs.h"
#include "study/goodput/goodput_answer.h"
#include "tests/run_program.h"

namespace sgdsim::goodput_outages {
namespace {

using goodput::Part;

constexpr double hour = 3'600;
constexpr double day = 24 * hour;

GoodputQuestion question_of(const Json& json) {
  return read_goodput_question(Value(json, "q.json", ""));
}

GoodputAnswer answer_to(const Json& json) { return answer_goodput(question_of(json), 2, {}); }

double days_of(const Json& json) { return goodput::to_s(answer_to(json).runs.wall) / day; }

// A million seconds of work on 256 nodes in leaves of 32.
Json training(const Json& causes) {
  return {{"step", "8 s"},
          {"steps", 125'000},
          {"nodes", 256},
          {"nodes_per_leaf", 32},
          {"failures", {{"schema", "sgdsim/failures/1"}, {"name", "x"}, {"causes", causes}}},
          {"save", {{"stall", "10 s"}, {"interval", "16 min"}}},
          {"restart", {{"in_place", "5 min"}}},
          {"runs", 1'000}};
}
Json leaf_fails(double per_day) {
  return Json::array(
      {{{"name", "leaf"}, {"unit", "leaf"}, {"per_day", per_day}, {"restart", "new_node"}}});
}

goodput::Cause at_hours(const std::vector<double>& at_h, double detect_h) {
  goodput::Cause cause;
  cause.name = "record";
  for (const double at : at_h) cause.at_s.push_back(at * hour);
  cause.detect_s = detect_h * hour;
  return cause;
}

// Ten hours of work, saved every hour without a stall.
goodput::Plan ten_hours(double restart_h, std::vector<goodput::Cause> causes) {
  goodput::Plan plan;
  plan.steps = 10;
  plan.step_s = hour;
  plan.restart_s = plan.node_restart_s = restart_h * hour;
  plan.causes = std::move(causes);
  return plan;
}

double part_h(const goodput::PlayedRun& run, Part part) {
  return goodput::to_s(run.account[static_cast<std::size_t>(part)]) / hour;
}

}  // namespace

// An outage from 1.25 h on is noticed, or over, after 10 h; a restart takes half an hour. A quarter
// of an hour is lost.
TEST_CASE("goodput outages: a crash does not end an outage") {
  struct Row {
    const char* why;
    double crash_h, crash_detect_h, detecting_h, restarting_h;
  };
  for (const Row& row : {
           Row{"alone", 100, 0, 10, 0.5},
           Row{"in the outage", 3, 0, 10, 0.5},
           Row{"in the outage, noticed after it", 10.75, 1, 10.5, 0.5},
           Row{"in the restart, which begins again", 11.5, 0.125, 10.125, 0.75},
       }) {
    INFO(row.why);
    const goodput::PlayedRun run = play(
        ten_hours(0.5, {at_hours({1.25}, 10), at_hours({row.crash_h}, row.crash_detect_h)}), 1, 0);
    CHECK(part_h(run, Part::detecting) == doctest::Approx(row.detecting_h));
    CHECK(part_h(run, Part::restarting) == doctest::Approx(row.restarting_h));
    CHECK(goodput::to_s(run.wall) / hour ==
          doctest::Approx(10.25 + row.detecting_h + row.restarting_h));
  }
  // A new node takes 2 h from 1.25 h on; what is restarted where it is meanwhile does not end that.
  goodput::Plan plan = ten_hours(0.25, {at_hours({1.25}, 0), at_hours({2}, 0)});
  plan.causes[0].needs_node = true;
  plan.node_restart_s = 2 * hour;
  CHECK(goodput::to_s(play(plan, 1, 0).wall) / hour == doctest::Approx(12.25));
  // Planned work from 1.5 h on, which takes two hours with its restart, goes on through a failure
  // at 2 h, too.
  goodput::Plan planned = ten_hours(0.5, {at_hours({2}, 0)});
  planned.planned_every_s = 1.5 * hour;
  planned.planned_s = 1.5 * hour;
  planned.steps = 2;
  CHECK(goodput::to_s(play(planned, 1, 0).wall) / hour == doctest::Approx(4));
}

// Down until none of the restarts under way is left: the busy period of M/G/infinity.
TEST_CASE("goodput outages: formula and runs agree where restarts differ") {
  goodput::Plan plan;
  plan.steps = 4'000;
  plan.step_s = 60;
  plan.interval = 10;
  plan.restart_s = 60;
  plan.node_restart_s = 1'200;
  for (const double detect_s : {0., 3'000.}) {
    goodput::Cause cause;
    cause.name = detect_s == 0 ? "new node" : "hang";  // they draw by their names
    cause.mean_s = 6'000;
    cause.detect_s = detect_s;
    cause.needs_node = detect_s == 0;
    plan.causes.push_back(cause);
  }
  // Half of 1,200 s and half of 3,060 s, and a failure every 3,000 s.
  const goodput::Downtimes down{{{0.5, 1'200}, {0.5, 3'060}}, true};
  CHECK(down.mean(3'000) == doctest::Approx(3'000 * std::expm1(2'130. / 3'000)));
  const double expected = goodput::expected_wall(plan.work_s(), 600, {}, down, 3'000);
  const goodput::Runs runs = play_runs(plan, {2'000, 1, 2});
  CHECK(std::abs(goodput::to_s(runs.wall) - expected) < 4 * runs.standard_error_s());
}

// Of 8 leaves each is down for p = 0.01/1.01 of the time, with 32 nodes: 1 - (1 - p)^8 = 7.65 %
// that any is, and 0.264 % that two are.
TEST_CASE("goodput outages: spares for leaves come 32 at a time") {
  const double p = 0.01 / 1.01;
  const double none = std::pow(1 - p, 8);
  const double one = 8 * p * std::pow(1 - p, 7);
  const goodput::Outages leaves{32, 8, p};
  for (const auto& [count, chance] :
       {std::pair(0, 1 - none), std::pair(31, 1 - none), std::pair(32, 1 - none - one),
        std::pair(63, 1 - none - one), std::pair(256, 0.)})
    CHECK(goodput::nodes_down_above({&leaves, 1}, count) == doctest::Approx(chance));
  // All leaves down, always: 256 nodes, and single ones beside them.
  const std::vector<goodput::Outages> always = {{32, 8, 1}, {1, 256, 0.5}};
  CHECK(goodput::nodes_down_above(always, 255) == 1);
  CHECK(goodput::nodes_down_above(always, 256) == doctest::Approx(1));
  CHECK(goodput::nodes_down_above(always, 256 + 128) ==
        doctest::Approx(goodput::binomial_above(256, 0.5, 128)));
  // With single nodes that are down as well: by the sum over how many leaves are.
  const std::vector<goodput::Outages> both = {leaves, {1, 256, 0.001}};
  const double above_40 = none * goodput::binomial_above(256, 0.001, 40) +
                          one * goodput::binomial_above(256, 0.001, 8) + (1 - none - one);
  CHECK(goodput::nodes_down_above(both, 40) == doctest::Approx(above_40));
  Json json = training(leaf_fails(0.01));
  json["repair"] = "1 day";
  json["runs"] = 50;
  CHECK(answer_to(json).spares->spares == 32);
  json["risk"] = 0.08;
  CHECK(answer_to(json).spares->spares == 0);
}

// Four replicas of four nodes; a leaf of eight nodes takes two of them from 1 h on.
TEST_CASE("goodput outages: a leaf takes all its replicas along, and spares bring them back") {
  goodput::Plan plan = ten_hours(0.25, {at_hours({1}, 0.5)});
  plan.nodes = 16;
  plan.node_restart_s = 1.5 * hour;
  plan.causes[0].needs_node = true;
  plan.causes[0].nodes = 8;
  plan.causes[0].repair_s = 4 * hour;
  plan.shrink = goodput::Shrinking{4, 0, {}};
  // Half an hour of all until it is noticed; from 1.5 h to 5 h a step takes twice as long.
  const auto slow_h = [&] { return part_h(play(plan, 1, 0), Part::slow); };
  CHECK(slow_h() == doctest::Approx(3.5 / 2));
  // Spares are there when it is noticed, and take 1.5 h.
  plan.spares = 8;
  CHECK(slow_h() == doctest::Approx(1.5 / 2));
  // Seven are too few: until the eight nodes are repaired, and started.
  plan.spares = 7;
  CHECK(slow_h() == doctest::Approx(5. / 2));
  // A part of a replica is one; more than all are all, who wait until they are repaired.
  plan.spares.reset();
  plan.causes[0].nodes = 1;
  CHECK(slow_h() == doctest::Approx(3.5 / 4));
  plan.causes[0].nodes = 16;
  CHECK(part_h(play(plan, 1, 0), Part::waiting) == doctest::Approx(4));
}

// 100,000 steps of 8 s are 9.26 days. Something slow for two days is rare, and makes it late: no
// number of failures that are short decides that.
TEST_CASE("goodput outages: a date that something rare decides is counted") {
  Json json = training(Json::array(
      {{{"name", "node"}, {"unit", "node"}, {"per_day", 0.0065}, {"restart", "new_node"}},
       {{"name", "slow"},
        {"unit", "node"},
        {"per_day", 0.0001},
        {"effect", "slow"},
        {"factor", 2},
        {"lasts", "2 days"}}}));
  json["steps"] = 100'000;
  json["nodes"] = 32;
  json["runs"] = 20'000;
  json["until"] = "11 days";
  const DeadlineAnswer late = *answer_to(json).deadline;
  CHECK_FALSE(late.by_strata);
  // 32 nodes, 0.0001 a day, for some 9.4 days: 3 % that one is slow at all, for two days on
  // average, and the more than 1.5 days that are left take an episode of more than 3 days: e^-1.5.
  CHECK(late.late > 0.001);
  CHECK(late.late < 0.03);
  json["until"] = "20 days";  // where none of so few is late, nobody knows how rare that is
  json["runs"] = 1'000;
  const DeadlineAnswer never = *answer_to(json).deadline;
  CHECK(never.late == 0);
  CHECK(*never.at_most == doctest::Approx(3. / 1'000).epsilon(0.01));
  const Temporary file(Temporary::Kind::file, json.dump());
  const Ran ran = call_sgdsim({"goodput", file.name()});
  CHECK(ran.out.find("late with at most 0.003 (no run was)") != std::string::npos);
}

// Six failures until 8.2 days: one every 1.37 days, so that Young's interval is
// sqrt(2 x 10 s x 1.37 days) = 25.6 min.
TEST_CASE("goodput outages: recorded failures have a best interval") {
  Json json = training(Json::array(
      {{{"name", "n"},
        {"unit", "node"},
        {"restart", "new_node"},
        {"law",
         {{"recorded", {"1 day", "2.3 days", "4 days", "6.1 days", "7 days", "8.2 days"}}}}}}));
  json["save"] = {{"stall", "10 s"}};
  json["runs"] = 20;
  const GoodputAnswer answer = answer_to(json);
  REQUIRE(answer.interval);
  CHECK(answer.interval->best_s / 60 == doctest::Approx(25.6).epsilon(0.02));
  CHECK(question_of(json).interval_s() == answer.interval->best_s);
}

// Every tenth save stops the job for a minute, the others for nothing: 6 s in the mean. Failures
// come every 14.4 h.
TEST_CASE("goodput outages: the stall of a store counts in the best interval") {
  Json json = training(Json::array({{{"name", "job"}, {"unit", "job"}, {"per_day", 24 / 14.4}}}));
  json["save"] = {{"stall", "0 s"},
                  {"store", {{"every", 10}, {"stall", "60 s"}, {"durable", "2 min"}}}};
  json["runs"] = 20;
  const double best_s = question_of(json).interval_s();
  CHECK(std::abs(best_s - goodput::best_interval(6, 14.4 * hour)) <= 8);
  // Each save in the store, which takes ten minutes: as long as the next one may not come.
  json["save"]["store"] = {{"every", 1}, {"stall", "0 s"}, {"durable", "10 min"}};
  CHECK(question_of(json).interval_s() == 600);
}

TEST_CASE("goodput outages: the rates of other machines stay theirs") {
  Json json = training("rsc1_a100");
  json["failures"] = "rsc1_a100";
  json["runs"] = 4;
  const auto rates = [&] {
    std::vector<double> all;
    for (const SourceAnswer& one : answer_to(json).sources) all.push_back(one.per_node_day);
    return all;
  };
  const std::vector<double> usual = rates();
  json["rate_factor"] = 2;
  CHECK(rates() == usual);
}

// More of anything that fails is never sooner done.
TEST_CASE("goodput outages: failures beside a long outage do not shorten it") {
  double before = 0;
  for (const double per_day : {0., 0.01, 0.05, 0.2}) {
    Json json = training(
        Json::array({{{"name", "hang"}, {"unit", "job"}, {"per_day", 1}, {"detect", "10 h"}},
                     {{"name", "node"}, {"unit", "node"}, {"per_day", per_day}}}));
    json["nodes"] = 64;
    json["runs"] = 300;
    const double days = days_of(json);
    CAPTURE(per_day);
    CHECK(days > before);
    before = days;
  }
}

// Points of the same axes are replaced, others only by --force.
TEST_CASE("goodput outages: points of another sweep are not lost") {
  Json json = training("rsc1_a100");
  json["failures"] = "rsc1_a100";
  json["runs"] = 2;
  const Temporary folder(Temporary::Kind::folder);
  const Temporary question(Temporary::Kind::file, json.dump());
  const auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"goodput", question.name(), "--out", folder.name() + "/points.jsonl"});
    return call_sgdsim(more);
  };
  CHECK(ask({"--axis", "spares=2,4,8"}).exit_code == 0);
  CHECK(ask({"--axis", "spares=2,4,8"}).exit_code == 0);
  for (const char* other : {"spares=2,4", "spares=2,4,16", "restart.in_place=1min"}) {
    const Ran ran = ask({"--axis", other});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("--force") != std::string::npos);
  }
  CHECK(ask({"--axis", "spares=2,4", "--force"}).exit_code == 0);
  CHECK(ask({"--axis", "spares=2,4,8"}).exit_code == 0);  // has all of them
}

}  // namespace sgdsim::goodput_outages
