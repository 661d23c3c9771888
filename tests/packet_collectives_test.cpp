// Rings, parameter servers and priorities as packets: what formulas say of steps.
#include <array>

#include "models/collective/simulate.h"
#include "tests/packet_cases.h"
#include "tests/run_program.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

namespace {

// Of workers at one switch, 1 us from it on each link.
Json step_of(int workers, const std::string& bandwidth, const Json& collective,
             const std::string& transport, Json layers) {
  return {{"schema", "sgdsim/experiment/1"},
          {"trace", {{"layers", std::move(layers)}}},
          {"cluster", rack_of(workers, bandwidth)},
          {"collective", collective},
          {"iterations", 1},
          {"warm_up", 0},
          {"fidelity", "packet"},
          {"transport", transport_in(transport)}};
}
Json layer(int64_t gradient_B, const std::string& backward) {
  return {{"name", "layer"},
          {"parameters", gradient_B / 4},
          {"forward", "0 us"},
          {"backward", backward}};
}
Json messages_of(const Json& experiment) {
  const Temporary file(Temporary::Kind::file, experiment.dump());
  const Ran ran = run_sgdsim({"run", file.name(), "--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["messages"];
}
double us_of(const Json& message, const char* what) {
  return message[std::string(what) + "_us"].get<double>();
}

}  // namespace

// A ring of n sends M/n in each of 2(n - 1) rounds, one after the other: 2(n - 1) (M/(nB) + the
// wires' latency), and one packet's time a round for the switch. So it is at any size of packets,
// and exact in a fluid, whose packets have no size.
TEST_CASE("packets: a ring takes what its bytes take, and a packet a round") {
  for (const int workers : {2, 4, 8})
    for (const int64_t packet_B : {8000, 1000, 100}) {
      CAPTURE(workers);
      CAPTURE(packet_B);
      const auto ring_us = [&](const std::string& transport) {
        const Json json = transport_in(transport + " packet=" + std::to_string(packet_B) + "B");
        CollectiveQuestion question;
        question.algorithm = "ring";
        question.messages = {Bytes(3'200'000)};
        question.options.alpha = AlphaRule::wire;
        question.fidelity = Fidelity::packet;
        question.carrier = carrier_of(Value(json, "test", ""), {}, 1);
        return simulate_collective(question, cluster_of(rack_of(workers)), "test").time.us();
      };
      const double rounds = 2.0 * (workers - 1);
      const double packet_us = static_cast<double>(packet_B) * 8e-5;
      const double chunk_us = 3'200'000 * 8e-5 / workers;
      const double fluid_us = rounds * (chunk_us + 2);
      CHECK(ring_us("ideal") == doctest::Approx(fluid_us + rounds * packet_us).epsilon(1e-9));
      // MLT needs nine tenths of each chunk, beside which an answer of 64 B goes for ten packets.
      // The next one leaves when the word is back that it is enough: 2 us, two links of 64 B, and a
      // packet that is being sent at the card, at the switch, and once more before the chunk.
      const double bounded_us = rounds * (0.9 * chunk_us + 2 + packet_us);
      const double ours_us = ring_us("mlt header=0B");
      CHECK(ours_us >= bounded_us - 1e-6);
      const double answers_us = 0.9 * chunk_us * 6.4 / static_cast<double>(packet_B);
      CHECK(ours_us <= bounded_us + rounds * (answers_us + 2 + 2 * 0.00512 + 3 * packet_us) + 1e-6);
    }
}

// With M bytes, P workers, S servers: a server's link carries P M/S each way, and 2 (P - 1) M/S
// together where servers sit on workers. A push and a pull take two links of 1 us each, and store a
// packet at the switch.
TEST_CASE("packets: parameter servers take what the fullest link takes") {
  struct Row {
    int workers;
    int servers;
    const char* placement;
    int turns;  // of M/S
  };
  constexpr int64_t gradient_B = 12'000'000;
  for (const Row& row : std::vector<Row>{{3, 1, "dedicated", 6},
                                         {6, 2, "dedicated", 12},
                                         {6, 3, "dedicated", 12},
                                         {4, 4, "co_located", 6},
                                         {8, 8, "co_located", 14},
                                         {8, 4, "co_located", 14}})
    for (const int packet_B : {12'000, 1000}) {
      CAPTURE(row.workers);
      CAPTURE(row.servers);
      CAPTURE(packet_B);
      const Json servers = {
          {"parameter_server",
           // Nobody pushes for the next iteration while others pull.
           {{"servers", row.servers}, {"placement", row.placement}, {"barrier", true}}}};
      const Json messages = messages_of(step_of(row.workers, "100 Gbps", servers,
                                                "ideal packet=" + std::to_string(packet_B) + "B",
                                                Json::array({layer(gradient_B, "1 us")})));
      const double fluid_us = row.turns * (gradient_B * 8e-5 / row.servers) + 4;
      CHECK(us_of(messages[0], "end") - us_of(messages[0], "start") ==
            doctest::Approx(fluid_us + 2 * packet_B * 8e-5).epsilon(1e-9));
    }
}

// Whoever is sent next is the most urgent one that is ready, and the most urgent one of all waits
// for one piece at most: 4.096 MB at 25 Gbit/s are 1.31 ms, 160 kB are 51 us. A ring of two sends
// a piece in two halves, each with a latency of 2 us and a packet at the switch.
TEST_CASE("packets: pieces go by priority, and nobody waits for more than one") {
  for (const auto& piece : {std::pair(4'096'000, 1310.72), std::pair(160'000, 51.2)}) {
    const auto piece_B = piece.first;
    const auto piece_us = piece.second;
    CAPTURE(piece_B);
    CHECK(piece_B * 8 / 25e3 == doctest::Approx(piece_us));
    Json layers;
    for (const auto& [pieces, backward_us] :
         {std::pair(0.5, 700), std::pair(3.0, 1100), std::pair(4.0, 300), std::pair(2.5, 900),
          std::pair(5.0, 500)})
      layers.push_back(layer(static_cast<int64_t>(pieces * piece_B),
                             std::to_string(backward_us * piece_us / 1310.72) + " us"));
    Json step = step_of(2, "25 Gbps", {{"algorithm", "ring"}}, "ideal packet=4000B", layers);
    step["strategy"] = {{"name", "p3"}, {"slice", std::to_string(piece_B) + " B"}};
    const Json messages = messages_of(step);
    REQUIRE(messages.size() == 1 + 3 + 4 + 3 + 5);
    int overtaken = 0;
    double most_us = 0;
    for (const Json& one : messages)
      for (const Json& other : messages) {
        const double start = us_of(one, "start");
        if (us_of(other, "start") <= start) continue;
        CHECK(us_of(other, "start") >= us_of(one, "end"));  // one at a time
        // `other` goes later: it was not ready, or is no more urgent.
        const bool is_urgent = other["layers"][0] < one["layers"][0];
        CHECK((us_of(other, "ready") > start || !is_urgent));
        if (is_urgent && us_of(other, "ready") < us_of(one, "end")) {
          ++overtaken;
          if (other["layers"][0] == 0)
            most_us = std::max(most_us, us_of(other, "start") - us_of(other, "ready"));
        }
      }
    CHECK(overtaken > 0);  // somebody more urgent came while a piece was on its way
    CHECK(most_us > 0);
    CHECK(most_us <= piece_us + 2 * (2 + 4000 * 8 / 25e3));
  }
}
