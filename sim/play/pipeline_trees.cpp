// Blocks along trees as a list schedule: at every moment, whatever can start starts, in order of
// priority. Two kinds of event: a block is complete at the end of an edge; an edge that was blocked
// looks again, at the earliest moment at which both its ports could be free. Port times only grow,
// so a look is never too late. Memory is per edge; blocks of an edge go in order, so a count says
// which have passed.
#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <utility>

#include "sim/core/event_queue.h"
#include "sim/core/prefetch.h"
#include "sim/core/sort_keys.h"
#include "sim/play/pipeline_engine.h"
#include "sim/work/tree_edges.h"

namespace sgdsim {
namespace {

// Where an edge of the trees stands, in one line of the cache.
struct alignas(64) Edge : TreeEdge {
  int64_t sent = 0;
  int64_t complete = 0;  // blocks that are complete at `to`
  Time taken;            // of the last block; a jittered one does not overtake it
  int out_port = 0;
  int in_port = 0;
  Time looks_at = Time::last();  // the pending look; last(): none
  int rank = 0;                  // by flow, hop and number
};

static_assert(sizeof(Edge) == 64);

// A number for each edge that could start, by which they go: its flow's class, its block and its
// rank. The product of blocks and edges is bounded, so that all of it fits.
struct Turns {
  unsigned rank_bits = 0;
  unsigned block_bits = 0;
  unsigned bits = 0;
  uint64_t turn(int priority_class, int64_t block, int rank) const {
    const uint64_t order =
        (static_cast<uint64_t>(priority_class) << block_bits) + static_cast<uint64_t>(block);
    return (order << rank_bits) + static_cast<uint64_t>(rank);
  }
  std::size_t rank(uint64_t turn) const {
    return static_cast<std::size_t>(turn & ((uint64_t{1} << rank_bits) - 1));
  }
};

Turns turns_of(const TreePipeline& pipeline, std::size_t edges) {
  Turns turns;
  turns.rank_bits = static_cast<unsigned>(std::bit_width(edges));
  unsigned class_bits = 0;
  for (const TreeFlow& flow : pipeline.flows) {
    const auto width = [](auto number) {
      return static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(number)));
    };
    turns.block_bits = std::max(turns.block_bits, width(flow.block_count()));
    class_bits = std::max(class_bits, width(flow.priority_class));
  }
  turns.bits = turns.rank_bits + turns.block_bits + class_bits;
  assert(turns.bits <= 64);
  return turns;
}

struct PortTimes {
  Time out_free;
  Time in_free;
};

enum class Kind : uint8_t { look, taken, complete };

struct Happening {
  Kind kind = Kind::look;
  int edge = 0;
  int64_t block = 0;
};

class PipelinePlayer {
 public:
  PipelinePlayer(const TreePipeline& pipeline, uint64_t stage, const EdgeWires& wires,
                 const MessageJitter& jitter, std::vector<Time>& clocks, MessageLog* log,
                 const Stopper* stopper)
      : pipeline_(pipeline),
        stage_(stage),
        wires_(wires),
        jitter_(jitter),
        clocks_(clocks),
        log_(log),
        lookout_(stopper),
        trees_(pipeline) {
    for (const TreeEdge& edge : trees_.all()) {
      const auto number = static_cast<int>(edges_.size());
      static_cast<TreeEdge&>(edges_.emplace_back()) = edge;
      edges_.back().out_port = edges_.back().in_port = number;  // if each has its own
    }
    by_rank_.resize(edges_.size());
    std::iota(by_rank_.begin(), by_rank_.end(), 0);
    std::stable_sort(by_rank_.begin(), by_rank_.end(), [&](int a, int b) {
      return std::pair(edge(a).flow, edge(a).hop) < std::pair(edge(b).flow, edge(b).hop);
    });
    for (std::size_t i = 0; i < by_rank_.size(); ++i) edge(by_rank_[i]).rank = static_cast<int>(i);
    turns_ = turns_of(pipeline, edges_.size());
    if (jitter.on()) return;
    if (!wires.network().is_uniform()) {
      known_legs_.resize(edges_.size());
      return;
    }
    for (const TreeFlow& flow : pipeline.flows) {
      std::vector<Leg>& legs = legs_.emplace_back();
      for (const BlockRun& run : flow.blocks)
        legs.push_back(wires.leg(0, 0, run.size_B, folds(flow), pipeline.goes_both_ways()));
    }
  }

  void play_team(int base) {
    base_ = base;
    std::fill(known_legs_.begin(), known_legs_.end(), KnownLeg{});
    queue_ = {};
    const auto size = static_cast<std::size_t>(pipeline_.team.size);
    if (!pipeline_.link_duplex) find_ports();
    ports_.assign(pipeline_.link_duplex ? edges_.size() : 2 * size, {});
    fold_free_.assign(size, Time());
    there_.assign(size * pipeline_.flows.size(), 0);
    for (std::size_t v = 0; v < size; ++v) fold_free_[v] = clock(static_cast<int>(v));
    for (Edge& edge : edges_) {
      edge.sent = edge.complete = 0;
      edge.taken = Time();
      edge.looks_at = Time::last();
      out_free(edge) = clock(edge.from);
      in_free(edge) = clock(edge.to);
      if (const Leaving* too = leaving(edge)) {
        ports_[static_cast<std::size_t>(too->out)].out_free = clock(edge.from);
        ports_[static_cast<std::size_t>(too->in)].in_free = clock(edge.to);
      }
    }
    for (int f = 0; f < flows(); ++f)
      for (int v = 0; v < pipeline_.team.size; ++v) there(f, v) = available_at(f, v);
    for (std::size_t e = 0; e < edges_.size(); ++e) candidates_.push_back(static_cast<int>(e));
    start_what_can(first_start());
    while (!queue_.empty()) {
      const auto first = queue_.pop();
      const Time now = first.time;
      fetch();
      happen(now, first.payload);
      while (queue_.another_now()) {
        const Happening next = queue_.pop().payload;
        fetch();
        happen(now, next);
      }
      start_what_can(now);
    }
    finish();
  }

 private:
  Time& clock(int v) {
    return clocks_[static_cast<std::size_t>(pipeline_.team.colleague(base_, v))];
  }
  Time& out_free(const Edge& edge) {
    return ports_[static_cast<std::size_t>(edge.out_port)].out_free;
  }
  Time& in_free(const Edge& edge) { return ports_[static_cast<std::size_t>(edge.in_port)].in_free; }
  // Ports inside nodes that an edge to another one takes, too.
  struct Leaving {
    int out = -1;
    int in = -1;
  };
  const Leaving* leaving(const Edge& edge) const {
    if (leaving_.empty()) return nullptr;
    const Leaving& its = leaving_[static_cast<std::size_t>(&edge - edges_.data())];
    return its.out < 0 ? nullptr : &its;
  }
  int flows() const { return static_cast<int>(pipeline_.flows.size()); }
  // Of the blocks of a flow: those that a member has.
  int64_t& there(int f, int v) {
    return there_[static_cast<std::size_t>(v) * pipeline_.flows.size() +
                  static_cast<std::size_t>(f)];
  }
  const TreeFlow& flow_of(const Edge& edge) const {
    return pipeline_.flows[static_cast<std::size_t>(edge.flow)];
  }
  Edge& edge(int e) { return edges_[static_cast<std::size_t>(e)]; }

  void find_ports();
  Time possible_at(const Edge& it, const Leg& leg);
  Time first_start();
  int64_t available_at(int f, int v) const {
    return trees_.available(f, v,
                            [&](int e) { return edges_[static_cast<std::size_t>(e)].complete; });
  }
  bool folds(const TreeFlow& flow) const { return pipeline_.reduces && flow.to_root; }
  Leg leg_of(const Edge& e, int64_t block);
  Leg leg_over(const Edge& e, int64_t block) const;
  void note_there(int f, int v);
  void fetch() const;
  void fetch_for_try(const Edge& edge);
  void happen(Time now, const Happening& happening);
  void start_what_can(Time now);
  void try_edge(int e, Time now);
  void finish();

  const TreePipeline& pipeline_;
  uint64_t stage_;
  const EdgeWires& wires_;
  const MessageJitter& jitter_;
  std::vector<Time>& clocks_;
  MessageLog* log_;
  Lookout lookout_;
  TreeEdges trees_;
  int base_ = 0;
  std::vector<Edge> edges_;
  std::vector<std::vector<Leg>> legs_;  // of each flow's runs of blocks, where all pairs are alike
  // Of each edge in the run of blocks that was asked for last, where pairs are not alike.
  struct KnownLeg {
    std::size_t run = SIZE_MAX;
    Leg leg;
  };
  std::vector<KnownLeg> known_legs_;
  std::vector<PortTimes> ports_;
  std::vector<Leaving> leaving_;  // of each edge; empty: none takes two
  PerByte inside_;                // what a byte takes there
  std::vector<Time> fold_free_;
  std::vector<int64_t> there_;
  std::vector<int> candidates_;
  std::vector<int> by_rank_;  // edges
  Turns turns_;
  std::vector<uint64_t> by_priority_;  // turns of candidates
  std::vector<uint64_t> spare_;
  EventQueue<Happening> queue_;
};

// Links inside a node are ports apart from those by which its workers leave it. Where they lead
// there, what leaves takes both: those inside for as long as its bytes take there.
void PipelinePlayer::find_ports() {
  const Network& network = wires_.network();
  const Network::InnerLinks& inner = network.inner_links();
  const auto least = network.least_rates(inner.node);
  const bool are_apart = inner.node > 1 && least.has_value();  // on graphs nobody knows
  const auto node_of = [&](int v) { return pipeline_.team.colleague(base_, v) / inner.node; };
  const int size = pipeline_.team.size;
  leaving_.clear();
  if (are_apart && inner.lead_out) {
    leaving_.resize(edges_.size());
    inside_ = least->inside;
  }
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    Edge& edge = edges_[e];
    const bool stays = are_apart && node_of(edge.from) == node_of(edge.to);
    edge.out_port = (stays ? size : 0) + edge.from;
    edge.in_port = (stays ? size : 0) + edge.to;
    if (!stays && !leaving_.empty()) leaving_[e] = {size + edge.from, size + edge.to};
  }
}

// When both ports, or all four, could be free.
Time PipelinePlayer::possible_at(const Edge& it, const Leg& leg) {
  Time possible = std::max(out_free(it), in_free(it) - leg.flight);
  if (const Leaving* too = leaving(it))
    possible = std::max({possible, ports_[static_cast<std::size_t>(too->out)].out_free,
                         ports_[static_cast<std::size_t>(too->in)].in_free - leg.flight});
  return possible;
}

Time PipelinePlayer::first_start() {
  Time first = Time::last();
  for (int v = 0; v < pipeline_.team.size; ++v) first = std::min(first, clock(v));
  return first;
}

Leg PipelinePlayer::leg_of(const Edge& e, int64_t block) {
  if (!legs_.empty()) return legs_[static_cast<std::size_t>(e.flow)][trees_.run_of(e.flow, block)];
  if (known_legs_.empty()) return leg_over(e, block);
  KnownLeg& known = known_legs_[static_cast<std::size_t>(&e - edges_.data())];
  if (const std::size_t run = trees_.run_of(e.flow, block); run != known.run)
    known = {run, leg_over(e, block)};
  return known.leg;
}

Leg PipelinePlayer::leg_over(const Edge& e, int64_t block) const {
  const int from = pipeline_.team.colleague(base_, e.from);
  const int to = pipeline_.team.colleague(base_, e.to);
  const Leg leg = wires_.leg(from, to, trees_.block_B(e.flow, block), folds(flow_of(e)),
                             pipeline_.goes_both_ways());
  if (!jitter_.on()) return leg;
  const uint64_t round = (static_cast<uint64_t>(e.flow) << 48U) + static_cast<uint64_t>(block);
  return Wires::scaled(leg, jitter_.factor(stage_, round, static_cast<uint64_t>(from)));
}

// And of the flows that begin where this one ends.
void PipelinePlayer::note_there(int f, int v) {
  there(f, v) = available_at(f, v);
  for (int next = 0; next < flows(); ++next)
    if (pipeline_.flows[static_cast<std::size_t>(next)].released_by == f &&
        trees_.into(next, v).empty())
      note_there(next, v);
}

// With 65,536 members a block waits for memory longer than it is worked on.
void PipelinePlayer::fetch() const {
  const auto edge_of = [this](const Happening& one) -> const Edge& {
    return edges_[static_cast<std::size_t>(one.edge)];
  };
  queue_.look_ahead(
      [&](const Happening& one) {
        if (one.kind == Kind::complete) trees_.fetch_behind(edge_of(one));
        if (one.kind == Kind::taken)
          prefetch(fold_free_[static_cast<std::size_t>(edge_of(one).to)]);
      },
      [&](const Happening& one) { prefetch(edge_of(one)); });
}

void PipelinePlayer::fetch_for_try(const Edge& edge) {
  prefetch(out_free(edge));
  prefetch(in_free(edge));
  prefetch(there(edge.flow, edge.from));
}

void PipelinePlayer::happen(Time now, const Happening& happening) {
  lookout_.passed(1);
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
      note_there(at.flow, at.to);
      trees_.for_each_behind(at, [&](int e) { candidates_.push_back(e); });
      return;
    }
  }
}

void PipelinePlayer::start_what_can(Time now) {
  constexpr std::size_t far = 8;
  by_priority_.clear();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (i + far < candidates_.size()) prefetch(edge(candidates_[i + far]));
    const Edge& it = edge(candidates_[i]);
    if (it.sent == trees_.blocks(it.flow) || there(it.flow, it.from) <= it.sent)
      continue;  // what brings a block will look again
    by_priority_.push_back(turns_.turn(flow_of(it).priority_class, it.sent, it.rank));
  }
  candidates_.clear();
  sort_keys(by_priority_, spare_, turns_.bits);
  // Starting an edge never makes another one able to start, so one pass is enough.
  const auto edge_at = [this](std::size_t i) { return by_rank_[turns_.rank(by_priority_[i])]; };
  for (std::size_t i = 0; i < by_priority_.size(); ++i) {
    if (i + 2 * far < by_priority_.size()) prefetch(edge(edge_at(i + 2 * far)));
    if (i + far < by_priority_.size()) fetch_for_try(edge(edge_at(i + far)));
    if (i == 0 || by_priority_[i] != by_priority_[i - 1]) try_edge(edge_at(i), now);
  }
}

void PipelinePlayer::try_edge(int e, Time now) {
  Edge& it = edge(e);
  const int64_t block = it.sent;
  const Leg leg = leg_of(it, block);
  const Time possible = possible_at(it, leg);
  if (possible > now) {
    if (it.looks_at <= possible) return;
    it.looks_at = possible;
    queue_.push(possible, {Kind::look, e, 0});
    return;
  }
  const Time first_byte = now + leg.flight;
  const Time taken = std::max(first_byte + std::max(leg.in_busy, leg.transit), it.taken);
  const bool is_folded = folds(flow_of(it));
  const bool in_series = is_folded && !pipeline_.reduce_overlaps;
  const Time complete = in_series ? taken + leg.fold : taken;
  out_free(it) = now + leg.out_busy;
  in_free(it) = in_series ? complete : first_byte + leg.in_busy;
  if (const Leaving* too = leaving(it)) {
    // Until it is there, what stays inside goes before it.
    const Duration busy = inside_.of(trees_.block_B(it.flow, block));
    Time& in = ports_[static_cast<std::size_t>(too->in)].in_free;
    ports_[static_cast<std::size_t>(too->out)].out_free = now + std::min(busy, leg.out_busy);
    in = std::max(in, now) + std::min(busy, leg.in_busy);
  }
  it.taken = taken;
  ++it.sent;
  const Kind next = is_folded && pipeline_.reduce_overlaps ? Kind::taken : Kind::complete;
  queue_.push(complete, {next, e, block});
  if (log_ != nullptr)
    log_->push_back({pipeline_.team.colleague(base_, it.from),
                     pipeline_.team.colleague(base_, it.to), it.flow, block,
                     trees_.block_B(it.flow, block), now, now + leg.out_busy, first_byte, taken,
                     leg.fold});
  // The next block, if it is there, waits for the ports that this one has just taken. Its flight is
  // its own, where messages are jittered.
  if (it.sent == trees_.blocks(it.flow)) return;
  if (there(it.flow, it.from) <= it.sent) return;
  const Time again = possible_at(it, leg_of(it, it.sent));
  if (it.looks_at > again) {
    it.looks_at = again;
    queue_.push(again, {Kind::look, e, 0});
  }
}

void PipelinePlayer::finish() {
  for (const Edge& it : edges_) {
    assert(it.complete == trees_.blocks(it.flow));
    clock(it.from) = std::max(clock(it.from), out_free(it));
    clock(it.to) = std::max(
        {clock(it.to), in_free(it), it.taken, fold_free_[static_cast<std::size_t>(it.to)]});
  }
}

}  // namespace

void play_trees(const TreePipeline& pipeline, uint64_t stage, const EdgeWires& wires,
                const MessageJitter& jitter, std::vector<Time>& clocks, MessageLog* log,
                const Stopper* stopper) {
  PipelinePlayer player(pipeline, stage, wires, jitter, clocks, log, stopper);
  for (int base = 0; base < wires.network().workers(); ++base)
    if (base / pipeline.team.stride % pipeline.team.size == 0 && pipeline.team.takes_part(base))
      player.play_team(base);
}

}  // namespace sgdsim
