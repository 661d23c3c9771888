// Whole numbers in order, as std::sort puts them.
#include "sim/core/sort_keys.h"

#include <doctest/doctest.h>

#include "sim/core/random.h"

namespace sgdsim {
namespace {

TEST_CASE("sort keys: few and many, of any number of bits, repeated or not") {
  Random random(17);
  std::vector<uint64_t> spare;
  for (const std::size_t count : {0U, 1U, 511U, 512U, 513U, 5000U})
    for (const unsigned bits : {1U, 7U, 8U, 9U, 40U, 63U, 64U}) {
      std::vector<uint64_t> keys(count);
      for (uint64_t& key : keys) key = random.bits() >> (64U - bits);
      std::vector<uint64_t> expected = keys;
      std::sort(expected.begin(), expected.end());
      sort_keys(keys, spare, bits);
      CHECK(keys == expected);
    }
}

}  // namespace
}  // namespace sgdsim
