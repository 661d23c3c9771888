// The inside of play_in_time: every worker walks through the stages of each of its collectives by
// itself. play_in_time.cpp plays rounds, trees_in_time.cpp the blocks of pipelines.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "sim/core/agenda.h"
#include "sim/net/flows.h"
#include "sim/net/port_resources.h"
#include "sim/play/play_in_time.h"
#include "sim/work/tree_edges.h"

namespace sgdsim {

// What a worker has got in a round that it has not come to yet.
struct Early {
  int stage = 0;
  int round = 0;
  Duration fold;
  bool is_offer = false;  // rendezvous: the message waits for its receiver
  uint32_t message = 0;
  Time told;
};

// Where a worker stands in a collective.
struct Cursor {
  int stage = 0;
  int round = 0;
  int to_send = 0;  // of this round, not off its hands yet
  int to_get = 0;
  Duration fold;      // of what came in this round
  Time folded_until;  // where several messages come in a round
  std::vector<Early> early;
};

struct OnTheWay {
  std::size_t from = 0;  // cursors
  std::size_t to = 0;
  int edge = -1;  // of trees, if it is a block
  int stage = 0;
  int round = 0;
  Duration fold;
  bool frees_sender = false;  // when it has arrived
};

// Where the blocks of a pipeline are, in one team of one collective.
struct TreesInPlay {
  const TreePipeline* pipeline = nullptr;
  const TreeEdges* edges = nullptr;
  std::size_t call = 0;
  int stage = 0;
  int worker = 0;              // one of the team
  int first_edge = 0;          // the number of the first of its edges
  std::vector<int64_t> to_do;  // of each member, blocks to send and to get
  std::vector<bool> is_here;   // the member
  std::vector<Time> folded_until;
};

struct EdgeInPlay {
  std::size_t trees = 0;
  int number = 0;  // among their edges
  int64_t sent = 0;
  int64_t complete = 0;         // where it leads to
  bool on_its_way = false;      // a block that has not left
  Time opens;                   // for the next block
  std::vector<Duration> folds;  // of blocks that came before their receiver
};

class PlayerInTime {
 public:
  PlayerInTime(std::span<const Call> calls, const SharingOptions& options)
      : calls_(calls),
        options_(options),
        workers_(static_cast<std::size_t>(calls.front().network->workers())),
        ports_(*calls.front().network),
        flows_(options.resources != nullptr ? *options.resources : ports_,
               {options.alpha, options.send_buffer_B, most_work(options)}, agenda_),
        cursors_(calls.size() * workers_),
        next_call_(workers_, 0),
        under_way_(workers_, 0),
        times_(calls.size()) {
    for (CallTimes& times : times_) {
      times.starts.resize(workers_);
      times.ends.resize(workers_);
    }
  }

  std::vector<CallTimes> play() {
    for (std::size_t c = 0; c < cursors_.size(); ++c)
      plan(ready, c, calls_[c / workers_].ready[c % workers_]);
    for (uint64_t moment = 0; !agenda_.empty(); ++moment) {
      if (moment % 4096 == 0 && options_.pause) options_.pause();
      const auto first = agenda_.pop();
      const Time now = first.time;
      happen(first.payload, now);
      while (agenda_.another_now()) happen(agenda_.pop().payload, now);
      flows_.settle(now);
    }
    return std::move(times_);
  }

 private:
  enum Kind : uint8_t { ready = Flows::kinds, on, opens, folded };

  // Some ten seconds, where ports are shared; wires are asked for.
  static double most_work(const SharingOptions& options) {
    return options.resources != nullptr ? std::numeric_limits<double>::infinity() : 4e8;
  }
  const Program& program(std::size_t c) const { return *calls_[c / workers_].program; }
  static std::size_t place(int number) { return static_cast<std::size_t>(number); }

  void plan(Kind kind, std::size_t cursor, Time when) {
    agenda_.push(when, Event(kind, static_cast<uint32_t>(cursor)));
  }

  void happen(const Event& event, Time now);
  void start_calls(std::size_t worker, Time now);
  void go_on(std::size_t c, Time now);
  bool enter_round(std::size_t c, const Phase& phase, Time now);
  void send(std::size_t c, const Phase& phase, int round, int receiver, Time now);
  void get_early(std::size_t c, Time now);
  void arrive(std::size_t c, int stage, int round, Duration fold, Time now);
  void leave_if_done(std::size_t c, Time now);
  void wait_for_all(std::size_t c, const Barrier& barrier, Time now);

  // Blocks of pipelines (trees_in_time.cpp).
  bool enter_trees(std::size_t c, const TreePipeline& pipeline, Time now);
  TreesInPlay& trees_of(std::size_t c, const TreePipeline& pipeline);
  void try_edge(int edge, Time now);
  void block_left(int edge, Duration fold, Time now);
  void block_came(int edge, Duration fold, Time now);
  void fold_block(int edge, Duration fold, Time now);
  void block_complete(int edge, Time now);
  void done_with_block(TreesInPlay& trees, int member, Time now);

  std::span<const Call> calls_;
  SharingOptions options_;
  std::size_t workers_;
  Agenda agenda_;
  PortResources ports_;
  Flows flows_;
  std::vector<Cursor> cursors_;  // of every worker, call by call
  std::vector<std::size_t> next_call_;
  std::vector<int> under_way_;
  std::vector<CallTimes> times_;
  std::vector<OnTheWay> on_the_way_;                             // by the number of the message
  std::map<std::tuple<std::size_t, int, int>, int> at_barrier_;  // call, stage, first member
  std::map<std::tuple<std::size_t, int, int>, std::size_t> trees_at_;  // likewise
  std::map<const TreePipeline*, TreeEdges> edges_of_;
  std::vector<TreesInPlay> trees_;
  std::vector<EdgeInPlay> edges_;
};

}  // namespace sgdsim
