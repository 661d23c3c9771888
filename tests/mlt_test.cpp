// MLT: rates, connections, bounds by layer, and its simulation of a training step at a smaller
// size.
#include <cmath>
#include <map>
#include <utility>

#include "sim/core/random.h"
#include "tests/packet_cases.h"
#include "tests/run_program.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

namespace {

// When the last of so many packets is sent: every tenth one is answered after a round trip, and
// each answer makes the rate `ratio` of what it was.
double last_sent_ps(int packets, double packet_ps, double trip_ps, double ratio, double least) {
  std::vector<double> answers;
  std::size_t heard = 0;
  double rate = 1;
  double now = 0;
  for (int i = 1; i < packets; ++i) {
    for (; heard < answers.size() && answers[heard] <= now; ++heard)
      rate = std::max(least, rate * ratio);
    if (i % 10 == 0) answers.push_back(now + trip_ps);
    now += packet_ps / rate;
  }
  return now;
}

// Twelve workers and four servers, in four racks. `servers` is how the file's job is told of them.
Json played_job(const std::string& file, const std::string& servers,
                const std::vector<std::string>& more) {
  std::vector<std::string> words = {"jobs", "app/job_files/" + file, "--format", "json"};
  std::vector<std::string> sets = {"cluster.nodes=16", "jobs.0.workers=12", "jobs.0.servers=4",
                                   servers + "collective.parameter_server.servers=4"};
  sets.insert(sets.end(), more.begin(), more.end());
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  const Ran ran = run_sgdsim(words);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}
Json jobs_of(const std::string& transport, std::vector<std::string> more = {}) {
  more.push_back("transport=" + transport_in(transport).dump());
  return played_job("mlt_simulation.json", "jobs.0.set.1=", more);
}

// Rates for 100 Gbit/s: see docs/packets.md.
const std::string mlt = "mlt long_trip=40us step=2Gbps";

}  // namespace

// A constant round trip T above the longer threshold of 125 us: each answer makes the rate
// 1 - 0.8 (1 - 125 us / T) of what it was, down to a hundredth of the line's.
TEST_CASE("mlt: rates fall by how far a round trip is too long") {
  for (const auto& published : {std::pair(250.0, 0.6), std::pair(500.0, 0.4)}) {
    const double trip_us = published.first;
    const double ratio = published.second;
    CAPTURE(trip_us);
    // 96 B there and 64 B back at 10 Gbps take 2 (0.0768 us + 0.0512 us); the rest is the wires'.
    const std::string latency = std::to_string((trip_us - 0.256) / 4 * 1e6);
    const Cluster rack =
        cluster_of(rack_of(2, "10 Gbps", latency.substr(0, latency.find('.')) + " ps"));
    constexpr int packets = 10'000;
    const std::vector<PlainFlow> flows = {flow({}, 0, 1, 96 * packets)};
    const std::string options = "mlt loss_bound=0 packet=96B header=0B";
    const double sent_ps = last_sent_ps(packets, 76'800, trip_us * 1e6, ratio, 0.01);
    CHECK(took(played(rack, flows, options), flows, 0).us() ==
          doctest::Approx((sent_ps + 153'600) * 1e-6 + (trip_us - 0.256) / 2).epsilon(1e-6));
    // Below the threshold it stays at the line's.
    CHECK(took(played(rack, flows, options + " long_trip=1ms"), flows, 0).us() ==
          doctest::Approx(packets * 0.0768 + 0.0768 + (trip_us - 0.256) / 2).epsilon(1e-6));
  }
}

// Three messages between the same two: each as if the next ones were not there, but for a question
// of 64 B behind each.
TEST_CASE("mlt: messages of a connection go one after the other") {
  const Cluster rack = cluster_of(rack_of(2));
  const std::vector<PlainFlow> flows(3, flow({}, 0, 1, 1'456'000));
  const FlowsPlayed all = played(rack, flows, "mlt loss_bound=0");
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const double expected_us = 120 * static_cast<double>(i + 1) + 0.12 + 2;
    CHECK(took(all, flows, i).us() >= doctest::Approx(expected_us));
    CHECK(took(all, flows, i).us() <= expected_us + 3 * 0.00512 + 1e-6);
  }
  CHECK(all.packets->counts.sent_again == 0);
}

// Until the last word, what is missing may be asked for: the sender is free a way back after the
// message is complete.
TEST_CASE("mlt: a sender is free when it hears that it is enough") {
  const Cluster rack = cluster_of(rack_of(2));
  const auto wires = rack.wires({});
  Agenda agenda;
  const Json json = transport_in("mlt");
  const auto carrier = carrier_of(Value(json, "test", ""), {}, 1)(*wires, agenda, nullptr);
  carrier->send({.from = 0, .to = 1, .size_B = 1'456'000, .leg = {}}, Time());
  std::map<Carrier::News, double> heard_us;
  while (!agenda.empty()) {
    const auto event = agenda.pop();
    heard_us[carrier->happen(event.payload, event.time).news] = (event.time - Time()).us();
  }
  // 900 of 1,000 packets of 120 ns, and 64 B back over two links of 1 us.
  CHECK(heard_us[Carrier::News::arrived] == doctest::Approx(900 * 0.12 + 0.12 + 2));
  CHECK(heard_us[Carrier::News::sender_free] == doctest::Approx(900 * 0.12 + 0.12 + 4 + 0.01024));
}

// Two senders into one link, whose queue is without end: the question goes before the data that
// waits, which is then sent once more. Who asks when that has gone sends nothing twice.
TEST_CASE("mlt: a question that comes too early costs packets") {
  const Cluster rack = cluster_of(rack_of(3));
  const std::vector<PlainFlow> flows = incast(2, 1'456'000);
  const std::string options = "mlt loss_bound=0 parts=AC buffer=1GB fall=0";
  const FlowsPlayed early = played(rack, flows, options);
  CHECK(played(rack, flows, options + " ask_after=0s").ends == early.ends);
  // A queue that grows for 120 us takes as long to drain.
  const FlowsPlayed late = played(rack, flows, options + " ask_after=130us");
  CHECK(late.packets->counts.sent_again == 0);
  CHECK(late.packets->counts.sent == 2000);
  CHECK(last_of(late).us() == doctest::Approx(2000 * 0.12 + 0.12 + 2).epsilon(1e-3));
  // When the first 1,000 of 2,000 have gone through, each of the two misses about 500.
  CHECK(early.packets->counts.sent_again >= 900);
  CHECK(early.packets->counts.dropped == 0);
}

// Strict priority: while front layers fill a port, the queue of the back gets no turn. It answers
// nothing, so that its sender goes on at the rate that it has, and what the buffer cannot hold is
// lost: of n packets that come meanwhile all but the buffer's.
TEST_CASE("mlt: the sender for a queue that gets no turn sends for nothing") {
  const Cluster rack = cluster_of(rack_of(3));
  const auto counts_of = [&](bool has_front) {
    const auto wires = rack.wires({});
    Agenda agenda;
    const Json json = transport_in("mlt loss_bound=0 important=1");
    const auto carrier = carrier_of(Value(json, "test", ""), {}, 1)(*wires, agenda, nullptr);
    const auto send = [&](int from, double depth) {
      carrier->send({.from = from,
                     .to = 0,
                     .size_B = 14'560'000,
                     .leg = {},
                     .tells_when_free = false,
                     .freight = {.depth = depth, .cargo = Cargo::gradients}},
                    Time());
    };
    send(1, 0.9);
    if (has_front) send(2, 0);
    // 10,000 packets of 120 ns each: until the last of the first round has come.
    for (Time now; !agenda.empty() && now < Time() + Duration::us(1202);) {
      const auto event = agenda.pop();
      now = event.time;
      carrier->happen(event.payload, now);
    }
    return carrier->report(Time())->counts;
  };
  CHECK(counts_of(false).dropped == 0);
  const PacketCounts both = counts_of(true);
  CHECK(both.delivered >= 9'990);
  // 512 kB are 341 packets; a few go through while the other sender begins.
  CHECK(std::abs(static_cast<double>(both.dropped) - (10'000 - 341)) < 50);
}

// A link that loses 3 % of the packets: of each layer what its bound allows is lost for good.
TEST_CASE("mlt: bounds and importance by layer") {
  const Cluster rack = cluster_of(rack_of(2));
  const auto wires = rack.wires({});
  Agenda agenda;
  const Json json = transport_in("mlt loss_bound=[0.2,0.01,0] important=[0,0.25,1]");
  const auto carrier = carrier_of(Value(json, "test", ""), {}, 1)(*wires, agenda, nullptr);
  std::vector<uint32_t> all(wires->capacities().size());
  for (uint32_t way = 0; way < all.size(); ++way) all[way] = way;
  carrier->lose(all, 0.03);
  constexpr int layers = 6;
  for (int layer = 0; layer < layers; ++layer)
    carrier->send(
        {.from = 0,
         .to = 1,
         .size_B = 14'560'000,
         .leg = {},
         .tells_when_free = false,
         .freight = {.depth = static_cast<double>(layer) / layers, .cargo = Cargo::gradients}},
        Time());
  while (!agenda.empty()) {
    const auto event = agenda.pop();
    carrier->happen(event.payload, event.time);
  }
  const auto report = carrier->report(Time());
  REQUIRE(report->delivery.size() == layers);
  CHECK(report->took.size() == layers);
  int layer = 0;
  for (const auto& [freight, delivery] : report->delivery) {
    CAPTURE(layer);
    const std::vector<double> bounds = {0.2, 0.01, 0};
    const std::vector<double> important = {0, 0.25, 1};
    const auto third = static_cast<std::size_t>(layer / 2);
    CHECK(delivery.part() >= 1 - bounds[third] - 1e-12);
    // 3 % at each of two links; whoever accepts more than that goes on as soon as it has enough.
    CHECK(delivery.part() == doctest::Approx(1 - bounds[third]).epsilon(0.001));
    // 10,000 packets: four deviations.
    CHECK(delivery.size_B[1] / 14'560'000 == doctest::Approx(important[third]).epsilon(0.08));
    ++layer;
  }
  CHECK(report->of_gradients().part() < 1);
}

// MLT's simulation (NSDI 2024, section 5.3) with 16 hosts of its 36 to 144: MLT sends a tenth less,
// so messages take less than under NDP and DCTCP on average.
TEST_CASE("mlt: ahead of NDP and DCTCP in a step with servers") {
  const auto mean_us = [](const Json& json) { return json["message_us"]["mean"].get<double>(); };
  const Json ours = jobs_of(mlt + " parts=AC");
  const Json ndp = jobs_of("ndp");
  const Json dctcp = jobs_of("dctcp");
  CHECK(mean_us(ours) < mean_us(ndp));
  CHECK(mean_us(ours) < mean_us(dctcp));
  // Whoever waits for everything waits for what is lost, too.
  CHECK(mean_us(ours) < mean_us(jobs_of(mlt + " parts=C")));
}

// The uplinks carry a third of what the racks can send, and a step waits for them. Published for
// ResNet-50, faster than without by: A 9, AB 12, C 20, BC 24, ABC 30 %. All ways are worth more
// than bounded loss, which is worth more than queues by layer. Those cost 3 % at most, which is
// what they cost with 36 hosts where messages keep their ways (docs/packets.md).
TEST_CASE("mlt: what its parts are worth") {
  const Json trace = {{"file", "../../traces/data/resnet50_v100.json"},
                      {"compute_scale", 0.03},
                      {"gradient_scale", 0.25}};
  std::map<std::string, double> us;
  for (const std::string parts : {"", "A", "B", "AB", "C", "AC", "BC", "ABC"}) {
    const Json json =
        played_job("mlt_without_barrier.json", "jobs.0.experiment.",
                   {"cluster.uplink.bandwidth=33 Gbps", "jobs.0.experiment.trace=" + trace.dump(),
                    "transport.parts=\"" + parts + "\""});
    us[parts] = json["jobs"][0]["iteration_us"].get<double>();
  }
  CAPTURE(Json(us).dump());
  CHECK(us["C"] < 0.95 * us["A"]);
  CHECK(us["A"] < 0.95 * us["B"]);
  CHECK(us["AC"] < 0.95 * us["C"]);
  for (const auto& [without, with] :
       {std::pair("", "B"), std::pair("A", "AB"), std::pair("C", "BC"), std::pair("AC", "ABC")})
    CHECK(us[with] < 1.03 * us[without]);
}

// A link of one worker loses packets: MLT does not mind, DCTCP does.
TEST_CASE("mlt: a link that loses packets does not slow it down") {
  // Against the job without what happens to links.
  const auto slowdown = [](const std::string& transport) {
    const Json traffic = {
        {"changes", {{{"at", "0 us"}, {"link", {"leaf0", "node0"}}, {"loss", 0.01}}}}};
    return jobs_of(transport, {"traffic=" + traffic.dump()})["jobs"][0]["slowdown"].get<double>();
  };
  CHECK(slowdown(mlt + " parts=AC") == doctest::Approx(1).epsilon(0.01));
  CHECK(slowdown("dctcp") > 1.1);
}

// Servers of `run` have nodes that the experiment's cluster has not: their queues have names, too.
TEST_CASE("packets: queues of dedicated servers are named") {
  const Ran ran = run_sgdsim(
      {"run", "app/experiments/resnet50_servers_18.json", "--fidelity", "packet", "--set",
       R"(collective={"parameter_server":{"servers":3,"placement":"dedicated"}})", "--format",
       "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  bool has_server = false;  // the workers are node0 to node17
  for (const Json& queue : json["queues"])
    for (const char* end : {"from", "to"})
      for (const char* server : {"node18", "node19", "node20"})
        has_server = has_server || queue[end] == server;
  CHECK(has_server);
}
