// Fetches into the cache what will be needed soon, so that nobody waits for memory then.
#pragma once

#include <cstddef>

namespace sgdsim {

// The lines of the cache that these bytes lie in.
inline void prefetch(const void* what, std::size_t size_B) {
  constexpr std::size_t line_B = 64;
  const auto* bytes = static_cast<const char*>(what);
  for (std::size_t i = 0; i < size_B; i += line_B) __builtin_prefetch(bytes + i);
  __builtin_prefetch(bytes + size_B - 1);
  asm volatile("");  // GCC 12 leaves out calls of functions that do nothing but fetch
}

template <class T>
void prefetch(const T& what) {
  prefetch(&what, sizeof(T));
}

}  // namespace sgdsim
