// Transports of packets: timeouts, windows, bounded losses, and what is refused.
#include <cmath>
#include <map>

#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/packet_cases.h"
#include "tests/run_program.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

// A packet that is lost k times in a row comes (2^k - 1) timeouts later.
TEST_CASE("packets: timeouts double") {
  const Cluster rack = cluster_of(rack_of(2));
  const auto wires = rack.wires({});
  std::vector<uint32_t> all(wires->capacities().size());
  for (uint32_t way = 0; way < all.size(); ++way) all[way] = way;
  const std::vector<PlainFlow> flows = {flow(Duration::us(10), 0, 1, 1000)};
  const Duration base = took(played(rack, flows, "dctcp"), flows, 0);
  for (int lost = 1; lost <= 6; ++lost) {
    // Everything is lost until just before the try that succeeds.
    const Duration late = Duration::ms(10) * ((1 << lost) - 1);
    const std::vector<WireChange> changes = {{Time(), all, 1, 1.0},
                                             {Time() + Duration::us(9) + late, all, 1, 0.0}};
    for (const char* transport : {"dctcp", "pias", "pfabric timeout=10ms doubles=true"}) {
      CAPTURE(transport);
      const FlowsPlayed one = played(rack, flows, transport, changes);
      CHECK(took(one, flows, 0) == base + late);
      CHECK(one.packets->counts.timeouts == lost);
      CHECK(one.packets->counts.lost == lost);
      check_conserved(one);
    }
  }
}

TEST_CASE("packets: strict priority among queues") {
  // Two classes of MLT's queues by depth: what is in front does not wait for what is behind.
  const Cluster rack = cluster_of(rack_of(3));
  Agenda agenda;
  const auto wires = rack.wires({});
  const Json json =
      transport_in("mlt loss_bound=0 halve_after=0 packet=1000B header=0B thresholds=" +
                   std::string(R"(["1GB","1GB","1GB","1GB","1GB","1GB","1GB"])") + " buffer=100MB");
  const auto carrier = carrier_of(Value(json, "test", ""), {}, 1)(*wires, agenda, nullptr);
  const auto parcel = [](int from, double depth) {
    return Parcel{.from = from,
                  .to = 0,
                  .size_B = 1'000'000,
                  .leg = {},
                  .tells_when_free = false,
                  .freight = {.depth = depth}};
  };
  const uint32_t back = carrier->send(parcel(1, 0.9), Time());
  const uint32_t front = carrier->send(parcel(2, 0.0), Time());
  std::map<uint32_t, Time> ends;
  while (!agenda.empty()) {
    const auto event = agenda.pop();
    const Carrier::Report report = carrier->happen(event.payload, event.time);
    if (report.news == Carrier::News::arrived) ends[report.message] = event.time;
  }
  // 1,000 packets of 80 ns, one more for the way to the switch, 2 us. The front one waits for a
  // packet that is being sent, and for the questions of both; its last packet is still on its way
  // when it asks, is sent twice, and holds up the back one, which waits for the whole front.
  const Time alone = Time() + Duration::ns(80) * 1001 + Duration::us(2);
  const Duration late = Duration::ns(80) + 2 * Duration::ps(5'120);
  CHECK(ends.at(front) - alone == late);
  CHECK(ends.at(back) - (alone + Duration::ns(80) * 1000) == late);
}

// Flows of DCTCP share a port evenly, and the queue stays near the threshold: between
// K + N - A and K + N packets, with A = sqrt(2N(C RTT + K)) / 2.
TEST_CASE("packets: DCTCP shares evenly and keeps the queue short") {
  for (const int senders : {2, 8}) {
    CAPTURE(senders);
    const Cluster rack = cluster_of(rack_of(senders + 1, "10 Gbps", "20 us"));
    const std::vector<PlainFlow> flows = incast(senders, 20'000'000);
    const FlowsPlayed all = played(rack, flows, "dctcp first_window=4 buffer=2MB");
    CHECK(all.packets->counts.dropped == 0);
    const double total_us = last_of(all).us();
    // 1,460 of 1,500 B are data.
    const double ideal_us = senders * 20'000'000 * (1500.0 / 1460) * 0.0008;
    CHECK(ideal_us / total_us > 0.97);
    for (std::size_t i = 0; i < flows.size(); ++i) CHECK(took(all, flows, i).us() / total_us > 0.9);
    const double mean_B = fullest_queue(all).mean_B;
    const double round_trip = 80e6 / (1500 * 800.0) + 2;  // packets
    const double swing = 0.5 * std::sqrt(2.0 * senders * (round_trip + 65));
    // The mean lies within the saw teeth, give or take a fifth.
    CHECK(mean_B / 1500 < 1.2 * (65 + senders));
    CHECK(mean_B / 1500 > 0.8 * (65 + senders - swing));
  }
}

TEST_CASE("packets: a bounded loss is bounded, and more may be lost for less time") {
  const Cluster tree = cluster_of(leaf_spine(8, 4, 2));
  std::vector<PlainFlow> flows;
  for (int i = 1; i < 8; ++i) flows.push_back(flow({}, i, 0, 2'000'000));
  Duration before = Duration::longest();
  for (const double bound : {0.0, 0.05, 0.1, 0.3, 0.6}) {
    CAPTURE(bound);
    for (const char* name : {"mlt", "dlcp"}) {
      const FlowsPlayed all =
          played(tree, flows, std::string(name) + " loss_bound=" + std::to_string(bound));
      for (const double delivered : all.delivered) {
        CHECK(delivered >= 1 - bound - 1e-12);
        CHECK(delivered <= 1);
      }
      check_conserved(all);
    }
    const Duration last = last_of(played(tree, flows, "mlt loss_bound=" + std::to_string(bound)));
    // What rates make of it is not quite in order.
    CHECK(last.us() <= 1.02 * before.us());
    before = last;
  }
}

// Two senders at line rate into one link: twice what it carries, of which a part is important. As
// long as that part fits through the link none of it is lost, and of the rest what is too much.
TEST_CASE("packets: what is not important is dropped first") {
  const Cluster rack = cluster_of(rack_of(3));
  for (const double important : {0.05, 0.2, 0.3, 0.45}) {
    CAPTURE(important);
    Agenda agenda;
    const auto wires = rack.wires({});
    const Json json =
        transport_in("mlt long_trip=1s halve_after=0 important=" + std::to_string(important));
    const auto carrier = carrier_of(Value(json, "test", ""), {}, 1)(*wires, agenda, nullptr);
    for (const int from : {1, 2})
      carrier->send({.from = from, .to = 0, .size_B = 40e6, .leg = {}, .tells_when_free = false},
                    Time());
    // A part of the first round.
    for (Time now; now < Time() + Duration::us(1500);) {
      const auto event = agenda.pop();
      now = event.time;
      carrier->happen(event.payload, now);
    }
    const PacketCounts counts = carrier->report(Time())->counts;
    const double small = static_cast<double>(counts.sent) * (1 - important);
    // 25,000 packets, of which queues hold 350: 1.4 %, and draws 0.6 %.
    CHECK(static_cast<double>(counts.selected) / small ==
          doctest::Approx(1 / (2 - 2 * important)).epsilon(0.025));
    CHECK(counts.dropped == 0);
  }
}

// Chance losses q: without a bound, rounds until all are there; with p well above q one round is
// enough, and it takes (1 - p) / (1 - q) of the packets.
TEST_CASE("packets: random losses below the bound cost no round") {
  const Cluster rack = cluster_of(rack_of(2));
  const auto wires = rack.wires({});
  std::vector<uint32_t> first;
  for (uint32_t way = 0; way < wires->capacities().size(); ++way)
    if (wires->name_of(way).from == "node0") first.push_back(way);
  const std::vector<WireChange> lossy = {{Time(), first, 1, 0.02}};
  const std::vector<PlainFlow> flows = {flow(Duration::us(1), 0, 1, 14'560'000)};
  const FlowsPlayed bounded = played(rack, flows, "mlt loss_bound=0.1", lossy);
  CHECK(bounded.packets->counts.sent_again == 0);
  // 10,000 packets of 120 ns; losses vary by sqrt(10,000 * 0.02 * 0.98) = 14 of 10,000.
  const double expected_us = 0.9 / 0.98 * 10'000 * 0.12 + 2.12;
  CHECK(took(bounded, flows, 0).us() == doctest::Approx(expected_us).epsilon(0.005));
  const FlowsPlayed all = played(rack, flows, "mlt loss_bound=0", lossy);
  const double again = static_cast<double>(all.packets->counts.sent_again);
  CHECK(again == doctest::Approx(10'000 * (0.02 / 0.98)).epsilon(0.25));
  CHECK(all.delivered[0] == 1);
}

// Chance losses q beyond the bound p: rounds until q^r <= p. Whatever is sent is missing, so that
// sends are tries until (1 - p) n have come: (1 - p) n / (1 - q), deviation sqrt((1 - p) n q) /
// (1 - q), and what leaves within a round trip of the last of them.
TEST_CASE("packets: random losses above the bound cost rounds") {
  const Cluster rack = cluster_of(rack_of(2));
  const auto wires = rack.wires({});
  std::vector<uint32_t> first;
  for (uint32_t way = 0; way < wires->capacities().size(); ++way)
    if (wires->name_of(way).from == "node0") first.push_back(way);
  constexpr double packets = 20'000;
  const std::vector<PlainFlow> flows = {
      flow(Duration::us(1), 0, 1, static_cast<int64_t>(packets) * 1456)};
  struct Row {
    double q;
    double p;
    int rounds;
  };
  for (const Row& row : std::vector<Row>{
           {0.3, 0.4, 1}, {0.3, 0.2, 2}, {0.3, 0.05, 3}, {0.5, 0.1, 4}, {0.2, 0.01, 3}}) {
    CAPTURE(row.q);
    CAPTURE(row.p);
    CHECK(std::pow(row.q, row.rounds) <= row.p);
    CHECK((row.rounds == 1 || std::pow(row.q, row.rounds - 1) > row.p));
    const std::vector<WireChange> lossy = {{Time(), first, 1, row.q}};
    const FlowsPlayed bounded =
        played(rack, flows, "mlt parts=AC loss_bound=" + std::to_string(row.p), lossy);
    const auto sent = static_cast<double>(bounded.packets->counts.sent);
    const double tries = (1 - row.p) * packets / (1 - row.q);
    const double deviation = std::sqrt((1 - row.p) * packets * row.q) / (1 - row.q);
    // Packets of 120 ns in 2 us there and 2 us back.
    CHECK(std::abs(sent - tries) <= 4 * deviation + 4 / 0.12 + 2);
    // All rounds but the last send everything that is missing.
    double before = 0;
    for (int round = 0; round + 1 < row.rounds; ++round) before += std::pow(row.q, round);
    CHECK(sent > before * packets - 4 * deviation);
    CHECK(sent <= (before + std::pow(row.q, row.rounds - 1)) * packets + 4 * deviation);
    CHECK(bounded.delivered[0] >= 1 - row.p);
    CHECK(bounded.delivered[0] <= 1 - row.p + 40 / packets);
  }
  // Without a bound it is a transport that loses nothing, and the same as one without that part.
  const std::vector<WireChange> lossy = {{Time(), first, 1, 0.3}};
  const FlowsPlayed all = played(rack, flows, "mlt parts=AC loss_bound=0", lossy);
  CHECK(all.delivered[0] == 1);
  CHECK(static_cast<double>(all.packets->counts.sent) ==
        doctest::Approx(packets / 0.7).epsilon(0.02));  // four deviations are 440 of 28,571
  CHECK(all.ends == played(rack, flows, "mlt parts=C", lossy).ends);
}

TEST_CASE("packets: each transport, on random networks, loses none and ends") {
  Random random(17);
  for (int round = 0; round < 24; ++round) {
    const bool is_tree = random.below(2) == 0;
    const Cluster cluster = cluster_of(is_tree ? fat_tree(4, "40 Gbps") : leaf_spine(12, 4, 2));
    const int workers = cluster.network.workers();
    std::vector<PlainFlow> flows;
    for (int i = 0; i < 40; ++i) {
      const auto from = static_cast<int>(random.below(static_cast<uint64_t>(workers)));
      const auto to =
          random.below(3) == 0 ? 0 : static_cast<int>(random.below(static_cast<uint64_t>(workers)));
      if (from == to) continue;
      flows.push_back(flow(Duration::us(static_cast<int64_t>(random.below(100))), from, to,
                           1 + static_cast<int64_t>(random.below(300'000))));
    }
    std::stable_sort(flows.begin(), flows.end(),
                     [](const PlainFlow& a, const PlainFlow& b) { return a.start < b.start; });
    for (const std::string& name : all_transports()) {
      CAPTURE(name);
      const FlowsPlayed all = played(cluster, flows, name, {}, random.bits());
      double carried = 0;
      for (const double bytes : all.carried_B) carried += bytes;
      for (std::size_t i = 0; i < flows.size(); ++i) {
        // No sooner than the wires allow, if all of it comes.
        const Duration least = alone(flows[i], cluster.network);
        CHECK(took(all, flows, i).ps() >= (name == "mlt" || name == "dlcp" ? 0 : least.ps()));
      }
      check_conserved(all);
      CHECK(carried > 0);
    }
  }
}

TEST_CASE("packets: pause keeps everything, at the price of those behind") {
  const Cluster tree = cluster_of(leaf_spine(12, 6, 2));
  std::vector<PlainFlow> flows;
  for (int i = 1; i < 12; ++i) flows.push_back(flow({}, i, 0, 1'000'000));
  const FlowsPlayed paused = played(tree, flows, "roce_dcqcn");
  CHECK(paused.packets->counts.dropped == 0);
  CHECK(paused.packets->counts.pauses > 0);
  CHECK(paused.packets->counts.sent_again == 0);
  const FlowsPlayed lossy = played(tree, flows, "roce_dcqcn pause=false buffer=200KB");
  CHECK(lossy.packets->counts.dropped > 0);
  CHECK(lossy.packets->counts.sent_again > 0);
  check_conserved(lossy);
}

TEST_CASE("packets: options are those of the transport, and make sense") {
  const auto refusal_of = [](const std::string& text) -> std::string {
    try {
      const Json json = transport_in(text);
      read_transport(Value(json, "--transport", ""), {}, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(refusal_of("tpc").find("unknown transport \"tpc\"") != std::string::npos);
  CHECK(refusal_of("dctcp loss_bound=0.1").find("unknown field \"loss_bound\"") !=
        std::string::npos);
  CHECK(refusal_of("mlt loss_bound=1.5").find("1.5") != std::string::npos);
  CHECK(refusal_of("mlt loss_bound=-0.1") != "none");
  CHECK(refusal_of("dctcp buffer=1000B").find("smaller than a packet") != std::string::npos);
  CHECK(refusal_of("dctcp queue_buffer=1000B").find("smaller than a packet") != std::string::npos);
  CHECK(refusal_of("ndp packet=60B header=64B").find("no room") != std::string::npos);
  CHECK(refusal_of("ndp queue=0") != "none");
  CHECK(refusal_of("ndp buffer=1MB").find("`queue`") != std::string::npos);
  CHECK(refusal_of("ndp packet=10B header=0B").find("64 B at least") != std::string::npos);
  CHECK(refusal_of("pfabric queue_buffer=1MB").find("`buffer`") != std::string::npos);
  CHECK(refusal_of("dctcp packet=10GB") != "none");
  CHECK(refusal_of("mlt parts=AD").find("parts") != std::string::npos);
  CHECK(refusal_of("pias thresholds=[\"2KB\",\"1KB\"]").find("grow") != std::string::npos);
  CHECK(refusal_of("roce_dcqcn pause_above=1B").find("smaller than a packet") != std::string::npos);
  CHECK(refusal_of("dctcp least_timeout=0us").find("more than no time") != std::string::npos);
  CHECK(refusal_of("ndp first_window").find("expected field=value") != std::string::npos);
  CHECK(refusal_of("ndp queue=8 queue=9").find("given twice") != std::string::npos);
  CHECK(refusal_of("mlt parts=BC loss_bound=0.2").find("without part A") != std::string::npos);
  CHECK(refusal_of("mlt parts=B pull_loss_bound=0.2").find("without part A") != std::string::npos);
  CHECK(refusal_of("mlt parts=AC important=0.2").find("without part B") != std::string::npos);
  CHECK(refusal_of("mlt parts=AB spray=random").find("without part C") != std::string::npos);
  CHECK(refusal_of("dlcp long_trip=40us").find("fall by marks") != std::string::npos);
  CHECK(refusal_of("mlt gain=0.1").find("unknown field \"gain\"") != std::string::npos);
  CHECK(refusal_of("mlt forget_after=-1us") != "none");
  CHECK(refusal_of("mlt halve_after=-1") != "none");
  for (const std::string& name : all_transports()) CHECK(refusal_of(name) == "none");
}

TEST_CASE("packets: what is not lost is not sent again, and one question is asked at a time") {
  // A hundred messages of one pair take turns at its card: 16 packets of each take 5 ms.
  const Cluster rack = cluster_of(rack_of(2, "10 Gbps"));
  const std::vector<PlainFlow> flows(100, flow({}, 0, 1, 1'000'000));
  for (const char* name : {"roce_dcqcn", "ndp", "dctcp buffer=2GB"}) {
    CAPTURE(name);
    const FlowsPlayed all = played(rack, flows, name);
    CHECK(all.packets->counts.sent_again == 0);
    CHECK(all.packets->counts.timeouts == 0);
  }
  // MLT answers every tenth packet; questions and the end of a message are few beside that.
  const Cluster tree = cluster_of(fat_tree(4, "10 Gbps"));
  for (const char* name : {"mlt loss_bound=0", "dlcp", "mlt"}) {
    CAPTURE(name);
    const PacketCounts counts = played(tree, incast(15, 1'000'000), name).packets->counts;
    CHECK(counts.sent_again > 0);
    CHECK(static_cast<double>(counts.answers) < 0.15 * static_cast<double>(counts.sent));
  }
}

TEST_CASE("packets: a sender that gave up is not moved by what comes late") {
  Json json = fat_tree(4, "10 Gbps");
  json["nic"]["bandwidth"] = "1 Mbps";
  const Cluster slow = cluster_of(json);
  const FlowsPlayed all =
      played(slow, incast(4, 100'000),
             "roce_dcqcn timeout=1us mark_above=0B mark_surely=0B mark_most=1 packet=500B");
  CHECK(!all.stranded.empty());
  check_conserved(all);
}

TEST_CASE("packets: the commands") {
  const auto json_of = [](const std::vector<std::string>& words) {
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out);
  };
  std::map<std::string, double> most_us;
  for (const std::string transport : {"mlt", "ndp", "dctcp"}) {
    CAPTURE(transport);
    const Json one = json_of({"traffic", "app/flows/incast_36.json", "-c",
                              "topologies/data/leaf_spine_144.json", "--fidelity", "packet",
                              "--transport", transport, "--format", "json", "--bins", "5"});
    CHECK(one["transport"] == transport);
    CHECK(one["complete"] == true);
    CHECK(one["packets"]["lost"].get<int64_t>() > 0);
    CHECK(one["delivered"]["least"].get<double>() >= (transport == "mlt" ? 0.9 : 1.0));
    // The link into the receiver is the busiest one, and is hardly idle.
    for (const Json& link : one["busiest"]) CHECK(link["over_time"].size() <= 5);
    for (const Json& queue : one["queues"]) CHECK(queue["over_time_B"].size() <= 5);
    double mean = 0;
    for (const Json& part : one["busiest"][0]["over_time"]) mean += part.get<double>() / 5;
    CHECK(mean == doctest::Approx(one["busiest"][0]["utilisation"].get<double>()).epsilon(1e-3));
    double waiting_B = 0;
    for (const Json& part : one["queues"][0]["over_time_B"]) waiting_B += part.get<double>() / 5;
    CHECK(waiting_B == doctest::Approx(one["queues"][0]["mean_B"].get<double>()).epsilon(1e-3));
    most_us[transport] = one["completion_us"]["max"].get<double>();
  }
  // Timeouts of 10 ms make DCTCP's tail.
  CHECK(most_us["mlt"] < most_us["dctcp"]);
  CHECK(most_us["ndp"] < most_us["dctcp"]);
  // A step and a collective; nothing is in the way of a ring at one switch.
  const Json packets = json_of({"run", "app/experiments/bert_base_10gbe.json", "--fidelity",
                                "packet", "--transport", "ideal packet=9000B", "--format", "json"});
  const Json flows = json_of(
      {"run", "app/experiments/bert_base_10gbe.json", "--fidelity", "flow", "--format", "json"});
  CHECK(packets["fidelity"] == "packet");
  const auto us_of = [](const Json& json) {
    return json["metrics"]["iteration_us"]["mean"].get<double>();
  };
  // 4 messages of 30 rounds: one packet of 9,000 B more for each, 8.94 us.
  CHECK(us_of(packets) >= us_of(flows));
  CHECK(us_of(packets) <= us_of(flows) + 4 * 30 * 8.95);
  const auto log_of = [](const std::vector<std::string>& words) {
    const Ran ran = run_sgdsim(words);
    return std::to_string(ran.exit_code) + " " + ran.log;
  };
  const std::string bert = "app/experiments/bert_base_10gbe.json";
  CHECK(log_of({"run", bert, "--transport", "ndp"}) ==
        "2 sgdsim: --transport: has no effect without --fidelity packet\n");
  CHECK(log_of({"plan", bert, "--fidelity", "packet", "--transport", "tpc"})
            .find("--transport: /name: unknown transport \"tpc\"") != std::string::npos);
  CHECK(log_of({"run", bert, "--set", "transport=ndp"}) ==
        "2 sgdsim: --set transport=ndp: has no effect without fidelity packet\n");
  CHECK(log_of({"collective", "-a", "ring", "-n", "1MB", "-c",
                "topologies/data/mgwfbp_paper_10gbe.json", "--transport", "ndp"}) ==
        "2 sgdsim: --transport: has no effect without --fidelity packet\n");
  CHECK(log_of({"collective", "-a", "ring", "-n", "1MB", "-c",
                "topologies/data/mgwfbp_paper_10gbe.json", "--fidelity", "packet", "--option",
                "routing=split"}) ==
        "2 sgdsim: collective: option routing has no effect without fidelity flow\n");
}

TEST_CASE("packets: links with segments are refused wherever packets are asked for") {
  const Json cluster = {
      {"shape", "single_switch"},
      {"nodes", 5},
      {"nic",
       {{"latency", "2 us"},
        {"per_byte", "100 ps/B"},
        {"segments",
         Json::array({{{"from", "64 KiB"}, {"latency", "9 us"}, {"per_byte", "20 ps/B"}}})}}}};
  const Temporary file(Temporary::Kind::file, cluster.dump());
  const std::string reason =
      "links with segments are for whole messages; packets need links with one latency and one "
      "bandwidth\n";
  const std::vector<std::vector<std::string>> commands = {
      {"collective", "-a", "ring", "-n", "1MB", "-c", file.name(), "--fidelity", "packet"},
      {"run", "app/experiments/bert_base_10gbe.json", "--fidelity", "packet", "--set",
       "cluster=" + cluster.dump()},
      {"traffic", "app/flows/incast_4.csv", "-c", file.name(), "--fidelity", "packet"}};
  for (const auto& words : commands) {
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.ends_with(reason));
  }
}
