// How many packets are played.
#pragma once

#include <string>

namespace sgdsim {

// At most: some quarter of an hour.
inline constexpr double most_packets = 1e9;

// What messages take in packets that carry so much; 0: there are no packets.
inline double packets_of(double messages, double size_B, double payload_B) {
  if (payload_B <= 0) return 0;
  const double full = size_B / payload_B;
  return full > messages ? full : messages;
}
// InputError if these are more than are played. `fewer`: of what there may be fewer.
void check_packets(double packets, const std::string& fewer);

}  // namespace sgdsim
