// A queue of resources by the levels at which a sweep from low to high looks at them.
//
// Levels that differ by less than a part in 128 share a bucket, in which the least is looked for:
// where levels are spread, as on a busy network, a bucket holds one or two. Where many are alike,
// those of their bucket become a heap when its turn comes. Entries of all buckets lie in one list
// that begins anew with each sweep, so that few lines of the cache are in use.
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
    ++size_;
    if (place == now_ && !crowd_.empty()) {
      crowd_.push_back({level, number});
      std::push_heap(crowd_.begin(), crowd_.end(), comes_later);
      return;
    }
    Bucket& bucket = buckets_[place];
    nodes_.push_back({{level, number}, bucket.first});
    bucket.first = static_cast<uint32_t>(nodes_.size());
    ++bucket.count;
    filled_[place / 64] |= uint64_t{1} << (place % 64);
  }

  Entry pop() {
    --size_;
    if (crowd_.empty()) find_first();
    if (crowd_.empty()) return take_least();
    std::pop_heap(crowd_.begin(), crowd_.end(), comes_later);
    const Entry entry = crowd_.back();
    crowd_.pop_back();
    return entry;
  }

  // Of an empty queue.
  void restart() {
    now_ = 0;
    nodes_.clear();
  }

 private:
  struct Node {
    Entry entry;
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

  // Doubles that are not negative have the order of their bits. This is std::bit_cast, which the
  // library for browsers does not have.
  static std::size_t bucket_of(double level) {
    const uint64_t place = __builtin_bit_cast(uint64_t, level) >> (52 - bits);
    constexpr uint64_t least_place = least_exponent << bits;
    if (place < least_place) return 0;
    return static_cast<std::size_t>(std::min<uint64_t>(place - least_place, bucket_count - 1));
  }

  // The bucket whose turn it is. If it holds many, they become a heap.
  void find_first() {
    std::size_t word = now_ / 64;
    while (filled_[word] == 0) ++word;
    now_ = word * 64 + static_cast<std::size_t>(__builtin_ctzll(filled_[word]));
    if (buckets_[now_].count <= most_looked_through) return;
    for (uint32_t at = buckets_[now_].first; at > 0; at = nodes_[at - 1].next)
      crowd_.push_back(nodes_[at - 1].entry);
    std::make_heap(crowd_.begin(), crowd_.end(), comes_later);
    empty_bucket();
  }

  Entry take_least() {
    Bucket& bucket = buckets_[now_];
    uint32_t* least = &bucket.first;
    for (uint32_t* at = &nodes_[*least - 1].next; *at > 0; at = &nodes_[*at - 1].next)
      if (comes_later(nodes_[*least - 1].entry, nodes_[*at - 1].entry)) least = at;
    const Node& node = nodes_[*least - 1];
    *least = node.next;
    if (--bucket.count == 0) empty_bucket();
    return node.entry;
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
