// What networks do where rates are unlike, workers forward, links close, and moments coincide.
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/command_words.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"

namespace sgdsim::network_corners {
namespace {

using Words = std::vector<std::string>;

double end_us(const Json& completion, std::size_t flow) {
  return completion["flows"][flow]["end_ps"].get<double>() / 1e6;
}

Json traffic_on(const Json& cluster, const Json& list, const Words& more) {
  const Temporary wires(Temporary::Kind::file, cluster.dump());
  const Json flows = {{"schema", "sgdsim/traffic/1"},
                      {"flows", {{"generator", "listed"}, {"list", list}}}};
  const Temporary file(Temporary::Kind::file, flows.dump());
  return json_of_run(with({"traffic", file.name(), "-c", wires.name(), "--format", "json"}, more));
}

Json flow(const char* start, int from, int to, const char* size) {
  return {{"start", start}, {"from", from}, {"to", to}, {"size", size}};
}

}  // namespace

// Of two flows to one port the one from a card of a hundredth of its rate takes a hundredth of it:
// 40 MB at 99 % of 100 Gbit/s are 3.23 ms. A port that waits for the slow one's bytes would take
// five times as long.
TEST_CASE("network corners: bytes from a slow link do not hold a fast port") {
  const Json cluster = {{"shape", "single_switch"},
                        {"network", "tcp"},
                        {"nodes", 4},
                        {"nic", {{"latency", "5 us"}, {"bandwidth", "100 Gbps"}}},
                        {"ports", Json::array({{{"node", 0}, {"bandwidth", "1 Gbps"}}})}};
  const Json list = {flow("0 us", 0, 3, "4 MB"), flow("0 us", 2, 3, "40 MB")};
  for (const Words& how :
       {Words{"--fidelity", "flow"}, Words{"--fidelity", "packet", "--transport", "tcp"}}) {
    const Json done = traffic_on(cluster, list, how);
    CHECK(end_us(done, 1) == doctest::Approx(40e6 / (0.99 * 12.5e3) + 10).epsilon(0.02));
    CHECK(end_us(done, 0) == doctest::Approx(32'010).epsilon(0.001));
  }
}

// The middle of a chain forwards 10 MB, and sends a kilobyte of its own meanwhile: it has its turn
// behind a packet or two, whatever sends them.
TEST_CASE("network corners: what a worker forwards and what it sends take turns") {
  const Json cluster = {{"shape", "chain"},
                        {"network", "nccl"},
                        {"nodes", 4},
                        {"link", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
  const Json list = {flow("0 us", 0, 2, "10 MB"), flow("100 us", 1, 2, "1 KB")};
  for (const char* transport : {"ideal", "dctcp", "pfabric", "ndp", "mlt", "dlcp", "tcp", "pias"}) {
    CAPTURE(transport);
    const Json done = traffic_on(cluster, list, {"--fidelity", "packet", "--transport", transport});
    CHECK(end_us(done, 1) < 100 + 40);  // 0.8 us, a latency, and a burst of TCP in front
    // 10 MB at 10 Gbit/s, with headers: of 64 bytes in 1,500 at most.
    CHECK(end_us(done, 0) < 1.04 * (8000 + 10));
  }
}

// All links faster at the beginning are a faster cluster, however many lines say so.
TEST_CASE("network corners: changes of one moment happen at once") {
  const auto takes_us = [](const char* bandwidth, const Words& more) {
    const Json cluster = {{"shape", "single_switch"},
                          {"network", "nccl"},
                          {"nodes", 3},
                          {"nic", {{"latency", "1 us"}, {"bandwidth", bandwidth}}}};
    const Temporary wires(Temporary::Kind::file, cluster.dump());
    return json_of_run(with(
        {"collective", "-a", "direct", "--op", "alltoall", "-n", "30000 B", "--fidelity", "packet",
         "--transport", "tcp", "-c", wires.name(), "--format", "json"},
        more))["time_us"]
        .get<double>();
  };
  Json changes = Json::array();
  for (const char* node : {"node0", "node1", "node2"})
    changes.push_back({{"at", "0 us"}, {"link", {node, "switch"}}, {"bandwidth", 4}});
  const std::string all = Json{{"changes", changes}}.dump();
  CHECK(takes_us("10 Gbps", {"--traffic", all}) == doctest::Approx(takes_us("40 Gbps", {})));
}

// One flow uses its links all the time, whatever closes elsewhere.
TEST_CASE("network corners: use over time goes on where another link closes") {
  const Json traffic = {
      {"schema", "sgdsim/traffic/1"},
      {"flows", {{"generator", "listed"}, {"list", Json::array({flow("0 us", 0, 1, "1 MB")})}}},
      {"changes",
       Json::array({{{"at", "200 us"}, {"link", {"node2", "switch"}}, {"bandwidth", 0}}})}};
  const Temporary file(Temporary::Kind::file, traffic.dump());
  const Json done = json_of_run({"traffic", file.name(), "-c", "10gbe_16", "--set",
                                 "nic.latency=0 us", "--bins", "8", "--format", "json"});
  for (const Json& link : done["busiest"])
    for (const double used : link["over_time"]) CHECK(used == doctest::Approx(1).epsilon(1e-6));
}

// Of a ring of eight the link from 0 to 1 is closed: in each of 14 rounds a message takes 10 us,
// and that of 0, which goes round the other way, seven times as long. Rounds of 1 wait for it,
// those of others for theirs: what goes once around passes there twice.
TEST_CASE("network corners: messages that begin behind a closed link pay the way they take") {
  const Json cluster = {{"shape", "ring"},
                        {"network", "nccl"},
                        {"nodes", 8},
                        {"link", {{"latency", "10 us"}, {"bandwidth", "10 Gbps"}}}};
  const Temporary wires(Temporary::Kind::file, cluster.dump());
  for (const char* fidelity : {"flow", "packet"}) {
    const Json done = json_of_run(
        {"collective", "-a", "ring", "-n", "8 B", "-c", wires.name(), "--fidelity", fidelity,
         "--traffic", R"({"changes":[{"at":"0 us","link":["node0","node1"],"bandwidth":0}]})",
         "--format", "json"});
    CHECK(done["time_us"].get<double>() == doctest::Approx(14 * 10 + 2 * 60).epsilon(1e-3));
  }
  // A way ten times as wide and as long.
  const auto edge = [](const char* from, const char* to, const char* link) {
    return Json{{"from", from}, {"to", to}, {"link", link}};
  };
  const Json two_ways = {{"shape", "explicit"},
                         {"network", "nccl"},
                         {"vertices", Json::array({{{"name", "a"}, {"kind", "gpu"}},
                                                   {{"name", "b"}, {"kind", "gpu"}},
                                                   {{"name", "s"}, {"kind", "switch"}},
                                                   {{"name", "u"}, {"kind", "switch"}}})},
                         {"links",
                          {{"narrow", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}},
                           {"wide", {{"latency", "10 us"}, {"bandwidth", "100 Gbps"}}}}},
                         {"edges", Json::array({edge("a", "s", "narrow"), edge("s", "b", "narrow"),
                                                edge("a", "u", "wide"), edge("u", "b", "wide")})}};
  const Temporary graph(Temporary::Kind::file, two_ways.dump());
  const Json traffic = {
      {"schema", "sgdsim/traffic/1"},
      {"flows", {{"generator", "listed"}, {"list", Json::array({flow("50 us", 0, 1, "1 MB")})}}},
      {"changes", Json::array({{{"at", "0 us"}, {"link", {"a", "s"}}, {"bandwidth", 0}}})}};
  const Temporary file(Temporary::Kind::file, traffic.dump());
  for (const char* fidelity : {"flow", "packet"}) {
    const Json done = json_of_run(
        {"traffic", file.name(), "-c", graph.name(), "--fidelity", fidelity, "--format", "json"});
    CHECK(end_us(done, 0) == doctest::Approx(50 + 20 + 80).epsilon(0.01));
  }
}

// A GPU whose one link leads to its node and to others sends 2 MB over it in 1.6 ms; with a link of
// its own to its card each takes half of that.
TEST_CASE("network corners: links inside a node are apart where GPUs have two") {
  const Json box = {{"shape", "single_switch"},
                    {"nodes", 2},
                    {"gpus_per_node", 2},
                    {"network", "nccl"},
                    {"gpu_link", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}},
                    {"nic", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}}};
  Json with_pcie = box;
  with_pcie["pcie"] = {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}};
  const Json list = {flow("0 us", 0, 1, "1 MB"), flow("0 us", 0, 2, "1 MB")};
  for (const char* fidelity : {"message", "flow"}) {
    CAPTURE(fidelity);
    CHECK(end_us(traffic_on(box, list, {"--fidelity", fidelity}), 1) ==
          doctest::Approx(1604).epsilon(0.003));
    CHECK(end_us(traffic_on(with_pcie, list, {"--fidelity", fidelity}), 1) ==
          doctest::Approx(804).epsilon(0.005));
  }
  // Traffic of others that comes long after changes nothing.
  for (const Json& cluster : {box, with_pcie}) {
    const Temporary wires(Temporary::Kind::file, cluster.dump());
    const auto takes_ps = [&](const Words& more) {
      return json_of_run(with({"collective", "-a", "linear", "--op", "reduce", "-n", "1 MB", "-c",
                               wires.name(), "--format", "json"},
                              more))["time_ps"]
          .get<int64_t>();
    };
    const int64_t alone_ps = takes_ps({"--option", "ports=shared"});
    CHECK(takes_ps({"--traffic",
                    R"({"flows":{"generator":"listed","list":[{"start":"100 s","from":0,"to":1,)"
                    R"("size":"1 B"}]}})"}) == alone_ps);
    CHECK(std::abs(takes_ps({"--fidelity", "flow"}) - alone_ps) < 1000);
  }
}

// An all-to-all at shared ports posts all its messages at once, as on wires and beside jobs: alone,
// 7 of 1 KB each over 100 Gbit/s and one latency.
TEST_CASE("network corners: an all-to-all takes the same at shared ports, in jobs and on wires") {
  const Json cluster = {{"shape", "single_switch"},
                        {"network", "nccl"},
                        {"nodes", 8},
                        {"nic", {{"latency", "5 us"}, {"bandwidth", "100 Gbps"}}}};
  const Temporary wires(Temporary::Kind::file, cluster.dump());
  const double due_us = 10 + 7 * 1000 / 12.5e3;
  for (const Words& how : {Words{"--option", "ports=shared"}, Words{"--fidelity", "flow"}})
    CHECK(json_of_run(with({"collective", "-a", "direct", "--op", "alltoall", "-n", "8 KB", "-c",
                            wires.name(), "--format", "json"},
                           how))["time_us"]
              .get<double>() == doctest::Approx(due_us).epsilon(1e-6));
  const Json jobs = {
      {"schema", "sgdsim/jobs/1"},
      {"cluster", cluster},
      {"fidelity", "message"},
      {"jobs",
       Json::array({{{"name", "a"},
                     {"workers", 8},
                     {"collective",
                      {{"algorithm", "direct"}, {"operation", "alltoall"}, {"bytes", "8 KB"}}}}})}};
  const Temporary file(Temporary::Kind::file, jobs.dump());
  const Json done = json_of_run({"jobs", file.name(), "--format", "json"});
  CHECK(done["jobs"][0]["alone_us"].get<double>() == doctest::Approx(due_us).epsilon(1e-6));
}

// Two iterations of local SGD compute for 256 ms, and exchange nothing: the job has ended then, and
// what others send meanwhile is counted.
TEST_CASE("network corners: jobs end with their last iteration") {
  const Json jobs = {
      {"schema", "sgdsim/jobs/1"},
      {"cluster", "25gbe_16"},
      {"jobs", Json::array({{{"name", "local"},
                             {"workers", 4},
                             {"experiment",
                              {{"schema", "sgdsim/experiment/1"},
                               {"trace", "resnet50_v100"},
                               {"iterations", 2},
                               {"warm_up", 0},
                               {"collective", "ring"},
                               {"synchronization", "local_sgd"}}}}})},
      {"traffic",
       {{"flows",
         {{"generator", "listed"}, {"list", Json::array({flow("0 us", 8, 9, "50 MB")})}}}}}};
  const Temporary file(Temporary::Kind::file, jobs.dump());
  const Json done = json_of_run({"jobs", file.name(), "--format", "json"});
  const double iteration_us = done["jobs"][0]["iteration_us"];
  CHECK(done["jobs"][0]["end_us"].get<double>() == doctest::Approx(2 * iteration_us));
  CHECK(done["end_us"] == done["jobs"][0]["end_us"]);
  REQUIRE(!done["busiest"].empty());
  CHECK(done["busiest"][0]["carried_B"].get<double>() == doctest::Approx(50e6));
}

}  // namespace sgdsim::network_corners
