// One sentence.
#include "sim/net/packet_limit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/core/error.h"

namespace sgdsim {

void check_packets(double packets, const std::string& fewer) {
  if (packets <= most_packets_played) return;
  const double millions = std::min(1e12, std::ceil(packets / 1e6));
  throw InputError("", "its messages are " + std::to_string(static_cast<int64_t>(millions)) +
                           " million packets or more, and at most 1000 million are simulated; " +
                           fewer_packets(fewer));
}

std::string fewer_packets(const std::string& fewer) {
  return "larger packets (\"ideal packet=1MiB\"), fewer " + fewer +
         ", or fidelity flow (of clusters over TCP with sharing=max_min), would fit";
}

}  // namespace sgdsim
