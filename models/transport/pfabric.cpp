// pFabric (Alizadeh et al., SIGCOMM 2013): messages start at line rate, and switches send what has
// the least left, and drop what has the most.
#include "models/transport/dctcp.h"

namespace sgdsim::transport::pfabric {
namespace {

void defaults(PacketSetup& setup) {
  setup.packet_B = 1500;
  setup.header_B = 40;
  setup.spray = Spray::random;
  setup.queues.rule = QueueRule::push_out;
}

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  if (setup.queues.queue_limit_B.front() != QueueRules::no_limit)
    fields.value().fail("the space of pfabric's ports is `buffer`");
  if (setup.queues.port_limit_B == QueueRules::no_limit) setup.queues.port_limit_trips = 2;
  WindowRules rules;
  rules.connections = 0;  // each message starts at the rate of the line
  rules.first_window = read_count(fields, "window", 1, 0);
  rules.is_fixed = true;
  rules.lost_after = 0;
  rules.is_timeout_fixed = fields.has("timeout");
  rules.least_timeout = read_length(fields, "timeout", Duration::us(1));
  rules.timeout_round_trips = rules.is_timeout_fixed ? 0 : 3;
  rules.doubles = read_flag(fields, "doubles", false);
  rules.reacts_to_marks = false;
  rules.says_what_is_left = true;
  connect_windows(setup, std::move(rules));
}

}  // namespace

Transport describe() {
  return {"pfabric", "line rate from the start; switches favour what has the least left", defaults,
          read};
}

}  // namespace sgdsim::transport::pfabric
