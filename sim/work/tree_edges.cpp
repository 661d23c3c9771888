// Depths first, then an edge from every member that has a parent.
#include "sim/work/tree_edges.h"

#include <numeric>

namespace sgdsim {

TreeEdges::TreeEdges(const TreePipeline& pipeline)
    : pipeline_(&pipeline), members_(at(pipeline.team.size)) {
  for (int flow = 0; flow < static_cast<int>(pipeline.flows.size()); ++flow) add(flow);
  for (const TreeFlow& flow : pipeline.flows) blocks_.push_back(flow.block_count());
  into_ = lists_by(&TreeEdge::to);
  from_ = lists_by(&TreeEdge::from);
}

TreeEdges::Lists TreeEdges::lists_by(int TreeEdge::*end) const {
  Lists lists;
  lists.firsts.resize(pipeline_->flows.size() * members_ + 1);
  lists.edges.resize(edges_.size());
  for (const TreeEdge& edge : edges_) ++lists.firsts[place(edge.flow, edge.*end) + 1];
  std::partial_sum(lists.firsts.begin(), lists.firsts.end(), lists.firsts.begin());
  std::vector<uint32_t> next(lists.firsts.begin(), lists.firsts.end() - 1);
  for (std::size_t number = 0; number < edges_.size(); ++number) {
    const TreeEdge& edge = edges_[number];
    lists.edges[next[place(edge.flow, edge.*end)]++] = static_cast<int>(number);
  }
  return lists;
}

void TreeEdges::add(int number) {
  const TreeFlow& flow = pipeline_->flows[at(number)];
  const auto size = flow.parents.size();
  std::vector<int> depth(size, -1);
  auto depth_of = [&](int v) {
    std::vector<int> way;
    for (; v >= 0 && depth[at(v)] < 0; v = flow.parents[at(v)]) way.push_back(v);
    int d = v < 0 ? -1 : depth[at(v)];
    for (; !way.empty(); way.pop_back()) depth[at(way.back())] = ++d;
    return d;
  };
  int deepest = 0;
  for (std::size_t v = 0; v < size; ++v) deepest = std::max(deepest, depth_of(static_cast<int>(v)));
  for (std::size_t v = 0; v < size; ++v) deepest = std::max(deepest, depth[v]);
  for (std::size_t v = 0; v < size; ++v) {
    const int parent = flow.parents[v];
    if (parent < 0) continue;
    TreeEdge edge;
    edge.flow = number;
    edge.from = flow.to_root ? static_cast<int>(v) : parent;
    edge.to = flow.to_root ? parent : static_cast<int>(v);
    edge.hop = flow.to_root ? deepest - depth[v] : depth[v] - 1;
    edges_.push_back(edge);
  }
}

std::size_t TreeEdges::run_of(int flow, int64_t block) const {
  const std::vector<BlockRun>& runs = pipeline_->flows[at(flow)].blocks;
  std::size_t run = 0;
  for (; block >= runs[run].count; ++run) block -= runs[run].count;
  return run;
}

}  // namespace sgdsim
