// MLT and DLCP: many tiny messages to one end, and messages that cannot end.
#include <cmath>
#include <vector>

#include "sim/core/random.h"
#include "tests/packet_cases.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

// A question overtakes data that waits, and is answered before it comes: to send it again each
// time would fill the port for ever. Messages of a few packets from many senders end, and packets
// are sent a few times.
TEST_CASE("mlt, dlcp: many tiny messages to one end, and packets are sent a few times") {
  struct Incast {
    const char* reason;
    int senders;
    int each;
    int64_t size_B;
    const char* rate;
    const char* latency;
  };
  std::vector<Incast> rows = {{"one byte", 50, 2, 1, "10 Gbps", "1 us"},
                              {"one packet", 100, 1, 1000, "10 Gbps", "1 us"},
                              {"slow", 60, 3, 3000, "1 Gbps", "500 ns"},
                              {"fast", 127, 4, 1, "100 Gbps", "100 ns"},
                              {"no latency", 40, 5, 200, "10 Gbps", "0 us"}};
  Random random(31);
  const std::vector<const char*> rates = {"1 Gbps", "10 Gbps", "100 Gbps"};
  const std::vector<const char*> latencies = {"0 us", "200 ns", "1 us", "20 us"};
  for (int i = 0; i < 12; ++i)
    rows.push_back({"random", 1 + static_cast<int>(random.below(120)),
                    1 + static_cast<int>(random.below(4)),
                    1 + static_cast<int64_t>(random.below(8000)), rates[random.below(rates.size())],
                    latencies[random.below(latencies.size())]});
  for (const Incast& row : rows) {
    CAPTURE(row.reason);
    CAPTURE(row.senders);
    CAPTURE(row.each);
    CAPTURE(row.size_B);
    CAPTURE(row.rate);
    CAPTURE(row.latency);
    const Cluster rack = cluster_of(rack_of(row.senders + 1, row.rate, row.latency));
    std::vector<PlainFlow> flows;
    for (int i = 0; i < row.each; ++i)
      for (const PlainFlow& one : incast(row.senders, row.size_B)) flows.push_back(one);
    const auto packets =
        static_cast<double>(flows.size()) * std::ceil(static_cast<double>(row.size_B) / 1456.0);
    for (const std::string name : {"mlt", "dlcp"})
      for (const std::string parts : {"", "A", "B", "C", "AB", "AC", "BC", "ABC"}) {
        CAPTURE(name);
        CAPTURE(parts);
        const FlowsPlayed all = played(rack, flows, name + " parts=\"" + parts + "\"");
        for (std::size_t i = 0; i < flows.size(); ++i) CHECK(all.ends[i] < Time::last());
        CHECK(static_cast<double>(all.packets->counts.sent) <= 4 * packets);
        CHECK(static_cast<double>(all.packets->counts.answers) <= 20 * packets);
        check_conserved(all);
      }
  }
}

// Nothing comes through: the sender gives up, and it is said who waits.
TEST_CASE("mlt, dlcp: messages that cannot end are named") {
  const Cluster rack = cluster_of(rack_of(3));
  const auto wires = rack.wires({});
  std::vector<uint32_t> into;
  for (uint32_t way = 0; way < wires->capacities().size(); ++way)
    if (wires->name_of(way).to == "node0") into.push_back(way);
  for (const char* name : {"mlt", "dlcp", "mlt parts=AC", "dlcp parts=AC"}) {
    const FlowsPlayed gone =
        played(rack, incast(2, 1'000'000), name, {{Time() + Duration::us(5), into, 1, 1.0}});
    CHECK(gone.stranded == std::vector<std::size_t>{0, 1});
  }
}
