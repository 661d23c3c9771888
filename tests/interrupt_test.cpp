// SIGINT and SIGTERM end every command that simulates, with exit code 130 and a sentence.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string experiment = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";

// Sends the signal as soon as the program lets it wait: bits 2 and 15 of its mask.
Ran interrupted(const std::string& words, const std::string& signal) {
  return run_shell_line("\"" SGDSIM_PROGRAM "\" " + words +
                        " & pid=$!\nwhile kill -0 $pid && ! grep -q '^SigBlk:.*4002$' "
                        "/proc/$pid/status; do :; done 2>/dev/null\nkill -" +
                        signal + " $pid; wait $pid");
}

}  // namespace

TEST_CASE("interrupt: run and plan end with 130 and a sentence") {
  const std::string endless = experiment + " --fidelity message --set iterations=10000000 ";
  for (const char* signal : {"INT", "TERM"})
    for (const std::string& words :
         {"run " + endless, "plan " + endless,
          "run " + endless + "--set strategy=sync_easgd --set synchronization=pipe_sgd",
          "run " + endless +
              "--set strategy=sync_easgd --set synchronization=async_ps --set "
              "'collective={\"parameter_server\":{}}'"}) {
      CAPTURE(words);
      const Ran ran = interrupted(words, signal);
      CHECK(ran.exit_code == 130);
      CHECK(ran.log.ends_with("sgdsim: interrupted\n"));
      CHECK(ran.out.empty());
    }
}

TEST_CASE("interrupt: tune prints the best of what it has evaluated") {
  const std::string words = "tune " + experiment +
                            " --set fidelity=message --set cluster.nodes=64 --axis "
                            R"('seed={"from": 1, "to": 1000000, "step": 1}' --axis )"
                            R"('trace.update={"from": "1 us", "to": "1000 us", "step": "1 us"}' )"
                            "--format json -j 2 --most ";
  for (const char* most : {"2000", "1000000000"}) {  // a search, and all
    CAPTURE(most);
    const Ran ran = interrupted(words + most, "INT");
    CHECK(ran.exit_code == 130);
    CHECK(ran.log.find("sgdsim: interrupted; ") != std::string::npos);
    const Json json = Json::parse(ran.out);
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/tune/1", json).empty());
    CHECK(json["interrupted"] == true);
    CHECK(json["evaluated"] >= 1);
    CHECK(json["evaluated"] < json["points"]);
  }
}

// Commands that no loop asks: they wait for a pipe that nobody fills, and are ended as the others.
TEST_CASE("interrupt: commands without a loop that asks end with 130 and a sentence, too") {
  for (const std::string& words : {std::string("collective -a ring -n 1MB -c -"),
                                   std::string("import kineto -"), std::string("model show -")}) {
    CAPTURE(words);
    const Ran ran = run_shell_line(
        "mkfifo pipe; exec 9<>pipe; \"" SGDSIM_PROGRAM "\" " + words +
        " <&9 & pid=$!\nwhile kill -0 $pid && ! grep -q "
        "'^SigCgt:.*[4567cdef][0-9a-f][0-9a-f][0-9a-f]$' /proc/$pid/status; do :; done "
        "2>/dev/null\nkill -TERM $pid; wait $pid");
    CHECK(ran.exit_code == 130);
    CHECK(ran.log == "sgdsim: interrupted\n");
    CHECK(ran.out.empty());
  }
}

}  // namespace sgdsim
