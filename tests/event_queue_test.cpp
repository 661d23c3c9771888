// The radix heap against a list that is searched for its earliest event: the same order, for equal
// times the order of planning, whatever is planned between two events.
#include "sim/core/event_queue.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <span>

#include "sim/core/random.h"

using namespace sgdsim;

namespace {

struct Planned {
  Time time;
  int number = 0;
};

// Delays that tie often, that differ in high and in low bits, and none at all.
Duration draw_delay(Random& random) {
  switch (random.below(4)) {
    case 0:
      return {};
    case 1:
      return Duration::us(static_cast<int64_t>(random.below(4)));
    case 2:
      return Duration::ps(static_cast<int64_t>(random.below(100)));
    default:
      return Duration::ps(static_cast<int64_t>(random.below(uint64_t{1} << random.below(50))));
  }
}

}  // namespace

TEST_CASE("events leave by time, and by planning where times are equal") {
  Random random(8);
  for (int repeat = 0; repeat < 50; ++repeat) {
    EventQueue<int> queue;
    std::vector<Planned> list;
    Time now;
    int number = 0;
    auto plan = [&] {
      const Time time = now + draw_delay(random);
      queue.push(time, number);
      list.push_back({time, number++});
    };
    for (int i = 0; i < 20; ++i) plan();
    while (!list.empty()) {
      CHECK(queue.size() == list.size());
      const auto first =
          std::min_element(list.begin(), list.end(), [](const Planned& a, const Planned& b) {
            return a.time < b.time;
          });  // the first of equals
      const auto event = queue.pop();
      REQUIRE(event.time == first->time);
      REQUIRE(event.payload == first->number);
      now = event.time;
      list.erase(first);
      const bool another = std::any_of(list.begin(), list.end(),
                                       [&](const Planned& one) { return one.time == now; });
      CHECK(queue.another_now() == another);
      if (number < 500)
        for (uint64_t more = random.below(3); more > 0; --more) plan();
    }
    CHECK(queue.empty());
  }
}

// Those it hears of leave before all others that were planned by then.
TEST_CASE("events that are heard of soon are the next ones") {
  Random random(9);
  EventQueue<int> queue;
  std::vector<Time> times;  // by number
  std::vector<bool> has_left;
  Time now;
  std::size_t heard = 0;
  const auto plan = [&] {
    times.push_back(now + draw_delay(random));
    has_left.push_back(false);
    queue.push(times.back(), static_cast<int>(times.size()) - 1);
  };
  for (int i = 0; i < 1000; ++i) plan();
  while (!queue.empty()) {
    const auto event = queue.pop([&](std::span<const EventQueue<int>::Event> soon) {
      std::vector<bool> is_soon(times.size());
      Time last;
      for (const auto& one : soon) {
        const auto number = static_cast<std::size_t>(one.payload);
        REQUIRE(one.time == times[number]);
        REQUIRE_FALSE(has_left[number]);
        is_soon[number] = true;
        last = std::max(last, one.time);
      }
      for (std::size_t i = 0; i < times.size(); ++i)
        if (!has_left[i] && !is_soon[i]) REQUIRE(times[i] > last);
      heard += soon.size();
    });
    now = event.time;
    has_left[static_cast<std::size_t>(event.payload)] = true;
    if (times.size() < 3000) plan();
  }
  // All but those that are planned for this moment, or with very many of one time.
  CHECK(heard > times.size() / 2);
}
