// Sums and means part by part, and intervals.
#include "sim/play/ledger.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/play/slowed_work.h"

namespace sgdsim {
namespace {

constexpr std::array<Duration Breakdown::*, 9> parts = {
    &Breakdown::forward,     &Breakdown::backward,   &Breakdown::update,
    &Breakdown::compression, &Breakdown::waiting,    &Breakdown::communication,
    &Breakdown::exposed,     &Breakdown::overlapped, &Breakdown::idle};

}  // namespace

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  for (const auto part : parts) this->*part += other.*part;
  return *this;
}

Breakdown Breakdown::operator*(int64_t times) const {
  Breakdown sum;
  for (const auto part : parts) sum.*part = this->*part * times;
  return sum;
}

Breakdown Breakdown::operator/(int64_t count) const {
  Breakdown mean;
  for (const auto part : parts) mean.*part = Duration::ps((this->*part).ps() / count);
  return mean;
}

Account Account::in_turns(const Breakdown& computed, Duration communication) {
  Account account{.parts = computed, .carried = communication};
  account.parts.communication = communication;
  account.parts.waiting = Duration::longest();
  return account;
}

Account& Account::operator+=(const Account& other) {
  parts += other.parts;
  carried += other.carried;
  return *this;
}

Breakdown Account::settled(int64_t count, Duration total) const {
  Breakdown mean = parts / count;
  const Duration iteration = Duration::ps(total.ps() / count);
  const Duration compute = mean.computed();
  if (compute > iteration)
    for (const auto part :
         {&Breakdown::forward, &Breakdown::backward, &Breakdown::update, &Breakdown::compression})
      mean.*part = Duration::ps(static_cast<int64_t>(
          std::floor(static_cast<double>((mean.*part).ps()) * (iteration / compute))));
  mean.exposed = iteration - mean.computed();
  const Duration outside =
      std::min({Duration::ps(carried.ps() / count), mean.communication, mean.exposed});
  mean.overlapped = std::min(mean.overlapped, mean.communication - outside);
  mean.waiting = std::min(mean.waiting, mean.exposed - outside);
  mean.idle = mean.exposed - outside - mean.waiting;
  return mean;
}

void BusyTimes::add(Time start, Time end) {
  if (end <= start) return;
  if (times_.empty() || start > times_.back().end) return times_.push_back({start, end});
  // Mostly it meets the last one; what it meets before that becomes one with it.
  auto first = times_.end();
  while (first != times_.begin() && (first - 1)->end >= start) --first;
  next_ = std::min(next_, static_cast<std::size_t>(first - times_.begin()));
  auto last = first;
  while (last != times_.end() && last->start <= end) ++last;
  if (first == last) {
    times_.insert(first, {start, end});
    return;
  }
  *first = {std::min(start, first->start), std::max(end, (last - 1)->end)};
  times_.erase(first + 1, last);
}

void BusyTimes::forget(Time until) {
  std::erase_if(times_, [&](const Interval& one) { return one.end <= until; });
  next_ = 0;
}

Time BusyTimes::finish(Time now, Duration work, double slowdown) {
  while (next_ < times_.size() && times_[next_].end <= now) ++next_;
  SlowedWork slowed(now, work, slowdown);
  for (std::size_t i = next_; i < times_.size() && slowed.end() > times_[i].start; ++i) {
    slowed.turn(std::max(now, times_[i].start), true);
    if (slowed.end() <= times_[i].end) break;
    slowed.turn(times_[i].end, false);
  }
  return slowed.end();
}

Duration BusyTimes::within(Time from, Time to) const {
  Duration sum;
  for (const Interval& busy : times_)
    if (busy.end > from && busy.start < to)
      sum += std::min(busy.end, to) - std::max(busy.start, from);
  return sum;
}

Duration BusyTimes::again(const BusyTimes& more) {
  Duration sum;
  for (const Interval& one : more.times_) sum += within(one.start, one.end);
  for (const Interval& one : more.times_) add(one.start, one.end);
  return sum;
}

void Ledger::open(Time start, bool is_plain, double slowdown) {
  start_ = start;
  is_plain_ = is_plain;
  slowdown_ = slowdown;
  parts_ = {};
  busy_.clear();
  slowing_.forget(start);
  earlier_.forget(start);
  waits_.clear();
}

Time Ledger::exchange(Time ready, Time everybody, Time sent, Time end) {
  const Time begin = std::min(sent, end);
  const Time waited = std::min(everybody, begin);
  parts_.waiting += waited - ready;
  parts_.communication += end - begin;
  busy_.add(begin, end);
  slow_down(begin, end);
  waits_.add(ready, waited);
  return begin;
}

void Ledger::count_once() {
  parts_.communication = busy_.within(Time(), Time::last()) - earlier_.again(busy_);
  parts_.waiting = waits_.within(Time(), Time::last());
}

void Ledger::repeat_backward(const Ledger& before, Duration encoding) {
  parts_.backward = before.parts_.backward;
  parts_.communication = before.parts_.communication;
  parts_.compression += encoding;
}

Account Ledger::close(Time backward_end) const {
  Account account{.parts = parts_, .carried = {}};
  account.parts.overlapped = account.carried = parts_.communication;
  if (!is_plain_)
    return account;  // messages may go on in the next forward: settled() finds how far
  account.carried = busy_.within(backward_end, Time::last());
  account.parts.overlapped = busy_.within(start_, backward_end);
  account.parts.waiting = waits_.within(backward_end, Time::last());
  return account;
}

}  // namespace sgdsim
