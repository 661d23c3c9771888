// Blocks along trees, a second time: the list schedule in its plainest form, which at every moment
// looks at every edge, in order of priority, and starts what can start. It knows no events, no
// pending looks and no recurrence, and is far too slow for anything but this test.
#include <algorithm>
#include <doctest/doctest.h>
#include <tuple>

#include "sim/play/pipeline_engine.h"
#include "tests/collective_cases.h"

using namespace sgdsim;

namespace {

struct PlainEdge {
  int flow = 0, from = 0, to = 0, hop = 0, out_port = 0, in_port = 0;
  std::size_t sent = 0;
  Time last_taken;
  std::vector<Time> complete;  // by block; last(): not yet known
};

struct Take {  // a block that waits for the reduce engine of its receiver
  Time at;
  std::size_t edge = 0, block = 0;
};

class PlainSchedule {
 public:
  PlainSchedule(const TreePipeline& pipeline, const Wires& wires, int base,
                std::vector<Time>& clocks)
      : pipeline_(pipeline), wires_(wires), base_(base), clocks_(clocks) {
    for (int f = 0; f < static_cast<int>(pipeline.flows.size()); ++f) add_flow(f);
    const std::size_t ports = std::max(edges_.size(), static_cast<std::size_t>(pipeline.team.size));
    out_free_.resize(ports);
    in_free_.resize(ports);
    for (int v = 0; v < pipeline.team.size; ++v) fold_free_.push_back(clock(v));
    for (const PlainEdge& edge : edges_) {
      out_free(edge) = clock(edge.from);
      in_free(edge) = clock(edge.to);
    }
  }

  void play() {
    Time now = *std::min_element(fold_free_.begin(), fold_free_.end());
    while (now < Time::last()) {
      fold_until(now);
      while (start_all(now)) fold_until(now);
      now = next_moment(now);
    }
    for (const PlainEdge& edge : edges_) {
      CHECK(edge.sent == edge.complete.size());
      clock(edge.from) = std::max(clock(edge.from), out_free(edge));
      clock(edge.to) = std::max({clock(edge.to), in_free(edge), edge.last_taken});
      for (const Time end : edge.complete) clock(edge.to) = std::max(clock(edge.to), end);
    }
  }

 private:
  Time& clock(int v) {
    return clocks_[static_cast<std::size_t>(pipeline_.team.colleague(base_, v))];
  }
  Time& out_free(const PlainEdge& e) { return out_free_[static_cast<std::size_t>(e.out_port)]; }
  Time& in_free(const PlainEdge& e) { return in_free_[static_cast<std::size_t>(e.in_port)]; }
  const TreeFlow& flow_of(const PlainEdge& edge) const {
    return pipeline_.flows[static_cast<std::size_t>(edge.flow)];
  }
  bool folds(const PlainEdge& edge) const { return pipeline_.reduces && flow_of(edge).to_root; }

  void add_flow(int f) {
    const TreeFlow& flow = pipeline_.flows[static_cast<std::size_t>(f)];
    auto depth = [&](int v) {
      int d = -1;
      for (; v >= 0; v = flow.parents[static_cast<std::size_t>(v)]) ++d;
      return d;
    };
    int deepest = 0;
    for (int v = 0; v < pipeline_.team.size; ++v) deepest = std::max(deepest, depth(v));
    for (int v = 0; v < pipeline_.team.size; ++v) {
      const int parent = flow.parents[static_cast<std::size_t>(v)];
      if (parent < 0) continue;
      PlainEdge edge;
      edge.flow = f;
      edge.from = flow.to_root ? v : parent;
      edge.to = flow.to_root ? parent : v;
      edge.hop = flow.to_root ? deepest - depth(v) : depth(parent);
      const auto number = static_cast<int>(edges_.size());
      edge.out_port = pipeline_.link_duplex ? number : edge.from;
      edge.in_port = pipeline_.link_duplex ? number : edge.to;
      edge.complete.assign(static_cast<std::size_t>(flow.block_count()), Time::last());
      edges_.push_back(edge);
    }
  }

  Leg leg(const PlainEdge& edge, std::size_t block) const {
    auto left = static_cast<int64_t>(block);
    double size_B = 0;
    for (const BlockRun& run : flow_of(edge).blocks) {
      if (left >= 0 && left < run.count) size_B = run.size_B;
      left -= run.count;
    }
    return wires_.leg(pipeline_.team.colleague(base_, edge.from),
                      pipeline_.team.colleague(base_, edge.to), size_B, folds(edge));
  }

  // Whether a flow's block is complete at a member; a released flow starts where it is released.
  bool is_there(int flow, int v, std::size_t block, Time now) const {
    bool has_source = false;
    for (const PlainEdge& edge : edges_) {
      if (edge.flow != flow || edge.to != v) continue;
      has_source = true;
      if (edge.complete[block] > now) return false;
    }
    const int released_by = pipeline_.flows[static_cast<std::size_t>(flow)].released_by;
    return has_source || released_by < 0 || is_there(released_by, v, block, now);
  }

  bool can_start(const PlainEdge& edge, Time now) {
    return edge.sent < edge.complete.size() && is_there(edge.flow, edge.from, edge.sent, now) &&
           out_free(edge) <= now && in_free(edge) - leg(edge, edge.sent).flight <= now;
  }

  bool start_all(Time now) {
    std::vector<std::size_t> ready;
    for (std::size_t e = 0; e < edges_.size(); ++e)
      if (can_start(edges_[e], now)) ready.push_back(e);
    auto priority = [&](std::size_t e) {
      const PlainEdge& edge = edges_[e];
      return std::tuple(flow_of(edge).priority_class, edge.sent, edge.flow, edge.hop, e);
    };
    std::sort(ready.begin(), ready.end(),
              [&](std::size_t a, std::size_t b) { return priority(a) < priority(b); });
    for (const std::size_t e : ready)
      if (can_start(edges_[e], now)) start(e, now);
    return !ready.empty();
  }

  void start(std::size_t e, Time now) {
    PlainEdge& edge = edges_[e];
    const Leg way = leg(edge, edge.sent);
    const Time first_byte = now + way.flight;
    const Time taken = std::max(first_byte + way.in_busy, first_byte + way.transit);
    edge.last_taken = taken;
    out_free(edge) = now + way.out_busy;
    in_free(edge) = first_byte + way.in_busy;
    if (folds(edge) && pipeline_.reduce_overlaps) {
      takes_.push_back({taken, e, edge.sent});
    } else {
      edge.complete[edge.sent] = taken + way.fold;
      if (folds(edge)) in_free(edge) = taken + way.fold;
    }
    ++edge.sent;
  }

  void fold_until(Time now) {
    std::stable_sort(takes_.begin(), takes_.end(),
                     [](const Take& a, const Take& b) { return a.at < b.at; });
    while (!takes_.empty() && takes_.front().at <= now) {
      const Take take = takes_.front();
      takes_.erase(takes_.begin());
      PlainEdge& edge = edges_[take.edge];
      Time& free = fold_free_[static_cast<std::size_t>(edge.to)];
      free = std::max(free, take.at) + leg(edge, take.block).fold;
      edge.complete[take.block] = free;
    }
  }

  Time next_moment(Time now) {
    Time next = Time::last();
    auto may_be = [&](Time at) {
      if (at > now) next = std::min(next, at);
    };
    for (const PlainEdge& edge : edges_) {
      for (const Time end : edge.complete) may_be(end);
      if (edge.sent == edge.complete.size()) continue;
      may_be(out_free(edge));
      may_be(in_free(edge) - leg(edge, edge.sent).flight);
    }
    for (const Take& take : takes_) may_be(take.at);
    return next;
  }

  const TreePipeline& pipeline_;
  const Wires& wires_;
  int base_;
  std::vector<Time>& clocks_;
  std::vector<PlainEdge> edges_;
  std::vector<Time> out_free_, in_free_, fold_free_;
  std::vector<Take> takes_;
};

std::vector<Time> plainly_played(const TreePipeline& pipeline, const Wires& wires,
                                 std::vector<Time> clocks) {
  for (int worker = 0; worker < wires.network().workers(); ++worker)
    if (pipeline.team.takes_part(worker) && worker / pipeline.team.stride % pipeline.team.size == 0)
      PlainSchedule(pipeline, wires, worker, clocks).play();
  return clocks;
}

}  // namespace

TEST_CASE("pipelines are played as the plain list schedule would") {
  Random random(31);
  int checked = 0;
  for (const char* name : {"lp", "double_binary_tree", "hierarchical"})
    for (const Operation operation :
         {Operation::broadcast, Operation::reduce, Operation::allreduce})
      for (int i = 0; i < 150; ++i) {
        CollectiveCase one = draw_case(random, algorithm_named(name, ""), operation,
                                       {.most_ranks = 14, .most_messages = 700});
        const Wires wires(one.network, one.options.alpha);
        const std::vector<Time> starts = draw_starts(random, one.ranks());
        INFO(one.text());
        for (const Stage& stage : one.program().stages) {
          const auto* pipeline = std::get_if<TreePipeline>(&stage);
          if (pipeline == nullptr) continue;
          const std::vector<Time> plain = plainly_played(*pipeline, wires, starts);
          std::vector<Time> clocks = starts;
          play_trees(*pipeline, 1, wires, {}, clocks);
          CHECK(clocks == plain);
          if (is_plain_chain(*pipeline)) {
            clocks = starts;
            play_chain(*pipeline, 1, wires, {}, clocks);
            CHECK(clocks == plain);
          }
          ++checked;
        }
      }
  CHECK(checked >= 700);
}

// Graham's anomaly with three workers: alpha = 2, beta = 2; halves A of 2 B (6 ps a hop) along
// 1 -> 2 -> 0 and B of 1 B (4 ps) along 2 -> 1 -> 0. Without folds both halves want worker 0 at 6
// and A goes first: A is back at 0 at 12, everywhere at 24, and B, which it holds up twice, at 32.
// With gamma = 1 A is folded until 8, B slips in front at 6 and is everywhere at 19, A at 31.
TEST_CASE("where flows compete, a faster fold may end later") {
  CollectiveCase one;
  one.algorithm = &algorithm_named("double_binary_tree", "");
  one.size = Bytes(3);
  one.block = Bytes(2);
  for (const auto& [gamma, expected_ps] :
       std::vector<std::pair<double, int64_t>>{{0, 32}, {1, 31}}) {
    one.network = Network::uniform(3, {Duration::ps(2), PerByte::ps(2), PerByte::ps(gamma)});
    CHECK(one.time().ps() == expected_ps);
  }
}
