// Rounds of unlike workers over ports that their messages share: as CallsInTime over Flows, for
// which this is all that there is.
//
// A worker sends one message at a time, so that only the port of a receiver is ever shared, by what
// comes early, from later rounds. So there are no flows, no cursors and no rates of a network: a
// worker, the message that it sends and who sends to it are two lines of the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/net/flow_progress.h"
#include "sim/play/clockwork.h"
#include "sim/play/quiet.h"

namespace sgdsim {

// An actor of the clockwork.
class RoundsAtPorts {
 public:
  // What it is given must stay. See is_fit().
  RoundsAtPorts(const ActorClock& clock, const Program& program, const RingPlay& how);

  // False: more than ports of receivers is shared, messages wait for their receivers or for each
  // other, or rounds are too many.
  bool is_fit() const { return is_fit_; }
  void begin(const std::vector<Time>& starts);
  void happen(const Event& event, Time now);
  bool moment_over(Time now);
  void fetch(const Event& next) const;
  void fetch_for(const Event& next) const;

  bool has_ended() const { return ended_ == workers_.size(); }
  std::vector<Time> take_ends() { return std::move(ends_); }

 private:
  enum Kind : uint32_t { enters, leaves, arrives };  // the next round; a message
  static constexpr std::size_t most_rounds = 64;     // a bit each
  static constexpr uint32_t nobody = UINT32_MAX;
  static constexpr uint8_t no_round = UINT8_MAX;

  struct Round {
    const Phase* phase = nullptr;
    int number = 0;
    uint64_t stage = 0;
    Duration launch_after = {};
  };
  struct alignas(64) Worker {
    // The message that it sends.
    FlowProgress progress;
    double alone_B_per_ps = 0;
    double share = 0;            // of the receiver's port, that a byte in a picosecond takes
    Time ends = Time::last();    // at its rate
    Time queued = Time::last();  // when to look whether it ends: no later than that
    double rate_B_per_ps = 0;
    uint32_t next = nobody;  // who sends to the same port
    uint32_t to = nobody;
    Duration fold_there = {};
    Duration flight = {};
    // Where it stands.
    uint64_t arrived = 0;      // what has come for later rounds,
    Duration early_fold = {};  // and of one of them
    Duration fold = {};        // of what came in this round
    uint32_t first = nobody;   // who sends to it
    uint8_t round = 0;
    uint8_t early_round = no_round;
    bool is_sending = false;
    bool is_waiting = false;
    bool is_touched = false;  // in this moment, who sends to it
  };
  static_assert(sizeof(Worker) == 128);

  bool find_rounds(const Program& program);
  uint32_t other(const Round& round, uint32_t worker, bool is_sender) const;
  Leg leg_of(const Round& round, uint32_t from, uint32_t to, double* size_B = nullptr) const;
  void enter(uint32_t worker, Time now);
  void send(uint32_t worker, Time now);
  void leave_port(uint32_t worker, Time now);
  void arrive(uint32_t worker, uint32_t round, Duration fold, Time now);
  void go_on(uint32_t worker, Time now);
  void touch(uint32_t port);
  void share_port(uint32_t port, Time now);
  void set_rate(Worker& worker, uint32_t number, double rate, Time now);

  ActorClock clock_;
  RingPlay how_;
  Wires wires_;
  bool is_fit_ = false;
  std::vector<Round> rounds_;
  Duration launch_first_;
  std::vector<Worker> workers_;
  std::vector<Time> ends_;
  std::size_t ended_ = 0;
  std::vector<uint32_t> touched_;
  std::vector<uint32_t> here_;  // who sends to a port,
  std::vector<double> rates_;   // and how fast
};

// When workers are done, whenever they start; null: it is not fit.
std::optional<std::vector<Time>> play_rounds_at_ports(const Program& program, const RingPlay& how,
                                                      const std::vector<Time>& starts,
                                                      Stopper* stopper);

}  // namespace sgdsim
