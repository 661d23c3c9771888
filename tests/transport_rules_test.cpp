// What transports owe to each other's messages: connections that live on, pulls, pauses in a
// circle, thresholds by the rate of a port, and messages that never arrive.
#include <algorithm>

#include "models/collective/simulate.h"
#include "tests/packet_cases.h"
#include "tests/run_program.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

namespace {

Duration collective_time(const Cluster& cluster, const std::string& transport,
                         const std::string& algorithm, const std::vector<Bytes>& messages) {
  const Json json = transport_in(transport);
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.messages = messages;
  question.options.alpha = AlphaRule::wire;
  question.fidelity = Fidelity::packet;
  question.carrier = carrier_of(Value(json, "test", ""), {}, 1);
  return simulate_collective(question, cluster, "test").time;
}

// Switches in a circle with so many workers each. Rank r is at switch `apart` r: a ring of ranks
// sends over so many switches each time.
Json switches_in_circle(int switches, int workers, int apart) {
  Json json = {{"shape", "explicit"},
               {"vertices", Json::array()},
               {"links", {{"cable", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}}}},
               {"edges", Json::array()}};
  const auto join = [&](const std::string& from, const std::string& to) {
    json["edges"].push_back({{"from", from}, {"to", to}, {"link", "cable"}});
  };
  for (int rank = 0; rank < switches * workers; ++rank)
    json["vertices"].push_back({{"name", "w" + std::to_string(rank)}, {"kind", "gpu"}});
  for (int i = 0; i < switches; ++i)
    json["vertices"].push_back({{"name", "s" + std::to_string(i)}, {"kind", "switch"}});
  for (int rank = 0; rank < switches * workers; ++rank)
    join("w" + std::to_string(rank), "s" + std::to_string(rank * apart % switches));
  for (int i = 0; i < switches; ++i)
    join("s" + std::to_string(i), "s" + std::to_string((i + 1) % switches));
  return json;
}
std::vector<PlainFlow> to_next(int ranks, int64_t size_B) {
  std::vector<PlainFlow> flows;
  for (int rank = 0; rank < ranks; ++rank)
    flows.push_back(flow({}, rank, (rank + 1) % ranks, size_B));
  return flows;
}

}  // namespace

// 2(P - 1) rounds of 45 packets, 65,536 + 45 x 40 B at 80 ps, a packet stored at the switch, 2 us;
// 45 answers of 64 B may be in the way, and one packet that is being sent. Only the first messages
// begin with ten packets: three round trips more.
TEST_CASE("connections: a ring is cold once, and not at every message") {
  constexpr int workers = 32;
  const Cluster rack = cluster_of(rack_of(workers));
  const double round_us = (65'536 + 45 * 40) * 80e-6 + 0.12 + 2;
  const double answers_us = 45 * 64 * 80e-6 + 0.12;
  constexpr double rounds = 2 * (workers - 1);
  const std::vector<Bytes> one = {Bytes(workers * 65'536)};
  for (const char* transport : {"dctcp", "pias", "dctcp connections=3"}) {
    CAPTURE(transport);
    const double time_us = collective_time(rack, transport, "ring", one).us();
    CHECK(time_us >= rounds * round_us);
    CHECK(time_us <= rounds * (round_us + answers_us) + 3 * 4.5);
  }
  // With a connection for each message every round takes two round trips more.
  const double cold_us = collective_time(rack, "dctcp connections=0", "ring", one).us();
  CHECK(cold_us >= rounds * (round_us + 4));
}

// The window and the packets that leave are the same, whoever they belong to.
TEST_CASE("connections: messages of a pair that overlap take what one of their size takes") {
  const Cluster rack = cluster_of(rack_of(2));
  constexpr int64_t payload_B = 1460;
  for (const int count : {2, 10, 100}) {
    CAPTURE(count);
    const std::vector<PlainFlow> one = {flow({}, 0, 1, 1000 * payload_B)};
    const std::vector<PlainFlow> many(static_cast<std::size_t>(count),
                                      flow({}, 0, 1, 1000 / count * payload_B));
    for (const char* transport : {"dctcp", "dctcp mark_above=20 first_window=100"})
      CHECK(last_of(played(rack, many, transport)) == last_of(played(rack, one, transport)));
  }
  // Windows of their own are ten times as many packets at first: 36 fill the round trip.
  const std::vector<PlainFlow> many(10, flow({}, 0, 1, 10 * payload_B));
  const Duration ideal = Duration::ns(120) * 101 + Duration::us(2);
  CHECK(last_of(played(rack, many, "dctcp connections=10")) == ideal);
  CHECK(last_of(played(rack, many, "dctcp connections=0")) == ideal);
  CHECK(last_of(played(rack, many, "dctcp")) > ideal + Duration::us(2));
}

// 40 packets: ten, twenty and the rest, a round trip of 4.25 us each, while nothing is known. A
// window of 36 packets fills the round trip.
TEST_CASE("connections: after an idle time they go on as before, or begin again if asked") {
  const Cluster rack = cluster_of(rack_of(2));
  const std::vector<PlainFlow> flows = {flow({}, 0, 1, 40 * 1460),
                                        flow(Duration::ms(1'000), 0, 1, 40 * 1460)};
  const Duration warm = Duration::ns(120) * 41 + Duration::us(2);
  const FlowsPlayed kept = played(rack, flows, "dctcp");
  CHECK(took(kept, flows, 0) > warm + Duration::us(4));
  CHECK(took(kept, flows, 1) == warm);
  const FlowsPlayed again = played(rack, flows, "dctcp slow_start_after_idle=true");
  CHECK(took(again, flows, 0) == took(kept, flows, 0));
  CHECK(took(again, flows, 1) == took(kept, flows, 0));
  // An idle time that is shorter than the timeout is none.
  const std::vector<PlainFlow> soon = {flows[0], flow(Duration::ms(9), 0, 1, 40 * 1460)};
  CHECK(took(played(rack, soon, "dctcp slow_start_after_idle=true"), soon, 1) == warm);
}

// Timeouts of 10 ms that double up to a minute, sixteen of them: 10 ms (2^13 - 1) + 3 x 60 s.
TEST_CASE("connections: one that breaks takes its messages with it, and no later ones") {
  const Cluster rack = cluster_of(rack_of(2));
  std::vector<uint32_t> all(rack.wires({})->capacities().size());
  for (uint32_t way = 0; way < all.size(); ++way) all[way] = way;
  const std::vector<WireChange> changes = {{Time(), all, 1, 1.0},
                                           {Time() + Duration::s(300), all, 1, 0.0}};
  std::vector<PlainFlow> flows(20, flow(Duration::us(1), 0, 1, 100'000));
  flows.push_back(flow(Duration::s(400), 0, 1, 40 * 1460));
  const std::vector<PlainFlow> alone = {flow({}, 0, 1, 40 * 1460)};
  for (const char* transport : {"dctcp", "pias"}) {
    CAPTURE(transport);
    const FlowsPlayed all_played = played(rack, flows, transport, changes);
    CHECK(all_played.stranded.size() == 20);
    CHECK(all_played.why_stranded == std::vector<Stranding>(20, Stranding::given_up));
    CHECK(all_played.packets->counts.timeouts == 16);
    CHECK(took(all_played, flows, 20) == took(played(rack, alone, transport), alone, 0));
    check_conserved(all_played);
  }
}

// Every packet that was cut to a header is sent again once, and nothing else.
TEST_CASE("ndp: nothing times out, and nothing is sent again, where nothing was lost") {
  struct Row {
    int senders;
    const char* bandwidth;
    const char* transport;
  };
  for (const Row& row : std::vector<Row>{{139, "10 Gbps", "ndp"},
                                         {400, "10 Gbps", "ndp"},
                                         {400, "10 Gbps", "ndp first_window=1"},
                                         {300, "1 Gbps", "ndp"},
                                         {100, "100 Mbps", "ndp first_window=23"},
                                         {200, "100 Gbps", "ndp queue=2"}}) {
    CAPTURE(row.senders);
    CAPTURE(row.bandwidth);
    CAPTURE(row.transport);
    const Cluster rack = cluster_of(rack_of(row.senders + 1, row.bandwidth));
    const FlowsPlayed all = played(rack, incast(row.senders, 270'000), row.transport);
    const PacketCounts& counts = all.packets->counts;
    CHECK(counts.timeouts == 0);
    CHECK(counts.gone() == 0);
    CHECK(counts.sent_again == counts.trimmed);
    CHECK(all.stranded.empty());
    check_conserved(all);
  }
}

// Of two senders one waits for a pull; what says so is lost with all that the receiver sends for a
// while. It asks when a timeout is over, and sends nothing that has come.
TEST_CASE("ndp: for a pull that was lost a header asks") {
  const Cluster rack = cluster_of(rack_of(3, "10 Gbps"));
  const auto wires = rack.wires({});
  std::vector<uint32_t> back;
  for (uint32_t way = 0; way < wires->capacities().size(); ++way)
    if (wires->name_of(way).from == "node0") back.push_back(way);
  int lost = 0;
  for (int at_us = 50; at_us < 250; at_us += 5) {
    const std::vector<WireChange> changes = {{Time() + Duration::us(at_us), back, 1, 1.0},
                                             {Time() + Duration::us(at_us + 10), back, 1, 0.0}};
    const FlowsPlayed all = played(rack, incast(2, 270'000), "ndp first_window=2", changes);
    const PacketCounts& counts = all.packets->counts;
    CHECK(all.stranded.empty());
    // Of each sender two packets at most were under way.
    CHECK(counts.sent_again <= counts.trimmed + 4);
    CHECK(last_of(all) <= Duration::ms(6));
    lost += counts.lost > 0 ? 1 : 0;
    check_conserved(all);
  }
  CHECK(lost > 30);
}

// Every link of the circle carries what two of five, or three of seven, switches send, and what
// waits for the next one fills it up.
TEST_CASE("pauses: ports that wait for each other in a circle are named at once") {
  for (const auto& [switches, apart] : {std::pair(5, 2), std::pair(7, 3)}) {
    const auto& switches_said = switches;
    CAPTURE(switches_said);
    const Cluster circle = cluster_of(switches_in_circle(switches, 2, apart));
    const FlowsPlayed all = played(circle, to_next(2 * switches, 4'000'000), "roce_dcqcn");
    CHECK(all.stranded.size() == static_cast<std::size_t>(2 * switches));
    CHECK(all.packets->counts.timeouts == 0);
    CHECK(all.until < Time() + Duration::us(200));
    CHECK(all.circle.find(std::to_string(switches) + " ports are told to wait") !=
          std::string::npos);
    for (int i = 0; i < switches; ++i)
      CHECK(all.circle.find("s" + std::to_string(i) + " -> s" +
                            std::to_string((i + 1) % switches)) != std::string::npos);
    check_conserved(all);
  }
  // Next to each other nobody waits for a circle; without pauses nobody waits.
  for (const auto& [apart, transport] :
       {std::pair(1, "roce_dcqcn"), std::pair(2, "roce_dcqcn pause=false"), std::pair(2, "dctcp")})
    CHECK(played(cluster_of(switches_in_circle(5, 2, apart)), to_next(10, 400'000), transport)
              .stranded.empty());
}

TEST_CASE("pauses: trees have no circles, whatever waits") {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<PlainFlow> flows;
    for (int i = 0; i < 40; ++i) {
      const auto from = static_cast<int>(random.below(16));
      const auto to = static_cast<int>(random.below(random.below(2) == 0 ? 16 : 3));
      if (from != to) flows.push_back(flow({}, from, to, 1'000'000));
    }
    const FlowsPlayed all =
        played(cluster_of(fat_tree(4)), flows, "roce_dcqcn pause_above=20KB", {}, random.bits());
    CHECK(all.stranded.empty());
    CHECK(all.packets->counts.pauses > 0);
  }
}

TEST_CASE("messages that never arrive are named with the reason, and exit code 4") {
  const Temporary circle(Temporary::Kind::file, switches_in_circle(5, 2, 2).dump());
  const std::string ports =
      " 5 ports are told to wait, each by the next one, in a circle: s0 -> s1, s1 -> s2, s2 -> s3, "
      "s3 -> s4, s4 -> s0; 10 messages have not arrived\n  from worker 0 to worker 1: still "
      "waiting";
  const auto check_circle = [&](const std::vector<std::string>& words, const char* begin) {
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 4);
    CHECK(ran.log.starts_with(std::string("sgdsim: the network is stuck") + begin + ": at "));
    CHECK(ran.log.find(ports) != std::string::npos);
  };
  const std::vector<std::string> roce = {"--fidelity", "packet", "--transport", "roce_dcqcn"};
  const auto with_roce = [&](std::vector<std::string> words) {
    words.insert(words.end(), roce.begin(), roce.end());
    return words;
  };
  check_circle(with_roce({"collective", "-a", "ring", "-n", "40 MB", "-c", circle.name()}), "");
  const Json trace = {
      {"layers",
       {{{"name", "l"}, {"parameters", 10'000'000}, {"forward", "1 us"}, {"backward", "1 us"}}}}};
  const Temporary experiment(
      Temporary::Kind::file,
      Json({{"trace", trace}, {"cluster", switches_in_circle(5, 2, 2)}}).dump());
  check_circle(with_roce({"run", experiment.name()}), "");
  check_circle(with_roce({"plan", experiment.name()}), ", with strategy naive");
  // Links that lose everything, or close; and a transport that sends nothing again.
  struct Row {
    const char* transport;
    const char* changes;
    const char* summary;
    const char* line;
  };
  const char* const lossy = R"([{"at": "1 us", "link": ["leaf0", "node0"], "loss": 1}])";
  const char* const closed = R"([{"at": "1 us", "vertex": "node0", "bandwidth": 0}])";
  const char* const spine = R"([{"at": "20 us", "vertex": "spine0", "bandwidth": 0}])";
  for (const Row& row :
       std::vector<Row>{{"dctcp", lossy, "1 flow was given up by its sender\n",
                         ": its sender gave up, since nothing was heard for too long\n"},
                        {"ndp", lossy, "1 flow was given up by its sender\n",
                         ": its sender gave up, since nothing was heard for too long\n"},
                        {"roce_dcqcn", lossy, "1 flow was given up by its sender\n",
                         ": its sender gave up, since nothing was heard for too long\n"},
                        {"dctcp", closed, "1 flow has no way\n", ": still waiting\n"},
                        {"ideal", closed, "1 flow has no way\n", ": still waiting\n"},
                        {"ideal", spine, "1 flow lost packets for good\n",
                         ": packets were lost, and its transport sends nothing again; --transport "
                         "dctcp does\n"}}) {
    CAPTURE(row.transport);
    const Temporary traffic(
        Temporary::Kind::file,
        std::string(
            R"({"flows": {"generator": "listed", "list": [{"from": 0, "to": 143, "size": "1 MB"}]},
                "changes": )") +
            row.changes + "}");
    const Ran ran =
        run_sgdsim({"traffic", traffic.name(), "-c", "topologies/data/leaf_spine_144.json",
                    "--fidelity", "packet", "--transport", row.transport});
    CHECK(ran.exit_code == 4);
    CHECK(ran.log == std::string("sgdsim: the network is stuck: ") + row.summary +
                         "  flow 0: 1000000 B from worker 0 to worker 143" + row.line);
  }
  // The whole window of 740 KB is lost at the switch, long before the last packet was sent.
  const Ran flap = run_sgdsim(
      {"traffic",
       R"({"flows": {"generator": "incast", "to": 0, "from": "1", "size": "10 MB"}, "changes": [)"
       R"({"at": "2 ms", "link": ["node0", "switch"], "bandwidth": 0},)"
       R"({"at": "3 ms", "link": ["node0", "switch"], "bandwidth": 1}]})",
       "-c", "10gbe_16", "--set", "network=tcp"});
  CHECK(flap.exit_code == 4);
  CHECK(flap.log.find("1 flow lost packets for good") != std::string::npos);
}

// 4 and 16 KB for each Gbit/s, and a chance of 0.2.
TEST_CASE("roce_dcqcn: thresholds go with the rate") {
  struct Row {
    const char* bandwidth;
    const char* same;
  };
  for (const Row& row :
       std::vector<Row>{{"25 Gbps", "mark_above=100KB mark_surely=400KB"},
                        {"40 Gbps", "mark_above=160KB mark_surely=640KB"},
                        {"100 Gbps", "mark_above=400KB mark_surely=1600KB"},
                        {"400 Gbps", "mark_above=1600KB mark_surely=6400KB mark_most=0.2"}}) {
    CAPTURE(row.bandwidth);
    const Cluster rack = cluster_of(rack_of(21, row.bandwidth));
    const std::vector<PlainFlow> flows = incast(20, 2'000'000);
    const FlowsPlayed all = played(rack, flows, "roce_dcqcn");
    CHECK(all.packets->counts.marked > 0);
    CHECK(all.ends == played(rack, flows, std::string("roce_dcqcn ") + row.same).ends);
  }
}

// Twice the round trip of a full packet and its answer: 4 us, and two links each for 1,564 B.
TEST_CASE("pfabric: a port has room for two round trips, at any rate") {
  for (const auto& [bandwidth, room] :
       {std::pair("10 Gbps", "buffer=16256B"), std::pair("40 Gbps", "buffer=46256B"),
        std::pair("100 Gbps", "buffer=106256B")}) {
    const auto& bandwidth_said = bandwidth;
    CAPTURE(bandwidth_said);
    const Cluster rack = cluster_of(rack_of(21, bandwidth));
    const std::vector<PlainFlow> flows = incast(20, 300'000);
    const FlowsPlayed all = played(rack, flows, "pfabric");
    CHECK(all.packets->counts.pushed_out + all.packets->counts.dropped > 0);
    CHECK(all.ends == played(rack, flows, std::string("pfabric ") + room).ends);
  }
}

// As many short messages as long ones have been sent: the first three thresholds are the short
// size. A short one then waits for a packet that is being sent, and not for the queue of a long
// one.
TEST_CASE("pias: messages that nobody knew of sink by the sizes so far") {
  const Cluster rack = cluster_of(rack_of(12));
  const auto late_of = [&](const std::string& transport) {
    Agenda agenda;
    const auto wires = rack.wires({});
    const Json json = transport_in(transport);
    const auto carrier = carrier_of(Value(json, "test", ""), {}, 1)(*wires, agenda, nullptr);
    struct Send {
      int from;
      double size_B;
      Time at;
    };
    std::vector<Send> sends;
    for (int i = 0; i < 64; ++i) sends.push_back({1 + i % 10, i % 2 == 0 ? 1460.0 : 1.46e6, {}});
    for (int i = 1; i <= 10; ++i) sends.push_back({i, 1.46e6, Time() + Duration::ms(50)});
    sends.push_back({11, 1460, Time() + Duration::us(50'200)});
    constexpr uint32_t begins = 15;  // a kind of event that is no carrier's
    for (uint32_t i = 0; i < sends.size(); ++i) agenda.push(sends[i].at, Event(begins, i));
    uint32_t urgent = 0;
    while (!agenda.empty()) {
      const auto event = agenda.pop();
      if (event.payload.kind() == begins) {
        const Send& one = sends[event.payload.subject()];
        urgent = carrier->send(
            {.from = one.from, .to = 0, .size_B = one.size_B, .leg = {}, .tells_when_free = false},
            event.time);
        continue;
      }
      const Carrier::Report report = carrier->happen(event.payload, event.time);
      if (report.news == Carrier::News::arrived && report.message == urgent &&
          event.time > sends.back().at)
        return event.time - sends.back().at;
    }
    return Duration::longest();
  };
  const Duration alone = Duration::ns(240) + Duration::us(2);
  CHECK(late_of("pias") <= alone + Duration::ns(120) + Duration::ns(60));
  CHECK(late_of("dctcp") > alone + Duration::us(1));
}

TEST_CASE("collective: packets draw their ways from the seed") {
  const auto time_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"collective",
                                      "-a",
                                      "recursive_doubling",
                                      "-n",
                                      "4 MB",
                                      "-c",
                                      "topologies/data/fat_tree_k8.json",
                                      "--fidelity",
                                      "packet",
                                      "--transport",
                                      "ideal spray=random",
                                      "--format",
                                      "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["time_ps"].get<int64_t>();
  };
  CHECK(time_of({"--seed", "1"}) == time_of({}));
  CHECK(time_of({"--seed", "2"}) == time_of({"--seed", "2"}));
  CHECK(time_of({"--seed", "2"}) != time_of({}));
}

TEST_CASE("packets: more than are played are refused before anything is played") {
  const std::string rack = "topologies/data/mgwfbp_paper_10gbe.json";
  const std::vector<std::string> packet = {"--fidelity", "packet"};
  const Temporary flows(Temporary::Kind::file,
                        R"({"flows": {"generator": "permutation", "size": "1 TB", "shift": 1}})");
  const std::vector<std::vector<std::string>> commands = {
      {"run", "app/experiments/bert_base_10gbe.json", "--set", "iterations=100000"},
      {"collective", "-a", "ring", "-n", "1 TB", "-c", rack},
      {"traffic", flows.name(), "-c", rack}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), packet.begin(), packet.end());
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("million packets or more, and at most 1000 million are simulated") !=
          std::string::npos);
  }
}

// A packet that is under way counts by the part that was sent.
TEST_CASE("packets: no link is in use for more than all of the time") {
  Random random(3);
  for (int round = 0; round < 10; ++round)
    for (const std::string& name : all_transports()) {
      CAPTURE(name);
      const Cluster tree = cluster_of(fat_tree(4));
      const auto senders = 2 + static_cast<int>(random.below(14));
      const std::vector<PlainFlow> flows =
          incast(senders, 100'000 + static_cast<int64_t>(random.below(2'000'000)));
      const FlowsPlayed all = played(tree, flows, name, {}, random.bits());
      const auto wires = tree.wires({});
      const WireUse use = use_of(*wires, all.carried_B, all.until - Time(), 5);
      CHECK(use.busiest.front().utilisation <= 1 + 1e-9);
      CHECK(use.busiest.front().utilisation > 0.1);
    }
}
