// Plays a graph in the order of what waits for what: iteration by iteration, each action once all
// that it waits for has ended. For work whose ends do not depend on what comes later.
//
// A clock is one worker's, or all workers'. `Moves` says when something ends that begins at a
// clock:
//
//   compute(action, clock)            moves the clock of the action's stream
//   exchange(action, ready, free)     returns the end of a message; its stream is free from `free`
//   enter(action, ready)              a message of a stream whose messages go together
//   hand_over(ended)                  plays those; calls ended(their number, end, cause) for each
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/play/causes.h"
#include "sim/play/clocks.h"
#include "sim/work/graph.h"

namespace sgdsim {

// What one of those that go together waited for last: the end of another one, or what another one,
// or itself, waited for to be ready.
struct HandedOverCause {
  std::size_t number = 0;
  bool is_its_end = false;
};

template <class Clock>
class Dataflow {
 public:
  // Plays the next iteration. Its graph may be another one than before, but for the actions up to
  // the last one that waits for an earlier iteration. `until`: plays no more than the actions
  // before that one.
  template <class Moves>
  void play(const WorkGraph& graph, Moves& moves, uint32_t until = UINT32_MAX) {
    if (waiting_.size() < graph.places()) waiting_.resize(graph.places());
    if (causes_ != nullptr) start_watching(graph);
    const std::span<const Action> actions =
        graph.actions().first(std::min<std::size_t>(graph.actions().size(), until));
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
      if (causes_ != nullptr) find_cause(action, waits, graph);
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
        entered_.push_back({i, own, cause_.event});
        continue;
      } else {
        stream = moves.exchange(action, std::move(ready), stream);
      }
      if (causes_ != nullptr) note(i, action, cause_.event, last_of(stream));
      release(own, stream, i);
    }
    hand_over(graph, moves);
    ++iteration_;
  }
  // From now on `causes` is told what waited for what.
  void watch(Causes* causes) { causes_ = causes; }
  // What the next iteration's action waits for last.
  Causes::Event cause_of_next(const WorkGraph& graph, uint32_t action) {
    const Action& next = graph.actions()[action];
    LastCause cause;
    cause.consider(last_[next.stream], last_of(streams_[next.stream]));
    for (const WorkGraph::Waits& waits : graph.waits())
      if (waits.action == action)
        cause.consider(waiting_for_[waits.place(iteration_)],
                       last_of(waiting_[waits.place(iteration_)]));
    return cause.event;
  }
  Causes::Event last_of_stream(uint8_t stream) const { return last_[stream]; }
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
    const WorkGraph::Release* begin = nullptr;
    const WorkGraph::Release* end = nullptr;
  };
  // Those of an action; the rest stays.
  static Releases releases_of(uint32_t action, Releases& rest) {
    Releases own{rest.begin, rest.begin};
    while (own.end != rest.end && own.end->from == action) ++own.end;
    rest.begin = own.end;
    return own;
  }
  void release(const Releases& releases, const Clock& end, uint32_t from) {
    for (const auto* one = releases.begin; one != releases.end; ++one) {
      const uint32_t place = one->to.place(iteration_ + one->ahead);
      if (causes_ != nullptr && last_of(end) >= last_of(waiting_[place]))
        waiting_for_[place] = {from, iteration_};
      join(waiting_[place], end);
    }
  }
  template <class Moves>
  void hand_over(const WorkGraph& graph, Moves& moves) {
    if (entered_.empty()) return;
    const uint8_t stream = graph.together();
    moves.hand_over([&](std::size_t number, const Clock& end, HandedOverCause cause) {
      const Entered& one = entered_[number];
      if (causes_ != nullptr) {
        const bool is_last = last_of(end) >= last_of(streams_[stream]);
        const Causes::Event last = last_[stream];
        note(one.action, graph.actions()[one.action],
             cause.is_its_end ? Causes::Event{entered_[cause.number].action, iteration_}
                              : entered_[cause.number].cause,
             last_of(end));
        if (!is_last) last_[stream] = last;
      }
      release(one.releases, end, one.action);
      join(streams_[stream], end);
    });
    entered_.clear();
  }

  // ---- what waited for what, if somebody watches
  void start_watching(const WorkGraph& graph) {
    waiting_for_.resize(waiting_.size());
    causes_->start_iteration(iteration_, graph.actions().size());
  }
  template <class Waits>
  void find_cause(const Action& action, Waits waits, const WorkGraph& graph) {
    const auto i = static_cast<uint32_t>(&action - graph.actions().data());
    cause_ = {};
    if (action.stream != graph.together())
      cause_.consider(last_[action.stream], last_of(streams_[action.stream]));
    if (action.follows != no_stream)
      cause_.consider(last_[action.follows], last_of(streams_[action.follows]));
    if (waits == graph.waits().end() || waits->action != i) return;
    const uint32_t place = waits->place(iteration_);
    cause_.consider(waiting_for_[place], last_of(waiting_[place]));
    waiting_for_[place] = {};
  }
  void note(uint32_t place, const Action& action, Causes::Event cause, Time end) {
    last_[action.stream] = {place, iteration_};
    causes_->note({place, iteration_}, action, cause, end);
  }

  static constexpr std::size_t most_streams = 3;
  std::array<Clock, most_streams> streams_{};
  std::vector<Clock> waiting_;
  struct Entered {
    uint32_t action = 0;
    Releases releases;
    Causes::Event cause;  // of its being ready
  };
  std::vector<Entered> entered_;
  uint32_t iteration_ = 0;
  Causes* causes_ = nullptr;
  LastCause cause_;                                 // of the present action
  std::array<Causes::Event, most_streams> last_{};  // of each stream
  std::vector<Causes::Event> waiting_for_;          // of each place
};

}  // namespace sgdsim
