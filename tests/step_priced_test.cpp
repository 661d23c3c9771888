// Exchanges of which only the time is known, where messages share wires: they share nothing, so a
// step is what it is at fidelity message.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/jobs_cases.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const char* const line = R"({"start_up": "50 us", "per_byte": "1 ns/B"})";
const char* const lines = R"({"lines": [{"start_up": "20 us", "per_byte": "3 ns/B"},
                                        {"start_up": "300 us", "per_byte": "0.8 ns/B"}]})";
const char* const curve = R"({"samples": [{"size": "1 KiB", "time": "60 us"},
    {"size": "1 MiB", "time": "900 us"}, {"size": "64 MiB", "time": "60 ms"}]})";

Ran step(const char* cost, const std::string& fidelity, const std::vector<std::string>& settings) {
  std::vector<std::string> words = {
      "run",      SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json",
      "--set",    "cluster.nodes=3",
      "--set",    std::string("collective=") + cost,
      "--set",    "iterations=3",
      "--set",    "warm_up=1",
      "--format", "json"};
  words.insert(words.end(), {"--fidelity", fidelity});
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return run_sgdsim(words);
}

}  // namespace

TEST_CASE("priced exchanges: a step on wires is what it is at message") {
  for (const char* cost : {line, lines, curve})
    for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
             {"strategy=wfbp"},
             {"strategy=ddp", "channels=2"},
             {"strategy=p3"},
             {"strategy=horovod"},
             {"strategy=wfbp", R"(workers={"slow": [{"worker": 1, "factor": 1.5}]})"},
             {"strategy=ddp", R"(workers={"jitter": {"distribution": "lognormal", "sigma": 0.1}})"},
             {"strategy=sync_easgd", R"(synchronization={"name": "pipe_sgd", "width": 2})"}}) {
      const Ran message = step(cost, "message", settings);
      CAPTURE(message.log);
      REQUIRE(message.exit_code == 0);
      CHECK(message.log.find("is only a time") == std::string::npos);
      for (const char* fidelity : {"flow", "packet"}) {
        const Ran ran = step(cost, fidelity, settings);
        CAPTURE(ran.log);
        REQUIRE(ran.exit_code == 0);
        CHECK(Json::parse(ran.out)["total_ps"] == Json::parse(message.out)["total_ps"]);
        CHECK(ran.log.find(std::string("is only a time, without messages: at fidelity ") +
                           fidelity) != std::string::npos);
      }
    }
}

// Two jobs on one uplink: one with messages, which the other's times do not slow down. One layer
// computes for 300 us; 1 MB takes 10 + 1000 us by a + bM, and as a ring of two twice 4 + 500 us.
TEST_CASE("priced exchanges: beside a job with messages nothing is shared") {
  Json priced = job("1,3");
  priced["experiment"]["collective"] = {{"start_up", "10 us"}, {"per_byte", "1 ns/B"}};
  const Lengths lengths =
      iterations_of({{"cluster", racks}, {"jobs", Json::array({job("0,2"), priced})}});
  CHECK(lengths == Lengths{us({1308, 1308, 1308}), us({1310, 1310, 1310})});
}

// Two messages of 1 MB, which could both be in flight: a job's times go one after the other.
TEST_CASE("priced exchanges: channels do not make a time shorter") {
  Json both = job("1,3");
  both["experiment"]["trace"] = {
      {"layers",
       {{{"name", "a"}, {"parameters", 250'000}, {"forward", "0 us"}, {"backward", "0 us"}},
        {{"name", "b"}, {"parameters", 250'000}, {"forward", "100 us"}, {"backward", "200 us"}}}}};
  both["experiment"]["collective"] = {{"start_up", "10 us"}, {"per_byte", "1 ns/B"}};
  both["experiment"]["channels"] = 2;
  const Lengths lengths =
      iterations_of({{"cluster", racks}, {"jobs", Json::array({job("0,2"), both})}});
  CHECK(lengths[1] == us({2320, 2320, 2320}));
}

}  // namespace sgdsim
