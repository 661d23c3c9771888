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

struct Options {
  std::optional<uint32_t> window;
  std::optional<Duration> timeout;
  bool doubles = false;
};

Fields fields_of(Options& o) {
  return {Field("window", o.window, "packets that may be on their way")
              .from(1U, most_packets)
              .otherwise("what fills a round trip"),
          Field("timeout", o.timeout, "time until a packet is sent again")
              .also(check_some_time)
              .otherwise("3 round trips of an empty network"),
          {"doubles", o.doubles, "each timeout in a row is twice as long as the one before"}};
}

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  if (setup.queues.queue_limit_B.front() != QueueRules::no_limit)
    fields.value().fail("the space of pfabric's ports is `buffer`");
  if (setup.queues.port_limit_B == QueueRules::no_limit) setup.queues.port_limit_trips = 2;
  const auto options = read_record<Options>(fields);
  WindowRules rules;
  rules.connections = 0;  // each message starts at the rate of the line
  rules.first_window = options.window.value_or(0);
  rules.is_fixed = true;
  rules.lost_after = 0;
  rules.is_timeout_fixed = options.timeout.has_value();
  rules.least_timeout = options.timeout.value_or(Duration::us(1));
  rules.timeout_round_trips = rules.is_timeout_fixed ? 0 : 3;
  rules.doubles = options.doubles;
  rules.reacts_to_marks = false;
  rules.says_what_is_left = true;
  connect_windows(setup, std::move(rules));
}

}  // namespace

Transport describe() {
  return {"pfabric", "line rate from the start; switches favour what has the least left", defaults,
          options_of<Options>, read};
}

}  // namespace sgdsim::transport::pfabric
