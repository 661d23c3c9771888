// Links that get slower and faster again while a packet is being sent.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

using namespace sgdsim;

namespace {

// Two workers at one switch, 10 Gbit/s, 1 us a link; one message of so many bytes, and a link that
// is slower for a moment, again and again.
double end_us(const char* transport, int bytes, int dips, double factor, double dip_us,
              double every_us) {
  const Json cluster = {{"shape", "single_switch"},
                        {"nodes", 2},
                        {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
  Json changes = Json::array();
  for (int i = 0; i < dips; ++i) {
    const double at = 100 + i * every_us;
    for (const double part : {factor, 1.})
      changes.push_back({{"at", std::to_string(part < 1 ? at : at + dip_us) + " us"},
                         {"link", {"node0", "switch"}},
                         {"bandwidth", part}});
  }
  const Json flow = {{"from", 0}, {"to", 1}, {"size", std::to_string(bytes) + " B"}};
  Json traffic = {{"flows", {{"generator", "listed"}, {"list", Json::array({flow})}}}};
  if (dips > 0) traffic["changes"] = changes;
  const Json answer = json_of_run({"traffic", traffic.dump(), "-c", cluster.dump(), "--fidelity",
                                   "packet", "--transport", transport, "--format", "json"});
  return answer["flows"][0]["end_ps"].get<double>() / 1e6;
}

}  // namespace

// A dip costs at most what is not sent in it, and the packet that it meets; the last packet may go
// at a tenth of the rate, which is as long as ten.
TEST_CASE("stretched packets: dips cost no more than they last") {
  for (const char* transport : {"ideal", "dctcp", "ndp"}) {
    CAPTURE(transport);
    const double alone_us = end_us(transport, 2'000'000, 0, 1, 1, 1);
    for (const int dips : {1, 4, 8, 30}) {
      CAPTURE(dips);
      const double us = end_us(transport, 2'000'000, dips, 0.1, 5, 10);
      const double packet_us = 9000 * 8 / 10e3;
      CHECK(us >= alone_us);
      CHECK(us <= alone_us + dips * (5 + packet_us) + 10 * packet_us);
    }
  }
  // Thirty short ones, in which less than a packet would have been sent: they cost no more than
  // they last, and a packet.
  CHECK(end_us("ideal", 2'000'000, 30, 0.5, 0.1, 0.3) <=
        end_us("ideal", 2'000'000, 0, 1, 1, 1) + 30 * 0.1 + 10);
}

// Busy no longer than the rest takes, and no shorter than the packet itself.
TEST_CASE("stretched packets: a link that is slow for good is as slow") {
  const double us = end_us("ideal", 2'000'000, 1, 0.1, 1e6, 1);
  // 100 us at full rate and the rest, 1.875 MB, at a tenth.
  CHECK(us == doctest::Approx(100 + 1'875'000 * 8 / 1e3).epsilon(0.01));
}
