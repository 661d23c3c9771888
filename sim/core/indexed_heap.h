// The earliest of many moments that change: a binary heap that knows where each subject stands.
// Equal times leave in the order of the subjects' numbers.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

class IndexedHeap {
 public:
  struct Entry {
    Time time;
    uint32_t subject = 0;
    bool operator<(const Entry& other) const {
      return std::tie(time, subject) < std::tie(other.time, other.subject);
    }
  };

  bool empty() const { return entries_.empty(); }
  const Entry& first() const { return entries_.front(); }

  // Puts a subject in, or at another time.
  void set(uint32_t subject, Time time) {
    if (subject >= places_.size()) places_.resize(subject + 1, nowhere);
    if (places_[subject] == nowhere) {
      entries_.push_back({time, subject});
      rise(entries_.size() - 1, entries_.back());
      return;
    }
    move({time, subject}, places_[subject]);
  }
  // Nothing if it is not there.
  void remove(uint32_t subject) {
    if (subject >= places_.size() || places_[subject] == nowhere) return;
    const std::size_t place = places_[subject];
    places_[subject] = nowhere;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place < entries_.size()) move(last, place);
  }

 private:
  static constexpr uint32_t nowhere = UINT32_MAX;

  void put(std::size_t place, const Entry& entry) {
    entries_[place] = entry;
    places_[entry.subject] = static_cast<uint32_t>(place);
  }
  void move(const Entry& entry, std::size_t place) {
    if (place > 0 && entry < entries_[(place - 1) / 2])
      rise(place, entry);
    else
      sink(place, entry);
  }
  void rise(std::size_t place, Entry entry) {
    for (; place > 0 && entry < entries_[(place - 1) / 2]; place = (place - 1) / 2)
      put(place, entries_[(place - 1) / 2]);
    put(place, entry);
  }
  void sink(std::size_t place, Entry entry) {
    for (std::size_t child = 2 * place + 1; child < entries_.size(); child = 2 * place + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1] < entries_[child]) ++child;
      if (!(entries_[child] < entry)) break;
      put(place, entries_[child]);
      place = child;
    }
    put(place, entry);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> places_;  // of each subject
};

}  // namespace sgdsim
