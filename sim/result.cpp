// Sums and means of breakdowns, part by part.
#include "sim/result.h"

#include <array>

namespace sgdsim {
namespace {

constexpr std::array<Duration Breakdown::*, 8> parts = {
    &Breakdown::forward, &Breakdown::backward, &Breakdown::update,     &Breakdown::communication,
    &Breakdown::waiting, &Breakdown::exposed,  &Breakdown::overlapped, &Breakdown::idle};

}  // namespace

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  for (const auto part : parts) this->*part += other.*part;
  return *this;
}

Breakdown Breakdown::operator/(int64_t count) const {
  Breakdown mean;
  for (const auto part : parts) mean.*part = Duration::ps((this->*part).ps() / count);
  return mean;
}

}  // namespace sgdsim
