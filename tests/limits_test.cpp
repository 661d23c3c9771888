// --max-events and --max-sim-time stop every command that simulates, with exit code 4 and what was
// reached.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words step = {"run", "app/experiments/bert_base_10gbe.json", "--format", "json"};
// A megabyte a round, 6 rounds of 1 us and 1 ms.
const Words ring = {"collective", "-a",      "ring", "-p",     "4",     "-n",
                    "4 MB",       "--alpha", "1 us", "--beta", "1 ns/B"};

}  // namespace

TEST_CASE("limits: a collective ends at its last message, and not before") {
  CHECK(run_sgdsim(ring + Words{"--max-events", "24"}).exit_code == 0);
  CHECK(run_sgdsim(ring + Words{"--max-sim-time", "6006 us"}).exit_code == 0);
  const Ran few = run_sgdsim(ring + Words{"--max-events", "23"});
  CHECK(few.exit_code == 4);
  CHECK(few.out.empty());
  CHECK(few.log ==
        "sgdsim: stopped by --max-events after 0 events, at 0.000 us of simulated time; the next "
        "24 are simulated as one\n");
  const Ran late = run_sgdsim(ring + Words{"--max-sim-time", "6005.999 us"});
  CHECK(late.exit_code == 4);
  CHECK(late.log.find("stopped by --max-sim-time") != std::string::npos);
  CHECK(run_sgdsim(ring + Words{"--max-events", "23", "--path", "events"}).exit_code == 4);
  CHECK(run_sgdsim(ring + Words{"--max-sim-time", "6006 us", "--path", "events"}).exit_code == 0);
  const Ran whole = run_sgdsim(ring + Words{"--max-sim-time", "6005 us", "--path", "rounds"});
  CHECK(whole.exit_code == 4);
  CHECK(whole.log.find(" after 0 events, ") != std::string::npos);
}

TEST_CASE(
    "limits: what is far away changes nothing, and what is too large to multiply is refused") {
  const Words sweep = {
      "collective", "--sweep", "-a",  "ring,nccl", "-p",
      "32",         "-n",      "1KB", "-c",        "topologies/data/dgx_h100_4.json"};
  const Ran free = run_sgdsim(sweep);
  REQUIRE(free.exit_code == 0);
  CHECK(run_sgdsim(sweep + Words{"--max-sim-time", "10 s"}).out == free.out);
  for (const char* dims :
       {"8x5x5581x8681x49477x384773", "2147483647x2147483647x2147483647x2147483647x2"}) {
    const Ran ran =
        run_sgdsim({"collective", "-a", "torus_ring", "-p", "8", "-n", "1MB", "--alpha", "10us",
                    "--beta", "1ns/B", "--option", std::string("dims=") + dims});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(" hold too many ranks, not 8") != std::string::npos);
  }
}

TEST_CASE("limits: messages that share ports are counted one by one") {
  const Words shared =
      ring + Words{"--option", "ports=shared", "--start", "0us,1us,2us,3us", "--path", "events"};
  const Ran ran = run_sgdsim(shared + Words{"--max-events", "5"});
  CHECK(ran.exit_code == 4);
  CHECK(ran.log.starts_with("sgdsim: stopped by --max-events after 5 events, at "));
  CHECK(ran.log.find("as one") == std::string::npos);
  // The last worker starts at 3 us, and then has six rounds before it.
  CHECK(run_sgdsim(shared + Words{"--max-sim-time", "6 ms"}).exit_code == 4);
  CHECK(run_sgdsim(shared + Words{"--max-sim-time", "7 ms"}).exit_code == 0);
}

TEST_CASE("limits: a step stops in every fidelity, and says in which iteration") {
  for (const char* fidelity : {"closed_form", "message", "flow", "packet"}) {
    CAPTURE(fidelity);
    const Words asked = step + Words{"--fidelity", fidelity,    "--set", "iterations=3",
                                     "--set",      "warm_up=2", "--set", "cluster.nodes=4"};
    const Ran free = run_sgdsim(asked);
    REQUIRE(free.exit_code == 0);
    const Ran ample =
        run_sgdsim(asked + Words{"--max-events", "1000000000000", "--max-sim-time", "1000 s"});
    CHECK(ample.out == free.out);
    const Ran few = run_sgdsim(asked + Words{"--max-events", "2"});
    CHECK(few.exit_code == 4);
    CHECK(few.out.empty());
    CHECK(few.log.find(", in iteration 1 of ") != std::string::npos);
    // The third iteration has not ended when two have; only messages that are played have a
    // warm-up.
    const int warm_up = std::string(fidelity) == "closed_form" ? 0 : 2;
    const int64_t mean_ps = Json::parse(free.out)["iteration_ps"];
    const Ran third = run_sgdsim(
        asked + Words{"--max-sim-time",
                      std::to_string(mean_ps * (warm_up * 2 + 5) / 2 / 1'000'000) + " us"});
    CHECK(third.exit_code == 4);
    CHECK(third.log.find("stopped by --max-sim-time after ") != std::string::npos);
    CHECK(third.log.ends_with(", in iteration " + std::to_string(3 + warm_up) + " of " +
                              std::to_string(3 + warm_up) + "\n"));
  }
}

TEST_CASE("limits: plans, jobs, flows and asynchronous workers stop as well") {
  const Ran plan =
      run_sgdsim({"plan", "app/experiments/bert_base_10gbe.json", "--max-events", "1"});
  CHECK(plan.exit_code == 4);
  CHECK(plan.log.find(", with strategy ") != std::string::npos);
  for (const Words& asked :
       {Words{"jobs", "app/job_files/two_jobs.json"},
        Words{"traffic", "app/flows/incast_4.csv", "-c", "topologies/data/mgwfbp_paper_10gbe.json"},
        Words{"run", "app/experiments/bert_base_10gbe.json", "--set", "synchronization=async_ps",
              "--set", "strategy=sync_easgd", "--set", R"(collective={"parameter_server":{}})"}}) {
    CAPTURE(asked.front());
    CHECK(run_sgdsim(asked + Words{"--max-events", "100000000"}).exit_code == 0);
    for (const Words& limit : {Words{"--max-events", "3"}, Words{"--max-sim-time", "1 us"}}) {
      const Ran ran = run_sgdsim(asked + limit);
      CHECK(ran.exit_code == 4);
      CHECK(ran.log.find("stopped by " + limit.front() + " after ") != std::string::npos);
    }
  }
}

TEST_CASE("limits: a layout stops in every fidelity that plays, and so does a point of a sweep") {
  const Words layout = {"layout", "llama3.1_8b", "-c",       "topologies/data/dgx_h100_4.json",
                        "--gpus", "8",           "--layout", "tp2 pp2 dp2 ga4 zero1"};
  for (const char* fidelity : {"message", "flow"}) {
    CAPTURE(fidelity);
    const Words asked = layout + Words{"--memory", "192 GiB", "--fidelity", fidelity};
    CHECK(run_sgdsim(asked + Words{"--max-events", "1000000000"}).exit_code == 0);
    for (const Words& limit : {Words{"--max-events", "3"}, Words{"--max-sim-time", "1 us"}}) {
      const Ran ran = run_sgdsim(asked + limit);
      CHECK(ran.exit_code == 4);
      CHECK(ran.out.empty());
      CHECK(ran.log.starts_with("sgdsim: stopped by " + limit.front() + " after "));
    }
  }
  const Words sweep =
      layout + Words{"--axis", "memory=190GiB,192GiB", "--fidelity", "message", "--format", "json"};
  CHECK(run_sgdsim(sweep).exit_code == 0);
  const Ran ran = run_sgdsim(sweep + Words{"--max-events", "3"});
  CHECK(ran.exit_code == 1);
  CHECK(ran.out.find("stopped by --max-events after 3 events") != std::string::npos);
  CHECK(run_sgdsim(layout + Words{"--memory", "192 GiB", "--max-events", "3"}).exit_code == 2);
}

TEST_CASE("limits: what is no limit is refused") {
  for (const char* events : {"0", "-1", "many", "1.5", "99999999999999999999"}) {
    CAPTURE(events);
    const Ran ran = run_sgdsim(ring + Words{"--max-events", events});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("--max-events") != std::string::npos);
  }
  for (const char* time : {"5", "soon", "-1 us", "1e300 s"}) {
    CAPTURE(time);
    CHECK(run_sgdsim(ring + Words{"--max-sim-time", time}).exit_code == 2);
  }
  CHECK(run_sgdsim(ring + Words{"--fidelity", "closed_form", "--max-events", "5"}).exit_code == 2);
}

}  // namespace sgdsim
