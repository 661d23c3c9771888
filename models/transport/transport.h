// How packets of a message are sent, acknowledged and sent again, and what switches do for it.
//
// A transport is one file and one line in registry.h. It gives packets and queues their defaults,
// reads its own fields, and makes a Conversation (sim/net/conversation.h) for each message.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/json.h"
#include "sim/net/packets.h"

namespace sgdsim {

struct Transport {
  std::string_view name;
  std::string_view summary;
  void (*defaults)(PacketSetup& setup);
  // Takes its own fields; the general ones have been read. `sizes_B`: of the messages that will be
  // sent, as far as they are known.
  void (*read)(Object& fields, const std::vector<double>& sizes_B, PacketSetup& setup);
};

// The field `transport`: a name, or an object with `name` and options. InputError for options of
// other transports, too.
PacketSetup read_transport(const Value& value, const std::vector<double>& sizes_B, uint64_t seed);
std::string name_of_transport(const Value& value);

// For people: which fields a value of `transport` may have.
inline constexpr std::string_view general_transport_fields =
    "packet, header, spray, buffer, queue_buffer";

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

// A chance, `name`; what there is if it is not given.
double read_part(Object& fields, const std::string& name, double otherwise);
Duration read_length(Object& fields, const std::string& name, Duration otherwise);
// Whole numbers, or sizes, up to four thousand million.
uint32_t read_count(Object& fields, const std::string& name, uint32_t least, uint32_t otherwise);
uint32_t read_size_B(Object& fields, const std::string& name, uint32_t otherwise);
bool read_flag(Object& fields, const std::string& name, bool otherwise);

}  // namespace sgdsim
