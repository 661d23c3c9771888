// What a worker does in an iteration, and after what: a timed marked graph.
//
// Every worker has each action once per iteration. The actions of a stream follow one another, in
// the order of the graph and from one iteration to the next. An action may follow another stream,
// too: all that it has up to there. And an edge keeps an action from beginning before another one
// has ended, which was `ahead` iterations ago: by so many iterations may the follower lead. 0 is
// the same iteration, 1 training in step, K Pipe-SGD.
//
// The order of the graph is one in which it can be played: whatever an action waits for in its own
// iteration stands before it. So there are no circles that nobody can enter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sgdsim {

enum class Activity : uint8_t {
  forward,
  backward,
  compress,
  decompress,
  update,
  message,
  broadcast,
  waiting,
  begin,  // of the iteration: takes no time
  load    // of the next batch
};

constexpr uint8_t no_stream = UINT8_MAX;

struct Action {
  Activity activity = Activity::begin;
  uint8_t stream = 0;
  uint8_t follows = no_stream;
  int32_t first = 0;  // of its layers or messages, which follow one another: a backward pass goes
  int32_t last = 0;   // from the last to the first
};

class WorkGraph {
 public:
  void clear();
  void reserve(std::size_t actions) { actions_.reserve(actions); }
  // Returns the place of the action.
  uint32_t add(Action action) {
    actions_.push_back(action);
    return static_cast<uint32_t>(actions_.size() - 1);
  }
  void edge(uint32_t from, uint32_t to, uint32_t ahead = 0) {
    wanted_.push_back({from, to, ahead});
  }
  // The action waits for what was so many iterations ago, even if only graphs of other iterations
  // have the edge.
  void leads(uint32_t action, uint32_t ahead) { leads_.push_back({action, action, ahead}); }
  // `together`: the stream, if there is one, of which several actions may be under way at a time,
  // or not in the order of the graph. They are handed over together.
  void close(uint8_t together = no_stream);

  std::span<const Action> actions() const { return actions_; }
  uint8_t together() const { return together_; }
  // The first action that waits for those; the number of actions if none does.
  uint32_t handed_over_at() const { return handed_over_at_; }

  // Where what an action waits for is kept: a place for each iteration that may be under way.
  struct Waits {
    uint32_t action = 0;
    uint32_t first = 0;
    uint32_t rings = 0;  // a power of two
    uint32_t place(uint32_t iteration) const { return first + (iteration & (rings - 1)); }
  };
  std::span<const Waits> waits() const { return waits_; }  // in the order of the actions
  uint32_t places() const { return places_; }
  struct Release {
    uint32_t from = 0;
    uint32_t ahead = 0;
    Waits to;
  };
  std::span<const Release> releases() const { return releases_; }  // likewise

 private:
  struct Edge {
    uint32_t from = 0;
    uint32_t to = 0;
    uint32_t ahead = 0;
  };
  std::vector<Action> actions_;
  std::vector<Edge> wanted_;
  std::vector<Edge> leads_;
  std::vector<Waits> waits_;
  std::vector<Release> releases_;
  uint32_t places_ = 0;
  uint8_t together_ = no_stream;
  uint32_t handed_over_at_ = 0;
};

}  // namespace sgdsim
