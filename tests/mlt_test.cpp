// MLT and DLCP: rates, connections, bounds by layer, tiny messages, and the simulation of a
// training step at a smaller size.
#include <cmath>
#include <map>
#include <utility>

#include "models/collective/simulate.h"
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

const std::string mlt = "mlt";

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
    const std::string options = "mlt loss_bound=0 packet=96B header=0B long_trip=125us";
    const double sent_ps = last_sent_ps(packets, 76'800, trip_us * 1e6, ratio, 0.01);
    CHECK(took(played(rack, flows, options), flows, 0).us() ==
          doctest::Approx((sent_ps + 153'600) * 1e-6 + (trip_us - 0.256) / 2).epsilon(1e-6));
    // Below the threshold it stays at the line's.
    CHECK(took(played(rack, flows, "mlt loss_bound=0 packet=96B header=0B long_trip=1ms"), flows, 0)
              .us() ==
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

// A sender is free when its last packet has left: what is missing is sent again from a buffer that
// nobody writes into. Where it is written into meanwhile, the sender waits until it hears that it
// is enough, a way back after the message is complete.
TEST_CASE("mlt: a sender waits for the last word only if its buffer is overwritten") {
  const Cluster rack = cluster_of(rack_of(2, "100 Gbps", "10 us"));
  for (const bool is_overwritten : {false, true}) {
    CAPTURE(is_overwritten);
    const auto wires = rack.wires({});
    Agenda agenda;
    const Json json = transport_in("mlt");
    const auto carrier = carrier_of(Value(json, "test", ""), {}, 1)(*wires, agenda, nullptr);
    carrier->send(
        {.from = 0, .to = 1, .size_B = 1'456'000, .leg = {}, .is_overwritten = is_overwritten},
        Time());
    std::map<Carrier::News, double> heard_us;
    while (!agenda.empty()) {
      const auto event = agenda.pop();
      heard_us[carrier->happen(event.payload, event.time).news] = (event.time - Time()).us();
    }
    // 900 of 1,000 packets of 120 ns, and 64 B back over two links of 10 us.
    const double complete_us = 900 * 0.12 + 0.12 + 20;
    CHECK(heard_us[Carrier::News::arrived] == doctest::Approx(complete_us));
    CHECK(heard_us[Carrier::News::sender_free] ==
          doctest::Approx(is_overwritten ? complete_us + 20 + 0.01024 : 1000 * 0.12));
  }
}

// A ring: a chunk of n packets is complete when nine tenths of them have come, and the next one
// goes behind it when all have left, or the last word is there. Only the windows of recursive
// doubling are written into by what comes in the same round, so that all rounds wait for that word.
TEST_CASE("mlt: rounds of a ring do not wait for the last word") {
  const auto us_of = [](const std::string& algorithm, int64_t size_B, const char* latency) {
    const Json json = transport_in("mlt");
    CollectiveQuestion question;
    question.algorithm = algorithm;
    question.messages = {Bytes(size_B)};
    question.options.alpha = AlphaRule::wire;
    question.fidelity = Fidelity::packet;
    question.carrier = carrier_of(Value(json, "test", ""), {}, 1);
    return simulate_collective(question, cluster_of(rack_of(8, "100 Gbps", latency)), "test")
        .time.us();
  };
  const auto complete_us = [](int packets, double latency_us) {
    return 0.9 * packets * 0.12 + 0.12 + 2 * latency_us;
  };
  const auto word_us = [&](int packets, double latency_us) {
    return complete_us(packets, latency_us) + 2 * latency_us + 0.01;
  };
  const auto round_us = [&](int packets, double latency_us) {
    const double left_us = std::min(packets * 0.12, word_us(packets, latency_us));
    return std::max(complete_us(packets, latency_us), left_us);
  };
  // Chunks of a hundred packets of 1,456 B; answers take a hundredth or two of the cards.
  CHECK(us_of("ring", 8 * 145'600, "1 us") == doctest::Approx(14 * round_us(100, 1)).epsilon(0.01));
  CHECK(us_of("ring", 8 * 145'600, "100 ns") ==
        doctest::Approx(14 * round_us(100, 0.1)).epsilon(0.03));
  CHECK(
      us_of("halving_doubling", 8 * 145'600, "1 us") ==
      doctest::Approx(2 * (round_us(400, 1) + round_us(200, 1) + round_us(100, 1))).epsilon(0.01));
  CHECK(us_of("recursive_doubling", 145'600, "1 us") ==
        doctest::Approx(3 * word_us(100, 1)).epsilon(0.01));
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
// nothing, and its sender's rate halves with every 60 packets beyond those of a round trip, down to
// a hundredth.
TEST_CASE("mlt: the sender for a queue that gets no turn gives way") {
  const Cluster rack = cluster_of(rack_of(3));
  constexpr double until_us = 1202;
  const auto counts_of = [&](bool has_front, const std::string& more) {
    const auto wires = rack.wires({});
    Agenda agenda;
    const Json json = transport_in("mlt loss_bound=0 important=1 long_trip=1s" + more);
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
    for (Time now; !agenda.empty() && now < Time() + Duration::nearest_ps(until_us * 1e6);) {
      const auto event = agenda.pop();
      now = event.time;
      carrier->happen(event.payload, now);
    }
    return carrier->report(Time())->counts;
  };
  CHECK(counts_of(false, "").dropped == 0);
  // 512 kB are 341 packets; a few go through while the other sender begins. One that does not give
  // way sends all the time.
  const PacketCounts stubborn = counts_of(true, " halve_after=0");
  CHECK(stubborn.delivered >= 9'990);
  CHECK(std::abs(static_cast<double>(stubborn.dropped) - (10'000 - 341)) < 50);
  // Four links of 1 us hold 34 packets.
  double sent = 34;
  double now_us = 34 * 0.12;
  for (double rate = 1; now_us < until_us; rate = std::max(0.01, rate / 2)) {
    const double packets = std::min(60.0, (until_us - now_us) * rate / 0.12);
    sent += packets;
    now_us += packets * 0.12 / rate;
  }
  const PacketCounts both = counts_of(true, "");
  CHECK(both.delivered >= 9'950);
  // Ten packets that go through while the other sender begins make one answer, from which those 94
  // are counted anew.
  CHECK(static_cast<double>(both.dropped) > sent - 341 - 50);
  CHECK(static_cast<double>(both.dropped) < sent - 341 + 94 + 50);
  CHECK(both.dropped < stubborn.dropped / 20);
}

// Round trips of 250 us make the rate 0.6 of what it was at each answer. The next message of the
// two has that rate, unless nothing was sent for as long as a question waits for an answer.
TEST_CASE("mlt: a connection remembers its rate for a while") {
  const Cluster rack = cluster_of(rack_of(2, "10 Gbps", "62436 ns"));
  constexpr int packets = 4'000;
  const auto second_us = [&](Duration pause, const std::string& more) {
    std::vector<PlainFlow> flows = {flow({}, 0, 1, 96 * packets)};
    const std::string options = "mlt loss_bound=0 packet=96B header=0B long_trip=125us" + more;
    const Duration first = took(played(rack, flows, options), flows, 0);
    // The last word needs a way back.
    flows.push_back(flow(first + Duration::us(126) + pause, 0, 1, 96 * packets));
    return took(played(rack, flows, options), flows, 1).us();
  };
  const double anew_us =
      last_sent_ps(packets, 76'800, 250e6, 0.6, 0.01) * 1e-6 + 0.1536 + (250 - 0.256) / 2;
  // At a hundredth of the line's rate to the end. Which packet is the tenth depends on the first
  // message, whose last packet had the last word for an answer: nine packets more or less.
  const double slow_us = (packets - 1) * 7.68 + 0.1536 + (250 - 0.256) / 2;
  CHECK(second_us(Duration::ms(2), "") == doctest::Approx(anew_us).epsilon(0.02));
  CHECK(second_us(Duration::us(500), "") == doctest::Approx(slow_us).epsilon(1e-3));
  CHECK(second_us(Duration::us(500), " forget_after=0us") ==
        doctest::Approx(anew_us).epsilon(0.02));
  CHECK(second_us(Duration::ms(2), " forget_after=1s") == doctest::Approx(slow_us).epsilon(1e-3));
}

// Two senders into one port, of any link: a plain `mlt` gives way where a round trip is that of an
// empty network and 0.7 of a full port, so that the port does not overflow for long. A plain `dlcp`
// keeps it nearer to its threshold of 65 packets than to its end at 341.
TEST_CASE("mlt, dlcp: defaults fit any link") {
  for (const auto& link :
       {std::pair("1 Gbps", "20 us"), std::pair("10 Gbps", "1 us"), std::pair("25 Gbps", "5 us"),
        std::pair("100 Gbps", "500 ns"), std::pair("400 Gbps", "1 us")}) {
    CAPTURE(link.first);
    const Cluster rack = cluster_of(rack_of(3, link.first, link.second));
    const std::vector<PlainFlow> flows = incast(2, 29'120'000);
    const PacketCounts rates = played(rack, flows, "mlt parts=C").packets->counts;
    CHECK(static_cast<double>(rates.sent_again) < 0.05 * 40'000);
    const FlowsPlayed marks = played(rack, flows, "dlcp parts=C");
    CHECK(marks.packets->counts.marked > 0);
    CHECK(static_cast<double>(marks.packets->counts.sent_again) < 0.05 * 40'000);
    const double mean_B = fullest_queue(marks).mean_B;
    CHECK(mean_B < 0.5 * 512'000);
  }
}

// Marks are there where rates fall by them; selective drops come with part B.
// Nobody else sends: 0.9 of 30 MB take 21.6 ms at 10 Gbit/s, whatever the round trip is. A rate
// that has given way to the queue before a slower link finds back, by steps of 0.0016.
TEST_CASE("mlt: a message alone is not slow where the round trip is long") {
  const auto took_ms = [](const std::string& latency) {
    const Json cluster = {{"shape", "single_switch"},
                          {"nodes", 2},
                          {"nic", {{"latency", latency}, {"bandwidth", "25 Gbps"}}},
                          {"ports", {{{"node", 1}, {"bandwidth", "10 Gbps"}}}}};
    const Ran ran = run_sgdsim(
        {"traffic", R"({"flows": {"generator": "incast", "from": "0", "to": 1, "size": "30 MB"}})",
         "-c", cluster.dump(), "--fidelity", "packet", "--transport", "mlt", "--format", "json"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["makespan_us"].get<double>() / 1000;
  };
  for (const char* const latency : {"1 us", "5 us", "20 us", "100 us"}) {
    CAPTURE(latency);
    CHECK(took_ms(latency) >= 0.9 * 30e6 / 1.25e6);
    CHECK(took_ms(latency) <= 2 * 30e6 / 1.25e6);
  }
}

TEST_CASE("dlcp: marks without part B, selective drops with it") {
  const Cluster tree = cluster_of(fat_tree(4, "10 Gbps"));
  for (const std::string parts : {"A", "C", "AC", "B", "AB", "BC", "ABC"}) {
    CAPTURE(parts);
    const PacketCounts counts =
        played(tree, incast(15, 1'000'000), "dlcp parts=" + parts).packets->counts;
    CHECK(counts.marked > 0);
    CHECK((counts.selected > 0) == (parts.find('B') != std::string::npos));
  }
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
  CHECK(report->of(Cargo::gradients).part() < 1);
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

#ifndef SGDSIM_SANITIZED  // eight jobs of ResNet-50, packet by packet
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
  CHECK(us["A"] < us["B"]);
  CHECK(us["AC"] < us["C"]);
  for (const auto& [without, with] :
       {std::pair("", "B"), std::pair("A", "AB"), std::pair("C", "BC"), std::pair("AC", "ABC")})
    CHECK(us[with] < 1.03 * us[without]);
}
#endif

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
