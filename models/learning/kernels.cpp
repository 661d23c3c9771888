// Four rows by two registers of a product at once: eight registers hold sums while the depth goes
// by. Registers are as wide as the machine has them; every element has the same additions in any.
#include "models/learning/kernels.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "models/learning/elementary.h"

#define SGDSIM_INLINE inline __attribute__((always_inline))

namespace sgdsim::learning {
namespace {

template <class Real, std::size_t bytes>
struct Register {
  typedef Real Lanes __attribute__((vector_size(bytes)));
};

// The first `count` lanes; a copy of fewer than all would go through memory.
template <std::size_t count, class Lanes, class Real>
SGDSIM_INLINE void load(const Real* from, Lanes& lanes) {
  if constexpr (count == 1)
    lanes = Lanes{from[0]};
  else if constexpr (count == 2 && sizeof(Lanes) > 2 * sizeof(Real))
    lanes = Lanes{from[0], from[1]};
  else if constexpr (count == 3)
    lanes = Lanes{from[0], from[1], from[2]};
  else
    std::memcpy(&lanes, from, sizeof lanes);
}
template <std::size_t count, class Lanes, class Real>
SGDSIM_INLINE void store(const Lanes& lanes, Real* to) {
  std::memcpy(to, &lanes, count * sizeof(Real));
}

// `count` columns in each register: all lanes of it, or fewer at the end of a row. Functions that
// take a register by reference can be inlined into those for machines that have it.
template <class Real, std::size_t bytes, std::size_t count, std::size_t rows, std::size_t registers>
SGDSIM_INLINE void add_block(const Product<Real>& p, std::size_t row, std::size_t column) {
  using Lanes = typename Register<Real, bytes>::Lanes;
  Lanes sums[rows][registers];
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < registers; ++j)
      load<count>(p.c + (row + i) * p.c_row + column + j * count, sums[i][j]);
  const Real* a = p.a.first + row * p.a.row;
  const Real* b = p.b + column;
  for (std::size_t k = 0; k < p.depth; ++k, a += p.a.column, b += p.b_row) {
    Lanes right[registers];
    for (std::size_t j = 0; j < registers; ++j) load<count>(b + j * count, right[j]);
    for (std::size_t i = 0; i < rows; ++i) {
      const Lanes left = a[i * p.a.row] - Lanes{};  // in every lane
      for (std::size_t j = 0; j < registers; ++j) sums[i][j] += left * right[j];
    }
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < registers; ++j)
      store<count>(sums[i][j], p.c + (row + i) * p.c_row + column + j * count);
}

// The columns that are left for a register, then those for half of it, and so on.
template <class Real, std::size_t bytes, std::size_t rows>
SGDSIM_INLINE void add_rows(const Product<Real>& p, std::size_t row, std::size_t column) {
  constexpr std::size_t lanes = bytes / sizeof(Real);
  for (; column + 2 * lanes <= p.columns; column += 2 * lanes)
    add_block<Real, bytes, lanes, rows, 2>(p, row, column);
  for (; column + lanes <= p.columns; column += lanes)
    add_block<Real, bytes, lanes, rows, 1>(p, row, column);
  if constexpr (bytes > 16) {
    add_rows<Real, bytes / 2, rows>(p, row, column);
  } else {
    const std::size_t left = p.columns - column;
    if (left == 1) add_block<Real, bytes, 1, rows, 1>(p, row, column);
    if constexpr (lanes > 2) {
      if (left == 2) add_block<Real, bytes, 2, rows, 1>(p, row, column);
      if (left == 3) add_block<Real, bytes, 3, rows, 1>(p, row, column);
    }
  }
}

template <class Real, std::size_t bytes>
SGDSIM_INLINE void add_all(const Product<Real>& p) {
  std::size_t row = 0;
  for (; row + 4 <= p.rows; row += 4) add_rows<Real, bytes, 4>(p, row, 0);
  for (; row < p.rows; ++row) add_rows<Real, bytes, 1>(p, row, 0);
}

template <std::size_t bytes>
struct Exponents {
  using Reals = typename Register<double, bytes>::Lanes;
  using Bits = typename Register<uint64_t, bytes>::Lanes;
};

// The last register is filled up with zeros.
template <std::size_t bytes>
SGDSIM_INLINE void exp_in_registers(double* values, std::size_t count) {
  using Reals = typename Exponents<bytes>::Reals;
  constexpr std::size_t lanes = bytes / sizeof(double);
  constexpr double beyond = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t used = std::min(lanes, count - i);
    Reals x{};
    if (used == lanes)
      std::memcpy(&x, values + i, sizeof x);
    else
      std::memcpy(&x, values + i, used * sizeof(double));
    Reals power = x < least_exponent ? Reals{} + least_exponent : x;
    power = power > most_exponent ? Reals{} + most_exponent : power;  // NaN stays NaN
    exp_inside<Exponents<bytes>>(power, power);
    power = x > most_exponent ? Reals{} + beyond : power;
    power = x < least_exponent ? Reals{} : power;
    power = x != x ? x : power;
    if (used == lanes)
      std::memcpy(values + i, &power, sizeof power);
    else
      std::memcpy(values + i, &power, used * sizeof(double));
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void exp_in_32(double* values, std::size_t count) {
  exp_in_registers<32>(values, count);
}
__attribute__((target("avx512f"))) void exp_in_64(double* values, std::size_t count) {
  exp_in_registers<64>(values, count);
}
template <class Real>
__attribute__((target("avx2"))) void add_in_32(const Product<Real>& p) {
  add_all<Real, 32>(p);
}
template <class Real>
__attribute__((target("avx512f"))) void add_in_64(const Product<Real>& p) {
  add_all<Real, 64>(p);
}
#endif

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

int widest_registers() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

template <class Real>
void add_product(const Product<Real>& product, int registers_B) {
  if (product.depth == 0) return;  // then there may be no factors either
#if defined(__x86_64__)
  if (registers_B == 64) return add_in_64(product);
  if (registers_B == 32) return add_in_32(product);
#endif
  assert(registers_B == 16);
  add_all<Real, 16>(product);
}

template <class Real>
void add_product(const Product<Real>& product) {
  static const int widest = widest_registers();
  add_product(product, widest);
}

void exp_all(double* values, std::size_t count, int registers_B) {
#if defined(__x86_64__)
  if (registers_B == 64) return exp_in_64(values, count);
  if (registers_B == 32) return exp_in_32(values, count);
#endif
  assert(registers_B == 16);
  exp_in_registers<16>(values, count);
}
void exp_all(double* values, std::size_t count) {
  static const int widest = widest_registers();
  exp_all(values, count, widest);
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

// Bits of magnitudes, as whole numbers, grow with them, and those of NaN are above all.
template <class Real>
double largest_magnitude(const Real* values, std::size_t count) {
  using Bits = std::conditional_t<sizeof(Real) == 4, int32_t, int64_t>;
  Bits largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bits bits = __builtin_bit_cast(Bits, values[i]) & std::numeric_limits<Bits>::max();
    largest = bits > largest ? bits : largest;
  }
  return static_cast<double>(__builtin_bit_cast(Real, largest));
}

template void add_product(const Product<float>&, int);
template void add_product(const Product<double>&, int);
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
