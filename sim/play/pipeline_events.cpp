// Blocks along trees as a list schedule: at every moment, whatever can start starts, in order of
// priority. Two kinds of event: a block is complete at the end of an edge; an edge that was blocked
// looks again, at the earliest moment at which both its ports could be free. Port times only grow,
// so a look is never too late. Memory is per edge; blocks of an edge go in order, so a count says
// which have passed.
#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

#include "sim/core/event_queue.h"
#include "sim/play/pipeline_engine.h"

namespace sgdsim {
namespace {

struct Edge {
  int flow = 0;
  int from = 0;  // relative members
  int to = 0;
  int hop = 0;  // edges from the start of the flow, as far as a block has come
  int64_t sent = 0;
  int64_t complete = 0;  // blocks that are complete at `to`
  Time taken;            // of the last block; a jittered one does not overtake it
  int out_port = 0;
  int in_port = 0;
  Time looks_at = Time::last();  // the pending look; last(): none
};

enum class Kind : uint8_t { look, taken, complete };

struct Happening {
  Kind kind = Kind::look;
  int edge = 0;
  int64_t block = 0;
};

class PipelinePlayer {
 public:
  PipelinePlayer(const TreePipeline& pipeline, uint64_t stage, const Wires& wires,
                 const MessageJitter& jitter, std::vector<Time>& clocks,
                 std::vector<BlockTransfer>* log)
      : pipeline_(pipeline),
        stage_(stage),
        wires_(wires),
        jitter_(jitter),
        clocks_(clocks),
        log_(log) {
    for (std::size_t f = 0; f < pipeline.flows.size(); ++f) add_edges(static_cast<int>(f));
    for (const TreeFlow& flow : pipeline.flows) block_counts_.push_back(flow.block_count());
  }

  void play_team(int base) {
    base_ = base;
    queue_ = {};
    const auto size = static_cast<std::size_t>(pipeline_.team.size);
    const std::size_t ports = pipeline_.link_duplex ? edges_.size() : size;
    out_free_.assign(ports, Time());
    in_free_.assign(ports, Time());
    fold_free_.assign(size, Time());
    for (std::size_t v = 0; v < size; ++v) fold_free_[v] = clock(static_cast<int>(v));
    for (Edge& edge : edges_) {
      edge.sent = edge.complete = 0;
      edge.taken = Time();
      edge.looks_at = Time::last();
      out_free(edge) = clock(edge.from);
      in_free(edge) = clock(edge.to);
    }
    for (std::size_t e = 0; e < edges_.size(); ++e) candidates_.push_back(static_cast<int>(e));
    start_what_can(first_start());
    while (!queue_.empty()) {
      const auto first = queue_.pop();
      const Time now = first.time;
      happen(now, first.payload);
      while (queue_.another_now()) happen(now, queue_.pop().payload);
      start_what_can(now);
    }
    finish();
  }

 private:
  Time& clock(int v) {
    return clocks_[static_cast<std::size_t>(pipeline_.team.colleague(base_, v))];
  }
  Time& out_free(const Edge& edge) { return out_free_[static_cast<std::size_t>(edge.out_port)]; }
  Time& in_free(const Edge& edge) { return in_free_[static_cast<std::size_t>(edge.in_port)]; }
  const TreeFlow& flow_of(const Edge& edge) const {
    return pipeline_.flows[static_cast<std::size_t>(edge.flow)];
  }
  Edge& edge(int e) { return edges_[static_cast<std::size_t>(e)]; }

  void add_edges(int f);
  Time first_start();
  int64_t available_at(int f, int v) const;
  double block_B(int f, int64_t block) const;
  Leg leg_of(const Edge& e, int64_t block) const;
  void happen(Time now, const Happening& happening);
  void start_what_can(Time now);
  void try_edge(int e, Time now);
  void finish();

  const TreePipeline& pipeline_;
  uint64_t stage_;
  const Wires& wires_;
  const MessageJitter& jitter_;
  std::vector<Time>& clocks_;
  std::vector<BlockTransfer>* log_;
  int base_ = 0;
  std::vector<Edge> edges_;
  std::vector<int64_t> block_counts_;
  std::vector<std::vector<std::vector<int>>> edges_into_;  // by flow and member
  std::vector<std::vector<std::vector<int>>> edges_from_;
  std::vector<Time> out_free_, in_free_, fold_free_;
  std::vector<int> candidates_;
  EventQueue<Happening> queue_;
};

void PipelinePlayer::add_edges(int f) {
  const TreeFlow& flow = pipeline_.flows[static_cast<std::size_t>(f)];
  const auto size = flow.parents.size();
  std::vector<int> depth(size, -1);
  auto depth_of = [&](int v) {
    std::vector<int> way;
    for (; v >= 0 && depth[static_cast<std::size_t>(v)] < 0;
         v = flow.parents[static_cast<std::size_t>(v)])
      way.push_back(v);
    int d = v < 0 ? -1 : depth[static_cast<std::size_t>(v)];
    for (; !way.empty(); way.pop_back()) depth[static_cast<std::size_t>(way.back())] = ++d;
    return d;
  };
  int deepest = 0;
  for (std::size_t v = 0; v < size; ++v) deepest = std::max(deepest, depth_of(static_cast<int>(v)));
  for (std::size_t v = 0; v < size; ++v) deepest = std::max(deepest, depth[v]);
  edges_into_.emplace_back(size);
  edges_from_.emplace_back(size);
  for (std::size_t v = 0; v < size; ++v) {
    const int parent = flow.parents[v];
    if (parent < 0) continue;
    Edge edge;
    edge.flow = f;
    edge.from = flow.to_root ? static_cast<int>(v) : parent;
    edge.to = flow.to_root ? parent : static_cast<int>(v);
    edge.hop = flow.to_root ? deepest - depth[v] : depth[v] - 1;
    const auto number = static_cast<int>(edges_.size());
    edge.out_port = pipeline_.link_duplex ? number : edge.from;
    edge.in_port = pipeline_.link_duplex ? number : edge.to;
    edges_into_.back()[static_cast<std::size_t>(edge.to)].push_back(number);
    edges_from_.back()[static_cast<std::size_t>(edge.from)].push_back(number);
    edges_.push_back(edge);
  }
}

Time PipelinePlayer::first_start() {
  Time first = Time::last();
  for (int v = 0; v < pipeline_.team.size; ++v) first = std::min(first, clock(v));
  return first;
}

// How many blocks of flow f are complete at member v.
int64_t PipelinePlayer::available_at(int f, int v) const {
  const auto flow = static_cast<std::size_t>(f);
  const std::vector<int>& into = edges_into_[flow][static_cast<std::size_t>(v)];
  const int released_by = pipeline_.flows[flow].released_by;
  if (into.empty() && released_by >= 0) return available_at(released_by, v);
  int64_t available = block_counts_[flow];
  for (const int e : into)
    available = std::min(available, edges_[static_cast<std::size_t>(e)].complete);
  return available;
}

double PipelinePlayer::block_B(int f, int64_t block) const {
  for (const BlockRun& run : pipeline_.flows[static_cast<std::size_t>(f)].blocks) {
    if (block < run.count) return run.size_B;
    block -= run.count;
  }
  assert(false);
  return 0;
}

Leg PipelinePlayer::leg_of(const Edge& e, int64_t block) const {
  const int from = pipeline_.team.colleague(base_, e.from);
  const int to = pipeline_.team.colleague(base_, e.to);
  const bool folds = pipeline_.reduces && flow_of(e).to_root;
  const Leg leg = wires_.leg(from, to, block_B(e.flow, block), folds);
  if (!jitter_.on()) return leg;
  const uint64_t round = (static_cast<uint64_t>(e.flow) << 48U) + static_cast<uint64_t>(block);
  return Wires::scaled(leg, jitter_.factor(stage_, round, static_cast<uint64_t>(from)));
}

void PipelinePlayer::happen(Time now, const Happening& happening) {
  Edge& at = edge(happening.edge);
  switch (happening.kind) {
    case Kind::look:
      if (at.looks_at == now) at.looks_at = Time::last();
      candidates_.push_back(happening.edge);
      return;
    case Kind::taken: {  // the reduce engine takes blocks in the order of their arrival
      Time& free = fold_free_[static_cast<std::size_t>(at.to)];
      free = std::max(free, now) + leg_of(at, happening.block).fold;
      queue_.push(free, {Kind::complete, happening.edge, happening.block});
      return;
    }
    case Kind::complete: {
      ++at.complete;
      const auto node = static_cast<std::size_t>(at.to);
      for (std::size_t f = 0; f < pipeline_.flows.size(); ++f)
        if (static_cast<int>(f) == at.flow || pipeline_.flows[f].released_by == at.flow)
          candidates_.insert(candidates_.end(), edges_from_[f][node].begin(),
                             edges_from_[f][node].end());
      return;
    }
  }
}

void PipelinePlayer::start_what_can(Time now) {
  auto priority = [&](int e) {
    const Edge& it = edges_[static_cast<std::size_t>(e)];
    return std::tuple(flow_of(it).priority_class, it.sent, it.flow, it.hop, e);
  };
  std::sort(candidates_.begin(), candidates_.end(),
            [&](int a, int b) { return priority(a) < priority(b); });
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
  // Starting an edge never makes another one able to start, so one pass is enough.
  const std::vector<int> now_possible = std::exchange(candidates_, {});
  for (const int e : now_possible) try_edge(e, now);
}

void PipelinePlayer::try_edge(int e, Time now) {
  Edge& it = edge(e);
  const int64_t block = it.sent;
  if (block >= block_counts_[static_cast<std::size_t>(it.flow)]) return;
  if (available_at(it.flow, it.from) <= block) return;  // its completion will look again
  const Leg leg = leg_of(it, block);
  const Time possible = std::max(out_free(it), in_free(it) - leg.flight);
  if (possible > now) {
    if (it.looks_at <= possible) return;
    it.looks_at = possible;
    queue_.push(possible, {Kind::look, e, 0});
    return;
  }
  const Time first_byte = now + leg.flight;
  const Time taken = std::max(first_byte + std::max(leg.in_busy, leg.transit), it.taken);
  const bool folds = pipeline_.reduces && flow_of(it).to_root;
  const bool in_series = folds && !pipeline_.reduce_overlaps;
  const Time complete = in_series ? taken + leg.fold : taken;
  out_free(it) = now + leg.out_busy;
  in_free(it) = in_series ? complete : first_byte + leg.in_busy;
  it.taken = taken;
  ++it.sent;
  const Kind next = folds && pipeline_.reduce_overlaps ? Kind::taken : Kind::complete;
  queue_.push(complete, {next, e, block});
  if (log_ != nullptr)
    log_->push_back({pipeline_.team.colleague(base_, it.from),
                     pipeline_.team.colleague(base_, it.to), it.flow, block, now, complete});
  // The next block, if it is there, waits for the ports that this one has just taken. Its flight is
  // its own, where messages are jittered.
  if (it.sent == block_counts_[static_cast<std::size_t>(it.flow)]) return;
  if (available_at(it.flow, it.from) <= it.sent) return;
  const Time again = std::max(out_free(it), in_free(it) - leg_of(it, it.sent).flight);
  if (it.looks_at > again) {
    it.looks_at = again;
    queue_.push(again, {Kind::look, e, 0});
  }
}

void PipelinePlayer::finish() {
  for (const Edge& it : edges_) {
    assert(it.complete == block_counts_[static_cast<std::size_t>(it.flow)]);
    clock(it.from) = std::max(clock(it.from), out_free(it));
    clock(it.to) = std::max(
        {clock(it.to), in_free(it), it.taken, fold_free_[static_cast<std::size_t>(it.to)]});
  }
}

}  // namespace

void play_pipeline_by_events(const TreePipeline& pipeline, uint64_t stage, const Wires& wires,
                             const MessageJitter& jitter, std::vector<Time>& clocks,
                             std::vector<BlockTransfer>* log) {
  PipelinePlayer player(pipeline, stage, wires, jitter, clocks, log);
  for (int base = 0; base < wires.network().workers(); ++base)
    if (base / pipeline.team.stride % pipeline.team.size == 0 && pipeline.team.takes_part(base))
      player.play_team(base);
}

}  // namespace sgdsim
