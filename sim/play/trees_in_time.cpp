// Blocks of pipelines in time. An edge sends one block after the other, as soon as the next one is
// there; the edges of a worker share its ports. Where folds are in series the next block waits for
// the fold of the one before.
#include <algorithm>

#include "sim/play/calls_in_time.h"

namespace sgdsim {

TreesInPlay& CallsInTime::trees_of(std::size_t c, const TreePipeline& pipeline) {
  const auto me = cursors_[c].worker;
  const int first = pipeline.team.colleague(me, 0);
  const std::size_t call = cursors_[c].call;
  const auto [found, is_new] =
      trees_at_.try_emplace({call, cursors_[c].stage, first}, trees_.size());
  if (!is_new) return trees_[found->second];
  const TreeEdges& edges = edges_of_.try_emplace(&pipeline, pipeline).first->second;
  TreesInPlay trees;
  trees.pipeline = &pipeline;
  trees.edges = &edges;
  trees.call = call;
  trees.stage = cursors_[c].stage;
  trees.worker = first;
  trees.first_edge = static_cast<int>(edges_.size());
  const std::size_t size = place(pipeline.team.size);
  trees.to_do.resize(size);
  trees.is_here.resize(size);
  trees.folded_until.resize(size);
  for (std::size_t e = 0; e < edges.all().size(); ++e) {
    const TreeEdge& edge = edges.all()[e];
    trees.to_do[place(edge.from)] += edges.blocks(edge.flow);
    trees.to_do[place(edge.to)] += edges.blocks(edge.flow);
    EdgeInPlay& in_play = edges_.emplace_back();
    in_play.trees = trees_.size();
    in_play.number = static_cast<int>(e);
  }
  trees_.push_back(std::move(trees));
  return trees_.back();
}

// False if the worker has nothing to do there.
bool CallsInTime::enter_trees(std::size_t c, const TreePipeline& pipeline, Time now) {
  TreesInPlay& trees = trees_of(c, pipeline);
  const int v = pipeline.team.relative(cursors_[c].worker);
  if (trees.to_do[place(v)] == 0) return false;
  trees.is_here[place(v)] = true;
  trees.folded_until[place(v)] = now;
  const int flows = static_cast<int>(pipeline.flows.size());
  for (int flow = 0; flow < flows; ++flow) {
    for (const int edge : trees.edges->into(flow, v)) {
      const int number = trees.first_edge + edge;
      for (const Duration fold : std::exchange(edges_[place(number)].folds, {}))
        fold_block(number, fold, now);
    }
    for (const int edge : trees.edges->from(flow, v)) try_edge(trees.first_edge + edge, now);
  }
  return true;
}

void CallsInTime::try_edge(int number, Time now) {
  EdgeInPlay& edge = edges_[place(number)];
  const TreesInPlay& trees = trees_[edge.trees];
  const TreeEdge& at = trees.edges->all()[place(edge.number)];
  if (edge.on_its_way || edge.opens > now || !trees.is_here[place(at.from)] ||
      edge.sent == trees.edges->blocks(at.flow))
    return;
  const int64_t there = trees.edges->available(at.flow, at.from, [&](int other) {
    return edges_[place(trees.first_edge + other)].complete;
  });
  if (there <= edge.sent) return;
  const TreePipeline& pipeline = *trees.pipeline;
  Parcel what;
  const CallInPlay& call = calls_[trees.call];
  const int from = pipeline.team.colleague(trees.worker, at.from);
  const int to = pipeline.team.colleague(trees.worker, at.to);
  what.from = call.place_of(from);
  what.to = call.place_of(to);
  what.size_B = trees.edges->block_B(at.flow, edge.sent);
  what.has_own_link = pipeline.link_duplex;
  what.connection = call.connection;
  const Wires wires(*call.network, alpha_);
  what.acknowledged = wires.acknowledged(call.on_network(from), call.on_network(to), what.size_B,
                                         pipeline.goes_both_ways());
  what.leg = wires.leg(call.on_network(from), call.on_network(to), what.size_B,
                       pipeline.reduces && pipeline.flows[place(at.flow)].to_root && call.folds,
                       pipeline.goes_both_ways());
  if (jitter_.on())
    what.leg = Wires::scaled(what.leg, jitter_.factor(static_cast<uint64_t>(trees.stage) + 1,
                                                      (static_cast<uint64_t>(at.flow) << 48U) +
                                                          static_cast<uint64_t>(edge.sent),
                                                      static_cast<uint64_t>(from)));
  ++edge.sent;
  edge.on_its_way = true;
  const uint32_t message = clock_.send(what, now);
  if (message >= on_the_way_.size()) on_the_way_.resize(message + 1);
  on_the_way_[message] = {.fold = what.leg.fold,
                          .from = 0,
                          .to = 0,
                          .edge = number,
                          .stage = 0,
                          .round = 0,
                          .frees_sender = false};
}

void CallsInTime::block_left(int number, Duration fold, Time now) {
  EdgeInPlay& edge = edges_[place(number)];
  TreesInPlay& trees = trees_[edge.trees];
  const TreeEdge& at = trees.edges->all()[place(edge.number)];
  edge.on_its_way = false;
  edge.opens = trees.pipeline->reduce_overlaps ? now : now + fold;
  if (edge.opens == now)
    try_edge(number, now);
  else if (edge.sent < trees.edges->blocks(at.flow))
    plan(opens, place(number), edge.opens);
  done_with_block(trees, at.from, now);
}

void CallsInTime::block_came(int number, Duration fold, Time now) {
  EdgeInPlay& edge = edges_[place(number)];
  const TreesInPlay& trees = trees_[edge.trees];
  if (trees.is_here[place(trees.edges->all()[place(edge.number)].to)])
    fold_block(number, fold, now);
  else
    edge.folds.push_back(fold);
}

// One block after the other, in the order in which they come.
void CallsInTime::fold_block(int number, Duration fold, Time now) {
  const EdgeInPlay& edge = edges_[place(number)];
  TreesInPlay& trees = trees_[edge.trees];
  Time& until = trees.folded_until[place(trees.edges->all()[place(edge.number)].to)];
  if (fold == Duration()) {
    plan(folded, place(number), now);
    return;
  }
  until = std::max(until, now) + fold;
  plan(folded, place(number), until);
}

void CallsInTime::block_complete(int number, Time now) {
  EdgeInPlay& edge = edges_[place(number)];
  TreesInPlay& trees = trees_[edge.trees];
  const TreeEdge& at = trees.edges->all()[place(edge.number)];
  ++edge.complete;
  const int first = trees.first_edge;
  trees.edges->for_each_behind(at, [&](int next) { try_edge(first + next, now); });
  done_with_block(trees, at.to, now);
}

void CallsInTime::done_with_block(TreesInPlay& trees, int member, Time now) {
  if (--trees.to_do[place(member)] > 0) return;
  const int worker = trees.pipeline->team.colleague(trees.worker, member);
  const std::size_t c = cursor_of(static_cast<uint32_t>(trees.call), worker);
  cursors_[c].round = 1;  // done with it
  plan(on, c, now);
}

}  // namespace sgdsim
