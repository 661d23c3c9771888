// Products of counts that somebody typed: nodes times GPUs, replicas times sequences.
//
// Each factor can be as large as it likes; a product beyond the most that is modelled is nothing,
// and never what is left of it in 64 bits.
#pragma once

#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace sgdsim {

// Of counts that are not negative.
inline std::optional<int64_t> product_up_to(int64_t most, std::initializer_list<int64_t> counts) {
  int64_t product = 1;
  bool is_above = false;
  for (const int64_t count : counts) {
    assert(count >= 0);
    if (count == 0) return 0;
    is_above = is_above || product > most / count;
    if (!is_above) product *= count;
  }
  return is_above ? std::nullopt : std::optional(product);
}

}  // namespace sgdsim
