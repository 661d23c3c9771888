// Products of learning: the order of their sums is fixed, whatever the registers; Eigen says the
// same but for rounding.
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"
#include "tests/rounds.h"

namespace sgdsim::learning {
namespace {

std::vector<int> register_widths() {
  std::vector<int> all;
  for (const int width : {16, 32, 64})
    if (width <= widest_registers()) all.push_back(width);
  return all;
}

template <class Real>
std::vector<Real> normal_values(std::size_t count, Draws& draws) {
  std::vector<Real> values(count);
  for (Real& value : values) value = static_cast<Real>(draws.normal());
  return values;
}

// A product with room between its rows, of which nothing may be written.
template <class Real>
struct Case {
  std::size_t rows, depth, columns;
  bool turned;
  std::size_t b_row, c_row;
  std::vector<Real> a, b, c;

  explicit Case(Draws& draws)
      : rows(draws.below(11)),
        depth(draws.below(20)),
        columns(draws.below(40)),
        turned(draws.below(2) == 1),
        b_row(columns + draws.below(3)),
        c_row(columns + draws.below(3)),
        a(normal_values<Real>(rows * depth, draws)),
        b(normal_values<Real>(depth * b_row, draws)),
        c(normal_values<Real>(rows * c_row, draws)) {}

  std::size_t place(std::size_t row, std::size_t k) const {
    return turned ? k * rows + row : row * depth + k;
  }
  Product<Real> product(std::vector<Real>& result) const {
    const Strided<Real> left =
        turned ? Strided<Real>{a.data(), 1, rows} : Strided<Real>{a.data(), depth, 1};
    return {left, b.data(), b_row, result.data(), c_row, rows, depth, columns};
  }
};

// c + a0 b0 + a1 b1 + ..., one term after the other.
template <class Real>
void check_bits() {
  Draws draws(11, 0, 0, 0);
  for (int turn = 0; turn < rounds(2000); ++turn) {
    const Case<Real> one(draws);
    std::vector<Real> expected = one.c;
    for (std::size_t i = 0; i < one.rows; ++i)
      for (std::size_t j = 0; j < one.columns; ++j)
        for (std::size_t k = 0; k < one.depth; ++k) {
          const Real term = one.a[one.place(i, k)] * one.b[k * one.b_row + j];
          expected[i * one.c_row + j] += term;
        }
    for (const int width : register_widths()) {
      std::vector<Real> found = one.c;
      add_product(one.product(found), width);
      CAPTURE(width);
      CAPTURE(one.rows);
      CAPTURE(one.depth);
      CAPTURE(one.columns);
      REQUIRE(found == expected);
    }
    std::vector<Real> found = one.c;
    add_product(one.product(found));
    REQUIRE(found == expected);
  }
}

TEST_CASE("learning: products have the bits of one addition after the other, in all registers") {
  check_bits<float>();
  check_bits<double>();
}

// Two sums of n products in any order differ by at most 2 n u / (1 - n u) times the sum of their
// magnitudes, u half of an ulp of 1 (Higham, Accuracy and Stability of Numerical Algorithms, 3.5).
TEST_CASE("learning: Eigen gives the same products but for the order of additions") {
  Draws draws(12, 0, 0, 0);
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (const auto& [rows, depth, columns] :
       {std::array<int, 3>{8, 32, 128}, {8, 128, 10}, {64, 12, 64}, {48, 512, 192}, {5, 7, 3}}) {
    const Matrix a =
        Matrix::NullaryExpr(rows, depth, [&] { return static_cast<float>(draws.normal()); });
    const Matrix b =
        Matrix::NullaryExpr(depth, columns, [&] { return static_cast<float>(draws.normal()); });
    const Matrix expected = a * b;
    const Matrix magnitudes = a.cwiseAbs() * b.cwiseAbs();
    Matrix found = Matrix::Zero(rows, columns);
    const auto size = [](int count) { return static_cast<std::size_t>(count); };
    add_product<float>({{a.data(), size(depth), 1},
                        b.data(),
                        size(columns),
                        found.data(),
                        size(columns),
                        size(rows),
                        size(depth),
                        size(columns)});
    const float rounding =
        std::numeric_limits<float>::epsilon() / 2 * static_cast<float>(depth + 1);
    const float bound = 2 * rounding / (1 - rounding);
    CHECK(((found - expected).cwiseAbs().array() <= bound * magnitudes.array()).all());
    CHECK(found.norm() > 0.5F * std::sqrt(static_cast<float>(rows * columns)));
  }
}

TEST_CASE("learning: exp of many has the bits of exp of one, in all registers") {
  Draws draws(13, 0, 0, 0);
  std::vector<double> x = {0.,    -0.,    -708.,  709.,     -708.1,    709.1,
                           1e300, -1e300, 5e-324, HUGE_VAL, -HUGE_VAL, std::nan("")};
  for (int i = 0; i < rounds(20'000); ++i) x.push_back((draws.uniform() - 0.5) * 1500);
  for (const int width : register_widths())
    for (std::size_t left_out = 0; left_out < 9; ++left_out) {
      std::vector<double> found = x;
      exp_all(found.data(), x.size() - left_out, width);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = i < x.size() - left_out ? exp_of(x[i]) : x[i];
        const bool same =
            std::isnan(expected) ? std::isnan(found[i]) : std::memcmp(&found[i], &expected, 8) == 0;
        CAPTURE(x[i]);
        CAPTURE(width);
        REQUIRE(same);
      }
    }
}

}  // namespace
}  // namespace sgdsim::learning
