// Goodput in closed form: published numbers of Daly, RSC and Gemini, and numbers worked out by
// hand.
#include <cmath>
#include <doctest/doctest.h>

#include "models/goodput/closed_forms.h"

namespace sgdsim::goodput::formulas {
namespace {

constexpr double hour = 60;  // all times are in minutes, unless said otherwise
constexpr double day = 24 * hour;

// Equal to the digits that are printed.
bool is_near(double value, double expected, double digit) {
  return std::abs(value - expected) <= digit * 0.5000001;
}

double mttf_min(int64_t gpus, double per_1000_node_days) {
  return mean_to_failure(gpus / 8, per_1000_node_days / 1000) * day;
}

Downtimes restart(double time, bool can_fail = true) { return {{{1, time}}, can_fail}; }

}  // namespace

// Daly, FGCS 22(3), 2006: C = 5, R = 10 min; he prints 120, 60, 12.2 and 117, 57, 9.1.
TEST_CASE("goodput: Young's, Daly's and the exact interval") {
  struct Row {
    double mttf, young, daly, exact, wall_per_work, hours_for_500;
  };
  for (const Row& row : {Row{24 * hour, 120, 116.689815, 116.690073, 1.095763565, 547.8818},
                         Row{6 * hour, 60, 56.712963, 56.714002, 1.220432814, 610.2164},
                         Row{15, 12.247449, 9.140920, 9.166503, 5.008318290, 2504.1591}}) {
    CAPTURE(row.mttf);
    CHECK(is_near(young_interval(5, row.mttf), row.young, 1e-6));
    CHECK(is_near(daly_interval(5, row.mttf), row.daly, 1e-6));
    const double best = best_interval(5, row.mttf);
    CHECK(is_near(best, row.exact, 1e-6));
    // Lambert's equation: w e^w = -e^(-C/M - 1) with w = tau/M - 1.
    const double w = best / row.mttf - 1;
    CHECK(w * std::exp(w) == doctest::Approx(-std::exp(-5 / row.mttf - 1)).epsilon(1e-13));
    const double wall = wall_per_work(best, {5, 0}, restart(10), row.mttf);
    CHECK(is_near(wall, row.wall_per_work, 1e-9));
    CHECK(is_near(500 * wall, row.hours_for_500, 1e-4));
  }
  // Daly's series ends at C = 2M.
  CHECK(daly_interval(30, 15) == 15);
  CHECK(best_interval(0, 15) == 0);
  // Where failures are rare, Young's is right; 1 + W0 would have lost all its digits here.
  CHECK(best_interval(1e-9, 1e9) == doctest::Approx(std::sqrt(2.)).epsilon(1e-8));
}

// RSC at 6.50 failures per 1,000 node-days; the paper prints 1.8 and 0.23 h, 0.7, 0.93 and 0.5.
TEST_CASE("goodput: RSC's formula, and where first order is not enough") {
  CHECK(is_near(mttf_min(8, 6.5) / hour, 3692.3077, 1e-4));
  CHECK(is_near(mttf_min(1'024, 6.5) / hour, 28.8462, 1e-4));
  CHECK(is_near(mttf_min(16'384, 6.5) / hour, 1.8029, 1e-4));
  CHECK(is_near(mttf_min(131'072, 6.5) / hour, 0.2254, 1e-4));
  const double llama = 54 * day / 419;
  struct Row {
    double mttf, interval, save, restart, first_order, exact;
  };
  for (const Row& row : {
           Row{mttf_min(16'000, 6.5), 60, 0, 5, 0.684028, 0.720242},
           Row{mttf_min(16'000, 6.5), 5, 0, 5, 0.932292, 0.934454},
           Row{mttf_min(100'000, 6.5), 7, 0, 5, 0.520399, 0.615025},
           Row{mttf_min(12'000, 6.5), 38.4308, 5, 5, 0.739792, 0.735801},
           Row{mttf_min(12'000, 6.5), 7.0165, 1. / 6, 5, 0.920526, 0.921505},
           Row{mttf_min(12'000, 1), 97.9796, 5, 5, 0.897938, 0.896646},
           Row{llama, 13.6229, 0.5, 10, 0.877217, 0.879660},
           Row{llama, 7.8652, 1. / 6, 10, 0.905733, 0.907946},
           Row{llama / 8, 2.7808, 1. / 6, 10, 0.480213, 0.574947},
           Row{llama / 8, 2.7808, 1. / 6, 1, 0.846238, 0.847457},
       }) {
    CAPTURE(row.interval);
    CAPTURE(row.restart);
    CHECK(std::abs(rsc_productive(row.interval, row.save, row.restart, row.mttf) -
                   row.first_order) <= 2e-6);
    CHECK(std::abs(1 / wall_per_work(row.interval, {row.save, 0}, restart(row.restart), row.mttf) -
                   row.exact) <= 2e-6);
    if (row.save > 0 && row.interval != 5)
      CHECK(is_near(rsc_interval(row.save, row.mttf), row.interval, 1e-4));
  }
}

TEST_CASE("goodput: a save that is durable later counts like restart time") {
  struct Row {
    double interval, stall, durable, restart, mttf, wall_per_work;
  };
  for (const Row& row :
       {Row{20, 0.1, 10, 10, 185.68, 1.182124594}, Row{7.75, 1. / 6, 5, 10, 185.68, 1.131399456},
        Row{2.67, 1. / 6, 2, 10, 23.2, 1.895628520}})
    CHECK(is_near(
        wall_per_work(row.interval, {row.stall, row.durable}, restart(row.restart), row.mttf),
        row.wall_per_work, 1e-9));
  CHECK(is_near(wall_per_work(32, {2, 0}, restart(10), 185.68), 1.230515, 1e-6));
  // The best plans with synchronous saves, asynchronous ones and copies in memory.
  struct Best {
    double stall, durable, restart, interval, productive;
  };
  for (const Best& row : {Best{5, 0, 20, 39.8127, 0.705227}, Best{1. / 6, 5, 20, 7.7545, 0.837452},
                          Best{1. / 6, 0, 5, 7.7545, 0.932744}}) {
    const double best = best_interval(row.stall, 185.585);
    CHECK(is_near(best, row.interval, 1e-4));
    CHECK(is_near(1 / wall_per_work(best, {row.stall, row.durable}, restart(row.restart), 185.585),
                  row.productive, 1e-6));
  }
}

TEST_CASE("goodput: restarts that failures can hit, and those that they cannot") {
  CHECK(is_near(wall_per_work(20, {1, 0}, restart(15), 180), 1.210488378, 1e-9));
  CHECK(is_near(wall_per_work(20, {1, 0}, restart(15, false), 180), 1.206511660, 1e-9));
  // Two ways of going down that are alike are one way.
  const Downtimes twice{{{0.25, 15}, {0.75, 15}}, true};
  CHECK(twice.mean(180) == doctest::Approx(restart(15).mean(180)).epsilon(1e-14));
  CHECK(restart(15).mean(180) == doctest::Approx(180 * std::expm1(15. / 180)).epsilon(1e-14));
}

TEST_CASE("goodput: the time of an interval, and of many") {
  CHECK(is_near(mean_lost(34, 185.68), 16.481476, 1e-6));  // and not 17
  const MeanDeviation one = interval_time(34, 10, 185.68);
  CHECK(is_near(one.mean, 39.321383, 1e-6));
  CHECK(is_near(one.deviation, 13.731741, 1e-6));
  const MeanDeviation other = interval_time(65, 5, 147.69);
  CHECK(is_near(other.mean, 84.419193, 1e-6));
  CHECK(is_near(other.deviation, 35.383164, 1e-6));
  const MeanDeviation many = intervals_time(9'030, 7.75 + 1. / 6, 10, 185.585);
  CHECK(is_near(many.mean / day, 53.4511, 1e-4));
  CHECK(is_near(many.deviation / day, 0.1986, 1e-4));
  CHECK(is_near(normal_quantile(many, 0.95) / day, 53.7776, 2e-4));
}

TEST_CASE("goodput: the whole run, whose last save is durable at its end") {
  // A run of one interval; two, with saves in flight; a last interval that is shorter.
  const double M = 185.585;
  const double up = M * std::exp(10 / M);
  CHECK(expected_wall(20, 20, {1, 3}, restart(10), M) == doctest::Approx(up * std::expm1(24 / M)));
  CHECK(expected_wall(45, 20, {1, 3}, restart(10), M) ==
        doctest::Approx(up * (std::expm1(24 / M) +
                              std::exp(3 / M) * (std::expm1(21 / M) + std::expm1(6 / M)))));
  // A long one takes what its work takes.
  CHECK(expected_wall(2e6, 20, {1, 3}, restart(10), M) / 2e6 ==
        doctest::Approx(wall_per_work(20, {1, 3}, restart(10), M)).epsilon(1e-4));
  // Nothing fails: work, saves, and the end.
  CHECK(expected_wall(100, 20, {1, 3}, restart(10), 1e15) == doctest::Approx(108));
  CHECK(wall_per_work(20, {1, 3}, restart(10), 1e15) == doctest::Approx(21. / 20));
}

TEST_CASE("goodput: the flat region around the best interval") {
  const SaveTimes save{1. / 6, 0};
  const double best = best_interval(save.stall, 185.585);
  const auto [from, to] = flat_region(best, 1.01, save, restart(10), 185.585);
  CHECK(from < best);
  CHECK(to > best);
  const double least = wall_per_work(best, save, restart(10), 185.585);
  for (const double end : {from, to})
    CHECK(wall_per_work(end, save, restart(10), 185.585) ==
          doctest::Approx(1.01 * least).epsilon(1e-9));
}

// W = 30 days, half an hour each, Llama 3's failures: P(N > ...) of a Poisson number of 232.7778.
TEST_CASE("goodput: the exact chance of a late end") {
  const double M = 3.093079;
  CHECK(is_near(30 * 24 / M, 232.7778, 1e-4));
  CHECK(std::abs(late(720, 0.5, M, 35 * 24) / 0.3035381 - 1) < 1e-6);
  CHECK(std::abs(late(720, 0.5, M, 36 * 24) / 2.078509e-4 - 1) < 1e-6);
  CHECK(std::abs(late(720, 0.5, M, 37 * 24) / 8.892420e-11 - 1) < 2e-5);
  CHECK(std::abs(late(720, 0.5, M, 37 * 24) / 8.8925226890e-11 - 1) < 1e-9);  // with 50 digits
  CHECK(late(720, 0.5, M, 719) == 1);
  CHECK(late(720, 0, M, 721) == 0);
  CHECK(poisson_above(0, 0) == 0);
  CHECK(poisson_above(5, -1) == 1);
  CHECK(poisson_above(1e6, 0) == doctest::Approx(1));
}

// Gemini prints 93.3 % for N = 16, m = 2, k = 2.
TEST_CASE("goodput: copies in the memory of other nodes") {
  CHECK(is_near(copies_survive(16, 2, 2), 0.933333, 1e-6));
  CHECK(is_near(copies_survive(16, 2, 3), 0.8, 1e-6));
  CHECK(is_near(copies_survive(1'000, 2, 2), 0.998999, 1e-6));
  CHECK(is_near(copies_survive(1'000, 2, 3), 0.996997, 1e-6));
  CHECK(is_near(copies_survive(16, 4, 4), 0.997802, 1e-6));
  CHECK(copies_survive(16, 1, 1) == 0);
  CHECK(copies_survive(16, 2, 0) == 1);
  CHECK(copies_survive(16, 2, 9) == 0);  // more than one of each pair
  // One of each of 8 pairs: 2^8 of C(16, 8) ways.
  CHECK(copies_survive(16, 2, 8) == doctest::Approx(256. / 12'870).epsilon(1e-9));
  // As birthdays: e^(-500 499 / 2 / N), nearly.
  CHECK(copies_survive(1'000'000, 2, 500) == doctest::Approx(std::exp(-0.12475)).epsilon(1e-3));
}

TEST_CASE("goodput: how many nodes are down, and spares for a risk") {
  const double rate = 419. / 2'048 / 54;
  const double q = part_down(rate, 1);
  struct Row {
    int64_t count;
    double chance;
  };
  for (const Row& row : {Row{8, 0.3697472}, Row{12, 0.05133103}, Row{14, 0.01296876},
                         Row{16, 0.002600126}, Row{20, 5.640233e-5}})
    CHECK(std::abs(binomial_above(2'048, q, row.count) / row.chance - 1) < 2e-4);
  struct Spares {
    int64_t nodes;
    double rate, repair;
    int64_t for_99, for_999;
  };
  for (const Spares& row :
       {Spares{128, 6.5e-3, 1, 3, 5}, Spares{256, 6.5e-3, 1, 5, 7}, Spares{2'048, rate, 1, 15, 18},
        Spares{2'048, rate, 7, 70, 76}, Spares{12'500, rate, 1, 64, 70}}) {
    CAPTURE(row.nodes);
    CHECK(spares_for(row.nodes, part_down(row.rate, row.repair), 0.01) == row.for_99);
    CHECK(spares_for(row.nodes, part_down(row.rate, row.repair), 0.001) == row.for_999);
  }
  CHECK(spares_for(128, 0, 0.01) == 0);
  CHECK(spares_for(128, 1, 0.01) == 128);
}

TEST_CASE("goodput: slow nodes, two levels of saves, shrinking, lemons, and 405B in days") {
  const SlowPart few = slow_part(64, 0.02, 24. / day, 1.5);
  CHECK(is_near(few.probability, 0.021107, 1e-6));
  CHECK(is_near(few.step_factor, 1.010554, 1e-6));
  const SlowPart many = slow_part(1'250, 0.02, 24. / day, 1.5);
  CHECK(is_near(many.probability, 0.340759, 1e-6));
  CHECK(is_near(many.step_factor, 1.170380, 1e-6));
  const TwoLevels levels = two_levels(0.05, 2, 3, 15, 0.1, 185.585);
  CHECK(is_near(levels.near_interval, 4.5410, 1e-4));
  CHECK(is_near(levels.far_interval, 86.1592, 1e-4));
  CHECK(is_near(levels.waste, 0.091078, 1e-6));
  CHECK(is_near(shrunk_throughput(1, 60, 8, 185.585), 0.954199, 1e-6));
  CHECK(is_near(shrunk_throughput(1, 60, 16, 185.585), 0.974405, 1e-6));
  CHECK(is_near(shrunk_throughput(1, 60, 128, 185.585), 0.992086, 1e-6));
  CHECK(is_near(lemon_factor(0.012, 0.13), 12.303, 1e-3));
  CHECK(is_near(mttf_min(16'384, 6.5 * rate_without_lemons(0.012, 0.13)) / hour, 2.0474, 1e-4));
  const double days = 3.8e25 / (16'384 * 989e12 * 0.41) / 86'400;
  CHECK(is_near(days, 66.202, 1e-3));
  CHECK(is_near(days / 0.9, 73.558, 1e-3));
}

}  // namespace sgdsim::goodput::formulas
