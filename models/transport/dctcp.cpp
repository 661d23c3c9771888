// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257): switches mark what comes to a long queue, and
// senders give way in the proportion that was marked.
#include "models/transport/dctcp.h"

namespace sgdsim {

Fields fields_of(DctcpOptions& o) {
  return {
      Field("connections", o.rules.connections,
            "connections of one worker to another, which live on; 0: one for each message")
          .from(0U, most_packets),
      Field("first_window", o.first_window, "packets of the first window").from(1U, most_packets),
      {"slow_start_after_idle", o.rules.slow_start_after_idle,
       "a window that was not used for a while begins anew"},
      Field("lost_after", o.rules.lost_after,
            "later packets that have come, until one is taken for lost; 0: only the timeout "
            "tells")
          .from(0U, most_packets),
      Field("least_timeout", o.rules.least_timeout, "least time until a packet is sent again")
          .also(check_some_time),
      Field("gain", o.rules.gain, "weight of the latest marks in their mean").from(0, 1),
      Field("first_alpha", o.rules.first_alpha, "part of packets taken for marked at first")
          .from(0, 1),
      {"marks_again", o.rules.marks_again, "packets that are sent again may be marked"},
      Field("mark_above", o.mark_above, "packets in a queue above which others are marked")
          .from(0U, most_packets)};
}

WindowRules dctcp_rules(const DctcpOptions& options, PacketSetup& setup) {
  WindowRules rules = options.rules;
  rules.first_window = options.first_window;
  const uint64_t above_B = uint64_t{options.mark_above} * setup.packet_B;
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
  connect_windows(setup, dctcp_rules(read_record<DctcpOptions>(fields), setup));
}

}  // namespace

Transport describe() {
  return {"dctcp", "windows that give way in the proportion of marked packets", set_dctcp_defaults,
          options_of<DctcpOptions>, read};
}

}  // namespace transport::dctcp
}  // namespace sgdsim
