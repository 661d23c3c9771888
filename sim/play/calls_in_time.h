// Collectives in time, message by message, as their workers enter them: every worker walks through
// the stages of each of its collectives by itself. What arrives before its receiver is there is
// kept, so that the network serves what comes and not who waits.
//
// An actor of the clockwork (clockwork.h). calls_in_time.cpp plays rounds, trees_in_time.cpp the
// blocks of pipelines. Who uses it hears when a worker is done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/play/clockwork.h"
#include "sim/play/ring_moment.h"
#include "sim/play/sharing.h"
#include "sim/play/stand_ins.h"
#include "sim/work/schedule.h"
#include "sim/work/tree_edges.h"

namespace sgdsim {

inline constexpr uint32_t no_number = UINT32_MAX;

// A message that waits for its receiver.
struct Offer {
  Time told;  // the receiver may know of it
  Duration transit;
  uint32_t message = 0;       // of the carrier
  uint32_t held = no_number;  // the cursor of a sender that is not free before the message is
};

// What a worker has got in a round that it has not come to yet.
struct Early {
  int stage = 0;
  int round = 0;
  Duration fold;
  Offer offer = {};
  bool is_offer = false;
  uint32_t next = no_number;  // of the same worker
};

// Where a worker stands in a collective. Small: with many workers, waiting for memory is most of
// the time.
struct alignas(64) Cursor {
  uint32_t call = 0;
  int worker = 0;
  int stage = 0;
  int round = 0;
  int to_send = 0;  // of this round, not off its hands yet
  int to_get = 0;
  uint32_t first_early = no_number;
  uint32_t last_early = no_number;
  bool at_once = false;  // all rounds of the phase
  bool is_here = false;
  uint32_t version = 0;  // of its plans
  Duration fold = {};    // of what came in this round
  Time busy_until = {};  // sending where that is known before, or folding several messages
};
static_assert(sizeof(Cursor) == 64);

struct alignas(32) OnTheWay {
  Duration fold;
  uint32_t from = 0;        // cursors
  uint32_t to = no_number;  // or it has arrived
  int edge = -1;            // of trees, if it is a block
  int stage = 0;
  int round = 0;
  bool frees_sender = false;  // when it has arrived
};
static_assert(sizeof(OnTheWay) == 32);

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

class CallsInTime {
 public:
  using Ended = std::function<void(uint32_t call, int worker, Time now)>;

  // Without a carrier messages have their ports to themselves. Then a sender is free when its port
  // is, and the receiver takes a message from the later of its first byte and the moment when it is
  // there, as in play.h; all of that is known when both are there.
  CallsInTime(const ActorClock& clock, AlphaRule alpha, const MessageJitter& jitter, Ended ended)
      : clock_(clock),
        carrier_(clock.carrier()),
        alpha_(alpha),
        jitter_(jitter),
        ended_(std::move(ended)) {}

  // A collective of all workers of a network, by its number until all have ended it. `places`:
  // where they are on what is shared; null: worker i is at place i. What it points to must stay
  // that long. `connection`: as in parcels; a job has its own.
  uint32_t add(const Program& program, const Network& network,
               const std::vector<int>* places = nullptr, const Freight& freight = {},
               uint32_t connection = 0);
  // Of some workers of a network, by their numbers there. `folds`: adding up takes time.
  uint32_t add_among(const Program& program, const Network& network,
                     const std::vector<int>& members, bool folds);
  // Calls of which those who stand for others are played. `program` must have no pipelines. Then
  // workers of the call are seats.
  uint32_t add_seats(const Program& program, const Network& network, const Seats& seats,
                     bool folds);
  // The same as add_among(), of a ring that has been played until now otherwise; not all of its
  // workers are done. And back: how far it has come, once this moment is settled, from when on it
  // is played otherwise; null: that cannot be, for a message shares its way.
  uint32_t add_begun(const Program& program, const Network& network,
                     const std::vector<int>& members, bool folds, const RingMoment& moment,
                     Time now);
  std::optional<RingMoment> take_back(uint32_t call, Time now);
  // `first`: what the worker does before its first message.
  void enter(uint32_t call, int worker, Duration first, Time now) {
    // One that ends at once does so in an event of its own: thousands may follow one another.
    const bool is_empty = calls_[call].program->stages.empty();
    const std::size_t c = cursor_of(call, worker);
    cursors_[c].is_here = true;
    if (first == Duration() && !is_empty) return go_on(c, now);
    go_on_at(c, now + first);
  }
  // From memory, if it may not be in the cache: the cursor of an event that comes soon; and what
  // that cursor says is needed.
  void fetch(const Event& next) const;
  void fetch_for(const Event& next) const;
  void happen(const Event& event, Time now);
  void hear(const Carrier::Report& report, Time now);
  // Of a message, where packets may be lost for good.
  double least_delivered() const { return least_delivered_; }

 private:
  enum Kind : uint8_t { on, opens, folded };  // of its events
  struct CallInPlay {
    const Program* program = nullptr;
    const Network* network = nullptr;
    const std::vector<int>* places = nullptr;
    std::size_t first_cursor = 0;
    std::size_t workers = 0;
    int left = 0;  // workers that have not ended it
    Freight freight = {};
    uint32_t connection = 0;
    bool is_among = false;  // its places are workers of the network
    bool folds = true;      // adding up takes time
    const Seats* seats = nullptr;
    int place_of(int worker) const {
      return places == nullptr ? worker : (*places)[static_cast<std::size_t>(worker)];
    }
    int on_network(int worker) const { return is_among ? place_of(worker) : worker; }
  };
  // A worker of the call of a cursor.
  struct Colleague {
    std::size_t cursor = 0;
    int place = 0;
    int on_network = 0;
  };
  Colleague colleague(std::size_t c, int worker) const {
    const CallInPlay& call = call_of(c);
    if (call.seats == nullptr)
      return {call.first_cursor + place(worker), call.place_of(worker), call.on_network(worker)};
    const std::vector<int>& members = *call.seats->seats[c - call.first_cursor].members;
    const int there = members[place(worker)];
    return {call.first_cursor + call.seats->seat(there), there, there};
  }
  uint32_t add(CallInPlay call);

  const CallInPlay& call_of(std::size_t c) const { return calls_[cursors_[c].call]; }
  std::size_t cursor_of(uint32_t call, int worker) const {
    return calls_[call].first_cursor + place(worker);
  }
  const Program& program(std::size_t c) const { return *call_of(c).program; }
  static std::size_t place(int number) { return static_cast<std::size_t>(number); }

  void plan(Kind kind, std::size_t subject, Time when) { clock_.plan(kind, subject, when); }
  void go_on_at(std::size_t c, Time when) {
    cursors_[c].busy_until = when;
    clock_.plan(on, c, when, cursors_[c].version);
  }

  bool is_cached() const;
  const OnTheWay* message_of(const Event& next) const;
  void end(std::size_t c, Time now);
  void forget(uint32_t call);
  void go_on(std::size_t c, Time now);
  bool enter_round(std::size_t c, const Phase& phase, Time now);
  // `v`: its relative number. True if the sender need not hear when it is free.
  bool send(std::size_t c, const Phase& phase, int v, int round, int receiver, Time now);
  void get_early(std::size_t c, Time now);
  Leg leg_of(const Cursor& sender, const Phase& phase, int round, int from, int to, double size_B);
  Parcel parcel_of(const CallInPlay& call, const Phase& phase, const Colleague& from,
                   const Colleague& to, double size_B, const Leg& leg) const;
  void note_sent(uint32_t message, const OnTheWay& what);
  void stand_at(std::size_t c, const RingMoment::Member& member);
  void send_begun(uint32_t call, const RingMoment::Message& message, Time now);
  static bool is_of(const CallInPlay& call, const OnTheWay& message) {
    return message.to != no_number && message.from >= call.first_cursor &&
           message.from - call.first_cursor < call.workers;
  }
  bool find_messages(const CallInPlay& call, RingMoment& moment, Time now) const;
  RingMoment::Member member_at(std::size_t c, const Program& program, Time now) const;
  int64_t sent_by(std::size_t c) const;
  void take_early(std::size_t c, std::size_t member, RingMoment& moment);
  static bool is_due(const Cursor& cursor, int stage, int round) {
    return cursor.stage == stage && cursor.to_get > 0 && (cursor.at_once || cursor.round == round);
  }
  void keep(Cursor& cursor, const Early& early);
  void be_there(std::size_t c, const Offer& offer, Duration fold, Time now);
  void get(std::size_t c, Duration fold, Time now);
  void leave_if_done(std::size_t c, Time now);
  void leave(std::size_t c, Time now);
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

  ActorClock clock_;
  Carrier* carrier_;
  AlphaRule alpha_;
  MessageJitter jitter_;
  Ended ended_;
  std::vector<CallInPlay> calls_;
  std::vector<uint32_t> unused_calls_;
  std::vector<Cursor> cursors_;                                     // of every worker, call by call
  std::map<std::size_t, std::vector<std::size_t>> unused_cursors_;  // first ones, by their number
  std::vector<Early> early_;
  uint32_t unused_early_ = no_number;  // the first one
  std::vector<OnTheWay> on_the_way_;   // by the number of the message
  // Call, stage, cursor of the first member.
  std::map<std::tuple<std::size_t, int, std::size_t>, std::size_t> at_barrier_;
  std::map<std::tuple<std::size_t, int, int>, std::size_t> trees_at_;  // likewise
  std::map<const TreePipeline*, TreeEdges> edges_of_;
  std::map<const Phase*, PhaseLoads> loads_;  // where messages have ports to themselves
  std::vector<TreesInPlay> trees_;
  std::vector<EdgeInPlay> edges_;
  double least_delivered_ = 1;
};

}  // namespace sgdsim
