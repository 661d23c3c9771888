// A sentence where the bandwidth of network cards is swept and cannot matter.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/json_lines.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// Two GPUs of 12 GB/s of PCIe each behind a card: more than 24 GB/s of the card is of no use.
TEST_CASE("sweep: a network card behind a slower PCIe is named where its bandwidth is an axis") {
  const std::string sentence = "the bandwidth of network cards makes no difference";
  const auto swept = [&](const std::string& axis, const std::string& more = "{}") {
    Json json = Json::parse(R"({"trace": {"layers": [
        {"name": "l", "parameters": 1000000, "forward": "1 us", "backward": "1 us"}]},
      "cluster": {"shape": "nvlink_box", "nodes": 2, "gpus_per_node": 4, "nics_per_node": 2,
        "gpu_link": {"latency": "1 us", "bandwidth": "100 GBps"},
        "pcie": {"latency": "1 us", "bandwidth": "12 GBps"},
        "nic": {"latency": "1 us", "bandwidth": "30 GBps"}}})");
    json["cluster"].update(Json::parse(more));
    const Temporary file(Temporary::Kind::file, json.dump());
    const Ran ran = run_sgdsim({"sweep", file.name(), "--axis", axis});
    REQUIRE(ran.exit_code == 0);
    return json_lines(ran.out);
  };
  const auto is_named = [&](const Json& line) {
    for (const Json& warning : line.value("warnings", Json::array()))
      if (warning.get<std::string>().starts_with(sentence)) return true;
    return false;
  };
  const std::vector<Json> lines =
      swept("cluster.nic.bandwidth=6 GBps,12 GBps,23 GBps,24 GBps,48 GBps,96 GBps");
  REQUIRE(lines.size() == 6);
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(is_named(lines[i]) == (i >= 3));
  for (const std::size_t named : {4U, 5U})
    CHECK(lines[named]["iteration_ps"] == lines[3]["iteration_ps"]);
  CHECK(lines[0]["iteration_ps"] > lines[3]["iteration_ps"]);
  CHECK(lines[3]["warnings"].dump().find("24 GBps in all") != std::string::npos);
  // Nobody asked, or it is not so: another axis, one card for four GPUs, no PCIe.
  for (const Json& line : swept("cluster.nodes=2,3")) CHECK_FALSE(is_named(line));
  for (const Json& line : swept("cluster.nic.latency=1 us,2 us")) CHECK_FALSE(is_named(line));
  for (const Json& line : swept("cluster.nic.bandwidth=24 GBps,47 GBps", R"({"nics_per_node": 1})"))
    CHECK_FALSE(is_named(line));
  // The rate of a link is what it gives to payload.
  for (const Json& line : swept("cluster.nic.efficiency=0.9,0.95",
                                R"({"nic": {"latency": "1 us", "bandwidth": "25.5 GBps"}})"))
    CHECK(is_named(line) == (line["axes"]["cluster.nic.efficiency"].get<double>() > 0.945));
}

}  // namespace
}  // namespace sgdsim
