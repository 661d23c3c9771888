// The edges over which a pipeline's blocks go, and who waits for whom.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/prefetch.h"
#include "sim/work/pipeline.h"

namespace sgdsim {

struct TreeEdge {
  int flow = 0;
  int from = 0;  // relative members
  int to = 0;
  int hop = 0;  // edges from the start of the flow, as far as a block has come
};

class TreeEdges {
 public:
  explicit TreeEdges(const TreePipeline& pipeline);

  const std::vector<TreeEdge>& all() const { return edges_; }
  std::span<const int> into(int flow, int member) const { return into_.of(place(flow, member)); }
  std::span<const int> from(int flow, int member) const { return from_.of(place(flow, member)); }
  int64_t blocks(int flow) const { return blocks_[at(flow)]; }
  // Among the runs of equal blocks of the flow.
  std::size_t run_of(int flow, int64_t block) const;
  double block_B(int flow, int64_t block) const {
    return pipeline_->flows[at(flow)].blocks[run_of(flow, block)].size_B;
  }
  // How many blocks of the flow are complete at the member, if `complete(edge)` are at an edge's
  // end.
  template <class Complete>
  int64_t available(int flow, int member, const Complete& complete) const {
    const std::span<const int> edges = into(flow, member);
    const int released_by = pipeline_->flows[at(flow)].released_by;
    if (edges.empty() && released_by >= 0) return available(released_by, member, complete);
    int64_t count = blocks(flow);
    for (const int edge : edges) count = std::min<int64_t>(count, complete(edge));
    return count;
  }
  // Calls f for every edge that may have a block to send once `edge` has brought one.
  template <class F>
  void for_each_behind(const TreeEdge& edge, const F& f) const {
    for (int flow = 0; flow < static_cast<int>(pipeline_->flows.size()); ++flow)
      if (flow == edge.flow || pipeline_->flows[at(flow)].released_by == edge.flow)
        for (const int next : from(flow, edge.to)) f(next);
  }
  // Into the cache, what that needs.
  void fetch_behind(const TreeEdge& edge) const {
    prefetch(into_.firsts[place(edge.flow, edge.to)]);
    prefetch(from_.firsts[place(edge.flow, edge.to)]);
  }

 private:
  // Edges of each flow and member, one list behind the other.
  struct Lists {
    std::vector<uint32_t> firsts;
    std::vector<int> edges;
    std::span<const int> of(std::size_t place) const {
      return {edges.data() + firsts[place], firsts[place + 1] - firsts[place]};
    }
  };
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  std::size_t place(int flow, int member) const { return at(flow) * members_ + at(member); }
  void add(int flow);
  Lists lists_by(int TreeEdge::*end) const;

  const TreePipeline* pipeline_;
  std::vector<TreeEdge> edges_;
  std::vector<int64_t> blocks_;
  std::size_t members_;
  Lists into_;
  Lists from_;
};

}  // namespace sgdsim
