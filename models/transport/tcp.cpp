// What warm TCP connections do on a network that loses nothing: queues, and a window.
//
// A connection, from one worker to another, has at most a window of bytes in the system: in its
// sender's card, on wires, in ports. As far as the window allows, a message is handed over to the
// card at once, and then its sender is free. All connections of a worker go through one card that
// is first in, first out; so are the ports of switches, packet by packet. A packet goes on when its
// head is there (cut-through), so that a message is serialised once. What has arrived leaves the
// window after the latency of the way back; a worker that sends meanwhile sends acknowledgements
// with it, which load its card and nothing behind it: in collectives, and of other messages where
// the transport is told so.
//
// On real TCP (hosts at 100 Mbps, 1 ms one way) with the latency and rate of one-way messages this
// is right within 0.5 % in the median for rings, trainings, incasts, servers and random flows that
// share hosts (docs/validation.md). It is wrong where packets are lost, where connections start
// cold, and where several connections begin at exactly one moment in all directions: who comes
// first is then a matter of microseconds, here that of the order in the file.
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "models/transport/registry.h"
#include "sim/net/cluster.h"

namespace sgdsim::transport::tcp {
namespace {

constexpr uint32_t least_bursts_in_window = 16;

class TcpConversation;

// First in, first out; a million connections have two of them, mostly empty.
template <class T>
class Line {
 public:
  bool empty() const { return first_ == all_.size(); }
  T& front() { return all_[first_]; }
  void push_back(const T& one) { all_.push_back(one); }
  void pop_front() {
    if (++first_ == all_.size()) {
      all_.clear();
      first_ = 0;
    } else if (first_ >= 64 && 2 * first_ >= all_.size()) {
      all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

 private:
  std::vector<T> all_;
  std::size_t first_ = 0;
};

// What the messages of a connection share. They are handed over one after the other.
class Connection {
 public:
  Connection(Packets& packets, double window_B) : packets_(packets), window_B_(window_B) {}

  void begin(TcpConversation& message, Time now) {
    messages_.push_back(&message);
    hand_over(now);
  }
  void arrive(double size_B, Time heard, Time now) {
    heard_.push_back({heard, size_B});
    if (!messages_.empty()) hand_over(now);
  }
  // As much as the window allows; the first message that waits has a timer for what is heard next.
  void hand_over(Time now);

 private:
  struct Heard {
    Time when;
    double size_B;
  };

  void release(Time now) {
    for (; !heard_.empty() && heard_.front().when <= now; heard_.pop_front())
      in_system_B_ -= heard_.front().size_B;
  }

  Packets& packets_;
  double window_B_;
  double in_system_B_ = 0;
  Line<TcpConversation*> messages_;  // that have bytes to hand over
  Line<Heard> heard_;                // has arrived, and will leave the window
};

// From, to, and which of several connections.
using Pair = std::tuple<int, int, uint32_t>;
struct Connections {
  double window_B = 0;
  double acknowledged = 0;
  bool are_shared = true;  // else each message has one of its own
  std::map<Pair, std::weak_ptr<Connection>> of_pairs;
};

class TcpConversation final : public Conversation {
 public:
  TcpConversation(Packets& packets, uint32_t number, const Parcel& parcel,
                  std::shared_ptr<Connections> connections)
      : Conversation(packets, number, parcel), connections_(std::move(connections)) {}
  ~TcpConversation() override {
    if (connections_->are_shared && connection_.use_count() == 1)
      connections_->of_pairs.erase(pair());
  }

  void begin(Time now) override {
    if (connections_->are_shared) connection_ = connections_->of_pairs[pair()].lock();
    if (!connection_) connection_ = std::make_shared<Connection>(packets_, connections_->window_B);
    if (connections_->are_shared) connections_->of_pairs[pair()] = connection_;
    connection_->begin(*this, now);
  }
  Offer next(Packet&, Time) override { return Offer::nothing; }  // all is handed over
  void at_receiver(const Packet& packet, Time now) override {
    packets_.count_delivered();
    const Time heard = now + route_.latency;
    connection_->arrive(payload_B(packet.number), heard, now);
    const double acknowledged =
        std::max(connections_->acknowledged, static_cast<double>(parcel().acknowledged));
    if (acknowledged > 0) packets_.owe(*this, acknowledged * payload_B(packet.number), now);
    if (++arrived_ < count()) return;
    packets_.complete(*this, now);
    packets_.set_timer(*this, heard);
  }
  void at_sender(const Packet&, Time) override {}
  // It has all arrived and its sender knows; or something left the window.
  void on_timer(Time now) override {
    if (arrived_ == count()) return packets_.finish(*this, now);
    connection_->hand_over(now);
  }

 private:
  friend class Connection;
  Pair pair() const {
    const Parcel& what = parcel();
    return {what.from, what.to, what.connection};
  }

  std::shared_ptr<Connections> connections_;
  std::shared_ptr<Connection> connection_;
  uint32_t handed_ = 0;  // packets
  uint32_t arrived_ = 0;
};

void Connection::hand_over(Time now) {
  release(now);
  while (!messages_.empty()) {
    TcpConversation& first = *messages_.front();
    const double size_B = first.payload_B(first.handed_);
    if (in_system_B_ + size_B > window_B_) {
      if (!heard_.empty()) packets_.set_timer(first, heard_.front().when);
      return;
    }
    packets_.hand_over(first, now);
    in_system_B_ += size_B;
    if (++first.handed_ < first.count()) continue;
    packets_.stop_timer(first);
    messages_.pop_front();
  }
}

void defaults(PacketSetup& setup) {
  setup.packet_B = usual_tcp_packet_B;
  setup.header_B = 0;
  setup.cuts_through = true;
}

struct Options {
  Bytes window = usual_window;
  double acknowledgements = 0;
  int connections = 1;
  uint32_t bursts = 0;
};

Fields fields_of(Options& o) {
  return {Field("window", o.window, "bytes of a connection that are in the system at most")
              .also(check_size),
          Field("acknowledgements", o.acknowledgements,
                "of the bytes that come, the part that goes back as acknowledgements with what the "
                "card sends next; collectives have those of the cluster, if that is more")
              .from(0, 1),
          Field("connections", o.connections,
                "1: all messages of one worker to another share a connection; 0: none do")
              .from(0, 1),
          Field("bursts", o.bursts,
                "packets that follow each other go as one: at least this many bursts of a message, "
                "and 16 of a window; 0: each packet by itself")
              .from(0, 1 << 20)};
}

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  if (setup.queues.port_limit_B != QueueRules::no_limit ||
      setup.queues.queue_limit_B.front() != QueueRules::no_limit)
    fields.value().fail(
        "under tcp nothing is lost, so ports have no \"buffer\" and no \"queue_buffer\"; what "
        "limits its queues is \"window\"");
  if (setup.spray != Spray::per_flow && setup.spray != Spray::by_destination)
    fields.value().fail(
        "a connection of tcp keeps its way: \"spray\" is per_flow or by_destination");
  const auto options = read_record<Options>(fields);
  const uint32_t window_B = bytes_32(options.window);
  if (window_B < setup.packet_B - setup.header_B)
    fields.value().fail("a window that is smaller than what a packet carries (" +
                        std::to_string(setup.packet_B - setup.header_B) +
                        " B); give a larger \"window\", or a smaller \"packet\"");
  if (options.bursts > 0) {
    setup.burst_B = window_B / least_bursts_in_window;
    setup.bursts_of_message = options.bursts;
  }
  const bool are_shared = options.connections == 1;
  const double acknowledged = options.acknowledgements;
  setup.transport = [window_B, acknowledged, are_shared]() -> PacketSetup::Connect {
    const auto connections = std::make_shared<Connections>();
    connections->window_B = window_B;
    connections->acknowledged = acknowledged;
    connections->are_shared = are_shared;
    return [connections](Packets& packets, uint32_t number, const Parcel& parcel) {
      return std::make_unique<TcpConversation>(packets, number, parcel, connections);
    };
  };
}

}  // namespace

Transport describe() {
  return {"tcp", "warm connections with a window, cards and ports first in, first out; cut-through",
          defaults, options_of<Options>, read};
}

}  // namespace sgdsim::transport::tcp
