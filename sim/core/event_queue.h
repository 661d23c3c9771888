// A priority queue of events for a clock that only moves forward: a radix heap with digits of six
// bits, whose lowest buckets are sorted.
//
// Events of one time leave in the order in which they were planned. An event lies at the level of
// the highest digit in which its time differs from a time that has passed, in the bucket of that
// digit (Ahuja et al., J. ACM 37(2), 1990; with several bits a digit it is a timing wheel of
// wheels). The lowest bucket is spread over lower ones, or sorted into the run of events that come
// next if it is small: an event is usually moved twice. What is planned before the end of the run
// is sorted into it. A run that grows too long by that goes back into buckets, which are lower than
// before, so that an event cannot be sorted in again and again. Equal times always share a bucket
// and buckets keep their order, hence the order of planning.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <deque>
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
    assert(time >= now_);
    if (time > run_end_)
      place({time, payload});
    else
      insert({time, payload});
    ++size_;
  }

  [[gnu::always_inline]] Event pop() {
    assert(size_ > 0);
    if (taken_ == run_.size()) refill();
    --size_;
    now_ = run_[taken_].time;
    return run_[taken_++];
  }

  // Sets the clock back to the beginning, of an empty queue.
  void restart() {
    assert(size_ == 0);
    run_.clear();
    taken_ = 0;
    now_ = last_ = run_end_ = Time();
  }

  // Whether another event has the time of the last one taken. To look for the next time instead
  // would move the clock there, and events before it could not be planned any more.
  bool another_now() const { return taken_ < run_.size() && run_[taken_].time == now_; }

  // Shows events that will happen soon to those who want to fetch what they are about: when there
  // are about `far` events before them, and when there are about `near`. Most of them are shown,
  // but not all. To be called after each pop().
  template <class Near, class Far>
  void look_ahead(Near see_near, Far see_far) const {
    show(taken_ + near, see_near);
    show(taken_ + far, see_far);
  }

 private:
  static constexpr std::size_t near = 4;
  static constexpr std::size_t far = 12;
  static constexpr unsigned digit_bits = 6;
  static constexpr unsigned digits = 1U << digit_bits;
  static constexpr unsigned levels = (64 + digit_bits - 1) / digit_bits;

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
    Chunk* last = nullptr;  // means nothing if there is no first one
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
  // Returns the next one.
  Chunk* release(Chunk* chunk) {
    Chunk* next = std::exchange(chunk->next, unused_);
    unused_ = chunk;
    return next;
  }

  [[gnu::always_inline]] void place(const Event& event) {
    const auto time = static_cast<uint64_t>(event.time.ps());
    const uint64_t difference = time ^ static_cast<uint64_t>(last_.ps());
    if (difference == 0) {
      run_.push_back(event);
      return;
    }
    const unsigned level = (static_cast<unsigned>(std::bit_width(difference)) - 1) / digit_bits;
    const unsigned digit = static_cast<unsigned>(time >> (level * digit_bits)) & (digits - 1);
    Bucket& bucket = buckets_[level * digits + digit];
    if (bucket.first == nullptr) {
      bucket.first = bucket.last = unused_chunk();
      filled_[level] |= uint64_t{1} << digit;
      filled_levels_ |= 1U << level;
    } else if (bucket.last->count == Chunk::room) {
      bucket.last = bucket.last->next = unused_chunk();
    }
    bucket.last->events[bucket.last->count++] = event;
  }

  // Among those of the run, behind its equals.
  void insert(const Event& event) {
    // What has been taken goes when it is most of the run: long cascades of one moment stay small.
    if (taken_ > 8 * Chunk::room && 2 * taken_ > run_.size()) {
      run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
    }
    if (taken_ == run_.size() || run_.back().time <= event.time) return run_.push_back(event);
    if (run_.size() - taken_ > Chunk::room) {
      dissolve();
      return event.time == now_ ? run_.push_back(event) : place(event);
    }
    sort_in(event);
  }
  void sort_in(const Event& event) {
    std::size_t place = run_.size();
    run_.push_back(event);
    for (; place > taken_ && run_[place - 1].time > event.time; --place)
      run_[place] = run_[place - 1];
    run_[place] = event;
  }
  // What is not of this moment goes back into buckets. Those of its times are lower ones than that
  // from which the run came.
  void dissolve() {
    std::size_t kept = taken_;
    while (run_[kept].time == now_) ++kept;
    for (std::size_t i = kept; i < run_.size(); ++i) place(run_[i]);
    run_.resize(kept);
    run_end_ = now_;
  }

  // Moves the clock to the earliest event and its bucket into the run, sorted; or spreads the
  // bucket over the lower ones if it is large.
  void refill() {
    run_.clear();
    taken_ = 0;
    const auto level = static_cast<unsigned>(std::countr_zero(filled_levels_));
    const auto digit = static_cast<unsigned>(std::countr_zero(filled_[level]));
    const Bucket source = std::exchange(buckets_[level * digits + digit], {});
    filled_[level] &= filled_[level] - 1;
    if (filled_[level] == 0) filled_levels_ &= filled_levels_ - 1;
    if (source.first->next == nullptr) {
      for (std::size_t i = 0; i < source.first->count; ++i) sort_in(source.first->events[i]);
      release(source.first);
      last_ = run_.front().time;
    } else {
      last_ = source.first->events[0].time;
      if (level > 0)
        for (const Chunk* chunk = source.first; chunk != nullptr; chunk = chunk->next)
          for (std::size_t i = 0; i < chunk->count; ++i)
            last_ = std::min(last_, chunk->events[i].time);
      for (Chunk* chunk = source.first; chunk != nullptr; chunk = release(chunk))
        for (std::size_t i = 0; i < chunk->count; ++i) place(chunk->events[i]);
    }
    run_end_ = run_.back().time;
  }

  // Behind the run it counts on in the buckets that follow, as long as these are small.
  template <class See>
  void show(std::size_t place, See see) const {
    if (place < run_.size()) return see(run_[place].payload);
    if (filled_levels_ == 0) return;
    place -= run_.size();
    const auto level = static_cast<unsigned>(std::countr_zero(filled_levels_));
    for (uint64_t filled = filled_[level]; filled != 0; filled &= filled - 1) {
      const auto digit = static_cast<unsigned>(std::countr_zero(filled));
      const Chunk* chunk = buckets_[level * digits + digit].first;
      if (place < chunk->count) return see(chunk->events[place].payload);
      if (chunk->next != nullptr) return;
      place -= chunk->count;
    }
  }

  std::array<Bucket, levels * digits> buckets_;
  std::array<uint64_t, levels> filled_{};  // a bit for each bucket
  uint32_t filled_levels_ = 0;
  std::deque<Chunk> chunks_;
  Chunk* unused_ = nullptr;
  std::vector<Event> run_;  // the next ones, in order
  std::size_t taken_ = 0;   // of those
  Time run_end_;            // what is planned behind that goes into a bucket
  std::size_t size_ = 0;
  Time last_;  // by which events are in buckets
  Time now_;
};

}  // namespace sgdsim
