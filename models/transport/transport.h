// How packets of a message are sent, acknowledged and sent again, and what switches do for it.
//
// A transport is one file and one line in registry.h. It gives packets and queues their defaults,
// describes its own fields, and makes a Conversation (sim/net/conversation.h) for each message.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/part.h"
#include "sim/net/packets.h"

namespace sgdsim {

struct Transport {
  std::string_view name;
  std::string_view summary;
  void (*defaults)(PacketSetup& setup);
  PartOptions (*options)();  // its own
  // Takes its own fields; the general ones have been read. `sizes_B`: of the messages that will be
  // sent, as far as they are known.
  void (*read)(Object& fields, const std::vector<double>& sizes_B, PacketSetup& setup);
};

// The field `transport`: a name, or an object with `name` and options. InputError for options of
// other transports, too.
PacketSetup read_transport(const Value& value, const std::vector<double>& sizes_B, uint64_t seed);
std::string name_of_transport(const Value& value);
// With the general options of each, as it has them.
std::vector<PartText> transport_texts();
Json schema_of_transports();

// ---- for transports

// Timeouts in a row, each twice as long as the one before; then a sender gives up.
inline constexpr int most_doubled_timeouts = 15;

// Every message gets a conversation of this kind, by these rules.
template <class Kind, class Rules>
void use(PacketSetup& setup, Rules rules) {
  const auto shared = std::make_shared<const Rules>(std::move(rules));
  setup.transport = [shared]() -> PacketSetup::Connect {
    return [shared](Packets& packets, uint32_t number, const Parcel& parcel) {
      return std::make_unique<Kind>(packets, number, parcel, shared);
    };
  };
}

inline constexpr uint32_t most_packets = 1'000'000'000;
// InputError unless it is a time above 0, and a size that 32 bits hold.
void check_some_time(const Value& length);
void check_size(const Value& size);
inline uint32_t bytes_32(Bytes size) { return static_cast<uint32_t>(size.count()); }

}  // namespace sgdsim
