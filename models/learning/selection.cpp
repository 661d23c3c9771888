// A histogram of the leading bits says in which bin the k-th largest is; only those in this bin are
// compared. One pass over the values, whatever they are, and one to collect.
#include "models/learning/selection.h"

#include <algorithm>
#include <type_traits>

namespace sgdsim::learning {
namespace {

// As a whole number that grows with the magnitude.
template <class Real>
auto magnitude_bits(Real value) {
  using Bits = std::conditional_t<sizeof(Real) == 4, uint32_t, uint64_t>;
  return static_cast<Bits>(__builtin_bit_cast(Bits, value) << 1U) >> 1U;
}

}  // namespace

std::size_t selected(double density, std::size_t count) {
  const auto all = static_cast<double>(count);
  const auto k = static_cast<std::size_t>(std::min(all, std::max(1., density * all)));
  return std::min(k, count);
}

template <class Real>
std::vector<uint32_t> largest(const Real* values, std::size_t count, std::size_t k) {
  std::vector<uint32_t> chosen;
  k = std::min(k, count);
  if (k == 0) return chosen;
  constexpr unsigned bins_log2 = 12;
  constexpr unsigned shift = 8 * sizeof(Real) - 1 - bins_log2;
  std::vector<std::size_t> bins(std::size_t{1} << bins_log2);
  for (std::size_t i = 0; i < count; ++i)
    ++bins[static_cast<std::size_t>(magnitude_bits(values[i]) >> shift)];
  std::size_t bin = bins.size() - 1;
  std::size_t above = 0;  // in higher bins
  while (above + bins[bin] < k) above += bins[bin--];
  std::vector<decltype(magnitude_bits(*values))> within;
  for (std::size_t i = 0; i < count; ++i)
    if (const auto bits = magnitude_bits(values[i]); bits >> shift == bin) within.push_back(bits);
  const auto last = within.begin() + static_cast<std::ptrdiff_t>(k - above - 1);
  std::nth_element(within.begin(), last, within.end(), std::greater<>());
  const auto least = *last;
  // Of those that equal the k-th, the first ones.
  auto equal = static_cast<std::size_t>(std::count(within.begin(), last + 1, least));
  chosen.reserve(k);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = magnitude_bits(values[i]);
    if (bits < least) continue;
    if (bits == least && equal-- == 0) {
      equal = 0;
      continue;
    }
    chosen.push_back(static_cast<uint32_t>(i));
  }
  return chosen;
}

template std::vector<uint32_t> largest(const float*, std::size_t, std::size_t);
template std::vector<uint32_t> largest(const double*, std::size_t, std::size_t);

}  // namespace sgdsim::learning
