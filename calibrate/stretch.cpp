// As fast as memory goes: a period at a time.
#include "calibrate/stretch.h"

#include <algorithm>
#include <cstring>

namespace sgdsim::calibrate {
namespace {

// take(where in the data, what stands there, how many bytes) of every piece; until it answers no.
template <class F>
void in_periods(const Stretch& stretch, const F& take) {
  const auto period_B = static_cast<int64_t>(stretch.period.size());
  for (int64_t done_B = 0; done_B < stretch.bytes;) {
    const int64_t from_B = (stretch.from_B + done_B) % period_B;
    const int64_t step_B = std::min(period_B - from_B, stretch.bytes - done_B);
    if (!take(stretch.at_B + done_B, stretch.period.data() + from_B, step_B)) return;
    done_B += step_B;
  }
}

}  // namespace

void write(const Stretch& stretch, std::byte* data) {
  if (stretch.period.empty()) {
    std::fill_n(data + stretch.at_B, stretch.bytes, std::byte{0xff});
    return;
  }
  in_periods(stretch, [&](int64_t at_B, const std::byte* period, int64_t bytes) {
    std::memcpy(data + at_B, period, static_cast<std::size_t>(bytes));
    return true;
  });
}

int64_t first_difference(const Stretch& stretch, const std::byte* data) {
  int64_t wrong_B = -1;
  in_periods(stretch, [&](int64_t at_B, const std::byte* period, int64_t bytes) {
    const std::byte* const there = data + at_B;
    if (std::memcmp(there, period, static_cast<std::size_t>(bytes)) == 0) return true;
    wrong_B = at_B + (std::mismatch(period, period + bytes, there).first - period);
    return false;
  });
  return wrong_B;
}

}  // namespace sgdsim::calibrate
