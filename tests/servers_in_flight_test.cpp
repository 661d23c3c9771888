// Parameter servers whose workers push without waiting for what they pull: by drawings, beside
// packets, and by default where a cluster says what network it has.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/run_program.h"
#include "tests/server_cases.h"
#include "tests/step_cases.h"

namespace sgdsim::servers_in_flight {
namespace {

double iteration_us(std::vector<std::string> more) {
  more.insert(more.begin(), {"run", "resnet50_v100", "-c", "25gbe_16", "--format", "json"});
  const Ran ran = call_sgdsim(more);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["metrics"]["iteration_us"]["mean"];
}

double with_servers(const std::string& servers, std::vector<std::string> more) {
  more.insert(more.end(), {"--set", R"(collective={"parameter_server":)" + servers + "}"});
  return iteration_us(std::move(more));
}

constexpr const char* four = R"({"servers": 4, "placement": "dedicated"})";

}  // namespace

// Four workers, 5 us of flight each way, two gradients of 1000 B at 1 ns/B, both ready at once, no
// folds. One server: pushes fill its port for 4 us and 4 us, answers to the first go beside the
// second, those to the second last: 12 us. Two: half of each, 6 us. Four on the workers: a port
// sends three quarters to others, and answers them, 1.5 us and 1.5 us. Two flights are behind all.
TEST_CASE("servers in flight: the busiest port decides, each way by itself") {
  StepCase two;
  for (int l = 0; l < 2; ++l) {
    Layer layer;
    layer.gradient = Bytes(1000);
    two.trace.layers.push_back(layer);
  }
  two.cluster.network = Network::uniform(4, {Duration::us(5), PerByte::ps(1000), {}});
  two.channels = 2;
  struct Row {
    const char* servers;
    int64_t us;
  };
  for (const Row& row :
       {Row{R"({"servers": 1, "placement": "dedicated", "alpha": "wire"})", 22},
        Row{R"({"servers": 2, "placement": "dedicated", "alpha": "wire"})", 16},
        Row{R"({"servers": 4, "placement": "co_located", "alpha": "wire"})", 13}}) {
    CAPTURE(row.servers);
    two.cost = MessageCost::of_servers(read_servers(row.servers, two.cluster.network));
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
      CHECK(two.play("wfbp", fidelity).iterations.front().us() == static_cast<double>(row.us));
  }
}

// The closed form has a pull follow its own push. On wires messages in flight share a port, so that
// the last pushes, and the pulls behind them, end somewhat later.
TEST_CASE("servers in flight: steps are those of packets within 7 %") {
  for (const char* servers :
       {R"({"servers": 1, "placement": "dedicated"})",
        R"({"servers": 2, "placement": "co_located"})",
        R"({"servers": 8, "placement": "co_located"})",
        R"({"servers": 4, "placement": "dedicated", "sharding": "byteps"})"}) {
    CAPTURE(servers);
    // NCCL's network, where a port serves nobody longer than a packet: queues of TCP take two
    // servers on eight workers a third longer.
    const auto at = [&](const char* fidelity) {
      return with_servers(
          servers, {"--set", "cluster.nodes=8", "--set", "strategy=wfbp", "--fidelity", fidelity});
    };
    const double packets = at("packet");
    CHECK(at("closed_form") == doctest::Approx(packets).epsilon(0.07));
    CHECK(at("message") == doctest::Approx(packets).epsilon(0.07));
  }
}

TEST_CASE("servers in flight: the default where the cluster says what network it has") {
  const auto of = [](const char* network, std::vector<std::string> more) {
    more.insert(more.end(), {"--set", "cluster.nodes=4", "--fidelity", "flow", "--set",
                             "cluster.network=" + std::string(network)});
    return with_servers(four, std::move(more));
  };
  for (const char* network : {"tcp", "mpi", "gloo", "nccl"}) {
    CAPTURE(network);
    CHECK(of(network, {"--set", "strategy=wfbp"}) ==
          of(network, {"--set", "strategy=wfbp", "--set", "channels=1024"}));
    CHECK(of(network, {"--set", "strategy=wfbp"}) <
          0.9 * of(network, {"--set", "strategy=wfbp", "--set", "channels=1"}));
  }
  CHECK(of("paper", {"--set", "strategy=wfbp"}) ==
        of("paper", {"--set", "strategy=wfbp", "--set", "channels=1"}));
  // Who decides by itself what is in flight, and who sends one message, is not concerned.
  for (const char* alone : {"strategy=p3", "synchronization=pipe_sgd"})
    CHECK(of("tcp", {"--set", alone}) == of("tcp", {"--set", alone, "--set", "channels=1"}));
}

}  // namespace sgdsim::servers_in_flight
