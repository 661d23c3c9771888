// Messages as fluid flows over what they share: ports, or the wires of their routes.
//
// All flows in progress share each resource max-min fairly in bytes (sim/net/fair_rates.h); a flow
// alone takes what a message takes on its own, to the picosecond. Rates change once per moment, and
// only where a change is felt.
//
// Over ports, a message takes its flight after its bytes have left. A message that fits whole into
// the sender's buffer is handed over at once: it leaves by the sender's port behind those handed
// over before it, and enters the receiver's behind those that came before it, so that neither end
// holds up the other. Of a larger one the sender keeps what the buffer does not hold, and is free
// when the rest fits; the next one to the same receiver flows behind it.
//
// Over wires, the latency of the route is charged once: with alpha=port before the first byte
// flows, and the sender is free when the message is there; with alpha=wire after the last one has
// left, which is when the sender is free. What a buffer holds is off the sender's hands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/indexed_heap.h"
#include "sim/net/carrier.h"
#include "sim/net/fair_rates.h"
#include "sim/net/flow_progress.h"

namespace sgdsim {

class Flows final : public Carrier {
 public:
  struct Options {
    AlphaRule alpha = AlphaRule::port;
    double send_buffer_B = 0;
    double most_work = std::numeric_limits<double>::infinity();  // flows looked at; then: refused
    LinkWatch* watch = nullptr;  // hears how much of its wires is in use
  };
  Flows(Resources& resources, const Options& options, Agenda& agenda);

  uint32_t send(const Parcel& parcel, Time now) override;
  // Without buffers, and of what does not wait for its receiver; so the next two, which take one
  // way only.
  uint32_t send_begun(const Parcel& parcel, const Underway& how, Time now) override;
  std::optional<Underway> underway(uint32_t message, Time now) const override;
  void forget(uint32_t message) override;
  Duration first_bytes(const Leg& leg) const override {
    return pays_first() ? Duration() : leg.flight;
  }
  Duration notice(const Leg& leg) const override { return first_bytes(leg); }
  void want(uint32_t message, Time now) override;
  Report happen(const Event& event, Time now) override;
  bool fetches() const override { return flows_.size() > cached_flows; }
  void fetch(const Event& next) const override;
  void fetch_for(const Event& next) const override {
    if (next.actor() == 0 && next.kind() == leaves) rates_.fetch_for(next.subject());
  }
  // Shares everything anew.
  void settle(Time now) override;

  // Over wires, the flight is apart from what is shared.
  AlphaRule alpha_of_legs() const override { return is_routed_ ? AlphaRule::wire : options_.alpha; }
  const FairRates& rates() const { return rates_; }
  void scale(uint32_t resource, double factor, Time now) override;
  // The rest of what messages in progress have paid stays paid.
  void open(std::span<const uint32_t> resources, bool is_open, Time now) override;
  std::vector<Stranded> stranded() override;
  void lose(std::span<const uint32_t> resources, double chance) override;
  std::vector<double> carried_B(Time now) const override;

 private:
  enum Kind : uint8_t { begins, handed_over, frees, leaves, arrives, next_leaves };
  static_assert(next_leaves < kind_count);
  using Part = Resources::Part;
  static constexpr std::size_t cached_flows = 1 << 11;  // so many stay in the cache
  static constexpr uint32_t none = UINT32_MAX;
  // What another rate needs is in one line of the cache.
  struct alignas(64) Flow {
    FlowProgress progress;
    double kept_ps = 0;          // the sender is free when no more than this is left
    double alone_B_per_ps = 0;   // if it shares nothing, and wires are as they are at first
    Time ends;                   // at that rate; before it has begun: when it does
    Time queued = Time::last();  // when to look whether it ends: no later than that
    uint32_t version = 0;
    Part part = Part::whole;
    bool is_shared : 1 = true;  // else it only takes time
    bool has_begun : 1 = false;
    bool is_flowing : 1 = false;
    bool is_free : 1 = false;  // the sender is
    bool is_in_heap : 1 = false;
    bool is_there : 1 = false;  // when its bytes have left
    Parcel what;
    Time arrives;           // not before; known when it has left
    uint32_t half = 0;      // the other one
    bool has_left = false;  // its bytes, or this half
  };
  static_assert(offsetof(Flow, what) == 64);
  // Whole messages at a port that have not begun, behind one that has.
  struct Queue {
    std::vector<uint32_t> waiting;
    std::size_t next = 0;
    bool is_busy = false;
  };

  Flow& flow(uint32_t message) { return flows_[message]; }
  static double alone(const Flow& flow);
  // Latency before the first byte, over wires.
  bool pays_first() const { return is_routed_ && options_.alpha == AlphaRule::port; }
  // At ports, where one worker may stand for all (sim/play/alike_calls.h).
  double slack() const { return is_routed_ ? 0 : FlowProgress::slack; }
  static bool is_half(const Flow& flow) { return flow.part != Part::whole; }
  uint32_t add(const Parcel& parcel);
  static Leg along(const Resources::Detour& detour, Leg leg);
  void send_in_halves(uint32_t message, Time now);
  Queue& queue_of(const Flow& flow);
  void join_queue(uint32_t message, Time now);
  void end_half(uint32_t message, Time now);
  Duration waits_before(uint32_t message);  // its bytes
  void start(uint32_t message, Time now);
  void start_next_of_pair(uint32_t message, Time now);
  void plan(Kind kind, uint32_t message, Time when);
  void begin_at(uint32_t message, Time when);
  void arrive_at(uint32_t message, Time when);
  bool is_over(uint32_t message, Time now);
  void queue_end(uint32_t message, Time when);
  void forget_end(uint32_t message);
  void plan_next(Time now);
  void begin(uint32_t message, Time now);
  void find_route(uint32_t message);
  double speed_up() const;
  void follow_caps();
  News follow(Kind kind, uint32_t message, bool is_old, Time now);
  void free_number(uint32_t message);
  News leave(uint32_t message, Time now);
  void end(uint32_t message, Time now);
  void set_rate(uint32_t message, double rate, Time now);
  void tell_watch(Time now);

  Resources& resources_;
  bool is_routed_;
  Options options_;
  Agenda& agenda_;
  FairRates rates_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> unused_;
  uint32_t arrived_ = none;    // whose number is free when all have heard of it
  std::vector<Queue> queues_;  // of buffered messages, out and in of every worker
  // Where senders have buffers, messages of a pair that flow as a whole, in order.
  std::map<std::pair<int, int>, std::deque<uint32_t>> of_pairs_;
  IndexedHeap ends_;  // of flows whose rates change often: when to look whether they end
  Time next_end_ = Time::last();
  uint32_t next_version_ = 0;
  std::vector<ResourceUse> uses_;
  std::vector<uint32_t> stranded_;
  std::vector<double> carried_B_;   // by each resource, when all that has begun has gone
  std::vector<double> capacities_;  // as they are at first
  bool has_faster_ = false;         // wires have had more than that
  bool are_caps_old_ = false;       // since a wire has, or has no longer
  bool are_ends_old_ = false;       // since another one may be the first of ends_
  Time told_until_;                 // the watch
  std::vector<double> in_use_;      // of what is watched, since then
};

}  // namespace sgdsim
