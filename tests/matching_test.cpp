// Messages and receives find each other as in a list that is searched from its beginning.
#include "sim/play/matching.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/core/random.h"

namespace sgdsim {
namespace {

constexpr uint32_t any = RankOperation::any;

struct Plain {
  struct One {
    uint32_t rank, peer, tag, what;
  };
  std::vector<One> all;

  std::optional<uint32_t> take(uint32_t rank, uint32_t peer, uint32_t tag, bool is_message) {
    const auto fits = [&](uint32_t asked, uint32_t there) {
      return asked == there || (is_message ? there == any : asked == any);
    };
    const auto found = std::find_if(all.begin(), all.end(), [&](const One& one) {
      return one.rank == rank && fits(peer, one.peer) && fits(tag, one.tag);
    });
    if (found == all.end()) return std::nullopt;
    const uint32_t what = found->what;
    all.erase(found);
    return what;
  }
};

uint32_t draw(Random& random, uint64_t below) { return static_cast<uint32_t>(random.below(below)); }

std::vector<uint32_t> left_in(const Matching& matching) {
  std::vector<uint32_t> left;
  matching.for_each([&](uint32_t what) { left.push_back(what); });
  return left;
}

}  // namespace

TEST_CASE("matching: random messages and receives, of some or of any sender and tag") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const uint32_t ranks = 1 + draw(random, 3);
    const uint64_t peers = 1 + random.below(seed % 2 == 0 ? 4 : 300);
    const uint64_t tags = 1 + random.below(seed % 3 == 0 ? 3 : 500);
    const bool are_receives = seed % 5 < 2;  // who waits: receives, which may ask for anything
    // Tags that differ in their high bits only, too.
    const unsigned up = seed % 7 == 0 ? 20 : 0;
    const auto one = [&](uint64_t below, bool may_be_any) {
      return may_be_any && random.below(4) == 0 ? any : draw(random, below) << up;
    };
    Matching matching(ranks);
    Plain plain;
    uint32_t what = 0;
    // It grows, and is emptied again.
    for (int i = 0; i < 3000; ++i) {
      const uint32_t rank = draw(random, ranks);
      const bool adds = random.below(10) < (i < 1500 ? 7U : 2U);
      const bool may_be_any = adds == are_receives && seed % 4 != 0;
      const uint32_t peer = one(peers, may_be_any);
      const uint32_t tag = one(tags, may_be_any);
      if (adds) {
        matching.add(rank, peer, tag, what);
        plain.all.push_back({rank, peer, tag, what++});
      } else {
        REQUIRE(matching.take(rank, peer, tag, are_receives) ==
                plain.take(rank, peer, tag, are_receives));
      }
    }
    std::stable_sort(plain.all.begin(), plain.all.end(),
                     [](const Plain::One& a, const Plain::One& b) {
                       return std::tie(a.rank, a.peer, a.tag) < std::tie(b.rank, b.peer, b.tag);
                     });
    std::vector<uint32_t> left;
    for (const Plain::One& it : plain.all) left.push_back(it.what);
    CHECK(left_in(matching) == left);
  }
}

}  // namespace sgdsim
