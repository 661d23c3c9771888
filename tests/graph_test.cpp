// Timed marked graphs: what may wait for what, the player against a plain reading of every rule,
// and the greatest circle ratio against the period that is played.
#include "sim/work/graph.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <stdexcept>

#include "sim/core/random.h"
#include "sim/play/dataflow.h"

namespace sgdsim {
namespace {

constexpr int64_t never = -1;

// A graph, with what its actions take and which of them are messages, as a table to be read.
struct Drawing {
  struct Node {
    Action action;
    int64_t takes_ps = 0;
  };
  struct Edge {
    uint32_t from, to, ahead;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  // The last of a stream's actions that stands before this one.
  std::optional<std::size_t> latest_of_stream(std::size_t node, uint8_t stream) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < node; ++i)
      if (nodes[i].action.stream == stream) found = i;
    return found;
  }

  WorkGraph graph() const {
    WorkGraph made;
    for (const Node& node : nodes) made.add(node.action);
    for (const Edge& edge : edges) made.edge(edge.from, edge.to, edge.ahead);
    made.close();
    return made;
  }

  // Everything that an action waits for, and how many iterations ago.
  std::vector<std::pair<std::size_t, uint32_t>> causes(std::size_t node) const {
    std::vector<std::pair<std::size_t, uint32_t>> all;
    for (const uint8_t stream : {nodes[node].action.stream, nodes[node].action.follows}) {
      if (stream == no_stream) continue;
      const auto before = latest_of_stream(node, stream);
      if (before) {
        all.emplace_back(*before, 0);
      } else {  // the last one of the iteration before
        const auto last = latest_of_stream(nodes.size(), stream);
        if (last) all.emplace_back(*last, 1);
      }
    }
    for (const Edge& edge : edges)
      if (edge.to == node) all.emplace_back(edge.from, edge.ahead);
    return all;
  }

  // The end of every action in every iteration, one by one.
  std::vector<std::vector<int64_t>> ends(int iterations) const {
    std::vector<std::vector<int64_t>> end;
    for (int t = 0; t < iterations; ++t) {
      end.emplace_back(nodes.size());
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        int64_t begin = 0;
        for (const auto& [from, ahead] : causes(i))
          if (static_cast<int>(ahead) <= t)
            begin = std::max(begin, end[static_cast<std::size_t>(t) - ahead][from]);
        end.back()[i] = begin + nodes[i].takes_ps;
      }
    }
    return end;
  }
};

Drawing random_drawing(Random& random, int64_t most_ps) {
  Drawing drawing;
  const std::size_t count = 1 + random.below(12);
  for (std::size_t i = 0; i < count; ++i) {
    Action action;
    action.stream = static_cast<uint8_t>(random.below(3));
    action.activity = random.below(2) == 0 ? Activity::forward : Activity::message;
    action.follows = random.below(3) == 0 ? static_cast<uint8_t>(random.below(3)) : no_stream;
    action.first = action.last = static_cast<int32_t>(i);
    drawing.nodes.push_back(
        {action, static_cast<int64_t>(random.below(static_cast<uint64_t>(most_ps)))});
  }
  const std::size_t edges = random.below(2 * count);
  for (std::size_t e = 0; e < edges; ++e) {
    const auto from = static_cast<uint32_t>(random.below(count));
    const auto to = static_cast<uint32_t>(random.below(count));
    const auto ahead = static_cast<uint32_t>(random.below(4));
    drawing.edges.push_back({from, to, from < to ? ahead : std::max(1U, ahead)});
  }
  return drawing;
}

// One worker, or several that are alike but for their factors.
struct Times {
  const Drawing& drawing;
  std::vector<std::vector<int64_t>> ends;  // per iteration
  int64_t takes(const Action& action) const {
    return drawing.nodes[static_cast<std::size_t>(action.first)].takes_ps;
  }
  void note(const Action& action, Time end) {
    if (action.first == 0) ends.emplace_back(drawing.nodes.size(), never);
    ends.back()[static_cast<std::size_t>(action.first)] = end.ps();
  }
  void compute(const Action& action, Time& now) {
    now += Duration::ps(takes(action));
    note(action, now);
  }
  Time exchange(const Action& action, Time ready, Time free) {
    const Time end = std::max(ready, free) + Duration::ps(takes(action));
    note(action, end);
    return end;
  }
  void enter(const Action&, Time) {}
  template <class Ended>
  void hand_over(const Ended&) {}
};

// Whatever it does takes worker i (i + 1) times as long.
struct TimesOfMany {
  const Drawing& drawing;
  std::vector<std::vector<Clocks>> ends;
  static constexpr std::size_t workers = 3;
  void note(const Action& action, const Clocks& end) {
    if (action.first == 0) ends.emplace_back(drawing.nodes.size());
    ends.back()[static_cast<std::size_t>(action.first)] = end;
  }
  void move(const Action& action, Clocks& now) const {
    if (now.empty()) now.resize(1);
    now.resize(workers, now.front());
    for (std::size_t i = 0; i < workers; ++i)
      now[i] += Duration::ps(drawing.nodes[static_cast<std::size_t>(action.first)].takes_ps *
                             static_cast<int64_t>(i + 1));
  }
  void compute(const Action& action, Clocks& now) {
    move(action, now);
    note(action, now);
  }
  Clocks exchange(const Action& action, Clocks ready, const Clocks& free) {
    Clocks end = latest(std::move(ready), free);
    move(action, end);
    note(action, end);
    return end;
  }
  void enter(const Action&, const Clocks&) {}
  template <class Ended>
  void hand_over(const Ended&) {}
};

constexpr int iterations = 7;

// Whether a circle of the drawing gains on so much an iteration: weights are what it takes less
// `per_iteration` for every iteration that it goes on, in units of 1 / `parts` picoseconds.
bool some_circle_is_longer(const Drawing& drawing, int64_t per_iteration, int64_t parts) {
  const std::size_t count = drawing.nodes.size();
  std::vector<int64_t> longest(count, 0);
  for (std::size_t round = 0; round <= count; ++round) {
    bool moved = false;
    for (std::size_t to = 0; to < count; ++to)
      for (const auto& [from, ahead] : drawing.causes(to)) {
        const int64_t length = longest[from] + drawing.nodes[to].takes_ps * parts -
                               static_cast<int64_t>(ahead) * per_iteration;
        if (length <= longest[to]) continue;
        longest[to] = length;
        moved = true;
      }
    if (!moved) return false;
  }
  return true;
}

// Messages that end in the opposite order, 100 ps apart.
struct Together {
  std::vector<Time> ready;
  std::vector<Time> computed;
  void compute(const Action&, Time& now) {
    now += Duration::ps(10);
    computed.push_back(now);
  }
  static Time exchange(const Action&, Time, Time) { return {}; }
  void enter(const Action&, Time when) { ready.push_back(when); }
  template <class Ended>
  void hand_over(const Ended& ended) {
    for (std::size_t i = ready.size(); i-- > 0;)
      ended(i, ready[i] + Duration::ps(100 * static_cast<int64_t>(ready.size() - i)),
            HandedOverCause{i, false});
    ready.clear();
  }
};

}  // namespace

TEST_CASE("graph: one worker and several end when a plain reading of the rules says") {
  Random random(11);
  for (int round = 0; round < 5'000; ++round) {
    CAPTURE(round);
    const Drawing drawing = random_drawing(random, 1'000);
    const WorkGraph graph = drawing.graph();
    Times one{drawing, {}};
    Dataflow<Time> flow;
    for (int t = 0; t < iterations; ++t) flow.play(graph, one);
    REQUIRE(one.ends == drawing.ends(iterations));

    TimesOfMany many{drawing, {}};
    Dataflow<Clocks> flow_of_many;
    for (int t = 0; t < iterations; ++t) flow_of_many.play(graph, many);
    for (std::size_t worker = 0; worker < TimesOfMany::workers; ++worker) {
      Drawing slower = drawing;
      for (Drawing::Node& node : slower.nodes) node.takes_ps *= static_cast<int64_t>(worker + 1);
      const auto expected = slower.ends(iterations);
      for (std::size_t t = 0; t < expected.size(); ++t)
        for (std::size_t i = 0; i < drawing.nodes.size(); ++i)
          REQUIRE(at(many.ends[t][i], worker).ps() == expected[t][i]);
    }
  }
}

// Max-plus: the growth of x(t) is the greatest ratio of what a circle takes to the iterations that
// it goes on (Baccelli, Cohen, Olsder and Quadrat, Synchronization and Linearity, 1992).
TEST_CASE("graph: the period that is played is the greatest circle ratio") {
  Random random(12);
  int repeating = 0;
  for (int round = 0; round < 2'500; ++round) {
    CAPTURE(round);
    const Drawing drawing = random_drawing(random, 20);
    const WorkGraph graph = drawing.graph();
    Times times{drawing, {}};
    Dataflow<Time> flow;
    constexpr std::size_t played = 240;
    for (std::size_t t = 0; t < played; ++t) flow.play(graph, times);
    // The action that gets farthest, and after how many iterations it has gained the same again.
    const auto& last = times.ends.back();
    const auto farthest =
        static_cast<std::size_t>(std::max_element(last.begin(), last.end()) - last.begin());
    auto end = [&](std::size_t t) { return times.ends[t][farthest]; };
    for (std::size_t period = 1; period <= 12; ++period) {
      bool repeats = true;
      const int64_t gain_ps = end(played - 1) - end(played - 1 - period);
      for (std::size_t t = played / 2; t + period < played && repeats; ++t)
        repeats = end(t + period) - end(t) == gain_ps;
      if (!repeats) continue;
      ++repeating;
      const auto parts = static_cast<int64_t>(period);
      CHECK_FALSE(some_circle_is_longer(drawing, gain_ps, parts));
      if (gain_ps > 0) CHECK(some_circle_is_longer(drawing, gain_ps - 1, parts));
      break;
    }
  }
  CHECK(repeating >= 2'000);
}

TEST_CASE("graph: messages that go together are handed over before the first who waits for them") {
  // Two messages that end in the opposite order, and an update behind both; then one that nobody
  // waits for, which is handed over all the same.
  WorkGraph graph;
  graph.add({Activity::backward, 0, no_stream});
  graph.add({Activity::message, 1, 0});
  graph.add({Activity::backward, 0, no_stream});
  graph.add({Activity::message, 1, 0});
  graph.add({Activity::update, 0, 1});
  graph.close(1);
  CHECK(graph.handed_over_at() == 4);
  Together moves;
  Dataflow<Time> flow;
  flow.play(graph, moves);
  // Ready at 10 and 20; the first takes 200, the second 100.
  CHECK(moves.computed == std::vector<Time>{Time() + Duration::ps(10), Time() + Duration::ps(20),
                                            Time() + Duration::ps(220)});

  WorkGraph open;
  open.add({Activity::backward, 0, no_stream});
  open.add({Activity::message, 1, 0});
  open.close(1);
  CHECK(open.handed_over_at() == 2);
  Together rest;
  Dataflow<Time> other;
  other.play(open, rest);
  CHECK(rest.ready.empty());
  CHECK(other.free(1) == Time() + Duration::ps(110));
}

TEST_CASE("graph: what stands before its cause is refused") {
  WorkGraph graph;
  const uint32_t first = graph.add({Activity::forward, 0, no_stream});
  const uint32_t second = graph.add({Activity::backward, 0, no_stream});
  graph.edge(second, first, 1);
  graph.close();
  graph.edge(second, first, 0);
  CHECK_THROWS_AS(graph.close(), std::logic_error);
}

}  // namespace sgdsim
