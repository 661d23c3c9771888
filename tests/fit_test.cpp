// Fits against formulas, against every way to cut, and against the errors that were planted.
#include "models/link/fit.h"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>

#include "models/collective/registry.h"
#include "models/link/from_collective.h"
#include "models/link/least_squares.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "traces/measurement/measurement.h"

namespace sgdsim {
namespace {

using Rows = std::vector<FitRow>;

Rows line(double a_ps, double b_ps, const std::vector<double>& sizes_B) {
  Rows rows;
  for (const double size_B : sizes_B) rows.push_back(curve_row(size_B, a_ps + b_ps * size_B));
  return rows;
}

std::vector<double> doubling(double from_B, double to_B) {
  std::vector<double> sizes;
  for (double size_B = from_B; size_B <= to_B; size_B *= 2) sizes.push_back(size_B);
  return sizes;
}

// The factor (1 + sigma z) on every time.
Rows shaken(Rows rows, double sigma, uint64_t seed) {
  Random random(seed);
  for (FitRow& row : rows) row.time_ps *= 1 + random.normal(0, sigma);
  return rows;
}

TEST_CASE("fit: a line comes back, in any order of the rows and any number of pieces") {
  Rows rows = line(10e6, 80, doubling(4, 1 << 28));
  for (int pieces = 0; pieces <= most_pieces; ++pieces) {
    std::swap(rows[1], rows[static_cast<std::size_t>(pieces + 2)]);
    const Fit fit = fit_pieces(rows, pieces);
    CHECK(fit.pieces.size() == (pieces == 0 ? 1 : static_cast<std::size_t>(pieces)));
    CHECK(fit.rms < 1e-9);
    for (const double size_B : {4., 1000., 1e6, 2e8})
      CHECK(fit.predict_ps(curve_row(size_B, 1)) == doctest::Approx(10e6 + 80 * size_B));
  }
}

// With beta held at zero the cost is least at a = sum(1/t) / sum(1/t^2).
// A time known to 4 % weighs (2 % / 4 %)^2 = 1/4: there four times, it counts as one that weighs 1.
TEST_CASE("fit: rows weigh by how well their times are known") {
  CHECK(weight_of_row(0) == 1);
  CHECK(weight_of_row(0.02) == 1);
  CHECK(weight_of_row(0.04) == doctest::Approx(0.25));
  CHECK(weight_of_row(1e9) > 0);
  const Rows rows = shaken(line(10e6, 80, doubling(1024, 1 << 20)), 0.1, 3);
  Rows quarters = rows;
  quarters[4].weight = weight_of_row(0.04);
  for (int i = 0; i < 3; ++i) quarters.push_back(quarters[4]);
  const FitPiece whole = fit_pieces(rows, 1).pieces[0];
  const FitPiece same = fit_pieces(quarters, 1).pieces[0];
  CHECK(same.alpha_ps.value == doctest::Approx(whole.alpha_ps.value));
  CHECK(same.beta_ps.value == doctest::Approx(whole.beta_ps.value));
}

TEST_CASE("fit: nothing below zero comes out") {
  const Rows falling = {curve_row(4, 30), curve_row(8, 20), curve_row(16, 10)};
  const Fit flat = fit_pieces(falling, 1);
  const double inverse = 1. / 30 + 1. / 20 + 1. / 10;
  const double squares = 1. / 900 + 1. / 400 + 1. / 100;
  CHECK(flat.pieces[0].beta_ps.value == 0);
  CHECK(flat.pieces[0].alpha_ps.value == doctest::Approx(inverse / squares));
  // t = 10 s - 20 would need alpha = -20; with alpha at zero b = sum(s/t) / sum(s^2/t^2).
  const Rows steep = {curve_row(4, 20), curve_row(8, 60), curve_row(16, 140)};
  const Fit through_zero = fit_pieces(steep, 1);
  const double first = 4. / 20 + 8. / 60 + 16. / 140;
  const double second = 16. / 400 + 64. / 3600 + 256. / 19600;
  CHECK(through_zero.pieces[0].alpha_ps.value == 0);
  CHECK(through_zero.pieces[0].beta_ps.value == doctest::Approx(first / second));
}

TEST_CASE("fit: constant series, equal sizes, too few sizes") {
  const Fit constant = fit_pieces(line(5e6, 0, doubling(4, 4096)), 0);
  CHECK(constant.pieces.size() == 1);
  CHECK(constant.pieces[0].alpha_ps.value == doctest::Approx(5e6));
  CHECK(constant.pieces[0].beta_ps.value == 0);
  const Fit repeated = fit_pieces(line(5e6, 10, {4, 4, 4, 64, 64}), 4);
  CHECK(repeated.pieces.size() == 1);  // a piece has two sizes at least
  CHECK(repeated.pieces[0].beta_ps.value == doctest::Approx(10));
  CHECK_THROWS_AS(fit_pieces({curve_row(4, 1)}, 0), InputError);
  CHECK_THROWS_AS(fit_pieces({curve_row(4, 1), curve_row(4, 2)}, 1), InputError);
  CHECK_THROWS_AS(fit_pieces({}, 1), InputError);
}

// The cost of the rows from..end as one piece.
double cost_of(const Rows& rows, std::size_t from, std::size_t end) {
  Sums sums;
  for (std::size_t i = from; i < end; ++i) sums.add(rows[i]);
  return least_squares(sums).cost;
}

TEST_CASE("fit: no way to cut is cheaper than the one chosen") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Rows rows = shaken(line(10e6, 900, doubling(64, 64 << 8)), 0.3, seed);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 2; a + 2 <= rows.size() - 2; ++a)
      for (std::size_t b = a + 2; b + 2 <= rows.size(); ++b)
        least = std::min(least,
                         cost_of(rows, 0, a) + cost_of(rows, a, b) + cost_of(rows, b, rows.size()));
    const Fit fit = fit_pieces(rows, 3);
    CHECK(fit.pieces.size() == 3);
    CHECK(fit.rms * fit.rms * static_cast<double>(rows.size()) == doctest::Approx(least));
  }
}

Rows three_protocols() {
  Rows rows = line(5e6, 100, doubling(8, 64 << 10));
  for (const FitRow& row : line(12e6, 20, doubling(128 << 10, 8 << 20))) rows.push_back(row);
  for (const FitRow& row : line(60e6, 4, doubling(16 << 20, 1 << 30))) rows.push_back(row);
  return rows;
}

// With errors of 1 % a criterion may be wrong now and then: at most once in five.
TEST_CASE("fit: the criterion finds the pieces that were planted") {
  int one_found = 0;
  int three_found = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Fit one = fit_pieces(shaken(line(10e6, 80, doubling(4, 1 << 28)), 0.01, seed), 0);
    one_found += one.pieces.size() == 1 ? 1 : 0;
    const Fit three = fit_pieces(shaken(three_protocols(), 0.01, seed), 0);
    three_found += three.pieces.size() == 3 ? 1 : 0;
    CHECK(three.pieces[0].alpha_ps.value == doctest::Approx(5e6).epsilon(0.06));
    CHECK(three.pieces.back().beta_ps.value == doctest::Approx(4).epsilon(0.05));
  }
  CHECK(one_found >= 80);
  CHECK(three_found >= 80);
}

// Pieces of two rows fit anything. At most once in five they are taken for real.
TEST_CASE("fit: few sizes are not cut to pieces") {
  for (const int sizes : {4, 5, 6, 8, 10, 14}) {
    INFO(sizes);
    int one_found = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      const Rows rows = line(10e6, 80, doubling(1 << 10, std::exp2(9 + sizes)));
      CHECK(rows.size() == static_cast<std::size_t>(sizes));
      one_found += fit_pieces(shaken(rows, 0.02, seed), 0).pieces.size() == 1 ? 1 : 0;
    }
    CHECK(one_found >= 80);
  }
  // Without errors, two lines are found as soon as there is a row more than constants.
  Rows rows = line(5e6, 100, {8, 1024, 65536});
  for (const FitRow& row : line(60e6, 4, {1 << 22, 1 << 26, 1 << 30})) rows.push_back(row);
  CHECK(fit_pieces(rows, 0).pieces.size() == 2);
}

// Between two pieces the cheaper one rules: the lines of 5 us + 100 ps/B and 12 us + 20 ps/B meet
// at 87,500 B.
TEST_CASE("fit: a piece begins where it is the cheaper one") {
  const Fit fit = fit_pieces(three_protocols(), 3);
  REQUIRE(fit.pieces.size() == 3);
  CHECK(fit.pieces[1].from_B == 128 << 10);
  CHECK(fit.pieces[1].rules_from_B == doctest::Approx(87'500).epsilon(1e-4));
  CHECK(&fit.piece_at(80'000) == &fit.pieces[0]);
  CHECK(&fit.piece_at(90'000) == &fit.pieces[1]);
  CHECK(&fit.piece_at(1e12) == &fit.pieces[2]);
}

// 95 % of 4000 intervals are 3800; three standard deviations are 41.
TEST_CASE("fit: confidence intervals hold what they promise") {
  int alpha_inside = 0;
  int beta_inside = 0;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    const Fit fit = fit_pieces(shaken(line(50e6, 80, doubling(1024, 1 << 23)), 0.01, seed), 1);
    const FitPiece& piece = fit.pieces[0];
    alpha_inside += *piece.alpha_ps.low <= 50e6 && 50e6 <= *piece.alpha_ps.high ? 1 : 0;
    beta_inside += *piece.beta_ps.low <= 80 && 80 <= *piece.beta_ps.high ? 1 : 0;
  }
  CHECK(std::abs(alpha_inside - 3800) <= 45);
  CHECK(std::abs(beta_inside - 3800) <= 45);
}

// Student's table.
TEST_CASE("fit: Student's t") {
  CHECK(student_t(1) == doctest::Approx(12.706));
  CHECK(student_t(10) == doctest::Approx(2.228));
  CHECK(student_t(11) == doctest::Approx(2.201).epsilon(1e-3));
  CHECK(student_t(30) == doctest::Approx(2.042).epsilon(1e-3));
  CHECK(student_t(120) == doctest::Approx(1.980).epsilon(1e-3));
}

TEST_CASE("fit: half of the sizes predict the other half") {
  const Halves halves = alternate_sizes(line(10e6, 80, doubling(4, 1 << 10)));  // 9 sizes
  CHECK(halves.held.size() == 4);
  CHECK(halves.kept.front().size_B == 4);
  CHECK(halves.kept.back().size_B == 1 << 10);
  const PredictionError error = error_of(fit_pieces(halves.kept, 1), halves.held);
  CHECK(error.rows == 4);
  CHECK(error.max < 1e-9);
  // Errors of 10 %, 20 % and 30 %: the median is that in the middle.
  const Fit fit = fit_pieces(line(10, 0, {4, 8}), 1);
  const PredictionError off =
      error_of(fit, {curve_row(4, 10 / 1.1), curve_row(4, 10 / 1.3), curve_row(4, 10 / 1.2)});
  CHECK(off.median == doctest::Approx(0.2));
  CHECK(off.max == doctest::Approx(0.3));
}

MeasuredCollective measured(Operation operation, int ranks, int64_t size,
                            std::optional<Bytes> block = {}) {
  return {operation, ranks, Bytes(size), block, Duration::us(1)};
}

FitRow row_of(const char* algorithm, Operation operation, int ranks, int64_t size,
              std::optional<Bytes> block = {}) {
  return link_row(algorithm_named(algorithm, ""), measured(operation, ranks, size, block), {}).row;
}

// The counts of the published costs: ring 2(P-1), 2(P-1)/P n, (P-1)/P n; binomial tree lg P each;
// a chain of m blocks P-2+m; messages of n/P, n and b bytes.
TEST_CASE("fit: how often a collective pays alpha, beta and gamma") {
  const FitRow ring = row_of("ring", Operation::allreduce, 4, 4096);
  CHECK(ring.alphas == 6);
  CHECK(ring.bytes == 6 * 1024);
  CHECK(ring.folded == 3 * 1024);
  CHECK(ring.size_B == 1024);
  const FitRow tree = row_of("mst", Operation::reduce, 6, 1000);
  CHECK(tree.alphas == 3);
  CHECK(tree.bytes == 3000);
  CHECK(tree.folded == 3000);
  CHECK(tree.size_B == 1000);
  const FitRow chain = row_of("lp", Operation::broadcast, 5, 4096, Bytes(512));
  CHECK(chain.alphas == 11);
  CHECK(chain.bytes == 11 * 512);
  CHECK(chain.folded == 0);
  CHECK(chain.size_B == 512);
  CHECK_THROWS_AS(row_of("lp", Operation::broadcast, 5, 4096), InputError);
}

// The root of a linear reduction waits for three messages and folds the last, or, where folding is
// slower, for one message and folds three. Whichever it is about the given constants counts.
TEST_CASE("fit: where the later of two things counts, the counts are those about the constants") {
  const MeasuredCollective reduce = measured(Operation::reduce, 4, 4096);
  const Algorithm& linear = algorithm_named("linear", "");
  const LinkRow fast =
      link_row(linear, reduce, {}, {.alpha_ps = 0, .beta_ps = 100, .gamma_ps = 10});
  CHECK(fast.is_slope);
  CHECK(fast.row.alphas == doctest::Approx(3));
  CHECK(fast.row.bytes == doctest::Approx(3 * 4096));
  CHECK(fast.row.folded == doctest::Approx(4096));
  const LinkRow slow =
      link_row(linear, reduce, {}, {.alpha_ps = 0, .beta_ps = 100, .gamma_ps = 900});
  CHECK(slow.row.alphas == doctest::Approx(1));
  CHECK(slow.row.bytes == doctest::Approx(4096));
  CHECK(slow.row.folded == doctest::Approx(3 * 4096));
  const Algorithm& ring = algorithm_named("ring", "");
  CHECK_FALSE(link_row(ring, measured(Operation::allreduce, 4, 4096), {}).is_slope);
}

// Bruck's all-gather: lg P rounds, rounded up, in which every rank receives what it has not.
TEST_CASE("fit: messages are played where no closed form is known") {
  for (const auto& [ranks, rounds] : {std::pair(3, 2), std::pair(5, 3), std::pair(7, 3)}) {
    const FitRow row = row_of("recursive_doubling", Operation::allgather, ranks, 1000 * ranks);
    CHECK(row.alphas == rounds);
    CHECK(row.bytes == 1000 * (ranks - 1));
    CHECK(row.folded == 0);
  }
  CHECK_THROWS_WITH_AS(row_of("lp", Operation::allreduce, 8, 1 << 30, Bytes(64)),
                       doctest::Contains("messages are too many to simulate"), InputError);
}

TEST_CASE("fit: columns that say the same do not share a value") {
  Rows rows;
  for (const int64_t size : {64, 4096, 262144}) {
    FitRow row = row_of("ring", Operation::allreduce, 4, size);
    row.time_ps = row.alphas * 2e6 + row.bytes * 100 + row.folded * 50;
    rows.push_back(row);
  }
  const FitPiece alone = fit_pieces(rows, 1).pieces[0];
  CHECK_FALSE(alone.gamma_is_told);
  CHECK(alone.alpha_ps.value == doctest::Approx(2e6));
  CHECK(alone.beta_ps.value == doctest::Approx(125));  // 100 + 50 / 2
  for (const int64_t size : {64, 4096, 262144}) {
    FitRow row = row_of("mst", Operation::broadcast, 4, size);
    row.time_ps = row.alphas * 2e6 + row.bytes * 100;
    rows.push_back(row);
  }
  const FitPiece both = fit_pieces(rows, 1).pieces[0];
  CHECK(both.gamma_is_told);
  CHECK(both.beta_ps.value == doctest::Approx(100));
  CHECK(both.gamma_ps.value == doctest::Approx(50));
}

TEST_CASE("fit: what is known already is not fitted again") {
  Rows rows;
  for (const int64_t size : {64, 4096, 262144}) {
    FitRow row = row_of("ring", Operation::allreduce, 4, size);
    row.time_ps = row.alphas * 2e6 + row.bytes * 100 + row.folded * 50;
    row.known_ps = row.folded * 50;
    row.folded = 0;
    rows.push_back(row);
  }
  CHECK(fit_pieces(rows, 1).pieces[0].beta_ps.value == doctest::Approx(100));
}

// rms and largest error in percent for 1 to 4 pieces, found by an independent program: exhaustive
// search over break points with at least two points each.
TEST_CASE("fit: measured collectives, from one to four segments") {
  struct Row {
    std::string file;
    std::string operation;
    std::array<std::pair<double, double>, most_pieces> errors;
  };
  const std::vector<Row> rows = {
      {"nccl_a100x8", "allreduce", {{{16.5, 41}, {3.5, 9}, {2.0, 5}, {1.7, 5}}}},
      {"nccl_a100x8", "allgather", {{{20.1, 44}, {5.8, 17}, {2.5, 7}, {1.8, 5}}}},
      {"nccl_a100x8", "reduce_scatter", {{{20.9, 50}, {5.8, 19}, {2.2, 7}, {1.5, 4}}}},
      {"nccl_a100x8", "alltoall", {{{3.4, 10}, {2.4, 9}, {1.1, 3}, {0.8, 2}}}},
      {"nccl_a100x8", "broadcast", {{{15.7, 45}, {2.4, 6}, {1.7, 4}, {1.3, 4}}}},
      {"nccl_a100x8", "reduce", {{{16.1, 44}, {2.9, 9}, {1.9, 6}, {1.4, 3}}}},
      {"nccl_h100x8", "allreduce", {{{18.4, 41}, {9.9, 28}, {6.6, 14}, {5.4, 14}}}},
      {"nccl_h100x16", "allreduce", {{{25.1, 46}, {13.0, 36}, {4.1, 9}, {3.6, 9}}}},
  };
  for (const Row& row : rows) {
    const std::string file =
        std::string(SGDSIM_SOURCE_DIR) + "/traces/measurement/data/" + row.file + ".json";
    const Measurement measurement = read_measurement({read_text(file), file, {}, ""});
    Rows points;
    for (const Series& series : measurement.series)
      if (series.operation == row.operation)
        for (const MeasuredPoint& point : series.points)
          if (point.size >= Bytes(4))
            points.push_back(curve_row(static_cast<double>(point.size.count()),
                                       static_cast<double>(point.time.ps())));
    for (int pieces = 1; pieces <= most_pieces; ++pieces) {
      INFO(row.file << " " << row.operation << " " << pieces);
      const auto [rms, max] = row.errors[static_cast<std::size_t>(pieces - 1)];
      const Fit fit = fit_pieces(points, pieces);
      CHECK(std::abs(100 * fit.rms - rms) <= 0.0501);  // to the digits printed
      CHECK(std::abs(100 * fit.max - max) <= 0.501);
    }
    CHECK(fit_pieces(points, 3).rms < 0.07);
    CHECK(fit_pieces(points, 3).max < 0.20);
  }
}

TEST_CASE("fit: a million sizes are gathered and still a line") {
  Rows rows;
  for (int i = 1; i <= 1'000'000; ++i) rows.push_back(curve_row(4. * i, 20e6 + 400. * i));
  const Fit fit = fit_pieces(rows, 0);
  CHECK(fit.pieces.size() == 1);
  CHECK(fit.pieces[0].beta_ps.value == doctest::Approx(100));
}

}  // namespace
}  // namespace sgdsim
