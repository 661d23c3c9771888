// Ports that messages in progress share, as flows over TCP do.
//
// A message takes its flight and then flows. All flows in progress at a port share it evenly in
// bytes, as far as their other ends let them (max-min fairness over all ports); a flow alone takes
// what a message takes on its own, to the picosecond. A message that fits whole into the sender's
// buffer is handed over at once: it leaves by the sender's port behind those handed over before it,
// and enters the receiver's behind those that came before it, so that neither end holds up the
// other. Of a larger one the sender keeps what the buffer does not hold, and is free when the rest
// fits.
//
// The cards of a node and the uplinks of a rack are ports that their workers share. Rates change
// only where flows share ports, directly or through others, and once per moment.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/agenda.h"
#include "sim/net/wires.h"

namespace sgdsim {

class SharedPorts {
 public:
  enum Kind : uint8_t { begins, handed_over, frees, leaves, arrives, kinds };  // of its events
  enum class News : uint8_t { nothing, sender_free, arrived };

  struct Sending {
    int from = 0;
    int to = 0;
    double size_B = 0;
    Leg leg;
    bool waits_for_receiver = false;  // rendezvous: flows when the receiver is there, too
    bool has_own_link = false;        // which it shares with nobody
  };

  SharedPorts(const Network& network, double send_buffer_B, Agenda& agenda);

  // Returns the number by which events speak of the message, until it has arrived.
  uint32_t send(const Sending& what, Time now);
  // The receiver of a message that waits for it is there.
  void want(uint32_t message, Time now);
  // One of its events.
  News happen(const Event& event, Time now);
  // Shares the ports anew, after all that happened at this moment.
  void settle(Time now);

 private:
  // What a flow takes of a port for each byte, in picoseconds.
  struct Use {
    std::size_t port = 0;
    double per_byte = 0;
  };
  struct Flow {
    Sending what;
    std::array<Use, 6> uses;  // both ends, and each of the shared ways at both ends
    std::size_t use_count = 0;
    double left_ps = 0;  // of its time alone
    double kept_ps = 0;  // the sender is free when no more than this is left
    double rate = 0;     // 1: as if alone; 0: it does not flow
    Time since;          // of that rate
    uint32_t version = 0;
    bool in_buffer = false;  // whole: it leaves as one flow and enters as another
    bool enters = false;     // the second of these
    bool has_left = false;   // its other half
    uint32_t half = 0;       // the other one
    Time arrives;            // not before
    bool has_bytes = true;   // else it only takes time
    bool is_free = false;    // the sender is
    bool is_found = false;
  };
  struct Port {
    std::vector<uint32_t> flows;
    double room = 0;   // of its capacity, while rates are found
    double asked = 0;  // by the flows without a rate, per byte
    bool is_dirty = false;
    bool is_found = false;
  };
  // Whole messages at a port that have not begun, behind one that has.
  struct Queue {
    std::vector<uint32_t> waiting;
    std::size_t next = 0;
    bool is_busy = false;
  };

  Flow& flow(uint32_t message) { return flows_[message]; }
  static std::span<const Use> uses_of(const Flow& flow) {
    return {flow.uses.data(), flow.use_count};
  }
  static double alone(const Flow& flow);
  void find_uses(Flow& flow) const;
  uint32_t add(const Sending& what);
  Queue& queue_of(const Flow& flow);
  void join_queue(uint32_t message, Time now);
  void end_half(uint32_t message, Time now);
  void plan(Kind kind, uint32_t message, Time when);
  void begin(uint32_t message, Time now);
  void end(uint32_t message, Time now);
  void touch(std::size_t port);
  void count_work(std::size_t flows);
  bool is_alone(std::size_t port, Time now);
  void find(std::size_t port);
  void share_out(Time now);
  void set_rate(uint32_t message, double rate, Time now);

  const Network& network_;
  double send_buffer_B_;
  Agenda& agenda_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> unused_;
  std::vector<Port> ports_;    // out and in of every worker, then of every shared way
  std::vector<Queue> queues_;  // likewise
  std::vector<std::size_t> dirty_;
  std::vector<std::size_t> found_ports_;
  std::vector<uint32_t> found_flows_;
  double work_ = 0;  // flows looked at
};

}  // namespace sgdsim
