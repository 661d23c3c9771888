// Ordered work on threads.
#include "sim/core/parallel.h"

#include <atomic>
#include <doctest/doctest.h>
#include <stdexcept>

namespace sgdsim {
namespace {

using Work = OrderedWork<int, int>;
constexpr std::chrono::milliseconds patience{1};

// 0 .. count - 1.
auto counter(int count) {
  return
      [next = 0, count]() mutable { return next < count ? std::optional(next++) : std::nullopt; };
}

TEST_CASE("parallel: results come in the order of the items, for any number of threads") {
  for (const int threads : {1, 2, 3, 16})
    for (const int count : {0, 1, 5, 10'000}) {
      std::vector<int> taken;
      Work({counter(count), [](int, const int& item) { return 2 * item; },
            [&](std::vector<int>&& results) {
              taken.insert(taken.end(), results.begin(), results.end());
              return true;
            }},
           threads, patience)
          .run();
      REQUIRE(taken.size() == static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) REQUIRE(taken[static_cast<std::size_t>(i)] == 2 * i);
    }
}

TEST_CASE("parallel: what was drawn when it stops is still taken, and nothing more is drawn") {
  std::atomic<int> drawn = 0;
  int taken = 0;
  Work({[&] { return std::optional(drawn++); }, [](int, const int& item) { return item; },
        [&](std::vector<int>&& results) {
          for (const int result : results) CHECK(result == taken++);
          return taken < 1000;
        }},
       4, patience)
      .run();
  CHECK(taken >= 1000);
  CHECK(taken == drawn);
}

TEST_CASE("parallel: an exception on any side ends all threads and comes out") {
  auto none = [](std::vector<int>&&) { return true; };
  auto same = [](int, const int& item) { return item; };
  auto fails = [] { throw std::runtime_error("lost"); };
  CHECK_THROWS_WITH(Work({counter(10'000),
                          [&](int, const int& item) {
                            if (item == 5000) fails();
                            return item;
                          },
                          none},
                         4, patience)
                        .run(),
                    "lost");
  CHECK_THROWS_WITH(Work({[&]() -> std::optional<int> {
                            fails();
                            return 1;
                          },
                          same, none},
                         4, patience)
                        .run(),
                    "lost");
  CHECK_THROWS_WITH(Work({counter(10'000), same,
                          [&](std::vector<int>&&) {
                            fails();
                            return true;
                          }},
                         4, patience)
                        .run(),
                    "lost");
}

}  // namespace
}  // namespace sgdsim
