// A priority queue of events for a clock that only moves forward: a radix heap with digits of four
// bits.
//
// Events of one time leave in the order in which they were planned. An event lies at the level of
// the highest digit in which its time differs from the time of the last event taken, in the bucket
// of that digit (Ahuja et al., J. ACM 37(2), 1990; with several bits a digit it is a timing wheel
// of wheels), so that it is moved at most once per digit of that difference and usually once or
// twice. Equal times always share a bucket and buckets keep their order, hence the order of
// planning.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

template <class Payload>
class EventQueue {
 public:
  struct Event {
    Time time;
    Payload payload;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(Time time, const Payload& payload) {
    assert(time >= last_);
    place({time, payload});
    ++size_;
  }

  Event pop() {
    return pop([](std::span<const Event>) {});
  }
  // The same. soon(events) hears of some events, a few at a time, not long before they leave: time
  // to fetch from memory what they need.
  template <class Soon>
  Event pop(const Soon& soon) {
    assert(size_ > 0);
    if (taken_ == now_.size()) refill(soon);
    --size_;
    return now_[taken_++];
  }

  // Sets the clock back to the beginning, of an empty queue.
  void restart() {
    assert(size_ == 0);
    now_.clear();
    taken_ = 0;
    last_ = Time();
  }

  // Whether another event has the time of the last one taken. To look for the next time instead
  // would move the clock there, and events before it could not be planned any more.
  bool another_now() const { return taken_ < now_.size(); }

 private:
  static constexpr unsigned digit_bits = 4;
  static constexpr unsigned digits = 1U << digit_bits;
  static constexpr unsigned levels = 64 / digit_bits;

  // Buckets are lists of chunks, and the chunk that was emptied last is filled next: what is in use
  // stays in the cache.
  struct Chunk {
    static constexpr std::size_t room = std::max<std::size_t>(4, 496 / sizeof(Event));
    Chunk* next = nullptr;
    std::size_t count = 0;
    std::array<Event, room> events;
  };
  struct Bucket {
    Chunk* first = nullptr;
    Chunk* last = nullptr;
  };

  Chunk* unused_chunk() {
    if (unused_ == nullptr) {
      chunks_.emplace_back();
      return &chunks_.back();
    }
    Chunk* chunk = std::exchange(unused_, unused_->next);
    chunk->next = nullptr;
    chunk->count = 0;
    return chunk;
  }

  void place(const Event& event) {
    const auto time = static_cast<uint64_t>(event.time.ps());
    const uint64_t difference = time ^ static_cast<uint64_t>(last_.ps());
    if (difference == 0) {
      now_.push_back(event);
      return;
    }
    const unsigned level = (static_cast<unsigned>(std::bit_width(difference)) - 1) / digit_bits;
    const unsigned digit = static_cast<unsigned>(time >> (level * digit_bits)) & (digits - 1);
    Bucket& bucket = buckets_[level * digits + digit];
    if (bucket.last == nullptr) {
      bucket.first = bucket.last = unused_chunk();
      filled_[level] = static_cast<uint16_t>(filled_[level] | (1U << digit));
      filled_levels_ |= 1U << level;
    } else if (bucket.last->count == Chunk::room) {
      bucket.last = bucket.last->next = unused_chunk();
    }
    bucket.last->events[bucket.last->count++] = event;
  }

  // Moves the clock to the earliest event and spreads its bucket over the lower ones.
  template <class Soon>
  void refill(const Soon& soon) {
    now_.clear();
    taken_ = 0;
    const auto level = static_cast<unsigned>(std::countr_zero(filled_levels_));
    const auto digit = static_cast<unsigned>(std::countr_zero(filled_[level]));
    const Bucket source = std::exchange(buckets_[level * digits + digit], {});
    filled_[level] = static_cast<uint16_t>(filled_[level] & (filled_[level] - 1));
    if (filled_[level] == 0) filled_levels_ &= filled_levels_ - 1;
    last_ = source.first->events[0].time;
    if (level > 0)
      for (const Chunk* chunk = source.first; chunk != nullptr; chunk = chunk->next)
        for (std::size_t i = 0; i < chunk->count; ++i)
          last_ = std::min(last_, chunk->events[i].time);
    if (source.first == source.last)
      soon(std::span<const Event>(source.first->events.data(), source.first->count));
    for (Chunk* chunk = source.first; chunk != nullptr;) {
      for (std::size_t i = 0; i < chunk->count; ++i) place(chunk->events[i]);
      Chunk* next = chunk->next;
      chunk->next = unused_;
      unused_ = chunk;
      chunk = next;
    }
  }

  std::array<Bucket, levels * digits> buckets_;
  std::array<uint16_t, levels> filled_{};  // a bit for each bucket
  uint32_t filled_levels_ = 0;
  std::deque<Chunk> chunks_;
  Chunk* unused_ = nullptr;
  std::vector<Event> now_;  // of the last time
  std::size_t taken_ = 0;   // of those
  std::size_t size_ = 0;
  Time last_;
};

}  // namespace sgdsim
