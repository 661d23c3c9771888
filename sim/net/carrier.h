// What carries messages in time: flows that share wires or ports (flows.h), or packets (packets.h).
//
// One agenda for all: a carrier plans events of the kinds below kind_count, gets them back when
// they happen, and says what they mean to those who sent a message.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/agenda.h"
#include "sim/net/link_watch.h"
#include "sim/net/packet_limit.h"
#include "sim/net/resources.h"
#include "sim/net/stuck.h"

namespace sgdsim {

// Why there is an end to events but not to messages that are not stranded.
inline constexpr char never_ends[] =
    "messages take longer than times can be told: their rates are too low for their sizes";

struct PacketReport;  // packet_report.h

class Carrier {
 public:
  static constexpr uint32_t kind_count = 6;  // of events that are the carrier's own
  // `both`: first the sender is free, then the message has arrived.
  enum class News : uint8_t { nothing, sender_free, arrived, both };
  // What one event says about which message.
  struct Report {
    News news = News::nothing;
    uint32_t message = 0;
    double delivered = 1;  // of what has arrived, for those who accept that something is lost
  };
  // How far a message is that has its way to itself.
  struct Underway {
    Time since;          // or from when on, its bytes flow
    double left_ps = 0;  // then
    Time leaves = {};
    Time there = {};
  };

  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  // Returns the number by which events speak of the message, until it has arrived.
  virtual uint32_t send(const Parcel& parcel, Time now) = 0;
  // The same of what was sent before now, and is not there yet. Flows only.
  virtual uint32_t send_begun(const Parcel& parcel, const Underway&, Time now) {
    assert(false);
    return send(parcel, now);
  }
  // Of a message that is not there yet, once this moment is settled; null: it shares its way, or
  // something happens to it at this moment.
  virtual std::optional<Underway> underway(uint32_t, Time) const { return std::nullopt; }
  // Its number is free, and it has carried nothing, unless it has left. Flows only.
  virtual void forget(uint32_t) { assert(false); }
  // How long after it is sent its first bytes are there, where nothing is in its way.
  virtual Duration first_bytes(const Leg& leg) const = 0;
  // How long after it is sent the receiver of a message that waits for it knows of it; and then the
  // receiver is there.
  virtual Duration notice(const Leg& leg) const = 0;
  virtual void want(uint32_t message, Time now) = 0;
  virtual Report happen(const Event& event, Time now) = 0;
  // Whether it has more messages than the cache holds. Then, into the cache: what an event is about
  // that comes soon; and later what that says is needed.
  virtual bool fetches() const { return false; }
  virtual void fetch(const Event&) const {}
  virtual void fetch_for(const Event&) const {}
  // After all that happened at this moment.
  virtual void settle(Time now) = 0;

  // As it would be for a message: whether the flight is apart from what is shared.
  virtual AlphaRule alpha_of_legs() const = 0;
  // A resource gives so much of what it has from now on.
  virtual void scale(uint32_t resource, double factor, Time now) = 0;
  // Wires open or close: messages take the routes that there are now, and those without one wait.
  virtual void open(std::span<const uint32_t> resources, bool is_open, Time now) = 0;
  // Messages that do not arrive if nothing else happens.
  virtual std::vector<Stranded> stranded() = 0;
  // What packets carry, where there are some.
  virtual Payload payload() const { return {}; }
  // Bytes that each resource has carried until then, which is no earlier than what happened last.
  virtual std::vector<double> carried_B(Time now) const = 0;
  // From now on so much of what crosses these is lost, by chance. InputError where nothing is.
  virtual void lose(std::span<const uint32_t> resources, double chance) = 0;
  // What became of packets until then; null: there are none.
  virtual std::shared_ptr<const PacketReport> report(Time) const { return nullptr; }
};

// `watch`: if not null, hears how much of its wires is in use.
using MakeCarrier =
    std::function<std::unique_ptr<Carrier>(Resources& wires, Agenda& agenda, LinkWatch* watch)>;

}  // namespace sgdsim
