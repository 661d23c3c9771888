// Which message goes to which receive: by sender and tag, first come first served.
#pragma once

#include <cstdint>
#include <map>
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
    uint32_t place = unused_;
    if (place == none) {
      place = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      unused_ = nodes_[place].next;
    }
    nodes_[place] = {order_++, what, none};
    if (!lists_[rank]) lists_[rank] = std::make_unique<OfRank>();
    constexpr uint32_t any = RankOperation::any;
    if (peer == any || tag == any) lists_[rank]->has_any = true;
    const auto [list, is_new] = lists_[rank]->lists.try_emplace(key(peer, tag), List{place, place});
    if (is_new) return;
    nodes_[list->second.last].next = place;
    list->second.last = place;
  }
  // The first to have come of all that fit, or nothing. A message fits what asks for anything.
  std::optional<uint32_t> take(uint32_t rank, uint32_t peer, uint32_t tag, bool is_message) {
    constexpr uint32_t any = RankOperation::any;
    if (!lists_[rank]) return std::nullopt;
    Lists& lists = lists_[rank]->lists;
    auto best = lists.end();
    auto consider = [&](Lists::iterator place) {
      if (place == lists.end()) return;
      if (best == lists.end() || order_of(place) < order_of(best)) best = place;
    };
    if (peer != any && tag != any) consider(lists.find(key(peer, tag)));
    if (is_message && lists_[rank]->has_any) {
      consider(lists.find(key(any, tag)));
      consider(lists.find(key(peer, any)));
      consider(lists.find(key(any, any)));
    } else if (!is_message && (peer == any || tag == any)) {
      for (auto place = lists.begin(); place != lists.end(); ++place)
        if ((peer == any || place->first >> 32U == peer) &&
            (tag == any || static_cast<uint32_t>(place->first) == tag))
          consider(place);
    }
    if (best == lists.end()) return std::nullopt;
    const uint32_t place = best->second.first;
    Node& node = nodes_[place];
    const uint32_t what = node.what;
    if (node.next == none)
      lists.erase(best);
    else
      best->second.first = node.next;
    node.next = unused_;
    unused_ = place;
    return what;
  }
  template <class F>
  void for_each(const F& f) const {
    for (const std::unique_ptr<OfRank>& of_rank : lists_) {
      if (!of_rank) continue;
      for (const auto& [key, list] : of_rank->lists)
        for (uint32_t place = list.first; place != none; place = nodes_[place].next)
          f(nodes_[place].what);
    }
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Node {
    uint64_t order = 0;
    uint32_t what = 0;
    uint32_t next = none;  // of its list, or of those unused
  };
  struct List {
    uint32_t first, last;
  };
  using Lists = std::map<uint64_t, List>;
  struct OfRank {
    Lists lists;
    bool has_any = false;  // or has had: something that asks for anybody or any tag
  };

  static uint64_t key(uint32_t peer, uint32_t tag) { return (uint64_t{peer} << 32U) | tag; }
  uint64_t order_of(Lists::iterator list) const { return nodes_[list->second.first].order; }

  std::vector<std::unique_ptr<OfRank>> lists_;  // of each rank that has had any
  std::vector<Node> nodes_;
  uint32_t unused_ = none;
  uint64_t order_ = 0;
};

}  // namespace sgdsim
