// Medians of visits and their intervals, on invented samples.
#include <cmath>
#include <doctest/doctest.h>
#include <functional>
#include <string>

#include "calibrate/statistics.h"
#include "sim/core/random.h"

namespace sgdsim::calibrate {
namespace {

using Values = std::vector<double>;

TEST_CASE("calibrate: median, medians of visits, outliers") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(std::isnan(median({})));
  CHECK(medians_of_visits({}, {}).empty());
  CHECK(medians_of_visits({1, 9, 2, 7, 8}, {3, 2}) == Values{2, 7.5});
  const Values samples = {10, 11, 9, 10, 12, 8, 10, 100, 10.5, 9.5};
  CHECK(outliers(samples) == std::vector<std::size_t>{7});
  CHECK(outliers({5, 5, 5, 5, 9}).empty());  // no spread, no scale
}

TEST_CASE("calibrate: the spread of visits is their standard deviation") {
  CHECK(spread({}) == 0);
  CHECK(spread({7}) == 0);
  CHECK(spread({9, 11}) == doctest::Approx(std::sqrt(2.) / 10));
  CHECK(spread({8, 10, 12}) == doctest::Approx(2. / 10));
}

// Of six values the smallest and the largest hold the median with 1 - 2/64 = 96.875 %, the next two
// with 1 - 14/64 = 78.125 %. 96.5 % lie 2 % of the way between: by the interpolation 5 * 0.02 / (1
// + 4 * 0.02) of the way from one value to the next.
TEST_CASE("calibrate: the interval of six medians and more") {
  CHECK_FALSE(interval_of({}));
  CHECK_FALSE(interval_of({1, 2, 3, 4, 5}));
  CHECK(std::isinf(relative_error({1, 2, 3, 4, 5})));
  const auto six = interval_of({20, 8, 9, 10, 10, 14});
  REQUIRE(six);
  CHECK(six->low == doctest::Approx(8 + 1 * 0.1 / 1.08));
  CHECK(six->high == doctest::Approx(20 - 6 * 0.1 / 1.08));
  CHECK(relative_error(Values(20, 5.)) == 0);
  CHECK(relative_error(Values(6, 0.)) == 0);
  // Of 40 the 13th holds it with 98.3 %, the 14th with 96.2 %: between them, and far from the ends.
  Values many;
  for (int i = 1; i <= 40; ++i) many.push_back(i);
  const auto forty = interval_of(many);
  CHECK(forty->low > 13);
  CHECK(forty->low < 14);
  CHECK(forty->high == doctest::Approx(41 - forty->low));
}

TEST_CASE("calibrate: when to stop") {
  const StoppingRule rule{0.05, 30, 60};
  CHECK_FALSE(rule.is_enough(0, {}));
  CHECK_FALSE(rule.is_enough(29, Values(6, 1.)));
  CHECK(rule.is_enough(30, Values(6, 1.)));
  CHECK_FALSE(rule.is_enough(59, Values(5, 1.)));  // too few visits to know
  CHECK(rule.is_enough(60, Values(5, 1.)));
  CHECK_FALSE(rule.is_enough(59, {1, 2, 3, 4, 5, 6}));
}

// What a machine does: visit(random) gives the five samples of a visit.
struct Manner {
  std::string name;
  std::function<Values(Random&)> visit;
};

template <class F>
Values five(const F& sample) {
  Values samples;
  for (int i = 0; i < 5; ++i) samples.push_back(sample(i));
  return samples;
}

std::vector<Manner> manners(double apart) {
  const auto of_visit = [apart](Random& random) { return 1 + random.normal(0, apart); };
  return {{"normal",
           [=](Random& random) {
             const double visit = of_visit(random);
             return five([&](int) { return visit * (1 + random.normal(0, 0.01)); });
           }},
          {"skewed",
           [=](Random& random) {
             const double visit = of_visit(random);
             return five([&](int) { return visit * (1 + random.exponential(0.02)); });
           }},
          {"two modes of samples",
           [=](Random& random) {
             const double visit = of_visit(random);
             return five([&](int) {
               return visit * (random.uniform() < 0.6 ? 1 : 1.08) * (1 + random.normal(0, 0.004));
             });
           }},
          {"two modes of visits",
           [=](Random& random) {
             const double visit = of_visit(random) * (random.uniform() < 0.6 ? 1 : 1.08);
             return five([&](int) { return visit * (1 + random.normal(0, 0.004)); });
           }},
          {"a clock that rises during a visit", [=](Random& random) {
             const double visit = of_visit(random);
             const double slow = 0.05 * random.uniform();
             return five([&](int i) {
               return visit * (1 + slow * std::exp(-i / 2.)) * (1 + random.normal(0, 0.005));
             });
           }}};
}

// How often the interval holds the median, in percent, where visits go on until it is narrow.
double part_held(const Manner& manner, uint64_t seed) {
  Random random(seed);
  Values all;
  for (int i = 0; i < 60'001; ++i) all.push_back(median(manner.visit(random)));
  const double truth = median(all);
  const StoppingRule rule{0.02, 30, 200};
  constexpr int trials = 3000;
  int inside = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Values medians;
    std::size_t samples = 0;
    for (; !rule.is_enough(samples, medians); samples += 5)
      medians.push_back(median(manner.visit(random)));
    const auto interval = interval_of(medians);
    inside += interval->low <= truth && truth <= interval->high ? 1 : 0;
  }
  return 100. * inside / trials;
}

// 3000 trials tell 95 % to 0.4 %.
TEST_CASE("calibrate: intervals hold the median in 93 to 97 % of cases") {
  uint64_t seed = 1;
  for (const double apart : {0., 0.01, 0.02, 0.03})
    for (const Manner& manner : manners(apart)) {
      const double held = part_held(manner, seed++);
      INFO(manner.name << ", visits " << 100 * apart << " % apart: " << held << " %");
      CHECK(held >= 93 - 0.8);
      CHECK(held <= 97 + 0.8);
    }
}

}  // namespace
}  // namespace sgdsim::calibrate
