// One message on its way as packets: what both ends of it know. A transport says how it behaves
// (models/transport); sender and receiver share the object, but each only looks at what is its own.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/net/packet.h"
#include "sim/net/packet_report.h"
#include "sim/net/resources.h"

namespace sgdsim {

class Packets;

// What a conversation can know of its route before it sends anything.
struct RouteFacts {
  int roads = 0;
  bool is_whole = true;     // else there is no way at present
  Duration latency;         // of all roads
  double ps_per_B = 0;      // of the slowest road
  double all_ps_per_B = 0;  // of all roads together
  double first_ps_per_B = 0;
  double last_ps_per_B = 0;
  uint32_t ways = 1;  // equal routes, as far as they branch like the first one

  bool operator==(const RouteFacts&) const = default;
};

// A packet that was sent at a time, and its answer: what that takes if nothing is in the way.
inline Duration round_trip(const RouteFacts& route, double there_B, double back_B) {
  return 2 * route.latency + Duration::nearest_ps(route.all_ps_per_B * (there_B + back_B));
}

class Conversation {
 public:
  Conversation(Packets& packets, uint32_t number, const Parcel& parcel);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  virtual ~Conversation() = default;

  // The message is handed over.
  virtual void begin(Time now) = 0;
  // The sender's card asks for a packet of data. Nothing: it is not asked again before ready().
  enum class Offer : uint8_t { nothing, last, more };
  virtual Offer next(Packet& packet, Time now) = 0;
  virtual void at_receiver(const Packet& packet, Time now) = 0;
  virtual void at_sender(const Packet& packet, Time now) = 0;
  virtual void on_timer(Time now) = 0;
  // `route_` is another one, or its links have other rates.
  virtual void route_changed() {}
  // What has come by now. Everything is important if nothing else is said.
  virtual Delivery delivery() const {
    return {.size_B = {0, parcel_.size_B}, .delivered_B = {0, parcel_.size_B}};
  }

  uint32_t number() const { return number_; }
  const Parcel& parcel() const { return parcel_; }
  uint32_t count() const { return count_; }  // of packets
  // Of the message, in one of its packets.
  uint32_t payload_B(uint32_t packet) const { return packet + 1 < count_ ? payload_B_ : last_B_; }
  // Its place among the eight queues, for data that is ready.
  uint8_t queue = 1;
  // Its sender is free when it is finished, and not when its last packet has left for the first
  // time.
  bool holds_sender = false;

 protected:
  // Bytes a picosecond of the sender's card; so many that it takes no time if it costs nothing.
  double line_rate() const {
    constexpr double boundless = 1e30;
    return route_.first_ps_per_B > 0 ? 1 / route_.first_ps_per_B : boundless;
  }

  Packets& packets_;
  RouteFacts route_;

 private:
  friend class Packets;
  uint32_t number_;
  Parcel parcel_;
  uint32_t payload_B_ = 0;
  uint32_t last_B_ = 0;
  uint32_t count_ = 1;

  // What Packets keeps of it.
  uint32_t version_ = 0;  // of its timer
  Time timer_ = Time::last();
  Time planned_ = Time::last();  // the event of the timer
  uint32_t next_ready_ = Packet::none;
  bool is_ready_ = false;
  bool is_unrouted_ = false;  // it would be ready if there were a way
  bool has_begun_ = false;
  Time begun_;
  bool is_complete_ = false;  // the receiver has what it wants
  bool is_finished_ = false;  // the sender knows, or gave up
  bool has_left_ = false;     // the sender is free
  uint32_t first_sent_ = 0;   // packets, once
  int64_t in_network_ = 0;
  bool has_lost_ = false;              // packets
  uint32_t own_way_ = 0;               // of all its packets
  std::vector<uint16_t> permutation_;  // of ways
  std::size_t next_way_ = 0;
  uint32_t way_ = 0;          // of the next packet, behind its first road
  uint32_t left_card_ = 0;    // packets that were handed over to it
  uint32_t without_way_ = 0;  // likewise, while there is none
};

}  // namespace sgdsim
