// Where the time of one worker goes, read off drawings of one iteration.
#include "sim/play/ledger.h"

#include <doctest/doctest.h>

using namespace sgdsim;

namespace {

Time us(int64_t count) { return Time::at(Duration::us(count)); }

struct Expected {
  int64_t communication, overlapped, waiting, exposed, idle;
};

void check(const Breakdown& one, const Expected& expected) {
  CHECK(one.communication == Duration::us(expected.communication));
  CHECK(one.overlapped == Duration::us(expected.overlapped));
  CHECK(one.waiting == Duration::us(expected.waiting));
  CHECK(one.exposed == Duration::us(expected.exposed));
  CHECK(one.idle == Duration::us(expected.idle));
}

// Forward and backward from 0 to 30 us, and the first message:
//
//   us        0         10        20        30        40
//   compute   FFFFFFFFFFBBBBBBBBBBBBBBBBBBBB
//   message                  wwwwwwMMMMMMMMMMMMMM           ready 15, everybody 21, end 35
Ledger with_a_message(bool is_plain) {
  Ledger ledger;
  ledger.open(Time(), is_plain, 1);
  ledger.compute(&Breakdown::forward, Time(), us(10));
  ledger.compute(&Breakdown::backward, us(10), us(30));
  CHECK(ledger.exchange(us(15), us(21), us(21), us(35)) == us(21));
  return ledger;
}

}  // namespace

TEST_CASE("ledger: what computation hides is neither waiting nor exposed") {
  struct Row {
    const char* reason;
    int64_t ready, everybody, sent, end;  // of a second message
    int64_t iteration;
    Expected expected;
  };
  const Row rows[] = {
      {"nothing else", 35, 35, 35, 35, 35, {14, 9, 0, 5, 0}},
      {"idle after it", 35, 35, 35, 35, 42, {14, 9, 0, 12, 7}},
      {"another one at once", 35, 35, 35, 41, 41, {20, 9, 0, 11, 0}},
      {"waiting for the other workers", 36, 39, 39, 41, 43, {16, 9, 3, 13, 3}},
      {"over before everybody is there", 36, 50, 50, 41, 41, {14, 9, 5, 11, 1}},
      // Idle from 35 to 36, 39 to 41 and 44 to 46.
      {"sent when a coordinator looks", 36, 39, 41, 44, 46, {17, 9, 3, 16, 5}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    Ledger ledger = with_a_message(true);
    ledger.exchange(us(row.ready), us(row.everybody), us(row.sent), us(row.end));
    check(ledger.close(us(30)).settled(1, Duration::us(row.iteration)), row.expected);
  }
}

TEST_CASE("ledger: messages in flight together are communication once") {
  Ledger ledger = with_a_message(true);
  ledger.exchange(us(24), us(25), us(25), us(38));
  ledger.count_once();
  check(ledger.close(us(30)).settled(1, Duration::us(38)), {17, 9, 0, 8, 0});
}

TEST_CASE("ledger: times that overlap are one, in whatever order they come") {
  BusyTimes times;
  const auto all = [&] { return times.within(Time(), Time::last()).us(); };
  times.add(us(10), us(20));
  times.add(us(40), us(50));
  CHECK(all() == 20);
  times.add(us(15), us(45));  // between both
  CHECK(all() == 40);
  times.add(us(60), us(70));
  times.add(us(5), us(8));  // before all
  CHECK(all() == 53);
  times.add(us(8), us(10));  // from end to start
  CHECK(all() == 55);
  times.add(us(52), us(55));  // between two that it does not meet
  CHECK(all() == 58);
  times.add(us(0), us(100));
  CHECK(all() == 100);
  CHECK(times.within(us(30), us(50)).us() == 20);
}

// Where messages go on in the next iteration, computation hides all that does not fit exposed.
TEST_CASE("ledger: messages of iterations that overlap are exposed as far as there is room") {
  const Account account = with_a_message(false).close(us(30));
  check(account.settled(1, Duration::us(30)), {14, 14, 0, 0, 0});
  check(account.settled(1, Duration::us(36)), {14, 8, 0, 6, 0});
  check(account.settled(1, Duration::us(51)), {14, 0, 6, 21, 1});
}

TEST_CASE("ledger: a worker that takes turns waits whenever it does nothing else") {
  Breakdown computed;
  computed.forward = Duration::us(20);
  computed.backward = Duration::us(40);
  const Account account = Account::in_turns(computed, Duration::us(10));
  check(account.settled(2, Duration::us(100)), {5, 0, 15, 20, 0});
}

TEST_CASE("ledger: a backward pass is slower while a message travels") {
  Ledger ledger;
  ledger.open(Time(), true, 2);
  ledger.slow_down(us(10), us(20));
  CHECK(ledger.finish(Time(), Duration::us(8)) == us(8));
  // 2 us alone; 5 us that take the message's 10; 3 us alone.
  CHECK(ledger.finish(us(8), Duration::us(10)) == us(23));
}
