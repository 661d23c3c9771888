// What a message of a schedule costs: by LogGOPS, or on a network, where flight and rates are those
// of its pairs (sim/play/replay.h).
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/net/wires.h"
#include "sim/play/replay.h"

namespace sgdsim {

class MessageLegs {
 public:
  MessageLegs(const MessageCosts& costs, const Network* network, AlphaRule alpha) : costs_(costs) {
    if (network != nullptr) wires_.emplace(*network, alpha);
  }

  bool on_network() const { return wires_.has_value(); }
  Leg of(uint32_t from, uint32_t to, int64_t size_B) const {
    Leg leg;
    if (wires_) {
      if (from != to)
        leg = wires_->leg(static_cast<int>(from), static_cast<int>(to), static_cast<double>(size_B),
                          false);
      // A schedule that announces large messages itself has them wait no second time.
      if (announces()) leg = leg.without_agreement();
    } else {
      leg.flight = costs_.flight;
      leg.transit = leg.out_busy = leg.in_busy = costs_.per_byte.of(rest_B(size_B));
    }
    leg.flight += costs_.overhead;
    leg.out_busy += costs_.gap;
    leg.in_busy += costs_.gap;
    return leg;
  }
  // Of a message without bytes between cards.
  Duration flight_of_word(uint32_t from, uint32_t to) const {
    const Leg word = of(from, to, 0).without_agreement();
    return word.flight - costs_.overhead + word.transit;
  }
  // Of a processor, at either end; and what of it goes on beside the bytes that come.
  Duration overhead(int64_t size_B) const { return costs_.overhead + overhead_of_bytes(size_B); }
  Duration overhead_of_bytes(int64_t size_B) const {
    return costs_.overhead_per_byte.of(rest_B(size_B));
  }

 private:
  bool announces() const { return costs_.eager_B != std::numeric_limits<int64_t>::max(); }
  static double rest_B(int64_t size_B) {
    return static_cast<double>(std::max<int64_t>(0, size_B - 1));
  }

  const MessageCosts& costs_;
  std::optional<Wires> wires_;
};

}  // namespace sgdsim
