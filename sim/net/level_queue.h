// A queue of resources by the levels at which a sweep from low to high looks at them.
//
// Levels that differ by less than a part in 128 share a bucket, in which the least is looked for:
// where levels are spread, as on a busy network, a bucket holds one or two. A bucket knows its
// resources only, so that a level may change within it. Where many are alike, those of their bucket
// become a heap when its turn comes. Entries of all buckets lie in one list that begins anew with
// each sweep, so that few lines of the cache are in use.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sgdsim {

class LevelQueue {
 public:
  struct Entry {
    double level = 0;  // not negative
    uint32_t number = 0;
  };

  static constexpr double none = std::numeric_limits<double>::infinity();

  // No lower than the last one taken.
  void push(double level, uint32_t number) {
    const std::size_t place = bucket_of(level);
    ++size_;
    if (is_crowd(place)) {
      crowd_.push_back({level, number});
      std::push_heap(crowd_.begin(), crowd_.end(), comes_later);
      return;
    }
    Bucket& bucket = buckets_[place];
    nodes_.push_back({number, bucket.first});
    bucket.first = static_cast<uint32_t>(nodes_.size());
    ++bucket.count;
    filled_[place / 64] |= uint64_t{1} << (place % 64);
  }

  // Whether who is in the queue for a level need not be pushed again for another one.
  bool serves(double level, double other) const {
    const std::size_t place = bucket_of(level);
    return level < none && place == bucket_of(other) && !is_crowd(place);
  }

  // The least, by what `level_of(number)` says now: none for those whose turn has been. False if
  // there is nobody.
  template <class LevelOf>
  bool take(Entry& entry, const LevelOf& level_of) {
    while (size_ > 0) {
      --size_;
      if (crowd_.empty()) find_first(level_of);
      const bool is_crowded = !crowd_.empty();
      entry = is_crowded ? take_from_crowd() : take_least(level_of);
      const bool is_old =
          is_crowded ? level_of(entry.number) != entry.level : bucket_of(entry.level) != now_;
      if (!is_old && entry.level < none) return true;
    }
    return false;
  }

  // Of an empty queue.
  void restart() {
    now_ = 0;
    nodes_.clear();
  }

 private:
  struct Node {
    uint32_t number = 0;
    uint32_t next = 0;  // of its bucket; counted from 1, 0: there is none
  };
  struct Bucket {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  static constexpr unsigned bits = 7;  // of the fraction that tell buckets apart
  // From 233 B/s to 16 TB/s; what is beyond shares the buckets at the ends.
  static constexpr unsigned octaves = 36;
  static constexpr uint64_t least_exponent = 1023 - 32;
  static constexpr std::size_t bucket_count = octaves << bits;
  static constexpr std::size_t most_looked_through = 32;

  // Equal levels by number: rounding must not depend on how a library orders its heaps.
  static bool comes_later(const Entry& one, const Entry& other) {
    return one.level != other.level ? one.level > other.level : one.number > other.number;
  }

  bool is_crowd(std::size_t place) const { return place == now_ && !crowd_.empty(); }

  // Doubles that are not negative have the order of their bits. This is std::bit_cast, which the
  // library for browsers does not have.
  static std::size_t bucket_of(double level) {
    const uint64_t place = __builtin_bit_cast(uint64_t, level) >> (52 - bits);
    constexpr uint64_t least_place = least_exponent << bits;
    if (place < least_place) return 0;
    return static_cast<std::size_t>(std::min<uint64_t>(place - least_place, bucket_count - 1));
  }

  // The bucket whose turn it is. If it holds many, they become a heap.
  template <class LevelOf>
  void find_first(const LevelOf& level_of) {
    std::size_t word = now_ / 64;
    while (filled_[word] == 0) ++word;
    now_ = word * 64 + static_cast<std::size_t>(__builtin_ctzll(filled_[word]));
    if (buckets_[now_].count <= most_looked_through) return;
    for (uint32_t at = buckets_[now_].first; at > 0; at = nodes_[at - 1].next)
      crowd_.push_back({level_of(nodes_[at - 1].number), nodes_[at - 1].number});
    std::make_heap(crowd_.begin(), crowd_.end(), comes_later);
    empty_bucket();
  }

  Entry take_from_crowd() {
    std::pop_heap(crowd_.begin(), crowd_.end(), comes_later);
    const Entry entry = crowd_.back();
    crowd_.pop_back();
    return entry;
  }

  template <class LevelOf>
  Entry take_least(const LevelOf& level_of) {
    Bucket& bucket = buckets_[now_];
    uint32_t* least = &bucket.first;
    Entry entry{level_of(nodes_[*least - 1].number), nodes_[*least - 1].number};
    for (uint32_t* at = &nodes_[*least - 1].next; *at > 0; at = &nodes_[*at - 1].next) {
      const uint32_t number = nodes_[*at - 1].number;
      const Entry other{level_of(number), number};
      if (!comes_later(entry, other)) continue;
      entry = other;
      least = at;
    }
    *least = nodes_[*least - 1].next;
    if (--bucket.count == 0) empty_bucket();
    return entry;
  }

  void empty_bucket() {
    buckets_[now_] = {};
    filled_[now_ / 64] &= ~(uint64_t{1} << (now_ % 64));
  }

  std::array<Bucket, bucket_count> buckets_{};
  std::array<uint64_t, bucket_count / 64> filled_{};  // a bit for each bucket
  std::vector<Node> nodes_;
  std::vector<Entry> crowd_;  // a heap: all of the bucket whose turn it is
  std::size_t now_ = 0;       // the bucket that was looked at last
  std::size_t size_ = 0;
};

}  // namespace sgdsim
