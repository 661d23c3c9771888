// The player of runs that fail: against formulas, against runs worked out by hand, and against
// itself.
#include <chrono>
#include <cmath>
#include <doctest/doctest.h>

#include "models/goodput/closed_forms.h"
#include "models/goodput/runs.h"
#include "sim/core/random.h"
#include "tests/rounds.h"

namespace sgdsim::goodput::played {
namespace {

constexpr double minute = 60;
constexpr double hour = 3'600;
constexpr double day = 24 * hour;

Cause stops(double mean_s, double shape = 1) {
  Cause cause;
  cause.name = "anything";
  cause.mean_s = mean_s;
  cause.shape = shape;
  return cause;
}

// Times in minutes: intervals of one step.
Plan plan_of(double interval, double stall, double durable, double restart, double mttf,
             int64_t count) {
  Plan plan;
  plan.steps = count;
  plan.step_s = interval * minute;
  plan.stall_s = stall * minute;
  plan.durable_s = durable * minute;
  plan.restart_s = plan.node_restart_s = restart * minute;
  plan.causes = {stops(mttf * minute)};
  return plan;
}

double work_s(const Plan& plan) { return static_cast<double>(plan.steps) * plan.step_s; }

// Where the formula holds.
double expected_s(const Plan& plan) {
  const Cause& cause = plan.causes.front();
  return expected_wall(work_s(plan), plan.step_s * static_cast<double>(plan.interval),
                       {plan.stall_s, plan.durable_s},
                       {{{1, cause.detect_s + plan.restart_s}}, plan.can_fail}, 1 / cause.rate());
}

// Deviations of the mean from what is expected, in standard errors.
double errors_off(const Runs& runs, double expected) {
  return (to_s(runs.wall) - expected) / runs.standard_error_s();
}

double part_h(const PlayedRun& run, Part part) {
  return to_s(run.account[static_cast<std::size_t>(part)]) / hour;
}

// Failures at these hours only.
Plan recorded(std::vector<double> at_h) {
  Plan plan;
  plan.steps = 10;
  plan.step_s = hour;
  plan.interval = 2;
  plan.stall_s = 0.25 * hour;
  plan.restart_s = 0.5 * hour;
  Cause cause;
  cause.name = "record";
  for (const double at : at_h) cause.at_s.push_back(at * hour);
  cause.detect_s = 0.125 * hour;
  plan.causes = {cause};
  return plan;
}

}  // namespace

// 1,000 random questions in which formula and player are both defined: none beyond five standard
// errors, and as many beyond two and three as a normal law has (46 and 3 of 1,000, with their own
// spread).
TEST_CASE("goodput: formula and player agree on random questions") {
  sgdsim::Random random(41);
  int beyond_2 = 0;
  int beyond_4 = 0;
  double worst = 0;
  for (int question = 0; question < 1'000; ++question) {
    Plan plan;
    plan.steps = 1 + static_cast<int64_t>(random.below(400));
    plan.interval = 1 + static_cast<int64_t>(random.below(20));
    plan.step_s = random.uniform(1, 100);
    const double interval = plan.step_s * static_cast<double>(plan.interval);
    plan.stall_s = random.below(4) == 0 ? 0 : random.uniform(0, 60);
    plan.durable_s = random.below(2) == 0 ? 0 : random.uniform(0, interval + plan.stall_s);
    plan.restart_s = plan.node_restart_s = random.uniform(0, 600);
    plan.can_fail = random.below(2) == 0;
    Cause cause = stops(random.uniform(0.5, 20) * (interval + plan.restart_s));
    cause.detect_s = random.below(2) == 0 ? 0 : random.uniform(0, 100);
    cause.units = 1 + static_cast<int64_t>(random.below(1'000));
    cause.mean_s *= static_cast<double>(cause.units);
    plan.causes = {cause};
    const Runs runs = play_runs(plan, {600, 7 + static_cast<uint64_t>(question), 2});
    LongPs sum = 0;
    for (const LongPs part : runs.account) sum += part;
    REQUIRE(sum == runs.wall);
    if (runs.failures < 0.5) continue;  // too few for a normal law
    const double off = std::abs(errors_off(runs, expected_s(plan)));
    worst = std::max(worst, off);
    beyond_2 += off > 2 ? 1 : 0;
    beyond_4 += off > 4 ? 1 : 0;
  }
  CAPTURE(worst);
  CHECK(beyond_2 < 80);
  CHECK(beyond_4 == 0);
}

// Expected values of a script of 40 lines, with its own errors: one job-wide renewal process of
// equal mean.
TEST_CASE("goodput: Monte Carlo as published, with laws that have a memory") {
  struct Row {
    Plan plan;
    double wall_per_work, error;
  };
  const int64_t long_run = 2'000;
  Row weibull_short{plan_of(32, 2, 0, 10, 185.68, long_run), 1.2138, 0.0016};
  weibull_short.plan.causes = {stops(185.68 * minute, 0.7)};
  Row weibull_long{plan_of(32, 2, 0, 10, 185.68, long_run), 1.2407, 0.0010};
  weibull_long.plan.causes = {stops(185.68 * minute, 1.5)};
  for (const Row& row :
       {Row{plan_of(32, 2, 0, 10, 185.68, long_run), 1.2315, 0.0013}, weibull_short, weibull_long,
        Row{plan_of(20, 0.1, 10, 10, 185.68, long_run), 1.1810, 0.0008},
        Row{plan_of(7.75, 1. / 6, 5, 10, 185.68, long_run), 1.1318, 0.0008},
        Row{plan_of(2.67, 1. / 6, 2, 10, 23.2, long_run), 1.8896, 0.0036}}) {
    CAPTURE(row.wall_per_work);
    const Runs runs = play_runs(row.plan, {300, 1, 2});
    const double found = to_s(runs.wall) / work_s(row.plan);
    const double own = runs.standard_error_s() / work_s(row.plan);
    CHECK(std::abs(found - row.wall_per_work) < 4 * std::hypot(own, row.error));
  }
}

TEST_CASE("goodput: the spread of an interval and of 9,030") {
  Plan one = plan_of(32, 2, 0, 10, 185.68, 1);
  one.can_fail = false;
  const Runs runs = play_runs(one, {100'000, 1, 2});
  CHECK(std::abs(errors_off(runs, 39.321383 * minute)) < 4);
  CHECK(std::abs(runs.deviation_s / minute - 13.731741) < 0.15);  // the script: 13.785
  Plan many = plan_of(7.75, 1. / 6, 0, 10, 185.585, 9'030);
  many.can_fail = false;
  const Runs long_runs = play_runs(many, {4'000, 1, 2});
  CHECK(std::abs(errors_off(long_runs, 53.4511 * day)) < 4);
  CHECK(std::abs(long_runs.deviation_s / day - 0.1986) < 4 * 0.1986 / std::sqrt(2 * 4'000.));
  const Quantile late = long_runs.quantile(0.95);
  CHECK(late.from_s < late.value_s);
  CHECK(late.to_s > late.value_s);
  CHECK(late.from_s < 53.7776 * day);
  CHECK(late.to_s > 53.7776 * day);
}

// 30 days of work without anything lost, half an hour for each failure: N is a Poisson number of
// 232.7778. A deadline is met by 240, 288 or 336 of them, and by no more.
TEST_CASE("goodput: what hardly ever happens, by strata") {
  Plan plan;
  plan.steps = 720 * 3'600;  // of a second, of which a failure loses a part
  plan.restart_s = 0.5 * hour - 1;
  plan.can_fail = false;
  plan.causes = {stops(3.093079 * hour)};
  CHECK(can_stratify(plan));
  struct Row {
    double days, chance;
  };
  for (const Row& row : {Row{35, 0.3035381}, Row{36, 2.078509e-4}, Row{37, 8.892420e-11}}) {
    CAPTURE(row.days);
    const Chance chance = chance_later_than(plan, row.days * day, {200, 1, 2});
    CHECK(std::abs(chance.probability / row.chance - 1) < 0.1);
    CHECK(chance.standard_error < 0.1 * row.chance);
  }
  // Runs that are counted say the same where they can.
  CHECK(std::abs(play_runs(plan, {4'000, 1, 2}).part_later_than(35 * day) - 0.3035) < 4 * 0.0073);
  // Where restarts fail, too, and work is lost.
  Plan other = plan_of(30, 2, 5, 20, 185, 1'000);
  const double deadline = expected_s(other) * 1.02;
  const double counted = play_runs(other, {4'000, 3, 2}).part_later_than(deadline);
  const Chance strata = chance_later_than(other, deadline, {200, 1, 2});
  CHECK(std::abs(strata.probability - counted) < 4 * std::hypot(strata.standard_error, 0.008));
  CHECK(chance_later_than(other, work_s(other) * 0.9, {100, 1, 1}).probability ==
        doctest::Approx(1));
  CHECK(chance_later_than(other, work_s(other) * 100, {100, 1, 1}).probability == 0);
}

// Ten hours of steps, a save of 15 min after every second; a failure costs 7.5 min until it is
// noticed, and half an hour.
TEST_CASE("goodput: one failure at a given time, by hand") {
  struct Row {
    const char* why;
    std::vector<double> at_h;
    double wall, recomputed, stalled;
  };
  for (const Row& row : {
           Row{"none", {}, 11.25, 0, 1.25},
           Row{"after half an hour", {0.5}, 12.375, 0.5, 1.25},
           Row{"in the first save", {2.125}, 14, 2, 1.375},
           Row{"as the first save ends: it comes first", {2.25}, 14.125, 2, 1.5},
           Row{"just after it", {2.5}, 12.125, 0.25, 1.25},
           Row{"after the end", {11.5}, 11.25, 0, 1.25},
           Row{"as it ends", {11.25}, 14.125, 2, 1.5},
           Row{"while it restarts", {0.5, 0.75}, 12.625, 0.5, 1.25},
           Row{"twice", {2.5, 4}, 13.625, 0.25 + 0.875, 1.25},
       }) {
    CAPTURE(row.why);
    const PlayedRun run = play(recorded(row.at_h), 1, 0);
    CHECK(to_s(run.wall) / hour == doctest::Approx(row.wall).epsilon(1e-12));
    CHECK(part_h(run, Part::productive) == 10);
    CHECK(part_h(run, Part::recomputed) == doctest::Approx(row.recomputed));
    CHECK(part_h(run, Part::stalled) == doctest::Approx(row.stalled));
  }
  // A save that is durable after an hour more: a failure before that loses two intervals.
  Plan late = recorded({5});  // the second save ended at 4.5, and is not durable
  late.durable_s = hour;
  CHECK(part_h(play(late, 1, 0), Part::recomputed) == doctest::Approx(2.5));
  late.causes[0].at_s = {5.5 * hour};  // as it becomes durable
  CHECK(part_h(play(late, 1, 0), Part::recomputed) == doctest::Approx(3));
  late.causes[0].at_s = {5.75 * hour};
  CHECK(part_h(play(late, 1, 0), Part::recomputed) == doctest::Approx(1.25));
  CHECK(to_s(play(recorded({}), 1, 0).wall) / hour == 11.25);
  // Where none can hit a job that restarts, which the first makes it do until 1.125, the second
  // does not happen, and the third has its time: 1.125 + 2.25 (the first save) + 0.625 (lost) = 4,
  // + 0.625 down, + 4 x 2.25.
  Plan safe = recorded({0.5, 0.75, 4});
  safe.can_fail = false;
  const PlayedRun run = play(safe, 1, 0);
  CHECK(run.failures == 2);
  CHECK(to_s(run.wall) / hour == doctest::Approx(13.625).epsilon(1e-12));
  CHECK(part_h(run, Part::recomputed) == doctest::Approx(1.125));
  // A slow episode that was recorded begins when it did: from 0.75 to 2.75 steps take twice as
  // long. After 1.125 that is 1.625 h for 0.8125 h of work; then 1.1875 h and the save, and 4
  // x 2.25 more.
  safe.causes[0].at_s = {0.5 * hour};
  Cause slow;
  slow.name = "slow";
  slow.effect = Effect::slow;
  slow.at_s = {0.75 * hour};
  slow.factor = 2;
  slow.lasts_s = 2 * hour;
  slow.lasts_varies = false;
  safe.causes.push_back(slow);
  CHECK(to_s(play(safe, 1, 0).wall) / hour == doctest::Approx(2.75 + 1.4375 + 9).epsilon(1e-12));
}

TEST_CASE(
    "goodput: spares, memory copies, replicas, slow nodes, corruption and planned work, by hand") {
  // Nodes are repaired in 3 h; the second failure finds no spare.
  Plan spares = recorded({0.5, 2.5});
  spares.node_restart_s = spares.restart_s;
  spares.spares = 1;
  spares.causes[0].needs_node = true;
  spares.causes[0].repair_s = 3 * hour;
  PlayedRun run = play(spares, 1, 0);
  CHECK(part_h(run, Part::waiting) == doctest::Approx(3.5 - 2.625));
  spares.spares = 2;
  CHECK(part_h(play(spares, 1, 0), Part::waiting) == 0);

  // Every second save goes to the store. A failure that takes the copies goes back to that.
  Plan levels = recorded({7});  // saves at 2.25, 4.5 (stored, with 30 min more: 5), 7.25
  levels.store_every = 2;
  levels.store_stall_s = 0.5 * hour;
  levels.store_restart_s = hour;
  levels.causes[0].memory_survives = false;
  run = play(levels, 1, 0);
  CHECK(part_h(run, Part::recomputed) == doctest::Approx(2));
  CHECK(part_h(run, Part::restarting) == doctest::Approx(1.5));
  levels.causes[0].at_s = {8 * hour};  // after the third save, which is in memory only
  CHECK(part_h(play(levels, 1, 0), Part::recomputed) == doctest::Approx(2.75));
  levels.causes[0].memory_survives = true;
  CHECK(part_h(play(levels, 1, 0), Part::recomputed) == doctest::Approx(0.75));

  // One of four replicas is away for 3 h: a step takes 4/3 as long. The half step is lost.
  Plan shrunk = recorded({0.5});
  shrunk.shrink = Shrinking{4, 0.25 * hour, {}};
  shrunk.causes[0].detect_s = 0;
  shrunk.causes[0].repair_s = 3.25 * hour;
  run = play(shrunk, 1, 0);
  CHECK(part_h(run, Part::recomputed) == doctest::Approx(0.5));
  CHECK(part_h(run, Part::restarting) == doctest::Approx(0.25));
  // From 0.75 h to 3.75 h: 2 steps in 8/3 h, a save of which 15 min, and 5 min of the next step.
  CHECK(part_h(run, Part::slow) == doctest::Approx(2.75 / 4));
  CHECK(to_s(run.wall) / hour == doctest::Approx(11.25 + 0.5 + 0.25 + 2.75 / 4));

  // Half as fast from 1 h to 3 h: an hour of work.
  Plan slow = recorded({1});
  slow.causes[0].effect = Effect::slow;
  slow.causes[0].factor = 2;
  slow.causes[0].lasts_s = 2 * hour;
  slow.causes[0].lasts_varies = false;
  run = play(slow, 1, 0);
  CHECK(part_h(run, Part::slow) == doctest::Approx(1));
  CHECK(to_s(run.wall) / hour == doctest::Approx(12.25));

  // 3,000 h are 125 days, half as many again 187.5: more picoseconds than 64 bits hold.
  slow.steps = slow.interval = 3'000;
  slow.causes[0].at_s = {0};
  slow.causes[0].factor = 1.5;
  slow.causes[0].lasts_s = 1'000 * day;
  CHECK(to_s(play(slow, 1, 0).wall) / hour == doctest::Approx(4'500.25).epsilon(1e-12));

  // Corrupt at 3 h, found at 7.5 h: saves at 4.5 h and 6.75 h are bad, that at 2.25 h is good.
  Plan corrupt = recorded({3});
  corrupt.causes[0].effect = Effect::corrupt;
  corrupt.causes[0].detect_s = 4.5 * hour;
  corrupt.keep = 3;
  run = play(corrupt, 1, 0);
  CHECK(part_h(run, Part::recomputed) == doctest::Approx(4.75));
  corrupt.keep = 0;  // all are kept
  CHECK(part_h(play(corrupt, 1, 0), Part::recomputed) == doctest::Approx(4.75));
  corrupt.keep = 2;  // gone: from the beginning
  CHECK(part_h(play(corrupt, 1, 0), Part::recomputed) == doctest::Approx(6.75));

  // Every 5 h for 2 h, with a save before and a restart after: 2.75 h each. Nothing is lost.
  Plan planned = recorded({});
  planned.planned_every_s = 5 * hour;
  planned.planned_s = 2 * hour;
  run = play(planned, 1, 0);
  CHECK(part_h(run, Part::recomputed) == 0);
  CHECK(part_h(run, Part::planned) == doctest::Approx(3 * 2.75));  // at 5, 10 and 15 h
  planned.causes[0].at_s = {8.25 * hour};  // half an hour after the first one: only that is lost
  CHECK(part_h(play(planned, 1, 0), Part::recomputed) == doctest::Approx(0.5));
}

TEST_CASE("goodput: to lose a replica, and throughput to first order") {
  Plan plan = plan_of(5, 0, 0, 0, 185.585, 20'000);
  plan.step_s = minute * 0.01;  // so that a lost step does not matter
  plan.steps = 5'000'000;
  plan.interval = 500;
  plan.causes[0].repair_s = hour;
  struct Row {
    int64_t replicas;
    double throughput;
  };
  for (const Row& row : {Row{8, 0.954199}, Row{16, 0.974405}, Row{128, 0.992086}}) {
    plan.shrink = Shrinking{row.replicas, minute, {}};
    const Runs runs = play_runs(plan, {100, 1, 2});
    const double second_order = 2 * std::pow(1 - row.throughput, 2) + 0.0002;
    CHECK(std::abs(runs.productive() - row.throughput) <
          second_order + 4 * runs.standard_error_s() / to_s(runs.wall));
  }
}

TEST_CASE(
    "goodput: more trouble is never better, and twice as many half as bad nodes are the same") {
  const Plan base = plan_of(20, 1, 5, 10, 180, 2'000);
  const RunsAsked asked{200, 1, 2};
  const double productive = play_runs(base, asked).productive();
  CHECK(productive < 1);
  std::vector<Plan> worse(5, base);
  worse[0].causes[0].mean_s /= 2;
  worse[1].stall_s *= 2;
  worse[2].restart_s *= 2;
  worse[3].durable_s *= 2;
  worse[4].causes[0].detect_s = 10 * minute;
  for (const Plan& plan : worse) CHECK(play_runs(plan, asked).productive() < productive);
  Plan twice = base;
  twice.causes[0].units = 2;
  twice.causes[0].mean_s *= 2;
  CHECK(play_runs(twice, asked).wall == play_runs(base, asked).wall);

  Plan free = plan_of(20, 0, 0, 0, 180, 2'000);
  free.step_s = 1e-3;  // a save after every step, and a step that is nothing
  CHECK(play_runs(free, asked).productive() == doctest::Approx(1).epsilon(1e-3));
  Plan immortal = base;
  immortal.durable_s = 0;
  immortal.causes[0].mean_s = never_s;
  CHECK(play_runs(immortal, asked).productive() == doctest::Approx(20. / 21).epsilon(1e-12));
  CHECK(play_runs(immortal, asked).deviation_s == 0);
}

TEST_CASE("goodput: threads change no bit, and another cause changes no draw") {
  Plan plan = plan_of(20, 1, 5, 10, 180, 500);
  Cause slow = stops(300 * minute);
  slow.name = "slow";
  slow.effect = Effect::slow;
  slow.factor = 1.5;
  slow.lasts_s = hour;
  plan.causes.push_back(slow);
  const Runs one = play_runs(plan, {1'000, 5, 1});
  for (const int threads : {2, 7}) {
    const Runs more = play_runs(plan, {1'000, 5, threads});
    CHECK(more.walls == one.walls);
    CHECK(more.account == one.account);
  }
  CHECK(play_runs(plan, {1'000, 6, 1}).walls != one.walls);
  // A cause that never strikes, whose name comes first or last.
  Plan more = plan;
  more.causes.insert(more.causes.begin(), stops(never_s));
  more.causes.front().name = "never";
  CHECK(play_runs(more, {1'000, 5, 2}).walls == one.walls);
}

TEST_CASE("goodput: the best interval of the player is in the flat region of the formula") {
  const double M = 185.585;
  const double best = best_interval(0.5, M);
  const auto [from, to] = flat_region(best, 1.01, {0.5, 0}, {{{1, 10}}, true}, M);
  double least = 1e99;
  double at = 0;
  for (const double interval : {3., 5., 8., 11., 13.4, 16., 20., 30., 50.}) {
    const Plan plan = plan_of(interval, 0.5, 0, 10, M, static_cast<int64_t>(40'000 / interval));
    const double wall = to_s(play_runs(plan, {200, 1, 2}).wall) / work_s(plan);
    if (wall < least) least = wall, at = interval;
  }
  CHECK(at >= from);
  CHECK(at <= to);
}

// The published 54 days: 10,000 runs in a second on one core. Ten times that is allowed here, where
// others build.
TEST_CASE("goodput: 10,000 runs of 54 days are quick") {
  Plan plan = plan_of(8.0 / 60, 0, 0, 10, 185.585, 54 * 24 * 450);
  plan.interval = 58;
  plan.stall_s = 10;
  plan.durable_s = 60;
  const std::vector<int> events = {148, 72, 54, 35, 32, 19, 17, 7, 7, 6, 6, 3, 3, 2, 2, 2, 2, 2};
  plan.causes.clear();
  for (std::size_t i = 0; i < events.size(); ++i) {
    plan.causes.push_back(stops(54 * day / events[i]));
    plan.causes.back().name = std::to_string(i);
  }
  const auto start = std::chrono::steady_clock::now();
  const Runs runs = play_runs(plan, {10'000, 1, 1});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  MESSAGE("10,000 runs of " << runs.failures << " failures took " << took.count() << " s");
  CHECK(took.count() < 10 * slowdown);
  CHECK(std::abs(errors_off(runs, expected_wall(work_s(plan), 58 * 8, {10, 60}, {{{1, 600}}, true},
                                                54 * day / 419))) < 4);
}

}  // namespace sgdsim::goodput::played
