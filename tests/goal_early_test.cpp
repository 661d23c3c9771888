// GOAL: messages that come before their receive is asked for, by hand and at random; and those
// whose receive names another size.
#include <algorithm>
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "sim/core/random.h"
#include "sim/play/replay.h"
#include "tests/goal_cases.h"
#include "tests/run_program.h"
#include "traces/goal.h"

using namespace sgdsim;

// L 1000, o 100, g 300, G 2, O 1, and messages of 11 bytes: their first bytes are there at
// 1100, and a card takes one in 20, the next one 320 later.
TEST_CASE("goal: bytes that come before their receive are paid once, when they come") {
  const MessageCosts costs = log_gops(1000, 100, 300, 2, 1);
  const std::string one = "num_ranks 2 rank 0 { send 11b to 1 } rank 1 { a: calc ";
  const std::string two =
      "num_ranks 3 rank 0 { send 11b to 1 } rank 2 { send 11b to 1 } rank 1 { a: calc ";
  const std::string then = " b: recv 11b from 0 b requires a ";
  const std::string both = then + " c: recv 11b from 2 c requires a }";
  struct Row {
    const char* reason;
    std::string text;
    int64_t buffered;
    int64_t asked;
  };
  for (const Row& row :
       {Row{"all there", one + "5000" + then + "}", 5000 + 110, 5000 + 20 - 10 + 110},
        Row{"half there", one + "1110" + then + "}", 1110 + 110, 1110 + 20 - 10 + 110},
        Row{"not there yet", one + "900" + then + "}", 1100 + 20 - 10 + 110, 1100 + 20 - 10 + 110},
        Row{"two, in one card", two + "1430" + both, 1430 + 2 * 110, 1430 + 320 + 20 - 10 + 110}}) {
    CAPTURE(row.reason);
    const RankSchedule schedule = parse_goal(row.text, "test");
    Replay replay{.schedule = &schedule, .costs = costs};
    CHECK(sgdsim::play(replay).ends[1] == Time() + Duration::ns(row.buffered));
    replay.unexpected = Unexpected::buffered;
    CHECK(sgdsim::play(replay).ends[1] == Time() + Duration::ns(row.buffered));
    replay.unexpected = Unexpected::asked;
    CHECK(sgdsim::play(replay).ends[1] == Time() + Duration::ns(row.asked));
  }
}

// A receiver that computes first, and senders that begin when they like: its card takes messages in
// the order in which they come, and the last byte or the computation ends it, whichever is later.
TEST_CASE("goal: a card takes early messages as they come, whatever is asked for") {
  Random random(41);
  for (int draw = 0; draw < 300; ++draw) {
    CAPTURE(draw);
    const auto below = [&](uint64_t count) { return static_cast<int64_t>(random.below(count)); };
    const int64_t L = below(2000), g = below(500), G = 1 + below(3), computes = below(20'000);
    const int senders = 1 + static_cast<int>(below(8));
    std::vector<std::pair<int64_t, int64_t>> comes;  // when, and how many bytes but the first
    std::string text = "num_ranks " + std::to_string(senders + 1);
    std::string receives = " rank 0 { a: calc " + std::to_string(computes);
    for (int i = 1; i <= senders; ++i) {
      const std::string rank = std::to_string(i);
      const int64_t waits = 3000 * below(4) + i;  // no two at once
      const int64_t bytes = 1 + below(3000);
      comes.emplace_back(waits + L, bytes - 1);
      text += " rank " + rank + " { w: calc " + std::to_string(waits) + " s: send " +
              std::to_string(bytes) + "b to 0 s requires w }";
      receives += " r" + rank + ": recv " + std::to_string(bytes) + "b from " + rank + " r" + rank +
                  " requires a";
    }
    int64_t card = 0, last = computes;
    std::sort(comes.begin(), comes.end());
    for (const auto& [when, rest_B] : comes) {
      const int64_t first = std::max(card, when);
      card = first + g + rest_B * G;
      last = std::max(last, first + rest_B * G);
    }
    const RankSchedule schedule = parse_goal(text + receives + " }", "test");
    const Replayed played = sgdsim::play(
        {.schedule = &schedule, .costs = log_gops(L, 0, g, static_cast<double>(G), 0)});
    CHECK(played.ends[0] == Time() + Duration::ns(last));
  }
}

// LogGOPSim and ATLAHS end after 1,002,000 ns.
TEST_CASE("goal: the option for early messages") {
  const Temporary file(Temporary::Kind::file,
                       "num_ranks 2 rank 0 { send 100001b to 1 } rank 1 { a: calc 1000000 b: recv "
                       "100001b from 0 b requires a }");
  const std::vector<std::string> by_parameters = {"replay", file.name(), "--L", "2000",     "--o",
                                                  "2000",   "--G",       "1",   "--format", "json"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return run_sgdsim(words);
  };
  for (const auto& [rule, ends_ns] : {std::pair("", 1'002'000), std::pair("buffered", 1'002'000),
                                      std::pair("asked", 1'102'000)}) {
    const auto& rule_said = rule;
    CAPTURE(rule_said);
    std::vector<std::string> option;
    if (*rule != '\0') option = {"--unexpected", rule};
    const Ran ran = with(by_parameters, option);
    REQUIRE(ran.exit_code == 0);
    CHECK(Json::parse(ran.out)["makespan_ps"] == 1000 * int64_t{ends_ns});
  }
  const std::vector<std::string> on_cluster = {
      "replay", file.name(), "-c", "topologies/data/mgwfbp_paper_10gbe.json", "--format", "json"};
  CHECK(with(on_cluster, {}).out == with(on_cluster, {"--unexpected", "asked"}).out);
  CHECK(with(on_cluster, {}).out != with(on_cluster, {"--unexpected", "buffered"}).out);
  for (const std::vector<std::string>& shared :
       {std::vector<std::string>{"--fidelity", "flow"}, {"--ports", "shared"}}) {
    std::vector<std::string> options = shared;
    options.insert(options.end(), {"--unexpected", "asked"});
    const Ran refused = with(on_cluster, options);
    CHECK(refused.exit_code == 2);
    CHECK(refused.log.find("--unexpected: has no effect") != std::string::npos);
  }
}

// LogGOPSim matches by sender and tag: the times are those of 8 B on the way. Rank 2 asks for what
// it gets.
TEST_CASE("goal: a receive of another size than its message is told") {
  const std::string text =
      "num_ranks 3\n"
      "rank 0 {\nl1: send 8b to 1 tag 1\nl2: send 8b to 1 tag 2\nl3: send 8b to 2 tag 3\n}\n"
      "rank 1 {\nl1: recv 4b from 0 tag 1\nl2: recv 9b from any tag 2\n}\n"
      "rank 2 {\nl1: recv 8b from 0 tag 3\n}\n";
  const RankSchedule schedule = parse_goal(text, "test");
  Replay question;
  question.schedule = &schedule;
  question.costs = log_gops(1000, 100, 0, 2, 0);
  const Replayed played = play(question);
  CHECK(played.unequal == 2);
  CHECK(played.unequal_send == 0);
  const Temporary file(Temporary::Kind::file, text);
  const Ran ran = call_sgdsim({"replay", file.name(), "--L", "1us", "--G", "2"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.find("sgdsim: note: 2 messages meet a receive of another size (first: ") !=
        std::string::npos);
  const Ran json =
      call_sgdsim({"replay", file.name(), "--L", "1us", "--G", "2", "--format", "json"});
  CHECK(Json::parse(json.out)["warnings"].size() == 1);
}
