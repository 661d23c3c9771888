// Long runs and many units: what is jumped over, looked at only when it is near, or ended by
// whoever asked.
#include <chrono>
#include <cmath>
#include <doctest/doctest.h>
#include <stdexcept>

#include "models/goodput/draws.h"
#include "models/goodput/runs.h"
#include "tests/rounds.h"

namespace sgdsim::goodput::long_runs {
namespace {

constexpr double minute = 60;
constexpr double day = 86'400;

Cause striking(double mean_s) {
  Cause cause;
  cause.name = "striking";
  cause.mean_s = mean_s;
  return cause;
}

Plan long_plan(double step_s, int64_t steps) {
  Plan plan;
  plan.steps = steps;
  plan.step_s = step_s;
  return plan;
}

double recomputed_s(const Plan& plan) {
  return to_s(play(plan, 1, 0).account[static_cast<std::size_t>(Part::recomputed)]);
}

}  // namespace

// Each unit fails by its own draws, as if all had been looked at from the start: they are counted
// here unit by unit. Units have run for long, so that at any time 2,000 fail in 10,000 days; counts
// of a law of this shape vary 1.46 times as much as those of chance.
TEST_CASE("goodput: of many units those that fail late are found, too") {
  Cause cause = striking(1e4 * day);
  cause.shape = 0.7;
  cause.units = 2'000;
  cause.effect = Effect::corrupt;  // detected beyond the end, so that the run goes on
  cause.detect_s = 1e6 * day;
  Plan plan = long_plan(day, 30'000);  // each unit fails about three times
  plan.interval = 30'000;
  plan.causes = {cause};
  int64_t failures = 0;
  for (int64_t unit = 0; unit < cause.units; ++unit) {
    Draws draws(9, 0, key_of(cause.name) + static_cast<uint64_t>(unit));
    const double scale = cause.mean_s / std::tgamma(1 + 1 / cause.shape);
    for (double at = draws.first_of_weibull(scale, cause.shape); at < plan.work_s();
         at += draws.weibull(scale, cause.shape))
      ++failures;
  }
  CHECK(static_cast<double>(failures) == doctest::Approx(6'000).epsilon(4 * 1.46 / std::sqrt(6e3)));
  for (const double work : {1., 0.001}) {  // the look ahead is as long as the work
    Plan with = plan;
    with.steps = with.interval = static_cast<int64_t>(work * 30'000);
    with.stall_s = plan.work_s() - with.work_s();
    CHECK(play(with, 9, 0).events == failures);
  }
}

// Saves of 1 s after each minute, every third of which also goes to the store for 3 s more: 10^9
// steps would take an hour one by one. A round is 186 s, and 333,333,333 rounds and a last save,
// which is stored, are those and 60 + 1 + 3 s.
TEST_CASE("goodput: rounds of saves in a store are jumped over") {
  Plan plan = long_plan(minute, 1'000'000'000);
  plan.stall_s = 1;
  plan.restart_s = 10 * minute;
  plan.store_every = 3;
  plan.store_stall_s = 3;
  CHECK(to_s(play(plan, 1, 0).wall) == doctest::Approx(333'333'333 * 186. + 64).epsilon(1e-15));
  // A failure in a round goes back to its memory, one that takes that to the last round.
  plan.steps = 10;
  Cause cause;
  cause.name = "record";
  cause.at_s = {186 * 2 + 61 + 61 + 30};  // half a minute into the ninth segment
  plan.causes = {cause};
  CHECK(recomputed_s(plan) / minute == doctest::Approx(0.5));
  plan.causes[0].memory_survives = false;
  CHECK(recomputed_s(plan) / minute == doctest::Approx(2.5));
}

// A second thread that is asked to end does so within a run that would take minutes.
TEST_CASE("goodput: runs end when the look throws") {
  Plan plan = long_plan(1e7, 1);  // ten million episodes, of which 600 at once
  plan.causes = {striking(1)};
  plan.causes[0].effect = Effect::slow;
  plan.causes[0].lasts_s = 10 * minute;
  plan.causes[0].factor = 1.5;
  RunsAsked asked{1'000, 1, 2};
  int looks = 0;
  asked.look = [&] {
    if (++looks == 3) throw std::runtime_error("enough");
  };
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(play_runs(plan, asked), "enough");
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
        5 * slowdown);
}

}  // namespace sgdsim::goodput::long_runs
