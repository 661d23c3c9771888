// What faster links gain, however a cluster says what it has.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"

using namespace sgdsim;

// 8 cards of 100 Gbps over 2 uplinks at an oversubscription of 8: 50 Gbps each, however it is said.
TEST_CASE("advise: faster cards leave uplinks as they are") {
  Json part = {{"shape", "leaf_spine"},
               {"nodes", 16},
               {"nodes_per_leaf", 8},
               {"spines", 2},
               {"nic", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}}};
  Json rate = part;
  part["oversubscription"] = 8;
  part["uplink"] = {{"latency", "1 us"}};
  rate["uplink"] = {{"latency", "1 us"}, {"bandwidth", "50 Gbps"}};
  const auto steps_of = [](const Json& cluster, const std::string& change) {
    const Temporary file(Temporary::Kind::file, cluster.dump());
    const Json advice = json_of_run({"advise", "resnet50_v100", "-c", file.name(), "--set",
                                     "collective.algorithm=halving_doubling", "--fidelity",
                                     "message", "--format", "json"});
    for (const Json& line : advice["lines"])
      if (line["change"] == change) return line["iteration_ps"].get<int64_t>();
    return int64_t{0};
  };
  for (const char* change : {"twice the bandwidth of nic", "twice the bandwidth of uplink"}) {
    INFO(change);
    CHECK(steps_of(part, change) > 0);
    CHECK(steps_of(part, change) == steps_of(rate, change));
  }
}
