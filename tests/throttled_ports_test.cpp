// At shared ports a message that a slower way holds up leaves the rest of its workers' ports to
// others: what near ones get by max-min fairness.
#include <doctest/doctest.h>

#include "sim/net/port_resources.h"
#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

// Two racks of two at 1 GB/s, whose uplinks have a part of that.
Json racks(const char* uplink) {
  return {{"schema", "sgdsim/cluster/1"},
          {"name", "racks"},
          {"network", "nccl"},
          {"shape", "leaf_spine"},
          {"nodes", 4},
          {"nodes_per_leaf", 2},
          {"spines", 1},
          {"nic", {{"latency", "0 us"}, {"bandwidth", "1 GBps"}}},
          {"uplink", {{"latency", "0 us"}, {"bandwidth", uplink}}}};
}

std::vector<double> ends_us(const Json& cluster, const std::string& rows, const char* fidelity) {
  const Temporary flows(Temporary::Kind::file, "start_us,from,to,size_B\n" + rows);
  const Json answer = json_of_run(
      {"traffic", flows.name(), "-c", cluster.dump(), "--fidelity", fidelity, "--format", "json"});
  std::vector<double> ends;
  for (const Json& flow : answer["flows"]) ends.push_back(flow["end_ps"].get<double>() / 1e6);
  return ends;
}

TEST_CASE("throttled ports: a flow through a slow uplink leaves the port to a near one") {
  // The far one has 0.1 GB/s: 10 ms; the near one what is left of 1 GB/s.
  const double near_us = 1000 / 0.9;
  for (const char* fidelity : {"message", "flow"})
    for (const char* rows : {"0,1,0,1000000\n0,2,0,1000000\n", "0,0,1,1000000\n0,0,2,1000000\n"}) {
      const std::vector<double> ends = ends_us(racks("0.1 GBps"), rows, fidelity);
      CHECK(ends[0] == doctest::Approx(near_us).epsilon(1e-6));
      CHECK(ends[1] == doctest::Approx(10'000).epsilon(1e-6));
    }
}

TEST_CASE(
    "throttled ports: by itself a far message is as slow as its way, and those of a rack share "
    "the uplink") {
  for (const char* fidelity : {"message", "flow"}) {
    CHECK(ends_us(racks("0.1 GBps"), "0,2,0,1000000\n", fidelity)[0] ==
          doctest::Approx(10'000).epsilon(1e-6));
    for (const double end : ends_us(racks("0.1 GBps"), "0,2,0,1000000\n0,3,1,1000000\n", fidelity))
      CHECK(end == doctest::Approx(20'000).epsilon(1e-6));
    // Where uplinks are as fast as ports, these are shared by halves.
    for (const double end : ends_us(racks("2 GBps"), "0,1,0,1000000\n0,2,0,1000000\n", fidelity))
      CHECK(end == doctest::Approx(2'000).epsilon(1e-6));
  }
}

// A ring of two in one rack, of which each sends half of 4 MB; beside it an incast from the other
// rack.
TEST_CASE("throttled ports: a job is slowed down by what the other one takes of its port") {
  const Json file = {
      {"schema", "sgdsim/jobs/1"},
      {"name", "j"},
      {"cluster", racks("0.1 GBps")},
      {"jobs",
       {{{"name", "in"},
         {"placement", "0-1"},
         {"collective", {{"bytes", "4 MB"}, {"operation", "allgather"}, {"algorithm", "ring"}}}}}},
      {"traffic",
       {{"flows", {{{"generator", "incast"}, {"to", 0}, {"from", "2"}, {"size", "4 MB"}}}}}}};
  const Temporary jobs(Temporary::Kind::file, file.dump());
  for (const char* fidelity : {"message", "flow"}) {
    const Json answer = json_of_run(
        {"jobs", jobs.name(), "--set", std::string("fidelity=") + fidelity, "--format", "json"});
    CHECK(answer["jobs"][0]["slowdown"].get<double>() == doctest::Approx(1 / 0.9).epsilon(1e-4));
  }
}

TEST_CASE("throttled ports: replays, too, where workers share uplinks") {
  const Temporary goal(
      Temporary::Kind::file,
      "num_ranks 4\nrank 0 {\na: recv 1000000b from 1\nb: recv 1000000b from 2\n}\n"
      "rank 1 {\ns: send 1000000b to 0\n}\nrank 2 {\ns: send 1000000b to 0\n}\n"
      "rank 3 {\n}\n");
  const Json answer =
      json_of_run({"replay", goal.name(), "-c", racks("0.1 GBps").dump(), "--format", "json"});
  CHECK(answer["end_ps"][1].get<double>() / 1e6 == doctest::Approx(1000 / 0.9).epsilon(1e-4));
  CHECK(answer["makespan_ps"].get<double>() / 1e6 == doctest::Approx(10'000).epsilon(1e-4));
}

TEST_CASE("throttled ports: what is known of pairs") {
  const PairCost fast{Duration(), PerByte::ps(1), PerByte()};
  const PairCost slow{Duration(), PerByte::ps(10), PerByte()};
  const Network nested(8, NestedGroups{{2, 4}}, {fast, slow, slow});
  CHECK(nested.least_rates(1)->outside == fast.per_byte);
  CHECK(nested.least_rates(2)->inside == fast.per_byte);
  CHECK(nested.least_rates(2)->outside == slow.per_byte);
  // Of one rack there is no other one.
  CHECK(nested.first(2).least_rates(1).has_value() == false);
  CHECK(!Network(4, GridHops{{4}}, {fast, fast, slow}).least_rates(1));
}

}  // namespace
}  // namespace sgdsim
