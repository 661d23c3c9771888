// Messages that have their ports to themselves: alpha and beta, and nothing else.
//
// A sender is free when its port is, and the receiver takes a message from the later of its first
// byte and the moment when it is there, as in play.h. All of that is known when both are there, so
// that no event of the network's own is needed.
#pragma once

#include <vector>

#include "sim/net/carrier.h"

namespace sgdsim {

class Ports final : public Carrier {
 public:
  explicit Ports(AlphaRule alpha) : alpha_(alpha) {}

  uint32_t send(const Parcel& parcel, Time) override {
    uint32_t message = static_cast<uint32_t>(transits_.size());
    if (unused_.empty()) {
      transits_.emplace_back();
    } else {
      message = unused_.back();
      unused_.pop_back();
    }
    transits_[message] = parcel.leg.transit;
    return message;
  }
  bool takes_at_receiver() const override { return true; }
  Duration notice(const Leg& leg) const override { return leg.flight; }
  void want(uint32_t, Time) override {}
  Time take(uint32_t message, Time now) override {
    unused_.push_back(message);
    return now + transits_[message];
  }
  Report happen(const Event&, Time) override { return {}; }
  void settle(Time) override {}

  AlphaRule alpha_of_legs() const override { return alpha_; }
  // There are no wires.
  void scale(uint32_t, double) override {}
  void open(std::span<const uint32_t>, bool, Time) override {}
  void lose(std::span<const uint32_t>, double) override {}
  std::vector<Parcel> stranded() const override { return {}; }
  const std::vector<double>& carried_B() const override { return carried_B_; }

 private:
  AlphaRule alpha_;
  std::vector<Duration> transits_;
  std::vector<uint32_t> unused_;
  std::vector<double> carried_B_;
};

}  // namespace sgdsim
