// GOAL schedules: what is read and refused, LogGOPS by hand, and training steps that are exported,
// replayed, and take the time that they take in the other engine.
#include "traces/goal.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <numeric>
#include <sstream>

#include "models/step/step_schedule.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "sim/play/replay.h"
#include "study/step/experiment.h"
#include "tests/goal_cases.h"
#include "tests/rounds.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

Replayed play(const RankSchedule& schedule, const MessageCosts& costs) {
  Replay replay;
  replay.schedule = &schedule;
  replay.costs = costs;
  return sgdsim::play(replay);
}

std::vector<int64_t> ends_ns(const std::string& text, const MessageCosts& costs) {
  const RankSchedule schedule = parse_goal(text, "test");
  const Replayed played = play(schedule, costs);
  CHECK(played.operations == schedule.operations().size());
  std::vector<int64_t> ends;
  for (const Time end : played.ends) {
    CHECK(end.ps() % 1000 == 0);
    ends.push_back(end.ps() / 1000);
  }
  return ends;
}

using Ends = std::vector<int64_t>;

}  // namespace

TEST_CASE("goal: a dependency across two processors of a rank holds") {
  CHECK(ends_ns("num_ranks 2\n"
                "rank 0 {\nl1: calc 100000 cpu 0\nl2: send 1001b to 1 tag 7 cpu 1\n"
                "l2 requires l1\n}\n"
                "rank 1 {\nl1: recv 1001b from 0 tag 7\nl2: calc 50\nl2 requires l1\n}\n",
                log_gops(2000, 0, 0, 1, 0)) == Ends{100'000, 103'050});
}

// L 1000, o 100, g 300, G 2, O 1; messages of 11 bytes, so that (s - 1) G = 20 and (s - 1) O = 10.
TEST_CASE("goal: LogGOPS by hand") {
  const MessageCosts costs = log_gops(1000, 100, 300, 2, 1);
  // o + L + (s - 1) G, then o: the bytes come slower than the processor takes them.
  CHECK(ends_ns("num_ranks 2 rank 0 { send 11b to 1 } rank 1 { recv 11b from 0 }", costs) ==
        Ends{110, 100 + 1000 + 20 + 100});
  // The second sending waits for the card: g + (s - 1) G = 320 after the first; the receiver's card
  // takes it when it comes.
  CHECK(ends_ns("num_ranks 2 rank 0 { send 11b to 1 tag 1 send 11b to 1 tag 2 }"
                " rank 1 { recv 11b from 0 tag 1 recv 11b from 0 tag 2 }",
                costs) == Ends{320 + 110, 320 + 100 + 1000 + 20 + 100});
  // Two senders at once: the card of the receiver takes the second 320 later.
  CHECK(ends_ns("num_ranks 3 rank 0 { send 11b to 2 } rank 1 { send 11b to 2 }"
                " rank 2 { recv 11b from 0 recv 11b from 1 }",
                costs) == Ends{110, 110, 100 + 1000 + 320 + 20 + 100});
  // A receive that is asked for later finds its bytes there: the processor takes o + (s - 1) O.
  CHECK(ends_ns("num_ranks 2 rank 0 { send 11b to 1 } rank 1 { a: calc 5000 b: recv 11b from 0"
                " b requires a }",
                costs) == Ends{110, 5000 + 110});
  // irequires: beside the computation, whose processor the receive then needs.
  CHECK(ends_ns("num_ranks 2 rank 0 { send 11b to 1 } rank 1 { a: calc 5000 b: recv 11b from 0"
                " b irequires a }",
                costs) == Ends{110, 5000 + 110});
  CHECK(
      ends_ns("num_ranks 2 rank 0 { send 11b to 1 } rank 1 { a: calc 5000 b: recv 11b from 0 cpu 1"
              " b irequires a }",
              costs) == Ends{110, 5000});
  // A processor that computes when the bytes are there takes them afterwards, in o + (s - 1) O.
  CHECK(ends_ns("num_ranks 2 rank 0 { send 11b to 1 } rank 1 { calc 3000 recv 11b from 0 }",
                costs) == Ends{110, 3000 + 110});
  // Two cards of a rank send at once; its processor takes o + (s - 1) O for each.
  CHECK(ends_ns("num_ranks 3 rank 0 { send 11b to 1 nic 0 send 11b to 2 nic 1 }"
                " rank 1 { recv 11b from 0 } rank 2 { recv 11b from 0 }",
                costs) == Ends{220, 1220, 110 + 1220});
  // Messages without bytes, and G that is no whole number: 1001 bytes of 0.08 ns.
  CHECK(ends_ns("num_ranks 2 rank 0 { send 0b to 1 } rank 1 { recv 0b from 0 }", costs) ==
        Ends{100, 1200});
  CHECK(ends_ns("num_ranks 2 rank 0 { send 1001b to 1 } rank 1 { recv 1001b from 0 }",
                log_gops(1000, 0, 0, 0.08, 0)) == Ends{0, 1080});
}

TEST_CASE("goal: larger messages wait for their receiver") {
  MessageCosts costs = log_gops(1000, 100, 0, 2, 0);
  costs.eager_B = 10;
  // Announced at 1100, asked for at 5000, answered at 6000, left after 20, there at 7020, then o.
  const std::string text =
      "num_ranks 2 rank 0 { a: send 11b to 1 b: calc 7 b requires a }"
      " rank 1 { a: calc 5000 b: recv 11b from 0 b requires a }";
  CHECK(ends_ns(text, costs) == Ends{6000 + 20 + 7, 7000 + 20 + 100});
  costs.eager_B = 11;
  CHECK(ends_ns(text, costs) == Ends{107, 5000 + 100});
}

TEST_CASE("goal: what is ready goes in the order of the file") {
  // A thousand sends of one rank, without order: the k-th leaves k (g + (s - 1) G) later.
  std::ostringstream text;
  constexpr int count = 1000;
  text << "num_ranks " << count + 1 << "\nrank 0 {\n";
  for (int i = 1; i <= count; ++i) text << "send 101b to " << i << " tag " << count - i << '\n';
  text << "}\n";
  for (int i = 1; i <= count; ++i)
    text << "rank " << i << " { recv 101b from 0 tag " << count - i << " }\n";
  const std::vector<int64_t> ends = ends_ns(text.str(), log_gops(1000, 0, 50, 1, 0));
  for (int i = 1; i <= count; ++i) {
    CAPTURE(i);
    CHECK(ends[static_cast<std::size_t>(i)] == (i - 1) * 150 + 1000 + 100);
  }
}

TEST_CASE("goal: any sender and any tag, first come first served") {
  const MessageCosts costs = log_gops(100, 0, 0, 1, 0);
  // The message of rank 2 is there first.
  CHECK(ends_ns("num_ranks 3 rank 1 { a: calc 500 b: send 11b to 0 tag 4 b requires a }"
                " rank 2 { send 21b to 0 tag 9 }"
                " rank 0 { a: recv 21b from any tag any b: calc 1 b requires a"
                " c: recv 11b from -1 tag 4 }",
                costs) == Ends{610, 500, 0});
  // Asked for after both are there: the one that came first, then the other one.
  CHECK(
      ends_ns("num_ranks 3 rank 1 { send 11b to 0 tag 1 } rank 2 { a: calc 1 b: send 31b to 0 tag 1"
              " b requires a }"
              " rank 0 { a: calc 1000 b: recv 11b from any tag 1 b requires a"
              " c: recv 31b from 2 tag any c requires b }",
              costs) == Ends{1000, 0, 1});
}

TEST_CASE("goal: circles and missing partners are named, with exit code 4") {
  const auto run = [](const std::string& text, const std::vector<std::string>& more = {}) {
    const Temporary file(Temporary::Kind::file, text);
    std::vector<std::string> arguments = {"replay", file.name(), "--L", "2000", "--G", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sgdsim(arguments);
  };
  const Ran circle =
      run("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nc: calc 3\na requires c\nb requires a\n"
          "c irequires b\n}\n");
  CHECK(circle.exit_code == 4);
  CHECK(circle.log.find("3 operations in a circle, each waiting for the next") !=
        std::string::npos);
  for (const char* line : {"line 3: calc 1 ns", "line 4: calc 2 ns", "line 5: calc 3 ns"})
    CHECK(circle.log.find(line) != std::string::npos);

  const Ran no_send =
      run("num_ranks 2\nrank 1 {\na: recv 8b from 0 tag 7\nb: calc 1\nb requires a\n}\n",
          {"--format", "json"});
  CHECK(no_send.exit_code == 4);
  CHECK(no_send.log.find("rank 1, line 3: recv 8 B from rank 0, tag 7: still waiting") !=
        std::string::npos);
  CHECK(no_send.log.find("1 operation behind them not begun") != std::string::npos);
  CHECK_FALSE(Json::parse(no_send.out)["complete"].get<bool>());

  const Ran no_receive = run("num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\n}\n");
  CHECK(no_receive.exit_code == 4);
  CHECK(no_receive.log.find("rank 0, line 3: send 8 B to rank 1, tag 3: nobody receives it") !=
        std::string::npos);

  // Each waits for the other one's message before it sends its own.
  const Ran crossed =
      run("num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
          "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n");
  CHECK(crossed.exit_code == 4);
  CHECK(crossed.log.find("rank 0, line 3: recv 8 B from rank 1, tag 0: still waiting") !=
        std::string::npos);
  CHECK(crossed.log.find("rank 1, line 8: recv 8 B from rank 0, tag 0: still waiting") !=
        std::string::npos);

  // As large messages, two sends that meet each other wait for ever; as small ones they do not.
  const std::string meeting =
      "num_ranks 2\nrank 0 {\na: send 80b to 1\nb: recv 80b from 1\nb requires a\n}\n"
      "rank 1 {\na: send 80b to 0\nb: recv 80b from 0\nb requires a\n}\n";
  CHECK(run(meeting).exit_code == 0);
  CHECK(run(meeting, {"--S", "79"}).exit_code == 4);

  const Ran few = run(meeting, {"--max-events", "3", "--format", "json"});
  CHECK(few.exit_code == 4);
  CHECK(few.log.find("stopped by --max-events after 3 events, at ") != std::string::npos);
  CHECK(Json::parse(few.out)["events"] == 3);
  const Ran early = run(meeting, {"--max-sim-time", "1 us", "--format", "json"});
  CHECK(early.exit_code == 4);
  CHECK(early.log.find("stopped by --max-sim-time") != std::string::npos);
  CHECK(Json::parse(early.out)["makespan_ps"].get<int64_t>() <= 1'000'000);
}

// Each file of tests/bad/goal begins with a comment: the sentence that refuses it.
TEST_CASE("goal: files that are wrong are refused with line and reason") {
  const std::filesystem::path folder = std::filesystem::path(SGDSIM_SOURCE_DIR) / "tests/bad/goal";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    const std::string text = read_text(entry.path().string());
    const std::string expected = text.substr(3, text.find('\n') - 3);
    CAPTURE(entry.path().string());
    CHECK_THROWS_WITH_AS(parse_goal(text, "x.goal"), expected.c_str(), InputError);
  }
  CHECK(files >= 12);
}

TEST_CASE("goal: layouts, comments and decimals are read") {
  const RankSchedule schedule = parse_goal(
      "# a schedule\nnum_ranks 3 // of two that do something\n"
      "rank 2 { z: calc 1.5; y: calc 0.001 cpu 3 ; y requires x x: recv 5b from 0 }\r\n"
      "/* rank 1\n { */ rank 0{o1:send 5b to 2\n}",
      "test");
  REQUIRE(schedule.operations().size() == 4);
  CHECK(schedule.ranks() == 3);
  CHECK(schedule.operations()[0].amount == 1500);
  CHECK(schedule.operations()[1].amount == 1);
  CHECK(schedule.operations()[1].waits == 1);
  CHECK(schedule.operations()[2].line == 3);
  CHECK(schedule.rank_of(3) == 0);
  const Replayed played = play(schedule, log_gops(10, 0, 0, 1, 0));
  CHECK(played.ends[1] == Time());
  CHECK(played.ends[2] == Time() + Duration::ps(14'001));
}

// A chain of operations on processors of their own takes as long as all of them only if every label
// names the right one.
TEST_CASE("goal: labels of any kind name their operation") {
  std::vector<std::string> labels = {
      "l1", "l01",   "l001",       "l0",          "l00",
      "12", "012",   "x",          "l",           "1x1",
      "5.", "l9000", "l999999999", "l4000000000", "l99999999999999999999999"};
  for (char word = 'a'; word <= 'k'; ++word)
    for (const char* number : {"7", "8", "070"}) labels.push_back(word + std::string(number));
  for (int i = 100; i < 3000; ++i) labels.push_back("l" + std::to_string(i));
  for (const bool is_before : {false, true}) {
    std::string operations, requirements;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      operations += labels[i] + ": calc 10 cpu " + std::to_string(i) + "\n";
      if (i > 0) requirements += labels[i] + " requires " + labels[i - 1] + "\n";
    }
    const std::string text = "num_ranks 1 rank 0 {\n" +
                             (is_before ? requirements + operations : operations + requirements) +
                             "}\n";
    CHECK(ends_ns(text, {}) == Ends{10 * static_cast<int64_t>(labels.size())});
    // Whenever it comes again, and however far it was from those before.
    for (const char* twice : {"l1", "l01", "12", "x", "l9000", "l4000000000", "k7", "l2999"}) {
      CAPTURE(twice);
      CHECK_THROWS_WITH_AS(
          parse_goal("num_ranks 1 rank 0 {\n" + operations + twice + ": calc 1\n}", "x.goal"),
          doctest::Contains("occurs twice in its rank"), InputError);
    }
    CHECK_THROWS_WITH_AS(
        parse_goal("num_ranks 1 rank 0 {\n" + operations + "l1 requires l98\n}", "x.goal"),
        doctest::Contains("\"l98\" is no label of this rank"), InputError);
  }
}

// The reader's buffer has 256 KiB; behind it comes a whole one more.
TEST_CASE("goal: words are whole wherever the reader's buffer ends") {
  const std::string more(600'000, ' ');
  for (std::size_t size = (1U << 18U) - 60; size < (1U << 18U) + 4; ++size) {
    const std::string text = "num_ranks 2 rank 0 {/*" + std::string(size, 'x') +
                             "*/long_label: calc 123456789.25\nsend 77b to 1}\n" + more +
                             "rank 1 {l1:recv 5b from 0}";
    const RankSchedule schedule = parse_goal(text, "test");
    REQUIRE(schedule.operations().size() == 3);
    REQUIRE(schedule.operations()[0].amount == 123'456'789'250);
    REQUIRE(schedule.operations()[1].amount == 77);
    REQUIRE(schedule.operations()[1].line == 2);
  }
}

namespace {

// The exported iteration, written and read again.
Replayed replay_of(const Experiment& experiment, bool exact) {
  const StepQuestion question = experiment.question();
  const StepSchedule written(question);
  std::ostringstream out;
  write_goal_head(out, static_cast<uint32_t>(written.ranks()));
  for (int rank = 0; rank < written.ranks(); ++rank) {
    const RankWork work = written.of_rank(rank);
    write_goal_rank(out, static_cast<uint32_t>(rank), work.operations, work.requirements, exact);
  }
  const RankSchedule schedule = parse_goal(out.str(), "test");
  const CollectiveOptions& options = question.cost.job().options;
  Replay replay;
  replay.schedule = &schedule;
  replay.network = &experiment.cluster.network;
  replay.alpha = options.alpha;
  replay.shares_ports = options.shares_ports;
  replay.send_buffer_B = static_cast<double>(options.send_buffer.count());
  return play(replay);
}

}  // namespace

// Random steps over all strategies and algorithms that a schedule can hold. Rings whose chunks are
// not of one size end everywhere when they end on the last worker, and so are a little longer.
TEST_CASE("goal: an exported step takes the time of the step") {
  Random random(51);
  int played = 0;
  int compared = 0;
  int equal = 0;
  for (int round = 0; round < rounds(40); ++round)
    for (const StrategyKind& strategy : strategies())
      for (const char* algorithm :
           {"ring", "recursive_doubling", "halving_doubling", "direct", "be", "hierarchical"}) {
        Json layers = Json::array();
        const int workers = 1 + static_cast<int>(random.below(9));
        const std::string name = algorithm;
        const bool even = name == "ring" || name == "hierarchical";
        for (std::size_t l = 0; l < 1 + random.below(5); ++l)
          layers.push_back({{"name", "l" + std::to_string(l)},
                            {"parameters",
                             (1 + random.below(9'000)) * static_cast<uint64_t>(even ? workers : 1)},
                            {"forward", std::to_string(random.below(40'000'000)) + " ps"},
                            {"backward", std::to_string(random.below(80'000'000)) + " ps"}});
        Json json = {
            {"schema", "sgdsim/experiment/1"},
            {"trace", {{"schema", "sgdsim/trace/1"}, {"update", "3 us"}, {"layers", layers}}},
            {"cluster",
             {{"schema", "sgdsim/cluster/1"},
              {"shape", "single_switch"},
              {"nodes", workers},
              {"nic", {{"latency", "3 us"}, {"bandwidth", "25 Gbit/s"}, {"reduce", "0.1 ns/B"}}}}},
            {"collective", {{"algorithm", algorithm}}},
            {"strategy", std::string(strategy.name)},
            {"fidelity", "message"},
            {"warm_up", 0}};
        if (random.below(3) == 0) json["workers"] = {{"slow", {{{"worker", 0}, {"factor", 1.4}}}}};
        if (random.below(4) == 0) json["compression"] = "truncate16";
        if (random.below(2) == 0) json["collective"]["options"]["alpha"] = "wire";
        if (random.below(2) == 0) {
          json["collective"]["options"]["ports"] = "shared";
          if (random.below(3) == 0) json["collective"]["options"]["send_buffer"] = "40 KB";
          // Two GPUs behind the card of a node.
          if (random.below(3) == 0 && !even) {
            json["cluster"]["shape"] = "nvlink_box";
            json["cluster"]["gpus_per_node"] = 2;
            json["cluster"]["nics_per_node"] = 1;
            json["cluster"]["gpu_link"] = {{"latency", "1 us"}, {"bandwidth", "40 GBps"}};
            json["cluster"]["pcie"] = {{"latency", "1 us"}, {"bandwidth", "12 GBps"}};
          }
        }
        CAPTURE(json.dump());
        try {
          const Experiment experiment =
              read_experiment(resolve_experiment(Value(json, "test", ""), {}));
          const Replayed exact = replay_of(experiment, true);
          ++played;
          CHECK(exact.waiting.empty());
          CHECK(exact.not_received.empty());
          const StepResult result = simulate_step(experiment.question());
          // A step plays messages one by one; in a schedule the last bytes of one share ports with
          // the first ones of the next, where workers are not all done at once.
          const bool shares = experiment.question().cost.job().options.shares_ports;
          if (shares && result.messages.size() > 1) continue;
          const Duration step = result.iterations.front();
          const Time last = *std::max_element(exact.ends.begin(), exact.ends.end());
          // Shares of a port are rounded to picoseconds.
          const auto messages = static_cast<int64_t>(exact.messages);
          REQUIRE(std::abs((last - Time() - step).ps()) <= (shares ? messages : 0));
          ++compared;
          equal += last - Time() == step ? 1 : 0;
          if (shares) continue;
          // Rounded to nanoseconds, a processor is off by half of one at most, and what waits for
          // it by as much again: a message passes at most 16 rounds, a step a few more.
          const Replayed rounded = replay_of(experiment, false);
          const Time other = *std::max_element(rounded.ends.begin(), rounded.ends.end());
          const int64_t off_ps = std::abs((other - last).ps());
          CHECK(off_ps <= 1000 * static_cast<int64_t>(layers.size() * 20));
        } catch (const InputError&) {
          continue;
        }
      }
  CHECK(played >= rounds(1'000));
  CHECK(compared >= rounds(1'000));
  CHECK(equal >= 0.98 * compared);
}

TEST_CASE("goal: what a schedule of a step leaves out is told") {
  const std::string experiment =
      R"({"trace": {"schema": "sgdsim/trace/1", "name": "t", "load": "3 ms", "layers": [{"name": "l",)"
      R"( "parameters": 1000, "forward": "1 us", "backward": "1 us"}]}, "strategy": "naive",)"
      R"( "cluster": "two_rate_cluster", "collective": "halving_doubling"})";
  const Ran ran = run_sgdsim({"export", "goal", experiment, "--set", "cluster.network=tcp"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.find("next batch, 3 ms") != std::string::npos);
  CHECK(ran.log.find("--ports shared --send-buffer '740 KB'") != std::string::npos);
  CHECK(run_sgdsim({"export", "goal", experiment, "--set", "trace.load=0 us"}).log.empty());
}

TEST_CASE("goal: export and replay as commands, and the schedules that ship") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string file = folder.name() + "/step.goal";
  const Ran written =
      run_sgdsim({"export", "goal", "app/experiments/bert_base_10gbe.json", "--set",
                  "cluster.nodes=4", "--set", "collective.algorithm=ring", "--set", "strategy=wfbp",
                  "--set", "compression=none", "--exact", "--out", file});
  CAPTURE(written.log);
  REQUIRE(written.exit_code == 0);
  const Ran step = run_sgdsim({"run", "app/experiments/bert_base_10gbe.json", "--set",
                               "cluster.nodes=4", "--set", "collective.algorithm=ring", "--set",
                               "strategy=wfbp", "--set", "fidelity=message", "--format", "json"});
  const Ran played = run_sgdsim(
      {"replay", file, "--cluster", "topologies/data/mgwfbp_paper_10gbe.json", "--format", "json"});
  REQUIRE(played.exit_code == 0);
  CHECK(Json::parse(played.out)["makespan_ps"] == Json::parse(step.out)["iteration_ps"]);
  CHECK(run_sgdsim({"export", "goal", "app/experiments/googlenet_k80.json", "--set", "strategy=p3"})
            .log.find("a schedule of sends and receives cannot say that messages go by priority") !=
        std::string::npos);

  // Four workers, 4 MB: 6 rounds of alpha + 1 MB beta, and 3 times 1 MB gamma.
  const Ran ring = run_sgdsim({"replay", "app/schedules/ring_4.goal", "-c",
                               "topologies/data/mgwfbp_paper_10gbe.json", "--format", "json"});
  REQUIRE(ring.exit_code == 0);
  const double expected_us = 6 * (45.25 + 1e3 * 0.9934107462565104) + 3 * 2500;
  CHECK(std::abs(Json::parse(ring.out)["makespan_ps"].get<double>() / 1e6 - expected_us) < 1e-4);
  const Ran two = run_sgdsim({"replay", "app/schedules/two_processors.goal", "--L", "2 us", "--G",
                              "1 ns/B", "--format", "json"});
  CHECK(Json::parse(two.out)["end_ps"] == Json::parse("[100000000, 103050000]"));
  const Ran alone = run_sgdsim({"replay", "app/schedules/ring_4.goal"});
  CHECK(alone.exit_code == 2);
  for (const std::vector<std::string>& idle : {std::vector<std::string>{"--alpha", "wire"},
                                               {"--set", "nodes=3"},
                                               {"--ports", "shared"},
                                               {"--send-buffer", "1 MB"}}) {
    std::vector<std::string> arguments = {"replay", "app/schedules/ring_4.goal", "--L", "1"};
    arguments.insert(arguments.end(), idle.begin(), idle.end());
    const Ran refused = run_sgdsim(arguments);
    CHECK(refused.exit_code == 2);
    CHECK(refused.log.starts_with("sgdsim: " + idle.front()));
  }
  CHECK(alone.log == "sgdsim: --cluster: expected a cluster file, or --L and --G\n");
}

}  // namespace sgdsim
