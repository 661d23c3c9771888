// One message on its way: what it occupies, for how long, and when it is there.
//
// Two readings of alpha exist and both are needed. In the models of the collectives' papers a
// message occupies both ports for alpha + s beta (`port`). On real networks most of alpha is
// flight: the ports are busy for s beta only and latencies of successive messages overlap (`wire`).
// On the measured TCP collectives that ship with sgdsim, `wire` is right within 1 % where `port` is
// 20 to 30 % off for block pipelines; for algorithms that wait in every round both agree.
#pragma once

#include <algorithm>

#include "sim/core/named.h"
#include "sim/core/random.h"
#include "sim/net/network.h"

namespace sgdsim {

enum class AlphaRule : uint8_t { port, wire };
inline constexpr Named<AlphaRule, 2> alpha_rules{
    {{"port", AlphaRule::port}, {"wire", AlphaRule::wire}}};
inline const auto& names_of(AlphaRule) { return alpha_rules; }

// Random factor on the time of each message: lognormal with this sigma and mean 1. The draw depends
// on the seed and on which message it is, never on the order of play.
struct MessageJitter {
  double sigma = 0;
  uint64_t seed = 1;
  bool on() const { return sigma > 0; }
  double factor(uint64_t stage, uint64_t round, uint64_t sender) const;
};

struct Leg {
  Duration flight;    // from the start of the sending to the first byte at the receiver
  Duration out_busy;  // the sender's port
  Duration in_busy;   // the receiver's port
  Duration transit;   // from the first byte at the receiver to the last one
  Duration fold;      // the reduction of what arrived
  // Of transit and in_busy, what the receiver waits for its word to reach the sender and for the
  // first byte to come. The sender's port is free meanwhile: bytes from before may still leave.
  Duration agreed;

  // A word to the receiver, and one back: the wait without waiting for each other.
  Duration word() const { return Duration::ps(agreed.ps() / 2); }
  // What is left once they have agreed.
  Leg bytes_only() const {
    return {flight, out_busy, in_busy - agreed, transit - agreed, fold, agreed};
  }
  Leg without_agreement() const {
    Leg leg = bytes_only();
    leg.agreed = {};
    return leg;
  }
};

class Wires {
 public:
  Wires(const Network& network, AlphaRule alpha) : network_(&network), alpha_(alpha) {}

  const Network& network() const { return *network_; }
  AlphaRule alpha() const { return alpha_; }

  // The same where so many messages take the busiest of the shared ways (sim/play/sharing.h). The
  // loads must outlive it.
  Wires sharing(const std::vector<double>& loads) const {
    Wires shared = *this;
    shared.loads_ = &loads;
    return shared;
  }

  // `both_ways`: senders get as much as they send at the same time.
  Leg leg(int from, int to, double size_B, bool folds, bool both_ways = false) const {
    if (network_->has_bands()) return leg_of_band(from, to, size_B, folds, both_ways);
    return leg_at(network_->between(from, to), from, to, size_B, folds, both_ways);
  }

  // Of its bytes, what goes back as acknowledgements beside what the receiver sends.
  float acknowledged(int from, int to, double size_B, bool both_ways) const {
    if (!both_ways) return 0;
    return static_cast<float>(network_->at_size(size_B).between(from, to).acknowledged);
  }

  static Leg scaled(const Leg& leg, double factor) {
    auto times = [&](Duration length) {
      return Duration::nearest_ps(static_cast<double>(length.ps()) * factor);
    };
    return {times(leg.flight), times(leg.out_busy), times(leg.in_busy), times(leg.transit),
            leg.fold,          times(leg.agreed)};
  }

 private:
  // Kept out of the loops over workers, which are slower with it inlined.
  [[gnu::noinline]] Leg leg_of_band(int from, int to, double size_B, bool folds,
                                    bool both_ways) const {
    Wires band(network_->at_size(size_B), alpha_);
    band.loads_ = loads_;
    return band.leg_at(band.network().between(from, to), from, to, size_B, folds, both_ways);
  }

  Leg leg_at(const PairCost& cost, int from, int to, double size_B, bool folds,
             bool both_ways) const {
    Leg leg;
    const PerByte rate = loads_ == nullptr
                             ? cost.per_byte
                             : network_->through_ways(cost.per_byte, from, to, *loads_);
    const double more = both_ways ? 1 + cost.acknowledged : 1;
    const Duration transit = (rate * more).of(size_B);
    if (folds) leg.fold = cost.reduce.of(size_B);
    leg.agreed = cost.agreement();
    if (alpha_ == AlphaRule::port) {
      leg.out_busy = cost.latency + transit;
      leg.in_busy = leg.transit = leg.agreed + leg.out_busy;
      return leg;
    }
    leg.flight = cost.latency;
    leg.out_busy = transit;
    leg.transit = leg.in_busy = leg.agreed + transit;
    // A fast port is not held up for as long as a slow one at the other end needs.
    const std::vector<Port>& ports = network_->ports();
    if (!ports.empty()) {
      auto class_rate = network_->classes()[network_->class_of(from, to)].per_byte;
      if (loads_ != nullptr) class_rate = network_->through_ways(class_rate, from, to, *loads_);
      const PerByte out = ports[static_cast<std::size_t>(from)].out.per_byte;
      const PerByte in = ports[static_cast<std::size_t>(to)].in.per_byte;
      leg.out_busy = (std::max(out, class_rate) * more).of(size_B);
      leg.in_busy = leg.agreed + (std::max(in, class_rate) * more).of(size_B);
    }
    return leg;
  }

  const Network* network_;
  AlphaRule alpha_;
  const std::vector<double>* loads_ = nullptr;
};

}  // namespace sgdsim
