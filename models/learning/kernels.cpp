// Four rows by two registers of a product at once: eight registers hold sums while the depth goes
// by, which is all that the oldest 64-bit machines have room for.
#include "models/learning/kernels.h"

#include <array>
#include <cmath>
#include <cstring>

namespace sgdsim::learning {
namespace {

template <class Real>
struct Register;
template <>
struct Register<float> {
  using type = float __attribute__((vector_size(16)));
};
template <>
struct Register<double> {
  using type = double __attribute__((vector_size(16)));
};

template <class Real>
using Lanes = typename Register<Real>::type;
template <class Real>
constexpr std::size_t lane_count = 16 / sizeof(Real);

template <class Real>
Lanes<Real> loaded(const Real* from) {
  Lanes<Real> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <class Real>
void store(const Lanes<Real>& lanes, Real* to) {
  std::memcpy(to, &lanes, sizeof lanes);
}

template <class Real, std::size_t rows, std::size_t registers>
void add_block(const Product<Real>& p, std::size_t row, std::size_t column) {
  constexpr std::size_t lanes = lane_count<Real>;
  std::array<std::array<Lanes<Real>, registers>, rows> sums;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < registers; ++j)
      sums[i][j] = loaded(p.c + (row + i) * p.c_row + column + j * lanes);
  const Real* a = p.a.first + row * p.a.row;
  const Real* b = p.b + column;
  for (std::size_t k = 0; k < p.depth; ++k, a += p.a.column, b += p.b_row) {
    std::array<Lanes<Real>, registers> right;
    for (std::size_t j = 0; j < registers; ++j) right[j] = loaded(b + j * lanes);
    for (std::size_t i = 0; i < rows; ++i) {
      const Lanes<Real> left = a[i * p.a.row] - Lanes<Real>{};  // in every lane
      for (std::size_t j = 0; j < registers; ++j) sums[i][j] += left * right[j];
    }
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < registers; ++j)
      store<Real>(sums[i][j], p.c + (row + i) * p.c_row + column + j * lanes);
}

template <class Real>
void add_element(const Product<Real>& p, std::size_t row, std::size_t column) {
  Real sum = p.c[row * p.c_row + column];
  for (std::size_t k = 0; k < p.depth; ++k)
    sum += p.a.first[row * p.a.row + k * p.a.column] * p.b[k * p.b_row + column];
  p.c[row * p.c_row + column] = sum;
}

template <class Real, std::size_t rows>
void add_rows(const Product<Real>& p, std::size_t row) {
  constexpr std::size_t lanes = lane_count<Real>;
  std::size_t column = 0;
  for (; column + 2 * lanes <= p.columns; column += 2 * lanes)
    add_block<Real, rows, 2>(p, row, column);
  for (; column + lanes <= p.columns; column += lanes) add_block<Real, rows, 1>(p, row, column);
  for (; column < p.columns; ++column)
    for (std::size_t i = 0; i < rows; ++i) add_element(p, row + i, column);
}

template <class Real, class Term>
double summed(const Real* values, std::size_t count, const Term& term) {
  std::array<double, 8> lanes{};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane)
      lanes[lane] += term(static_cast<double>(values[i + lane]));
  for (std::size_t lane = 0; i + lane < count; ++lane)
    lanes[lane] += term(static_cast<double>(values[i + lane]));
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

template <class Real>
void add_product(const Product<Real>& product) {
  if (product.depth == 0) return;  // then there may be no factors either
  std::size_t row = 0;
  for (; row + 4 <= product.rows; row += 4) add_rows<Real, 4>(product, row);
  for (; row < product.rows; ++row) add_rows<Real, 1>(product, row);
}

template <class Real>
void transpose(const Real* from, std::size_t rows, std::size_t columns, Real* to) {
  constexpr std::size_t block = 8;
  for (std::size_t first = 0; first < columns; first += block)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = first; j < columns && j < first + block; ++j)
        to[j * rows + i] = from[i * columns + j];
}

template <class Real>
double sum_of(const Real* values, std::size_t count) {
  return summed(values, count, [](double value) { return value; });
}
template <class Real>
double sum_of_squares(const Real* values, std::size_t count) {
  return summed(values, count, [](double value) { return value * value; });
}
template <class Real>
double sum_of_magnitudes(const Real* values, std::size_t count) {
  return summed(values, count, [](double value) { return value < 0 ? -value : value; });
}

template <class Real>
double largest_magnitude(const Real* values, std::size_t count) {
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<double>(values[i] < 0 ? -values[i] : values[i]);
    if (!(magnitude <= largest)) largest = magnitude;
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

template void add_product(const Product<float>&);
template void add_product(const Product<double>&);
template void transpose(const float*, std::size_t, std::size_t, float*);
template void transpose(const double*, std::size_t, std::size_t, double*);
template double sum_of(const float*, std::size_t);
template double sum_of(const double*, std::size_t);
template double sum_of_squares(const float*, std::size_t);
template double sum_of_squares(const double*, std::size_t);
template double sum_of_magnitudes(const float*, std::size_t);
template double sum_of_magnitudes(const double*, std::size_t);
template double largest_magnitude(const float*, std::size_t);
template double largest_magnitude(const double*, std::size_t);

}  // namespace sgdsim::learning
