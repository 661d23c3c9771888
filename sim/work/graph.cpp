// Edges in the order in which they are played.
#include "sim/work/graph.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace sgdsim {

void WorkGraph::clear() {
  actions_.clear();
  wanted_.clear();
  leads_.clear();
}

void WorkGraph::close(uint8_t together) {
  const auto count = static_cast<uint32_t>(actions_.size());
  together_ = together;
  handed_over_at_ = count;
  if (together != no_stream) {
    const auto first = std::find_if(actions_.begin(), actions_.end(), [&](const Action& action) {
      return action.follows == together && action.stream != together;
    });
    handed_over_at_ = static_cast<uint32_t>(first - actions_.begin());
  }
  waits_.clear();
  releases_.clear();
  places_ = 0;
  if (wanted_.empty() && leads_.empty()) return;

  std::vector<uint32_t> rings(count);
  for (const std::vector<Edge>* edges : {&wanted_, &leads_})
    for (const Edge& edge : *edges)
      rings[edge.to] = std::max(rings[edge.to], std::bit_ceil(edge.ahead + 1));
  std::vector<uint32_t> first(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (rings[i] == 0) continue;
    waits_.push_back({i, places_, rings[i]});
    first[i] = places_;
    places_ += rings[i];
  }
  releases_.reserve(wanted_.size());
  for (const Edge& edge : wanted_) {
    if (edge.ahead == 0 && edge.from >= edge.to)
      throw std::logic_error("an action stands before what it waits for");
    if (edge.ahead == 0 && actions_[edge.from].stream == together)
      handed_over_at_ = std::min(handed_over_at_, edge.to);
    releases_.push_back({edge.from, edge.ahead, {edge.to, first[edge.to], rings[edge.to]}});
  }
  const auto earlier = [](const Release& a, const Release& b) { return a.from < b.from; };
  if (!std::is_sorted(releases_.begin(), releases_.end(), earlier))
    std::stable_sort(releases_.begin(), releases_.end(), earlier);
}

}  // namespace sgdsim
