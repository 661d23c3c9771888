// Plays a graph in the order of what waits for what: iteration by iteration, each action once all
// that it waits for has ended. For work whose ends do not depend on what comes later.
//
// A clock is one worker's, or all workers'. `Moves` says when something ends that begins at a
// clock:
//
//   compute(action, clock)            moves the clock of the action's stream
//   exchange(action, ready, free)     returns the end of a message; its stream is free from `free`
//   enter(action, ready)              a message of a stream whose messages go together
//   hand_over(ended)                  plays those; calls ended(their number, end) for each
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "sim/play/clocks.h"
#include "sim/work/graph.h"

namespace sgdsim {

template <class Clock>
class Dataflow {
 public:
  // Plays the next iteration. Its graph may be another one than before, but for the actions up to
  // the last one that waits for an earlier iteration.
  template <class Moves>
  void play(const WorkGraph& graph, Moves& moves) {
    if (waiting_.size() < graph.places()) waiting_.resize(graph.places());
    const std::span<const Action> actions = graph.actions();
    auto waits = graph.waits().begin();
    Releases next{graph.releases().data(), graph.releases().data() + graph.releases().size()};
    for (uint32_t i = 0; i < actions.size(); ++i) {
      if (i == graph.handed_over_at()) hand_over(graph, moves);
      const Action& action = actions[i];
      Clock& stream = streams_[action.stream];
      const bool computes = action.activity != Activity::message &&  //
                            action.activity != Activity::broadcast;
      Clock ready{};
      Clock& begin = computes ? stream : ready;
      if (action.follows != no_stream) join(begin, streams_[action.follows]);
      if (waits != graph.waits().end() && waits->action == i) {
        Clock& place = waiting_[waits->place(iteration_)];
        join(begin, place);
        place = Clock{};
        ++waits;
      }
      const Releases own = releases_of(i, next);
      if (computes) {
        moves.compute(action, stream);
      } else if (action.stream == graph.together()) {
        moves.enter(action, std::move(ready));
        entered_.push_back(own);
        continue;
      } else {
        stream = moves.exchange(action, std::move(ready), stream);
      }
      release(own, stream);
    }
    hand_over(graph, moves);
    ++iteration_;
  }
  // When a stream is free, after what has been played.
  const Clock& free(uint8_t stream) const { return streams_[stream]; }
  // When an action of the next iteration can begin, by all that has been played.
  Clock next(const WorkGraph& graph, uint32_t action) const {
    Clock ready = streams_[graph.actions()[action].stream];
    for (const WorkGraph::Waits& waits : graph.waits())
      if (waits.action == action) join(ready, waiting_[waits.place(iteration_)]);
    return ready;
  }

 private:
  struct Releases {
    const WorkGraph::Release* begin;
    const WorkGraph::Release* end;
  };
  // Those of an action; the rest stays.
  static Releases releases_of(uint32_t action, Releases& rest) {
    Releases own{rest.begin, rest.begin};
    while (own.end != rest.end && own.end->from == action) ++own.end;
    rest.begin = own.end;
    return own;
  }
  void release(const Releases& releases, const Clock& end) {
    for (const auto* one = releases.begin; one != releases.end; ++one)
      join(waiting_[one->to.place(iteration_ + one->ahead)], end);
  }
  template <class Moves>
  void hand_over(const WorkGraph& graph, Moves& moves) {
    if (entered_.empty()) return;
    moves.hand_over([&](std::size_t number, const Clock& end) {
      release(entered_[number], end);
      join(streams_[graph.together()], end);
    });
    entered_.clear();
  }

  static constexpr std::size_t most_streams = 3;
  std::array<Clock, most_streams> streams_{};
  std::vector<Clock> waiting_;
  std::vector<Releases> entered_;
  uint32_t iteration_ = 0;
};

}  // namespace sgdsim
