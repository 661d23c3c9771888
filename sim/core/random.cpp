// The distributions. Each states its method; all draw from bits() only.
//
// log, exp and pow come from the C library: they are correctly rounded to within an ulp on glibc,
// and results that use them are as portable as that library. sqrt is exact everywhere.
#include "sim/core/random.h"

#include <bit>
#include <cassert>
#include <cmath>

namespace sgdsim {
namespace {

uint64_t split_mix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Of part `number`.
uint64_t seed_of(uint64_t seed, uint64_t number) {
  uint64_t mixer = seed ^ 0x6a09e667f3bcc909ULL;
  mixer = split_mix(mixer) ^ number;
  return split_mix(mixer);
}

}  // namespace

Random::Random(uint64_t seed) : seed_(seed) {
  uint64_t mixer = seed;
  for (uint64_t& word : state_) word = split_mix(mixer);
}

Random Random::stream(uint64_t number) const { return Random(seed_of(seed_, number)); }

Random Random::of(uint64_t seed, std::initializer_list<uint64_t> numbers) {
  for (const uint64_t number : numbers) seed = seed_of(seed, number);
  return Random(seed);
}

uint64_t Random::bits() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// Draws above the largest multiple of `bound` are thrown away, so there is no bias.
uint64_t Random::below(uint64_t bound) {
  assert(bound > 0);
  const uint64_t excess = (0 - bound) % bound;  // 2^64 mod bound
  uint64_t draw = bits();
  while (draw < excess) draw = bits();
  return draw % bound;
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::uniform(double from, double to) { return from + (to - from) * uniform(); }

// Marsaglia's polar method; the second value of the pair is dropped so that a draw has no memory.
double Random::normal(double mean, double deviation) {
  while (true) {
    const double x = 2 * uniform() - 1;
    const double y = 2 * uniform() - 1;
    const double square = x * x + y * y;
    if (square < 1 && square > 0)
      return mean + deviation * x * std::sqrt(-2 * std::log(square) / square);
  }
}

double Random::lognormal(double mu, double sigma) { return std::exp(normal(mu, sigma)); }

// 1 - uniform() is in (0, 1], so the logarithm is finite.
double Random::exponential(double mean) { return -mean * std::log(1 - uniform()); }

// Marsaglia and Tsang, ACM TOMS 26(3), 2000; shapes below 1 by their boost U^(1/shape).
double Random::gamma(double shape, double scale) {
  assert(shape > 0 && scale >= 0);
  if (shape < 1) {
    const double boost = std::pow(1 - uniform(), 1 / shape);
    return boost * gamma(shape + 1, scale);
  }
  const double d = shape - 1. / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(0, 1);
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0) continue;
    const double u = 1 - uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

double Random::pareto(double shape, double least) {
  assert(shape > 0 && least > 0);
  return least * std::pow(1 - uniform(), -1 / shape);
}

}  // namespace sgdsim
