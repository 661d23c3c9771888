// Every worker walks through its rounds by itself. An event is "this worker enters its next round".
//
// Entering a round, a worker sends. If the receiver is already waiting in that round the message is
// taken; else it lies in the receiver's mailbox until the receiver gets there. A mailbox is a list
// of nodes from a pool, so memory follows the messages in flight, not all messages.
#include "sim/play/event_engine.h"

#include <algorithm>
#include <cassert>

#include "sim/core/event_queue.h"
#include "sim/play/sharing.h"

namespace sgdsim {
namespace {

struct Message {
  int round = 0;
  int from = 0;
  Time first_byte;
  Leg leg;
  int next = -1;
};

struct RoundState {
  int v = 0;  // its relative number in its team
  int round = 0;
  int mail_first = -1;
  int mail_last = -1;
  bool waits = false;  // for this round's message
  bool sends = false;  // in this round
  Time sent;           // when the own message of this round has left
  Time in_port;        // eager only
};

class EventPlayer {
 public:
  EventPlayer(const Phase& phase, uint64_t stage, const Wires& wires, const MessageJitter& jitter,
              std::vector<Time>& clocks)
      : phase_(phase),
        stage_(stage),
        wires_(wires),
        loads_(wires.network(), phase),
        jitter_(jitter),
        clocks_(clocks),
        workers_(clocks.size()) {}

  void play() {
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      workers_[i].in_port = clocks_[i];
      workers_[i].v = phase_.team.relative(static_cast<int>(i));
      if (phase_.team.takes_part(static_cast<int>(i))) queue_.push(clocks_[i], static_cast<int>(i));
    }
    while (!queue_.empty()) enter_round(queue_.pop().payload);
  }

 private:
  Time& clock(int worker) { return clocks_[static_cast<std::size_t>(worker)]; }
  RoundState& state(int worker) { return workers_[static_cast<std::size_t>(worker)]; }

  void enter_round(int me) {
    RoundState& my = state(me);
    for (; my.round < phase_.rounds; ++my.round) {
      const int to = phase_.receiver(my.round, my.v);
      const int from = phase_.sender(my.round, my.v);
      if (to < 0 && from < 0) continue;
      my.sends = to >= 0;
      my.sent = clock(me);
      my.waits = from >= 0;
      if (my.sends) send(me, to);
      if (my.waits)
        take_from_mailbox(me);
      else if (phase_.handshake != Handshake::rendezvous)
        leave_round(me, my.sent);
      return;  // at rendezvous the receiver lets the sender go
    }
  }

  // To the colleague of this relative number.
  void send(int me, int relative) {
    RoundState& my = state(me);
    const int to = phase_.team.colleague(me, my.v, relative);
    const Wires wires = loads_.any() ? wires_.sharing(loads_.at(my.round)) : wires_;
    Leg leg = wires.leg(me, to, phase_.sent_B(my.round, my.v, phase_.team.lane(me)), phase_.folds);
    if (jitter_.on())
      leg = Wires::scaled(
          leg, jitter_.factor(stage_, static_cast<uint64_t>(my.round), static_cast<uint64_t>(me)));
    my.sent = clock(me) + leg.out_busy;
    const Message message{my.round, me, clock(me) + leg.flight, leg, -1};
    if (state(to).waits && state(to).round == my.round) return take(to, message);
    post(to, message);
  }

  void post(int to, const Message& message) {
    int node = free_;
    if (node >= 0) {
      free_ = pool_[static_cast<std::size_t>(node)].next;
      pool_[static_cast<std::size_t>(node)] = message;
    } else {
      node = static_cast<int>(pool_.size());
      pool_.push_back(message);
    }
    RoundState& receiver = state(to);
    if (receiver.mail_first < 0)
      receiver.mail_first = node;
    else
      pool_[static_cast<std::size_t>(receiver.mail_last)].next = node;
    receiver.mail_last = node;
  }

  void take_from_mailbox(int me) {
    RoundState& my = state(me);
    int before = -1;
    for (int node = my.mail_first; node >= 0; before = node, node = next_of(node)) {
      if (pool_[static_cast<std::size_t>(node)].round != my.round) continue;
      (before < 0 ? my.mail_first : next_of(before)) = next_of(node);
      if (my.mail_last == node) my.mail_last = before;
      const Message message = pool_[static_cast<std::size_t>(node)];
      next_of(node) = free_;
      free_ = node;
      return take(me, message);
    }
  }

  int& next_of(int node) { return pool_[static_cast<std::size_t>(node)].next; }

  void take(int me, const Message& message) {
    RoundState& my = state(me);
    my.waits = false;
    if (phase_.handshake == Handshake::eager) {
      my.in_port = std::max(message.first_byte, my.in_port) + message.leg.in_busy;
      const Time taken = std::max(my.in_port, message.first_byte + message.leg.transit);
      return leave_round(me, std::max(clock(me), taken) + message.leg.fold);
    }
    const Time taken = std::max(message.first_byte, clock(me)) + message.leg.transit;
    if (phase_.handshake == Handshake::rendezvous) leave_round(message.from, taken);
    leave_round(me, std::max(my.sent, taken) + message.leg.fold);
  }

  void leave_round(int worker, Time at) {
    clock(worker) = at;
    if (++state(worker).round < phase_.rounds) queue_.push(at, worker);
  }

  const Phase& phase_;
  uint64_t stage_;
  const Wires& wires_;
  PhaseLoads loads_;
  const MessageJitter& jitter_;
  std::vector<Time>& clocks_;
  std::vector<RoundState> workers_;
  std::vector<Message> pool_;
  int free_ = -1;
  EventQueue<int> queue_;
};

}  // namespace

void play_by_events(const Phase& phase, uint64_t stage, const Wires& wires,
                    const MessageJitter& jitter, std::vector<Time>& clocks) {
  EventPlayer(phase, stage, wires, jitter, clocks).play();
}

}  // namespace sgdsim
