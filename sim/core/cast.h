// Whole numbers as what indexes and arithmetic want.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sgdsim {

constexpr std::size_t at(int64_t number) { return static_cast<std::size_t>(number); }
constexpr double real(int64_t number) { return static_cast<double>(number); }

}  // namespace sgdsim
