// All ranks are one actor of the clockwork, their collectives another.
#include "sim/play/replay.h"

#include <algorithm>
#include <memory>

#include "sim/core/error.h"
#include "sim/net/flows.h"
#include "sim/net/packet_limit.h"
#include "sim/net/port_resources.h"
#include "sim/play/ranks_in_time.h"

namespace sgdsim {
namespace {

class Replayer {
 public:
  explicit Replayer(const Replay& replay)
      : replay_(replay),
        carrier_(make_carrier()),
        clock_(agenda_, carrier_.get(), replay.stopper),
        ranks_({clock_, 1}, calls_, replay),
        calls_({clock_, 2}, clock_.alpha_of_legs(replay.alpha), {},
               [this](uint32_t call, int member, Time now) { ranks_.end_call(call, member, now); }),
        traffic_({clock_, 3}, replay.network, replay.meanwhile) {}

  Replayed play() {
    std::string stopped_by;
    std::string circle;
    try {
      play_all();
      ranks_.name_what_waits(carrier_ ? carrier_->stranded() : std::vector<Stranded>());
    } catch (const LimitReached& limit) {
      stopped_by = limit.what();
    } catch (const NetworkStuck& stuck) {
      circle = stuck.circle;
      ranks_.name_what_waits(stuck.stranded);
    }
    Replayed result = ranks_.take_result();
    result.least_delivered = std::min(result.least_delivered, calls_.least_delivered());
    result.stopped_by = stopped_by;
    result.circle = circle;
    result.until = clock_.now();
    result.events = clock_.events();
    if (replay_.resources != nullptr) result.carried_B = carrier_->carried_B(result.until);
    if (replay_.rings != nullptr) replay_.rings->add_carried(result.carried_B);
    return result;
  }

 private:
  void play_all() {
    if (carrier_)
      check_packets(packets_of(*replay_.schedule, carrier_->payload()), "or shorter messages");
    traffic_.begin();
    ranks_.begin();
    Clockwork clockwork(clock_, ranks_, calls_, traffic_);
    while (!is_over() && clockwork.step()) {
    }
  }
  // Others may go on.
  bool is_over() const { return replay_.meanwhile.any() && ranks_.has_ended(); }

  std::unique_ptr<Carrier> make_carrier() {
    if (!replay_.shares_ports && replay_.resources == nullptr) return nullptr;
    if (replay_.resources == nullptr) ports_.emplace(*replay_.network);
    Resources& resources = replay_.resources != nullptr ? *replay_.resources : *ports_;
    if (replay_.carrier) return replay_.carrier(resources, agenda_, nullptr);
    return std::make_unique<Flows>(
        resources, Flows::Options{.alpha = replay_.alpha, .send_buffer_B = replay_.send_buffer_B},
        agenda_);
  }

  const Replay& replay_;
  Agenda agenda_;
  std::optional<PortResources> ports_;
  std::unique_ptr<Carrier> carrier_;
  Clock clock_;
  RanksInTime ranks_;
  CallsInTime calls_;
  TrafficInTime traffic_;
};

}  // namespace

Replayed play(const Replay& replay) { return Replayer(replay).play(); }

double packets_of(const RankSchedule& schedule, const Payload& payload) {
  if (!payload.any()) return 0;
  return schedule.sum_of(
      [&payload](double messages, double size_B) { return payload.packets(messages, size_B); });
}

}  // namespace sgdsim
