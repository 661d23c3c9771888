// Fits of collectives on a network: what its usual options do is fitted with them.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

// Times that a network's usual options make are fitted with them: 30 us and 100 ps/B come back.
TEST_CASE("fit: what sends the messages says what their start-ups keep busy") {
  struct Row {
    const char* network;
    const char* algorithm;
    const char* operation;
    int ranks;
  };
  for (const Row& row :
       {Row{"nccl", "linear", "broadcast", 8}, Row{"tcp", "linear", "reduce", 5},
        Row{"tcp", "direct", "allreduce", 8}, Row{"tcp", "be", "broadcast", 3},
        Row{"tcp", "recursive_doubling", "allreduce", 5}, Row{"nccl", "ring", "allreduce", 6},
        Row{"paper", "linear", "broadcast", 8}}) {
    CAPTURE(row.network);
    CAPTURE(row.algorithm);
    const Json cluster = {
        {"schema", "sgdsim/cluster/1"}, {"name", "wanted"},
        {"shape", "single_switch"},     {"nodes", row.ranks},
        {"network", row.network},       {"nic", {{"latency", "15 us"}, {"per_byte", "100 ps/B"}}}};
    const Temporary on(Temporary::Kind::file, cluster.dump());
    Json points = Json::array();
    for (int size_B = 30 * row.ranks * 64; size_B < 100'000'000; size_B *= 4) {
      const Json answer =
          json_of_run({"collective", "-a", row.algorithm, "--op", row.operation, "-n",
                       std::to_string(size_B) + " B", "-c", on.name(), "--format", "json"});
      points.push_back({{"size_B", size_B}, {"time_us", answer["time_us"]}});
    }
    const Json measured = {
        {"schema", "sgdsim/measurement/1"},
        {"name", "made"},
        {"series",
         {{{"operation", row.operation}, {"ranks", row.ranks}, {"points", std::move(points)}}}}};
    const Temporary file(Temporary::Kind::file, measured.dump());
    const Json fit = json_of_run({"fit", file.name(), "--from-collective", row.algorithm,
                                  "--network", row.network, "--segments", "1", "--format", "json"});
    const Json& segment = fit["fits"][0]["pieces"][0];
    CHECK(segment["alpha_us"].get<double>() == doctest::Approx(30).epsilon(1e-3));
    CHECK(segment["beta_ps_per_B"].get<double>() == doctest::Approx(100).epsilon(1e-3));
  }
}

}  // namespace
}  // namespace sgdsim
