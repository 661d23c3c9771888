// Sums and means of breakdowns, part by part.
#include "sim/result.h"

#include <array>

namespace sgdsim {
namespace {

constexpr std::array<Duration Breakdown::*, 9> parts = {
    &Breakdown::forward,     &Breakdown::backward,   &Breakdown::update,
    &Breakdown::compression, &Breakdown::waiting,    &Breakdown::communication,
    &Breakdown::exposed,     &Breakdown::overlapped, &Breakdown::idle};

}  // namespace

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  for (const auto part : parts) this->*part += other.*part;
  return *this;
}

Breakdown Breakdown::operator*(int64_t times) const {
  Breakdown sum;
  for (const auto part : parts) sum.*part = this->*part * times;
  return sum;
}

Breakdown Breakdown::operator/(int64_t count) const {
  Breakdown mean;
  for (const auto part : parts) mean.*part = Duration::ps((this->*part).ps() / count);
  return mean;
}

}  // namespace sgdsim
