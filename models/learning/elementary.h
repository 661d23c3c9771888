// Functions and draws of learning that are the same to the last bit on every machine: polynomials
// in double without contraction, and draws that are counted, not taken in turn.
//
// exp: x = k ln 2 + r, |r| <= ln 2 / 2, and the Taylor polynomial of degree 13, whose remainder is
// 4e-18. log: x = 2^k m with m about 1, and 2 atanh((m - 1) / (m + 1)), to the term of s^23. Both
// are within 2 ulp of the true value.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace sgdsim::learning {

// Of numbers from -708 to 709: one, or all in a register (kernels.h). Bits are their bits.
// __builtin_bit_cast is std::bit_cast, which the C++ library of the page has not.
struct OneNumber {
  using Reals = double;
  using Bits = uint64_t;
};
template <class Numbers>
inline __attribute__((always_inline)) void exp_inside(const typename Numbers::Reals& x,
                                                      typename Numbers::Reals& power) {
  using Reals = typename Numbers::Reals;
  using Bits = typename Numbers::Bits;
  constexpr double shift = 0x1.8p52;  // what is added to it is rounded to a whole number
  const Reals shifted = x * 1.4426950408889634 + shift;
  const Reals k = shifted - shift;
  const Reals r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  constexpr double inverse_factorials[] = {
      1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320,
      1. / 5040,       1. / 720,       1. / 120,      1. / 24,      1. / 6,      1. / 2};
  Reals sum{};
  for (const double coefficient : inverse_factorials) sum = sum * r + coefficient;
  // The last bits of `shifted` are those of k.
  const Bits exponent = (__builtin_bit_cast(Bits, shifted) + 1023) << 52;
  power = (1 + (r + r * r * sum)) * __builtin_bit_cast(Reals, exponent);
}

inline constexpr double least_exponent = -708;  // exp of less is 0
inline constexpr double most_exponent = 709;    // and of more infinite

inline double exp_of(double x) {
  if (!(x >= least_exponent)) return x < least_exponent ? 0 : x;  // NaN stays NaN
  if (x > most_exponent) return std::numeric_limits<double>::infinity();
  double power = 0;
  exp_inside<OneNumber>(x, power);
  return power;
}

inline double log_of(double x) {
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::nan("");
  if (x == std::numeric_limits<double>::infinity()) return x;
  double k = 0;
  if (x < 0x1p-1022) {  // has fewer digits, and another form
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = __builtin_bit_cast(uint64_t, x);
  k += static_cast<double>(static_cast<int64_t>(bits >> 52) - 1023);
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k += 1;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int power = 23; power >= 3; power -= 2) sum = (sum + 1. / power) * square;
  return k * 0x1.62e42feep-1 + (2 * (s + s * sum) + k * 0x1.a39ef35793c76p-33);
}

inline double tanh_of(double x) {
  if (x > 20) return 1;
  if (x < -20) return -1;
  return 1 - 2 / (exp_of(2 * x) + 1);
}

// The draws that belong to four numbers, whatever was drawn before: so a lesson does not depend on
// the order in which workers are played, and every method of one seed sees the same samples.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t worker, uint64_t iteration, uint64_t sample)
      : state_(
            mixed(mixed(mixed(mixed(seed + 1) ^ (worker + 1)) ^ (iteration + 1)) ^ (sample + 1))) {}

  uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15ULL); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  // 0 .. bound - 1; the bias is below bound / 2^32.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((bits() >> 32) * bound) >> 32); }
  // Marsaglia's polar method, which gives two.
  double normal() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    while (true) {
      const double x = 2 * uniform() - 1;
      const double y = 2 * uniform() - 1;
      const double square = x * x + y * y;
      if (square >= 1 || square == 0) continue;
      const double factor = std::sqrt(-2 * log_of(square) / square);
      second_ = y * factor;
      has_second_ = true;
      return x * factor;
    }
  }

 private:
  static uint64_t mixed(uint64_t z) {  // SplitMix64's
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  uint64_t state_;
  double second_ = 0;
  bool has_second_ = false;
};

// What draws are for that belong to no worker.
namespace drawn_for {
inline constexpr uint64_t weights = uint64_t{1} << 40;
inline constexpr uint64_t data = uint64_t{2} << 40;
inline constexpr uint64_t held_out = uint64_t{3} << 40;
inline constexpr uint64_t selection = uint64_t{4} << 40;  // random entries, rounding
inline constexpr uint64_t losses = uint64_t{5} << 40;     // of packets
}  // namespace drawn_for

}  // namespace sgdsim::learning
