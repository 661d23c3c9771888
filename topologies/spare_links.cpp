// A search for a detour of each link. Where links are spare detours are short, and where one is
// not, the first that is looked at says so.
#include "topologies/spare_links.h"

#include <algorithm>
#include <vector>

#include "sim/core/cast.h"

namespace sgdsim {
namespace {

class Detours {
 public:
  explicit Detours(const Graph& graph) : graph_(graph), seen_(graph.vertices().size(), 0) {
    firsts_.assign(graph.vertices().size() + 1, 0);
    for_each_hop([&](int from, int, int) { ++firsts_[at(from) + 1]; });
    for (std::size_t i = 1; i < firsts_.size(); ++i) firsts_[i] += firsts_[i - 1];
    hops_.resize(firsts_.back());
    std::vector<std::size_t> next(firsts_.begin(), firsts_.end() - 1);
    for_each_hop([&](int from, int to, int connection) {
      hops_[next[at(from)]++] = {to, connection};
    });
  }

  bool is_spare(int connection) {
    const Connection& gone = graph_.connections()[at(connection)];
    const bool from_forwards = graph_.vertices()[at(gone.from)].forwards;
    const bool to_forwards = graph_.vertices()[at(gone.to)].forwards;
    if (!from_forwards) return reaches_the_same(gone.from, connection);
    if (!to_forwards) return reaches_the_same(gone.to, connection);
    return leads(gone.from, gone.to, connection) &&
           (!gone.both_ways || leads(gone.to, gone.from, connection));
  }

  bool is_tired() const { return looked_at_ > most_looked_at; }

 private:
  // Of vertices. A machine of which that is not all of it is made of equal parts by a shape.
  static constexpr std::size_t most_looked_at = 100'000'000;
  static constexpr int nowhere = -1;
  static constexpr int none = -1;
  struct Hop {
    int to = 0;
    int connection = 0;
  };

  template <class F>
  void for_each_hop(const F& f) const {
    int number = 0;
    for (const Connection& one : graph_.connections()) {
      f(one.from, one.to, number);
      if (one.both_ways) f(one.to, one.from, number);
      ++number;
    }
  }

  // How many vertices there are ways to; ends early once `to` is one.
  std::size_t count_from(int from, int to, int without) {
    ++search_;
    queue_.assign(1, from);
    seen_[at(from)] = search_;
    for (std::size_t next = 0; next < queue_.size() && !has_seen(to); ++next)
      visit(queue_[next], from, without);
    looked_at_ += queue_.size();
    return queue_.size();
  }
  void visit(int vertex, int from, int without) {
    if (vertex != from && !graph_.vertices()[at(vertex)].forwards) return;
    for (std::size_t h = firsts_[at(vertex)]; h < firsts_[at(vertex) + 1]; ++h) {
      const Hop& hop = hops_[h];
      if (hop.connection == without || seen_[at(hop.to)] == search_) continue;
      seen_[at(hop.to)] = search_;
      queue_.push_back(hop.to);
    }
  }
  bool has_seen(int vertex) const { return vertex != nowhere && seen_[at(vertex)] == search_; }
  bool leads(int from, int to, int without) {
    count_from(from, to, without);
    return has_seen(to);
  }
  bool reaches_the_same(int from, int without) {
    if (firsts_[at(from) + 1] - firsts_[at(from)] < 2) return false;
    const std::size_t before = count_from(from, nowhere, none);
    return count_from(from, nowhere, without) == before;
  }

  const Graph& graph_;
  std::vector<std::size_t> firsts_;  // of each vertex, into these
  std::vector<Hop> hops_;
  std::vector<uint32_t> seen_;  // by the search of this number
  uint32_t search_ = 0;
  std::vector<int> queue_;
  std::size_t looked_at_ = 0;
};

}  // namespace

std::optional<int> first_spare(const Graph& graph, const std::string& link_class) {
  std::optional<int> first;
  Detours detours(graph);
  const int count = static_cast<int>(graph.connections().size());
  for (int c = 0; c < count && !detours.is_tired(); ++c) {
    if (graph.connections()[at(c)].link_class != link_class) continue;
    if (!detours.is_spare(c)) return std::nullopt;
    if (!first) first = c;
  }
  return first;
}

}  // namespace sgdsim
