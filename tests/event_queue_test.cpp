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

TEST_CASE("what is shown ahead is still to come") {
  Random random(9);
  for (int repeat = 0; repeat < 50; ++repeat) {
    EventQueue<int> queue;
    std::vector<bool> is_to_come;
    Time now;
    auto plan = [&] {
      queue.push(now + draw_delay(random), static_cast<int>(is_to_come.size()));
      is_to_come.push_back(true);
    };
    for (int i = 0; i < 200; ++i) plan();
    while (!queue.empty()) {
      const auto event = queue.pop();
      now = event.time;
      is_to_come[static_cast<std::size_t>(event.payload)] = false;
      auto see = [&](int number) { CHECK(is_to_come[static_cast<std::size_t>(number)]); };
      queue.look_ahead(see, see);
      if (is_to_come.size() < 2000 && random.below(2) == 0) plan();
    }
  }
}

TEST_CASE("events of one time are shown in turn, first from afar") {
  constexpr int events = 1000;
  EventQueue<int> queue;
  for (int i = 0; i < events; ++i) queue.push(Time() + Duration::us(1), i);
  int near = -1;
  int far = -1;
  int taken = 0;
  for (; !queue.empty(); ++taken) {
    CHECK(queue.pop().payload == taken);
    queue.look_ahead(
        [&](int number) {
          CHECK(number > taken);
          CHECK((near < 0 || number == near + 1));
          near = number;
        },
        [&](int number) {
          CHECK(number > taken);
          CHECK((far < 0 || number == far + 1));
          far = number;
        });
    CHECK((near < far || far == events - 1));
  }
  CHECK(taken == events);
  CHECK(near == events - 1);
  CHECK(far == events - 1);
}
