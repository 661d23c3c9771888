// Products of matrices and long sums with a fixed order of additions, so that their bits depend on
// nothing else: not on the width of a machine's registers, on blocks, or on the compiler.
//
// Every element of a product is c + a0 b0 + a1 b1 + ..., one term after the other; what is computed
// at once are different elements. A long sum has eight lanes, which are added as a tree.
#pragma once

#include <cstddef>

namespace sgdsim::learning {

// A matrix of rows and columns somewhere in memory; `row` and `column` are the steps to the next.
template <class Real>
struct Strided {
  const Real* first;
  std::size_t row;
  std::size_t column;
};

// c += a b: a is rows x depth, b depth x columns with b_row elements from row to row, c likewise.
template <class Real>
struct Product {
  Strided<Real> a;
  const Real* b;
  std::size_t b_row;
  Real* c;
  std::size_t c_row;
  std::size_t rows, depth, columns;
};
template <class Real>
void add_product(const Product<Real>& product);
// With registers of 16, 32 or 64 bytes, none wider than this machine has. Bits are the same.
template <class Real>
void add_product(const Product<Real>& product, int registers_B);
int widest_registers();

// to (columns x rows) = from (rows x columns), transposed.
template <class Real>
void transpose(const Real* from, std::size_t rows, std::size_t columns, Real* to);

// Each becomes its exp: the bits of exp_of.
void exp_all(double* values, std::size_t count);
void exp_all(double* values, std::size_t count, int registers_B);

// Sums in double: eight lanes, then a tree.
template <class Real>
double sum_of(const Real* values, std::size_t count);
template <class Real>
double sum_of_squares(const Real* values, std::size_t count);
template <class Real>
double sum_of_magnitudes(const Real* values, std::size_t count);
template <class Real>
double largest_magnitude(const Real* values, std::size_t count);  // NaN if one is

}  // namespace sgdsim::learning
