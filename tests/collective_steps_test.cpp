// What `sgdsim collective` shows of every message, and questions about collectives in files.
#include <algorithm>
#include <doctest/doctest.h>
#include <map>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "tests/json_of_run.h"
#include "topologies/routed_wires.h"

namespace sgdsim {
namespace {

// Begin and end of every send, by sender, in microseconds.
std::map<int, std::vector<std::pair<double, double>>> sends_in(const Json& timeline) {
  std::map<int, std::vector<std::pair<double, double>>> sends;
  for (const Json& event : timeline.is_array() ? timeline : timeline.at("traceEvents"))
    if (event.value("ph", "") == "X" && event.at("name").get<std::string>().starts_with("send"))
      sends[event.at("pid").get<int>()].emplace_back(
          event.at("ts").get<double>(),
          event.at("ts").get<double>() + event.at("dur").get<double>());
  return sends;
}

// The one figure of the LP paper that was read: three GPUs, four blocks; the first hop works in
// steps 1 to 4, the second one in steps 2 to 5.
TEST_CASE("collective: the timeline of a linear pipeline is the paper's drawing") {
  const Json timeline = json_of_run({"collective", "-a", "lp", "--op", "reduce", "-p", "3", "-n",
                                     "4B", "--block", "1B", "--alpha", "0us", "--beta", "1 us/B",
                                     "--timeline", "-", "--out", "/dev/null"});
  auto sends = sends_in(timeline);
  CHECK(sends.size() == 2);
  std::vector<std::vector<std::pair<double, double>>> hops;
  for (auto& [rank, slices] : sends) {
    std::sort(slices.begin(), slices.end());
    hops.push_back(slices);
  }
  REQUIRE(hops.size() == 2);
  for (std::size_t hop = 0; hop < 2; ++hop) {
    REQUIRE(hops[hop].size() == 4);
    for (std::size_t block = 0; block < 4; ++block) {
      CHECK(hops[hop][block].first == doctest::Approx(static_cast<double>(hop + block)));
      CHECK(hops[hop][block].second == doctest::Approx(static_cast<double>(hop + block + 1)));
    }
  }
}

TEST_CASE("collective: what shows messages says of a formula which option it was") {
  for (const char* option : {"--gantt", "--timeline=/dev/null"}) {
    const Ran ran = run_sgdsim(
        {"collective", "-a", "nccl", "-n", "1 MB", "-c", "dgx_h100_4", "--force", option});
    CHECK(ran.exit_code == 2);
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    CHECK(ran.log ==
          "sgdsim: " + name + ": a formula has no messages to show; use --fidelity message\n");
  }
}

// Messages that stand for NCCL's choice have options that nobody typed, and its latencies.
TEST_CASE("collective: the timeline of NCCL's choice is what was simulated") {
  for (const char* operation : {"allreduce", "allgather"})
    for (const char* fidelity : {"message", "flow"}) {
      CAPTURE(operation);
      CAPTURE(fidelity);
      const std::vector<std::string> words = {
          "collective", "-a",         "nccl",       "--op",   operation, "-n", "1 MB",
          "-c",         "dgx_h100_4", "--fidelity", fidelity, "-p",      "16"};
      std::vector<std::string> answered = words;
      answered.insert(answered.end(), {"--format", "json"});
      const double time_us = json_of_run(answered)["time_us"].get<double>();
      std::vector<std::string> drawn = words;
      drawn.insert(drawn.end(), {"--timeline", "-", "--out", "/dev/null"});
      double end_us = 0;
      const Json timeline = json_of_run(drawn);
      for (const Json& event : timeline.at("traceEvents"))
        if (event.value("ph", "") == "X")
          end_us = std::max(end_us, event.at("ts").get<double>() + event.at("dur").get<double>());
      CHECK(end_us == doctest::Approx(time_us).epsilon(1e-6));
    }
}

// Every message is there once, none begins before time 0, none is taken before it is sent, and the
// last one ends when the collective does.
TEST_CASE("collective: the log of messages is the collective, whatever plays it") {
  const Cluster cluster = [] {
    Cluster one{"test",
                Network::uniform(8, {Duration::us(10), PerByte::ps(1000), PerByte::ps(500)}),
                1,
                {},
                {}};
    one.wires = [](const RouteChoice&) {
      return wires_at_one_switch(8, {{}, PerByte::ps(1000), {}});
    };
    return one;
  }();
  for (const Algorithm& algorithm : algorithms())
    for (const Operation operation :
         {Operation::allreduce, Operation::broadcast, Operation::reduce, Operation::alltoall})
      for (const Fidelity fidelity : {Fidelity::message, Fidelity::flow}) {
        if (!algorithm.offers(operation)) continue;
        CollectiveQuestion question;
        question.algorithm = algorithm.name;
        question.operation = operation;
        question.messages = {Bytes(100'000)};
        question.fidelity = fidelity;
        const std::string name = std::string(algorithm.name) + " " +
                                 std::string(name_of(operation)) + " " +
                                 std::string(name_of(fidelity));
        INFO(name);
        CollectiveAnswer plain;
        try {
          plain = simulate_collective(question, cluster, "test");
        } catch (const InputError&) {
          continue;  // not of eight ranks without groups or grids
        }
        MessageLog log;
        question.log = &log;
        question.most_logged = 1'000'000;
        const CollectiveAnswer logged = simulate_collective(question, cluster, "test");
        CHECK(logged.time == plain.time);
        CHECK(static_cast<int64_t>(log.size()) == plain.traffic.messages);
        double bytes = 0;
        Time last;
        for (const LoggedMessage& one : log) {
          bytes += one.size_B;
          CHECK(one.from != one.to);
          CHECK(one.left >= one.sent);
          CHECK(one.taken > one.sent);
          last = std::max({last, one.left, one.taken + one.fold});
        }
        CHECK(bytes == doctest::Approx(plain.traffic.wire_B));
        CHECK(last.since_start() <= plain.time);
        // What is not in a message is the fold of a list schedule, or nothing.
        CHECK(last.since_start().us() >= 0.6 * plain.time.us());
      }
}

TEST_CASE("collective: pictures of what has no messages, or too many, are refused") {
  const std::vector<std::string> uniform = {"--alpha", "1 us", "--beta", "1 ns/B"};
  auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "collective");
    words.insert(words.end(), uniform.begin(), uniform.end());
    const Ran run = run_sgdsim(words);
    CHECK(run.exit_code == 2);
    return run.log;
  };
  CHECK(refused({"-n", "1 MB", "-p", "4", "--fidelity", "closed_form", "--gantt"})
            .find("a formula has no messages to show") != std::string::npos);
  CHECK(refused({"-n", "1 MB", "-p", "2..4", "--sweep", "--gantt"}).find("leave out --sweep") !=
        std::string::npos);
  CHECK(refused({"-n", "1 MB", "-p", "4", "--format", "json", "--gantt"}).find("for people") !=
        std::string::npos);
  CHECK(refused({"-n", "1 GB", "-p", "2000", "--gantt"}).find("show at most 1000000 messages") !=
        std::string::npos);
}

TEST_CASE("collective: a file asks what the options ask, and options win over it") {
  const Json by_file =
      json_of_run({"collective", "papers/lp/broadcasts.json", "--ranks", "4", "--format", "json"});
  const Json by_words = json_of_run({"collective", "--sweep", "-a", "lp,be", "--op", "broadcast",
                                     "-p", "4", "-n", "1 MB..1 TB", "--alpha", "10us", "--beta",
                                     "0.1ns/B", "--fidelity", "closed_form", "--format", "json"});
  REQUIRE(by_file.at("points").size() == by_words.at("points").size());
  for (std::size_t i = 0; i < by_words.at("points").size(); ++i)
    CHECK(by_file["points"][i]["time_ps"] == by_words["points"][i]["time_ps"]);
  const Ran csv = run_sgdsim({"collective", "papers/lp/broadcasts.json", "--ranks", "4", "--bytes",
                              "1 MB", "--format", "csv"});
  CHECK(
      csv.out.starts_with("algorithm,operation,ranks,size_B,time_us,algbw_GBps,busbw_GBps\n"
                          "lp,broadcast,4,1000000,"));
}

TEST_CASE("collective: a broken file of questions is refused by name") {
  auto answer_to = [](const std::string& text) {
    const Temporary file(Temporary::Kind::file, text);
    const Ran run = run_sgdsim({"collective", file.name()});
    CHECK(run.exit_code == 2);
    return run.log;
  };
  const std::string head = R"({"schema": "sgdsim/collective-question/1", )";
  CHECK(answer_to("{}").find("schema") != std::string::npos);
  CHECK(answer_to(R"({"schema": "sgdsim/sweep/1", "bytes": "1 MB"})").find("expected \"sgdsim") !=
        std::string::npos);
  CHECK(answer_to(head + R"("ranks": 4})").find("--bytes is required") != std::string::npos);
  CHECK(answer_to(head + R"("bytes": [], "ranks": 4})").find("at least one entry") !=
        std::string::npos);
  CHECK(answer_to(head + R"("bytes": "1 MB", "rank": 4})").find("rank") != std::string::npos);
  CHECK(answer_to(head + R"("bytes": "1 MB", "ranks": 4, "option": 3})").find("an object") !=
        std::string::npos);
}

}  // namespace
}  // namespace sgdsim
