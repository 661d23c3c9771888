// The k largest magnitudes of many, equal ones by lower index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgdsim::learning {

// Their indices, ascending. Not a number counts as larger than any.
template <class Real>
std::vector<uint32_t> largest(const Real* values, std::size_t count, std::size_t k);

// max(1, whole part of density * count), at most count.
std::size_t selected(double density, std::size_t count);

}  // namespace sgdsim::learning
