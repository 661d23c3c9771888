// Random numbers by their place: (seed, run, name of the source, unit, how often before) give the
// bits, so that neither threads nor other sources change what a source draws.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "models/goodput/gamma.h"

namespace sgdsim::goodput {

// The finalizer of SplitMix64.
constexpr uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr uint64_t key_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return mixed(hash);
}

// The draws of one source in one run.
class Draws {
 public:
  Draws() = default;
  Draws(uint64_t seed, uint64_t run, uint64_t source)
      : at_(mixed(mixed(mixed(seed + 0x9e3779b97f4a7c15ULL) + run) ^ source)) {}

  uint64_t bits() { return mixed(at_ += 0x9e3779b97f4a7c15ULL); }
  // In (0, 1), so that the logarithm is finite.
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }
  double exponential(double mean) { return -mean * std::log(uniform()); }
  double weibull(double scale, double shape) {
    return scale * std::pow(-std::log(uniform()), 1 / shape);
  }
  // Until the first failure of a unit that has run, failed and been replaced for long.
  double first_of_weibull(double scale, double shape) {
    return scale * scales_run(shape, uniform());
  }

 private:
  uint64_t at_ = 0;
};

}  // namespace sgdsim::goodput
