// Messages that wait for an answer: on every path they pay one round trip more, during which both
// ends wait. Expected times are sums of start-ups and bytes, written here.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// A star with alpha = 1 ms and beta = 80 ns/B between two hosts.
Json star(int nodes, const char* network, const Json& more = Json::object()) {
  Json nic = {{"latency", "0.5 ms"}, {"per_byte", "80 ns/B"}, {"rendezvous", "64 KiB"}};
  nic.update(more);
  return {{"schema", "sgdsim/cluster/1"}, {"shape", "single_switch"}, {"nodes", nodes},
          {"network", network},           {"acknowledgements", 0},    {"nic", nic}};
}

struct Asked {
  const char* algorithm;
  const char* operation;
  int64_t size_B;
  std::vector<std::string> more = {};
};

double collective_us(const Json& cluster, const Asked& asked) {
  const Temporary file(Temporary::Kind::file, cluster.dump());
  std::vector<std::string> words = {"collective",
                                    "-a",
                                    asked.algorithm,
                                    "--op",
                                    asked.operation,
                                    "-n",
                                    std::to_string(asked.size_B) + " B",
                                    "-c",
                                    file.name(),
                                    "--format",
                                    "json"};
  words.insert(words.end(), asked.more.begin(), asked.more.end());
  const Ran run = call_sgdsim(words);
  INFO(run.log);
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out)["time_us"].get<double>();
}

constexpr double start_up_us = 1000;
double sent_bytes_us(int64_t size_B) { return static_cast<double>(size_B) * 0.08; }

TEST_CASE("rendezvous: one message pays a round trip more, from its size on") {
  const std::vector<std::string> two = {"-p", "2"};
  for (const char* network : {"tcp", "mpi", "nccl", "paper"})
    for (const char* fidelity : {"message", "flow"}) {
      CAPTURE(network);
      CAPTURE(fidelity);
      const auto took_us = [&](int64_t size_B) {
        return collective_us(star(2, network),
                             {"linear", "broadcast", size_B, {"--fidelity", fidelity}});
      };
      // Queues of TCP are packets: what the last burst waits for is a rounding of them.
      const double near = std::string(fidelity) == "flow" ? 2e-3 : 1e-9;
      CHECK(took_us(65'535) == doctest::Approx(start_up_us + sent_bytes_us(65'535)).epsilon(near));
      CHECK(took_us(65'536) ==
            doctest::Approx(3 * start_up_us + sent_bytes_us(65'536)).epsilon(near));
    }
  for (const char* transport : {"ideal", "tcp", "ndp"}) {
    CAPTURE(transport);
    const auto took_us = [&](const Json& cluster) {
      return collective_us(
          cluster,
          {"linear", "broadcast", 1 << 20, {"--fidelity", "packet", "--transport", transport}});
    };
    CHECK(took_us(star(2, "mpi")) - took_us(star(2, "mpi", {{"rendezvous", "2 MiB"}})) ==
          doctest::Approx(2 * start_up_us).epsilon(1e-9));
  }
}

TEST_CASE("rendezvous: both ends wait, so that agreements of one port follow each other") {
  // Three senders to one port: it waits and takes the bytes three times; the first start-up flies.
  CHECK(collective_us(star(4, "mpi"), {"linear", "reduce", 1 << 20}) ==
        doctest::Approx(start_up_us + 3 * (2 * start_up_us + sent_bytes_us(1 << 20))));
  CHECK(collective_us(star(4, "mpi"), {"linear", "reduce", 1 << 10}) ==
        doctest::Approx(start_up_us + 3 * sent_bytes_us(1 << 10)));
  CHECK(collective_us(star(4, "mpi"), {"linear", "broadcast", 1 << 20}) ==
        doctest::Approx(3 * start_up_us + 3 * sent_bytes_us(1 << 20)));
  // Six steps of a ring, whose chunks wait or do not.
  CHECK(collective_us(star(4, "mpi"), {"ring", "allreduce", 1 << 20}) ==
        doctest::Approx(6 * (3 * start_up_us + sent_bytes_us(1 << 18))));
  CHECK(collective_us(star(4, "mpi"), {"ring", "allreduce", 1 << 17}) ==
        doctest::Approx(6 * (start_up_us + sent_bytes_us(1 << 15))));
  // Three steps of halving, with a chunk of half, a quarter and an eighth; and back.
  CHECK(collective_us(star(8, "mpi"), {"halving_doubling", "allreduce", 1 << 18}) ==
        doctest::Approx(2 * (3 * start_up_us + sent_bytes_us(1 << 17) + 3 * start_up_us +
                             sent_bytes_us(1 << 16) + start_up_us + sent_bytes_us(1 << 15))));
  // All at once: round trips overlap.
  CHECK(collective_us(star(4, "mpi"), {"direct", "reduce_scatter", 1 << 20}) ==
        doctest::Approx(3 * start_up_us + 3 * sent_bytes_us(1 << 18)));
}

// Two hosts in the middle get a block, send it on, and wait for the next one: of two blocks b a
// block, the second starts when the first has left the second host, and follows it over the chain.
TEST_CASE("rendezvous: a chain of blocks gets, sends and waits") {
  const double block_us = sent_bytes_us(1 << 17);
  const double hop_us = 3 * start_up_us + block_us;
  for (const char* operation : {"broadcast", "reduce"})
    CHECK(collective_us(star(4, "mpi"), {"lp", operation, 1 << 17, {"--block", "128 KiB"}}) ==
          doctest::Approx(3 * hop_us));
  // A block leaves the second host one hop, less a flight, behind its arrival there, and a word
  // flies back for the next one: it is there 2 alpha + b later, and one hop farther each time.
  const double turn_us = hop_us + start_up_us + block_us;
  for (const int64_t blocks : {2, 3, 8, 100})
    CHECK(
        collective_us(star(4, "mpi"), {"lp", "broadcast", blocks << 17, {"--block", "128 KiB"}}) ==
        doctest::Approx(3 * hop_us + static_cast<double>(blocks - 1) * turn_us));
}

TEST_CASE("rendezvous: formulas of what goes in rounds have it, others refuse") {
  for (const char* network : {"mpi", "paper"})
    for (const char* fidelity : {"closed_form", "message"}) {
      CAPTURE(network);
      CAPTURE(fidelity);
      const auto took_us = [&](const char* algorithm, int64_t size_B) {
        return collective_us(star(4, network),
                             {algorithm, "allreduce", size_B, {"--fidelity", fidelity}});
      };
      CHECK(took_us("ring", 1 << 20) ==
            doctest::Approx(6 * (3 * start_up_us + sent_bytes_us(1 << 18))));
      CHECK(took_us("ring", 1 << 17) ==
            doctest::Approx(6 * (start_up_us + sent_bytes_us(1 << 15))));
      CHECK(took_us("recursive_doubling", 1 << 20) ==
            doctest::Approx(2 * (3 * start_up_us + sent_bytes_us(1 << 20))));
      CHECK(took_us("halving_doubling", 1 << 17) ==
            doctest::Approx(2 * (3 * start_up_us + sent_bytes_us(1 << 16) + start_up_us +
                                 sent_bytes_us(1 << 15))));
    }
  const Temporary file(Temporary::Kind::file, star(4, "mpi").dump());
  for (const char* algorithm : {"mst", "linear", "direct", "lp", "double_binary_tree", "be"}) {
    const Ran none = call_sgdsim({"collective", "-a", algorithm, "-c", file.name(), "-n", "1 MiB",
                                  "--fidelity", "closed_form"});
    CHECK(none.exit_code == 2);
    CHECK(none.log.find("no closed form") != std::string::npos);
  }
  // What follows counts as well.
  const Ran streams = call_sgdsim({"collective", "-a", "lp", "--op", "broadcast", "-c", file.name(),
                                   "-n", "1 KiB", "-n", "1 MiB", "--option", "lp_drain=off",
                                   "--block", "128 KiB", "--fidelity", "closed_form"});
  CHECK(streams.exit_code == 2);
}

// Two hosts on either side of one trunk: two messages of a ring share it, and are not quiet.
TEST_CASE("rendezvous: on shared wires, however it is played") {
  Json vertices = Json::array();
  Json connections = Json::array();
  const auto connect = [&](const char* from, const char* to) {
    connections.push_back({{"from", from}, {"to", to}, {"link", "wire"}});
  };
  for (const char* host : {"g0", "g1", "g2", "g3"})
    vertices.push_back({{"name", host}, {"kind", "gpu"}, {"forwards", false}});
  for (const char* name : {"a", "b"}) vertices.push_back({{"name", name}, {"kind", "switch"}});
  connect("g0", "a");
  connect("g2", "a");
  connect("g1", "b");
  connect("g3", "b");
  connect("a", "b");
  const Json dumbbell = {
      {"schema", "sgdsim/cluster/1"},
      {"shape", "explicit"},
      {"network", "nccl"},
      {"vertices", vertices},
      {"links",
       {{"wire", {{"latency", "0.5 ms"}, {"per_byte", "80 ns/B"}, {"rendezvous", "16 KiB"}}}}},
      {"edges", connections}};
  const auto took_us = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--fidelity", "flow"});
    return collective_us(dumbbell, {"ring", "allreduce", 1 << 17, more});
  };
  CHECK(took_us({}) == doctest::Approx(took_us({"--path", "events"})));
}

TEST_CASE("rendezvous: whatever chooses or plans does it by what waits") {
  const Temporary file(Temporary::Kind::file, star(4, "mpi").dump());
  const auto step_ps = [&](const char* collective, const char* strategy = "wfbp") {
    const Ran run = call_sgdsim({"run", "resnet50_v100", "-c", file.name(), "--set",
                                 std::string("collective=") + collective, "--set",
                                 std::string("strategy=") + strategy, "--format", "json"});
    INFO(run.log);
    REQUIRE(run.exit_code == 0);
    return Json::parse(run.out)["iteration_ps"].get<double>();
  };
  CHECK(step_ps("auto") <= step_ps("ring") * 1.001);
  // One message a gradient waits a hundred times; a plan that knows it merges them.
  CHECK(step_ps("ring", "mg_wfbp") < step_ps("ring"));
  CHECK(call_sgdsim({"advise", "resnet50_v100", "-c", file.name()}).exit_code == 0);
}

TEST_CASE("rendezvous: sends of a schedule wait, with an overhead as without, and once") {
  const Temporary schedule(Temporary::Kind::file,
                           "num_ranks 2\nrank 0 {\nl0: send 1048576b to 1\n}\n"
                           "rank 1 {\nl0: recv 1048576b from 0\n}\n");
  const Temporary waits(Temporary::Kind::file, star(2, "nccl").dump());
  const Temporary never(Temporary::Kind::file, star(2, "nccl", {{"rendezvous", "1 GiB"}}).dump());
  const auto took_us = [&](const Temporary& cluster, std::vector<std::string> more) {
    std::vector<std::string> words = {"replay",       schedule.name(), "-c",
                                      cluster.name(), "--format",      "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran run = call_sgdsim(words);
    INFO(run.log);
    REQUIRE(run.exit_code == 0);
    return Json::parse(run.out)["makespan_ps"].get<double>() / 1e6;
  };
  for (const char* fidelity : {"message", "flow", "packet"})
    for (const std::vector<std::string>& overhead :
         {std::vector<std::string>{}, std::vector<std::string>{"--o", "1 us"}}) {
      CAPTURE(fidelity);
      CAPTURE(overhead.size());
      std::vector<std::string> words = overhead;
      words.insert(words.end(), {"--fidelity", fidelity});
      CHECK(took_us(waits, words) - took_us(never, words) ==
            doctest::Approx(2 * start_up_us).epsilon(1e-6));
    }
  CHECK(took_us(waits, {"--S", "1 KiB"}) == doctest::Approx(took_us(never, {"--S", "1 KiB"})));
}

// Of three, 1 gets what 0 has in 3 + 8 ms and folds it in 10. Then it answers 2, whose bytes are
// there after two start-ups and 8 ms, folds 10 ms, and sends the sum to 0 in 3 + 8 ms.
TEST_CASE("rendezvous: a receiver that is late answers late, at every fidelity") {
  const Json cluster = star(3, "mpi", {{"reduce", "100 ns/B"}});
  for (const char* fidelity : {"message", "flow", "packet"}) {
    CAPTURE(fidelity);
    const double near = std::string(fidelity) == "message" ? 1e-9 : 0.01;
    CHECK(collective_us(cluster,
                        {"recursive_doubling", "allreduce", 100'000, {"--fidelity", fidelity}}) ==
          doctest::Approx(3 * 8'000 + 2 * 10'000 + 8 * start_up_us).epsilon(near));
  }
  CHECK(collective_us(cluster,
                      {"recursive_doubling", "allreduce", 100'000, {"--option", "ports=shared"}}) ==
        doctest::Approx(3 * 8'000 + 2 * 10'000 + 8 * start_up_us).epsilon(1e-9));
}

// The receiver computes for 20 ms, and its answer is there at 21; what a sender of TCP does for 5
// ms more begins when it has handed its bytes over, and at fidelity message when they have left.
TEST_CASE("rendezvous: a schedule's receiver that is late holds its sender, too") {
  const Temporary schedule(Temporary::Kind::file,
                           "num_ranks 2\nrank 0 {\nl1: send 100000b to 1\nl2: calc 5000000\n"
                           "l2 requires l1\n}\nrank 1 {\nl1: calc 20000000\nl2: recv 100000b "
                           "from 0\nl2 requires l1\n}\n");
  const Temporary cluster(Temporary::Kind::file, star(2, "mpi").dump());
  for (const char* fidelity : {"message", "flow", "packet"}) {
    CAPTURE(fidelity);
    const Ran run = call_sgdsim({"replay", schedule.name(), "-c", cluster.name(), "--fidelity",
                                 fidelity, "--format", "json"});
    REQUIRE(run.exit_code == 0);
    const Json ends = Json::parse(run.out)["end_ps"];
    const double near = std::string(fidelity) == "message" ? 1e-9 : 0.01;
    const double answered_us = 20'000 + start_up_us;
    const double kept_us = std::string(fidelity) == "message" ? 8'000 : 0;
    CHECK(ends[0].get<double>() / 1e6 ==
          doctest::Approx(answered_us + kept_us + 5'000).epsilon(near));
    CHECK(ends[1].get<double>() / 1e6 ==
          doctest::Approx(answered_us + 8'000 + start_up_us).epsilon(near));
  }
}

// Two that send first and then receive wait for each other, as programs of MPI do; short messages
// do not wait.
TEST_CASE("rendezvous: a schedule that sends before it receives is stuck, with a hint") {
  const auto ran = [](const char* bytes, const char* fidelity) {
    const std::string message = std::string(bytes) + "b ";
    const Temporary schedule(Temporary::Kind::file,
                             "num_ranks 2\nrank 0 {\nl1: send " + message + "to 1\nl2: recv " +
                                 message + "from 1\nl2 requires l1\n}\nrank 1 {\nl1: send " +
                                 message + "to 0\nl2: recv " + message +
                                 "from 0\nl2 requires l1\n}\n");
    const Temporary cluster(Temporary::Kind::file, star(2, "mpi").dump());
    return call_sgdsim({"replay", schedule.name(), "-c", cluster.name(), "--fidelity", fidelity});
  };
  for (const char* fidelity : {"message", "flow", "packet"}) {
    CAPTURE(fidelity);
    CHECK(ran("65535", fidelity).exit_code == 0);
    const Ran stuck = ran("65536", fidelity);
    CHECK(stuck.exit_code == 4);
    CHECK(stuck.log.find("let receives begin before such sends") != std::string::npos);
  }
}

TEST_CASE("rendezvous: steps of training wait, too, at every fidelity that has messages") {
  Json cluster = star(4, "mpi");
  const auto step = [&](const Json& of, const char* fidelity) {
    const Temporary file(Temporary::Kind::file, of.dump());
    return call_sgdsim({"run", "resnet50_v100", "-c", file.name(), "--set", "strategy=naive",
                        "--fidelity", fidelity, "--format", "json"});
  };
  const auto step_us = [&](const Json& of, const char* fidelity) {
    const Ran run = step(of, fidelity);
    INFO(run.log);
    REQUIRE(run.exit_code == 0);
    return Json::parse(run.out)["iteration_ps"].get<double>() / 1e6;
  };
  Json never = cluster;
  never["nic"].erase("rendezvous");
  // Rings of four, one after the other: six steps of each gradient, whose chunks have as many bytes
  // as it has parameters.
  const Json trace =
      Document::read(SGDSIM_SOURCE_DIR "/traces/data/resnet50_v100.json").root().json();
  int waiting = 0;
  for (const Json& layer : trace["layers"])
    waiting += layer["parameters"].get<int64_t>() >= 65'536 ? 1 : 0;
  REQUIRE(waiting > 10);
  const double more_us = waiting * 6 * 2 * start_up_us;
  CHECK(step_us(cluster, "closed_form") - step_us(never, "closed_form") ==
        doctest::Approx(more_us).epsilon(0.01));
  CHECK(step_us(cluster, "message") - step_us(never, "message") ==
        doctest::Approx(more_us).epsilon(0.01));
  CHECK(step_us(cluster, "flow") - step_us(never, "flow") ==
        doctest::Approx(more_us).epsilon(0.01));
}

TEST_CASE("rendezvous: of single hosts, of segments, and of all messages") {
  const auto reduce_us = [](const Json& cluster) {
    return collective_us(cluster, {"linear", "reduce", 1 << 12});
  };
  CHECK(reduce_us(star(3, "mpi", {{"rendezvous", "0 B"}})) ==
        doctest::Approx(start_up_us + 2 * (2 * start_up_us + sent_bytes_us(1 << 12))));
  Json one = star(3, "mpi");
  one["ports"] = Json::array({{{"node", 2}, {"rendezvous", "4 KiB"}}});
  CHECK(reduce_us(one) ==
        doctest::Approx(start_up_us + 2 * start_up_us + 2 * sent_bytes_us(1 << 12)));
  // Half of the rate from 1 MiB on; messages wait from 64 KiB on.
  const Json slower = {
      {"segments", {{{"from", "1 MiB"}, {"latency", "0.5 ms"}, {"per_byte", "160 ns/B"}}}}};
  const auto sent_us = [&](int64_t size_B) {
    return collective_us(star(2, "mpi", slower), {"linear", "broadcast", size_B});
  };
  CHECK(sent_us(1 << 15) == doctest::Approx(start_up_us + sent_bytes_us(1 << 15)));
  CHECK(sent_us(1 << 19) == doctest::Approx(3 * start_up_us + sent_bytes_us(1 << 19)));
  CHECK(sent_us(1 << 20) == doctest::Approx(3 * start_up_us + 2 * sent_bytes_us(1 << 20)));
}

TEST_CASE("rendezvous: mistakes are a sentence") {
  for (const Json& wrong : {Json("soon"), Json(65536), Json("-1 B"), Json("1 ms"), Json(nullptr)}) {
    CAPTURE(wrong.dump());
    const Temporary file(Temporary::Kind::file, star(2, "mpi", {{"rendezvous", wrong}}).dump());
    const Ran run = call_sgdsim({"collective", "-c", file.name(), "-n", "1 MiB"});
    CHECK(run.exit_code == 2);
    CHECK(run.log.find("rendezvous") != std::string::npos);
  }
}

}  // namespace
}  // namespace sgdsim
