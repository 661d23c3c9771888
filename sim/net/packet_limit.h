// How many packets are played.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace sgdsim {

// At most: some quarter of an hour.
inline constexpr double most_packets_played = 1e9;

// What packets carry of a message.
struct Payload {
  uint32_t packet_B = 0;  // each; 0: there are no packets
  // Packets that follow each other go as one burst, of as many as these allow: at most so many
  // bytes, and so large a part of their message. 0: each goes by itself.
  uint32_t burst_B = 0;
  uint32_t bursts_of_message = 1;

  bool any() const { return packet_B > 0; }
  // What goes at once, of a message of this size; all but the last one.
  uint32_t of(double size_B) const {
    const double part_B =
        std::min<double>(burst_B, size_B / static_cast<double>(bursts_of_message));
    return packet_B * std::max<uint32_t>(1, static_cast<uint32_t>(part_B / packet_B));
  }
  // How many go at once, of messages that have so many bytes together; 0: there are no packets.
  double packets(double messages, double size_B) const {
    if (!any() || messages <= 0) return 0;
    return std::max(messages, size_B / of(size_B / messages));
  }
};
// InputError if these are more than are played. `fewer`: of what there may be fewer.
void check_packets(double packets, const std::string& fewer);
// What would fit then.
std::string fewer_packets(const std::string& fewer);

}  // namespace sgdsim
