// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257): switches mark what comes to a long queue, and
// senders give way in the proportion that was marked.
#include "models/transport/dctcp.h"

namespace sgdsim {

WindowRules read_dctcp(Object& fields, PacketSetup& setup) {
  WindowRules rules;
  rules.connections = read_count(fields, "connections", 0, rules.connections);
  rules.first_window = read_count(fields, "first_window", 1, 10);
  rules.slow_start_after_idle = read_flag(fields, "slow_start_after_idle", false);
  rules.lost_after = read_count(fields, "lost_after", 0, 3);
  rules.least_timeout = read_length(fields, "least_timeout", rules.least_timeout);
  rules.gain = read_part(fields, "gain", rules.gain);
  rules.first_alpha = read_part(fields, "first_alpha", rules.first_alpha);
  rules.marks_again = read_flag(fields, "marks_again", false);
  const uint32_t mark_above = read_count(fields, "mark_above", 0, 65);
  const uint64_t above_B = uint64_t{mark_above} * setup.packet_B;
  setup.queues.mark_above_B = QueueRules::filled(above_B);
  // A switch that marks drops what may not be marked.
  setup.queues.selects = !rules.marks_again;
  return rules;
}

void connect_windows(PacketSetup& setup, WindowRules rules) {
  const auto shared = std::make_shared<const WindowRules>(std::move(rules));
  setup.transport = [shared]() -> PacketSetup::Connect {
    const auto connections = std::make_shared<WindowConnections>();
    return [shared, connections](Packets& packets, uint32_t number, const Parcel& parcel) {
      return std::make_unique<WindowConversation>(packets, number, parcel, shared, connections);
    };
  };
}

void set_dctcp_defaults(PacketSetup& setup) {
  setup.packet_B = 1500;
  setup.header_B = 40;
  setup.queues.port_limit_B = 512'000;
}

namespace transport::dctcp {
namespace {

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  connect_windows(setup, read_dctcp(fields, setup));
}

}  // namespace

Transport describe() {
  return {"dctcp", "windows that give way in the proportion of marked packets", set_dctcp_defaults,
          read};
}

}  // namespace transport::dctcp
}  // namespace sgdsim
