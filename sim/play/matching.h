// Which message goes to which receive: by sender and tag, first come first served.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/work/rank_schedule.h"

namespace sgdsim {

// Messages of all ranks that nobody has asked for, or receives without a message.
class Matching {
 public:
  explicit Matching(uint32_t ranks) : lists_(ranks) {}

  void add(uint32_t rank, uint32_t peer, uint32_t tag, uint32_t what) {
    if (!lists_[rank]) lists_[rank] = std::make_unique<OfRank>();
    if (peer == any || tag == any) lists_[rank]->has_any = true;
    List& list = lists_[rank]->lists.at(key(peer, tag));
    const Entry entry{order_++, what, none};
    if (list.front.what == none) {
      list.front = entry;
      return;
    }
    uint32_t place = unused_;
    if (place == none) {
      place = static_cast<uint32_t>(behind_.size());
      behind_.push_back(entry);
    } else {
      unused_ = behind_[place].next;
      behind_[place] = entry;
    }
    (list.front.next == none ? list.front : behind_[list.last]).next = place;
    list.last = place;
  }
  // The first to have come of all that fit, or nothing. A message fits what asks for anything.
  std::optional<uint32_t> take(uint32_t rank, uint32_t peer, uint32_t tag, bool is_message) {
    if (!lists_[rank]) return std::nullopt;
    Lists& lists = lists_[rank]->lists;
    List* best = nullptr;
    auto consider = [&](List* list) {
      if (list == nullptr) return;
      if (best == nullptr || list->front.order < best->front.order) best = list;
    };
    if (peer != any && tag != any) consider(lists.find(key(peer, tag)));
    if (is_message && lists_[rank]->has_any) {
      consider(lists.find(key(any, tag)));
      consider(lists.find(key(peer, any)));
      consider(lists.find(key(any, any)));
    } else if (!is_message && (peer == any || tag == any)) {
      for (List& list : lists.slots())
        if (list.front.what != none && (peer == any || list.key >> 32U == peer) &&
            (tag == any || static_cast<uint32_t>(list.key) == tag))
          consider(&list);
    }
    if (best == nullptr) return std::nullopt;
    const uint32_t what = best->front.what;
    const uint32_t place = best->front.next;
    if (place == none) {
      lists.remove(*best);
      return what;
    }
    best->front = behind_[place];
    behind_[place].next = unused_;
    unused_ = place;
    return what;
  }
  // By rank, sender and tag.
  template <class F>
  void for_each(const F& f) const {
    for (const std::unique_ptr<OfRank>& of_rank : lists_) {
      if (!of_rank) continue;
      std::vector<List> lists = of_rank->lists.slots();
      std::erase_if(lists, [](const List& list) { return list.front.what == none; });
      std::sort(lists.begin(), lists.end(),
                [](const List& a, const List& b) { return a.key < b.key; });
      for (const List& list : lists) {
        f(list.front.what);
        for (uint32_t place = list.front.next; place != none; place = behind_[place].next)
          f(behind_[place].what);
      }
    }
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint32_t any = RankOperation::any;
  struct Entry {
    uint64_t order = 0;
    uint32_t what = none;
    uint32_t next = none;  // of its list, or of places that are unused
  };
  // What came of one sender with one tag; most have one. Without any the slot is free.
  struct List {
    uint64_t key = 0;
    Entry front;
    uint32_t last = none;  // where others lie behind
  };
  // Each list lies at its own slot, or in a row of full ones that begins there.
  class Lists {
   public:
    const std::vector<List>& slots() const { return slots_; }
    std::vector<List>& slots() { return slots_; }
    List* find(uint64_t key) {
      if (slots_.empty()) return nullptr;
      List& list = slots_[place_of(key)];
      return list.front.what == none ? nullptr : &list;
    }
    // A new one has nothing yet, and must get something.
    List& at(uint64_t key) {
      if (4 * (filled_ + 1) > 3 * slots_.size())
        resize(std::max<std::size_t>(4, 2 * slots_.size()));
      List& list = slots_[place_of(key)];
      if (list.front.what == none) {
        list.key = key;
        ++filled_;
      }
      return list;
    }
    // Whoever lies behind it only because it lay there takes its slot.
    void remove(List& list) {
      auto hole = static_cast<std::size_t>(&list - slots_.data());
      for (std::size_t i = next(hole); slots_[i].front.what != none; i = next(i)) {
        const std::size_t from_own = (i - own_place(slots_[i].key)) & (slots_.size() - 1);
        const std::size_t from_hole = (i - hole) & (slots_.size() - 1);
        if (from_own < from_hole) continue;
        slots_[hole] = slots_[i];
        hole = i;
      }
      slots_[hole].front.what = none;
      --filled_;
      if (slots_.size() >= 64 && filled_ < slots_.size() / 8) resize(slots_.size() / 2);
    }

   private:
    std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
    std::size_t own_place(uint64_t key) const {
      constexpr uint64_t golden_ratio = 0x9e3779b97f4a7c15U;
      return static_cast<std::size_t>((key * golden_ratio) >> shift_);
    }
    std::size_t place_of(uint64_t key) const {
      std::size_t i = own_place(key);
      while (slots_[i].front.what != none && slots_[i].key != key) i = next(i);
      return i;
    }
    void resize(std::size_t slots) {
      std::vector<List> before(slots);
      before.swap(slots_);
      shift_ = static_cast<unsigned>(64 - std::countr_zero(slots_.size()));
      for (const List& list : before)
        if (list.front.what != none) slots_[place_of(list.key)] = list;
    }

    std::vector<List> slots_;  // a power of two, never full
    std::size_t filled_ = 0;
    unsigned shift_ = 0;
  };
  struct OfRank {
    Lists lists;
    bool has_any = false;  // or has had: something that asks for anybody or any tag
  };

  static uint64_t key(uint32_t peer, uint32_t tag) { return (uint64_t{peer} << 32U) | tag; }

  std::vector<std::unique_ptr<OfRank>> lists_;  // of each rank that has had any
  std::vector<Entry> behind_;                   // that are not the first of their lists
  uint32_t unused_ = none;
  uint64_t order_ = 0;
};

}  // namespace sgdsim
