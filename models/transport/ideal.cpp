// Everything at once, into queues without end: what the wires alone allow. Nothing is acknowledged,
// and what is lost is lost.
#include "models/transport/received.h"
#include "models/transport/registry.h"

namespace sgdsim::transport::ideal {
namespace {

class IdealConversation final : public Conversation {
 public:
  IdealConversation(Packets& packets, uint32_t number, const Parcel& parcel)
      : Conversation(packets, number, parcel), received_(count()) {}

  void begin(Time now) override { packets_.ready(*this, now); }
  Offer next(Packet& packet, Time) override {
    if (sent_ == count()) return Offer::nothing;
    packet.number = sent_++;
    return sent_ < count() ? Offer::more : Offer::last;
  }
  void at_receiver(const Packet& packet, Time now) override {
    packets_.count_delivered();
    received_.add(packet.number);
    if (!received_.has_all()) return;
    packets_.complete(*this, now);
    packets_.finish(*this, now);
  }
  void at_sender(const Packet&, Time) override {}
  void on_timer(Time) override {}

 private:
  uint32_t sent_ = 0;
  Received received_;
};

void defaults(PacketSetup& setup) {
  setup.packet_B = 4096;
  setup.header_B = 0;
  setup.spray = Spray::permuted;
}

void read(Object&, const std::vector<double>&, PacketSetup& setup) {
  setup.transport = []() -> PacketSetup::Connect {
    return [](Packets& packets, uint32_t number, const Parcel& parcel) {
      return std::make_unique<IdealConversation>(packets, number, parcel);
    };
  };
}

}  // namespace

Transport describe() {
  return {"ideal", "all packets at once into queues without end; nothing is acknowledged", defaults,
          no_options, read};
}

}  // namespace sgdsim::transport::ideal
