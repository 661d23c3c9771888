// A queue of resources by the levels at which a sweep from low to high looks at them.
//
// Levels that differ by less than a part in 64 share a bucket, in which the least is looked for:
// where levels are spread, as on a busy network, a bucket holds one or two. Where many are alike,
// their bucket becomes a heap when its turn comes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgdsim {

class LevelQueue {
 public:
  struct Entry {
    double level = 0;  // not negative
    uint32_t number = 0;
  };

  bool empty() const { return size_ == 0; }

  // No lower than the last one taken.
  void push(double level, uint32_t number) {
    const std::size_t place = bucket_of(level);
    Bucket& bucket = buckets_[place];
    bucket.push_back({level, number});
    filled_[place / 64] |= uint64_t{1} << (place % 64);
    ++size_;
    if (place == now_ && is_heap_) std::push_heap(bucket.begin(), bucket.end(), comes_later);
  }

  Entry pop() {
    Bucket& bucket = first();
    if (is_heap_)
      std::pop_heap(bucket.begin(), bucket.end(), comes_later);
    else
      std::swap(*least(bucket), bucket.back());
    const Entry entry = bucket.back();
    bucket.pop_back();
    if (bucket.empty()) {
      filled_[now_ / 64] &= ~(uint64_t{1} << (now_ % 64));
      is_heap_ = false;
    }
    --size_;
    return entry;
  }

  // Of an empty queue.
  void restart() { now_ = 0; }

 private:
  using Bucket = std::vector<Entry>;
  static constexpr unsigned bits = 6;  // of the fraction that tell buckets apart
  // From 233 B/s to 16 TB/s; what is beyond shares the buckets at the ends.
  static constexpr unsigned octaves = 36;
  static constexpr uint64_t least_exponent = 1023 - 32;
  static constexpr std::size_t bucket_count = octaves << bits;
  static constexpr std::size_t most_looked_through = 32;

  // Equal levels by number: rounding must not depend on how a library orders its heaps.
  static bool comes_later(const Entry& one, const Entry& other) {
    return one.level != other.level ? one.level > other.level : one.number > other.number;
  }

  // Doubles that are not negative have the order of their bits. This is std::bit_cast, which the
  // library for browsers does not have.
  static std::size_t bucket_of(double level) {
    const uint64_t place = __builtin_bit_cast(uint64_t, level) >> (52 - bits);
    constexpr uint64_t least_place = least_exponent << bits;
    if (place < least_place) return 0;
    return static_cast<std::size_t>(std::min<uint64_t>(place - least_place, bucket_count - 1));
  }

  static Bucket::iterator least(Bucket& bucket) {
    return std::min_element(bucket.begin(), bucket.end(), [](const Entry& one, const Entry& other) {
      return comes_later(other, one);
    });
  }

  Bucket& first() {
    std::size_t word = now_ / 64;
    while (filled_[word] == 0) ++word;
    const std::size_t place = word * 64 + static_cast<std::size_t>(__builtin_ctzll(filled_[word]));
    Bucket& bucket = buckets_[place];
    if (place != now_) is_heap_ = false;
    now_ = place;
    if (!is_heap_ && bucket.size() > most_looked_through) {
      std::make_heap(bucket.begin(), bucket.end(), comes_later);
      is_heap_ = true;
    }
    return bucket;
  }

  std::array<Bucket, bucket_count> buckets_;
  std::array<uint64_t, bucket_count / 64> filled_{};  // a bit for each bucket
  std::size_t now_ = 0;                               // the bucket that was looked at last
  bool is_heap_ = false;                              // that one
  std::size_t size_ = 0;
};

}  // namespace sgdsim
