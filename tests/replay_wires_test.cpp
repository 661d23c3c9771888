// Schedules on shared wires: as packets, with links that fail, and as timelines.
#include <cmath>
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "sim/core/output.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// Four workers at one switch, 4 MB: 6 rounds of a latency and 1 MB, and 3 times 2.5 ms of adding.
constexpr double alpha_us = 45.25;
constexpr double per_byte_us = 0.9934107462565104e-3;
constexpr double round_us = alpha_us + 1e6 * per_byte_us;
constexpr double ring_us = 6 * round_us + 3 * 2500;

Ran replayed(std::vector<std::string> more,
             const std::string& cluster = "topologies/data/mgwfbp_paper_10gbe.json") {
  more.insert(more.begin(), {"replay", "app/schedules/ring_4.goal", "-c", cluster});
  return run_sgdsim(more);
}
double makespan_us(std::vector<std::string> more) {
  more.insert(more.end(), {"--format", "json"});
  const Ran ran = replayed(more);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["makespan_ps"].get<double>() / 1e6;
}
std::string closed(const std::string& from, const std::string& to) {
  std::string text = R"({"changes": [{"at": ")" + from + R"(", "vertex": "node2", "bandwidth": 0})";
  if (!to.empty()) text += R"(, {"at": ")" + to + R"(", "vertex": "node2", "bandwidth": 1})";
  return text + "]}";
}

}  // namespace

TEST_CASE("replay on wires: packets store one packet a round") {
  const double stored_us = 6 * 4096 * per_byte_us;
  CHECK(std::abs(makespan_us({"--fidelity", "packet"}) - (ring_us + stored_us)) < 1e-3);
  const double small_us = makespan_us({"--fidelity", "packet", "--transport", "ideal packet=500B"});
  CHECK(std::abs(small_us - (ring_us + 6 * 500 * per_byte_us)) < 1e-2);
  // Processors take o for what they send, and for what they receive.
  CHECK(std::abs(makespan_us({"--fidelity", "packet", "--o", "3 us"}) -
                 (ring_us + stored_us + 6 * 2 * 3)) < 1e-3);
  // What waits for its receiver is announced and answered.
  CHECK(std::abs(makespan_us({"--fidelity", "packet", "--S", "1000"}) -
                 (ring_us + stored_us + 6 * 2 * alpha_us)) < 1e-3);
  const Ran chakra = run_sgdsim(
      {"replay", "tests/data/chakra/four.0.et", "tests/data/chakra/four.1.et",
       "tests/data/chakra/four.2.et", "tests/data/chakra/four.3.et", "--groups",
       "tests/data/chakra/four.groups.json", "-c", "topologies/data/mgwfbp_paper_10gbe.json",
       "--fidelity", "packet", "--format", "json"});
  CHECK(chakra.exit_code == 0);
  CHECK(Json::parse(chakra.out)["complete"] == true);
}

// All operations have ended while its message, which nobody receives, is still under way.
TEST_CASE("replay on wires: traffic that touches nothing changes no reason") {
  const Temporary schedule(Temporary::Kind::file);
  write_file("num_ranks 2\nrank 0 {\nl1: send 10000b to 1 tag 0\n}\nrank 1 {\nl1: calc 10\n}\n",
             schedule.name());
  for (const std::string fidelity : {"flow", "packet"}) {
    std::vector<std::string> words = {"replay",     schedule.name(),
                                      "-c",         "topologies/data/mgwfbp_paper_10gbe.json",
                                      "--fidelity", fidelity};
    if (fidelity == "flow") words.insert(words.end(), {"--alpha", "wire"});
    const Ran alone = run_sgdsim(words);
    words.insert(words.end(), {"--traffic", closed("5 s", "")});
    const Ran beside = run_sgdsim(words);
    CHECK(alone.exit_code == 4);
    CHECK(alone.log.find("1 message not received") != std::string::npos);
    CHECK(beside.exit_code == 4);
    CHECK(beside.log == alone.log);
  }
  const Ran nothing = replayed({"--fidelity", "flow", "--traffic", "{}"});
  CHECK(nothing.exit_code == 2);
  CHECK(nothing.log.find("has neither `flows` nor `changes`") != std::string::npos);
}

TEST_CASE("replay on wires: the same seed gives the same picoseconds") {
  const auto sprayed = [](const char* seed) {
    const Ran ran = replayed(
        {"--fidelity", "packet", "--transport", "dctcp buffer=20KB spray=random", "--seed", seed,
         "--traffic",
         R"({"flows": [{"generator": "incast", "to": 1, "from": "20-27", "size": "1 MB"}]})",
         "--format", "json"},
        "topologies/data/leaf_spine_144.json");
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return ran.out;
  };
  const std::string once = sprayed("3");
  CHECK(sprayed("3") == once);
  CHECK(sprayed("4") != once);
}

// The last round begins at 12.693 ms, and its bytes flow a latency later. What goes to and from
// rank 2 waits until 14 ms.
TEST_CASE("replay on wires: a link that closes delays the ring, or stops it") {
  CHECK(std::abs(makespan_us({"--fidelity", "flow", "--traffic", closed("12.7 ms", "14 ms")}) -
                 (14'000 + 1e6 * per_byte_us)) < 1e-3);
  for (const char* fidelity : {"flow", "packet"}) {
    CAPTURE(fidelity);
    const Ran stuck =
        replayed({"--fidelity", fidelity, "--traffic", closed("5 ms", ""), "--format", "json"});
    CHECK(stuck.exit_code == 4);
    CHECK(Json::parse(stuck.out)["complete"] == false);
    CHECK(stuck.log.find("rank 1, line 45: send 1000000 B to rank 2, tag 2: its message has no "
                         "way") != std::string::npos);
    CHECK(stuck.log.find("rank 2, line 76: recv 1000000 B from rank 1, tag 2: still waiting") !=
          std::string::npos);
  }
}

// Half of every message may stay away.
TEST_CASE("replay on wires: what a transport leaves out is said") {
  const std::string loses = R"({"changes": [{"at": "0 s", "vertex": "node1", "loss": 0.3}]})";
  const Ran some = replayed({"--fidelity", "packet", "--transport", "mlt loss_bound=0.5",
                             "--traffic", loses, "--format", "json"});
  CHECK(some.exit_code == 0);
  CHECK(some.log.find("of one message only ") != std::string::npos);
  CHECK(Json::parse(some.out)["warnings"].size() == 1);
  const Ran all = replayed({"--fidelity", "packet", "--transport", "mlt loss_bound=0", "--traffic",
                            loses, "--format", "json"});
  CHECK(all.exit_code == 0);
  CHECK(all.log.empty());
}

TEST_CASE("replay on wires: timelines show what every rank did") {
  const Temporary folder(Temporary::Kind::folder);
  for (const char* fidelity : {"message", "flow", "packet"}) {
    const std::string timeline = folder.name() + "/" + fidelity + ".json";
    const double end_us = makespan_us({"--fidelity", fidelity, "--timeline", timeline});
    std::vector<double> computed_us(4);
    std::vector<int> messages(4);
    double last_us = 0;
    const Json events = Json::parse(read_text(timeline))["traceEvents"];
    for (const Json& event : events) {
      if (event["ph"] != "X") continue;
      const auto rank = event["pid"].get<std::size_t>();
      const double length_us = event["dur"].get<double>();
      last_us = std::max(last_us, event["ts"].get<double>() + length_us);
      if (event["name"] == "calc") computed_us[rank] += length_us;
      if (event["args"].contains("bytes")) ++messages[rank];
    }
    CHECK(last_us == doctest::Approx(end_us).epsilon(1e-12));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(computed_us[rank] == doctest::Approx(3 * 2500));
      CHECK(messages[rank] == 12);
    }
  }
  const Ran picture = replayed({"--gantt"});
  CHECK(picture.exit_code == 0);
  CHECK(picture.out.find("\nrank 3        computing") != std::string::npos);
}

// Four times 3 * 10^18 ps are more than a time can be; their mean is not.
TEST_CASE("replay: ranks whose times are long") {
  std::string goal = "num_ranks 4\n";
  for (int rank = 0; rank < 4; ++rank)
    goal += "rank " + std::to_string(rank) + " {\nl1: calc 3000000000000000\n}\n";
  const Temporary file(Temporary::Kind::file, goal);
  const Ran ran = run_sgdsim({"replay", file.name(), "--L", "1", "--G", "1", "--format", "json"});
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  const Json json = Json::parse(ran.out);
  CHECK(json["time"]["computing_us"].get<double>() == doctest::Approx(3e12));
  CHECK(json["time"]["idle_us"].get<double>() == 0);
}

TEST_CASE("replay on wires: what is refused") {
  struct Row {
    std::vector<std::string> more;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {{"--transport", "ndp"}, "--transport: has no effect without --fidelity packet"},
           {{"--traffic", R"({"changes": []})", "--ports", "turns"}, "leave ports=turns out"},
           {{"--routing", "split"}, "--routing: has no effect without --fidelity flow"},
           {{"--seed", "1"}, "--seed: has no effect without"},
           {{"--fidelity", "packet", "--routing", "split"}, "--routing: packets go as"},
           {{"--fidelity", "packet", "--alpha", "wire"}, "--alpha: has no effect"},
           {{"--fidelity", "packet", "--ports", "shared"}, "--ports: shared has no effect"},
           {{"--fidelity", "packet", "--g", "1"}, "--g: keeps messages of a card apart"},
           {{"--fidelity", "flow", "--seed", "1"}, "--seed: has no effect without"},
           {{"--gantt", "--format", "json"}, "--gantt: is for people"},
           {{"--timeline", "README.md"}, "README.md"},
           {{"--timeline", "topologies/data/mgwfbp_paper_10gbe.json"}, "is an input"}}) {
    const Ran refused = replayed(row.more);
    CHECK(refused.exit_code == 2);
    CAPTURE(refused.log);
    CHECK(refused.log.find(row.sentence) != std::string::npos);
  }
  const Ran no_cluster = run_sgdsim(
      {"replay", "app/schedules/ring_4.goal", "--L", "1", "--G", "1", "--fidelity", "packet"});
  CHECK(no_cluster.exit_code == 2);
  CHECK(no_cluster.log.find("--fidelity: packet needs a --cluster") != std::string::npos);
}

}  // namespace sgdsim
