// `sgdsim collective`: every point names the command that gives it; ranks that are a part of a
// cluster, and trees at every fidelity.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"

using namespace sgdsim;

TEST_CASE("collective: the command of a point gives that point") {
  const std::string small = "topologies/data/mgwfbp_paper_10gbe.json";
  const std::vector<std::vector<std::string>> questions = {
      {"--sweep", "-a", "all", "-p", "2..8", "-n", "1 KiB,3 MB", "-c", small},
      {"--sweep", "-a", "auto,nccl", "-n", "1 MiB,1 GiB", "-c", "topologies/data/dgx_h100_4.json"},
      {"--sweep", "-a", "lp,ring", "-p", "4", "-n", "1 MB", "--alpha", "10 us", "--beta", "1 ns/B",
       "--gamma", "0.1 ns/B", "--block", "64 KiB", "--jitter", "0.2", "--seed", "7"},
      {"-a",       "ring",
       "-p",       "3",
       "-n",       "1 MB",
       "-n",       "3 KB",
       "-c",       small,
       "--set",    "nic.bandwidth=2.5 Gbps",
       "--set",    "name=it's",
       "--option", "chunks=fractional",
       "--start",  "0 us,5 us,2 us",
       "--path",   "events"},
      {"-a", "mst", "--op", "broadcast", "-p", "4", "--root", "2", "-n", "100 KB", "-c", small,
       "--fidelity", "packet", "--transport", "dctcp packet=9000B"},
  };
  for (std::vector<std::string> words : questions) {
    CAPTURE(words[2]);
    words.insert(words.begin(), "collective");
    words.insert(words.end(), {"--format", "json"});
    const Ran asked = run_sgdsim(words);
    REQUIRE_MESSAGE(asked.exit_code == 0, asked.log);
    const Json answer = Json::parse(asked.out);
    const Json points = answer.contains("points") ? answer["points"] : Json::array({answer});
    std::size_t compared = 0;
    for (const Json& point : points) {
      if (point.contains("why_not")) continue;
      CAPTURE(point["command"].dump());
      const Ran ran = run_shell_line(point["command"].get<std::string>() + " --format json");
      REQUIRE(ran.exit_code == 0);
      CHECK(Json::parse(ran.out) == point);
      ++compared;
    }
    CHECK(compared > 0);
  }
}

// Eight ranks of one node never use its network card; of four nodes two ranks are in one.
TEST_CASE("collective: closed forms charge the worst pair of the ranks that take part") {
  struct Row {
    std::string cluster, ranks;
  };
  for (const Row& row :
       std::vector<Row>{{"10gbe_2x8", "8"}, {"dgx_h100_4", "3"}, {"10gbe_2x8", "9"}}) {
    CAPTURE(row.cluster);
    CAPTURE(row.ranks);
    const auto time_us = [&](const char* fidelity) {
      return json_of_run({"collective", "-a", "ring", "-n", "64000000B", "-c", row.cluster, "-p",
                          row.ranks, "--fidelity", fidelity, "--format", "json"})["time_us"]
          .get<double>();
    };
    CHECK(time_us("closed_form") == doctest::Approx(time_us("message")).epsilon(0.03));
  }
}

// A start-up of 45 us on four levels of children who are waited for.
TEST_CASE("collective: children of a tree are let go at once where their parent waits") {
  for (const char* fidelity : {"message", "flow", "packet"}) {
    CAPTURE(fidelity);
    const Json json = json_of_run({"collective", "-a", "mst", "--op", "reduce", "-n", "1B", "-c",
                                   "10gbe_16", "--fidelity", fidelity, "--format", "json"});
    CHECK(json["time_us"].get<double>() == doctest::Approx(181).epsilon(0.01));
  }
}
