// Random numbers that are the same on every machine.
//
// The generator is xoshiro256** (Blackman and Vigna, 2018) seeded through SplitMix64; the standard
// library's distributions differ between implementations, so these are our own. A generator is
// passed as an argument; `stream` derives an independent one for a worker or a sweep point, so that
// results do not depend on the order in which points are played.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace sgdsim {

class Random {
 public:
  explicit Random(uint64_t seed);
  // A generator of its own for part `number`, whatever has been drawn from this one.
  Random stream(uint64_t number) const;
  // The part of a part and so on of that of a seed, without the generators between.
  static Random of(uint64_t seed, std::initializer_list<uint64_t> numbers);

  uint64_t bits();
  uint64_t below(uint64_t bound);  // 0 .. bound-1, each equally likely
  double uniform();                // [0, 1), 53 bits
  double uniform(double from, double to);
  double normal(double mean, double deviation);
  double lognormal(double mu, double sigma);  // exp of a normal; mean exp(mu + sigma^2/2)
  double exponential(double mean);
  double gamma(double shape, double scale);   // mean shape*scale
  double pareto(double shape, double least);  // P(X > x) = (least/x)^shape

 private:
  std::array<uint64_t, 4> state_{};
  uint64_t seed_ = 0;
};

}  // namespace sgdsim
